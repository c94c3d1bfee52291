/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapstacks.h - host memory by stack, with names of functions: what several formats write from
 */
#ifndef TP_MERGE_HEAPSTACKS_H
#define TP_MERGE_HEAPSTACKS_H

#include "merge/facts/heap/heapcost.h"

/* Its state is a struct tp_heap_rows; no rows: none were recorded, or memory is out. */
extern const struct tp_fact tp_fact_heap_rows;

#endif
