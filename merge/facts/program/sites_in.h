/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites_in.h - the inside of sites.h: sites.c sums by line, sites_between.c says where a gap is
 */
#ifndef TP_MERGE_SITES_IN_H
#define TP_MERGE_SITES_IN_H

#include "merge/facts/program/sites.h"

struct tp_stacks;

struct tp_stacks *tp_sites_stacks(const struct tp_sites *sites);

#endif
