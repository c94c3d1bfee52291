/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_now.h - which step of its process an event is of: the one in which it begins
 *
 * Memory: one step of each process.
 */
#ifndef TP_MERGE_STEP_NOW_H
#define TP_MERGE_STEP_NOW_H

#include "merge/model/fact.h"

struct tp_step_now;

/* Of events as they were recorded, and of those cut to their windows. */
extern const struct tp_fact tp_fact_step_now, tp_fact_step_now_cut;

/* Number of the step in the run; -1: none. Of the event that is given now, or of one that begins now. */
int64_t tp_step_now(const struct tp_step_now *steps, const struct tp_event *event);

#endif
