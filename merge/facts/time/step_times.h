/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_times.h - events into the times of each process's steps, by categories
 *
 * Of spans that are cut to the window that recorded them. Memory: steps, names.
 */
#ifndef TP_MERGE_STEP_TIMES_H
#define TP_MERGE_STEP_TIMES_H

#include "merge/facts/time/breakdown.h"
#include "merge/facts/time/names.h"
#include "merge/model/fact.h"

struct tp_step_times;

extern const struct tp_fact tp_fact_step_times;

/* What the time of an event counts as; TP_CAT_OTHER: as nothing, only what is inside it does. */
enum tp_category tp_step_times_category(struct tp_names *names, const struct tp_event *event);

/* Of a process of the run; lives as long as the times. */
const struct tp_breakdown *tp_step_times_of(const struct tp_step_times *times,
					    const struct tp_proc *proc);

/* Memory ran out. */
bool tp_step_times_is_incomplete(const struct tp_step_times *times);

#endif
