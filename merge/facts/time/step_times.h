/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_times.h - events into the times of each process's steps, by categories
 *
 * One sweep for all who tell of steps: spans are cut to the window that recorded them (clip.h),
 * counted, then handed on in order of begin. Memory: steps, names.
 */
#ifndef TP_MERGE_STEP_TIMES_H
#define TP_MERGE_STEP_TIMES_H

#include "merge/facts/time/breakdown.h"
#include "merge/model/clip.h"
#include "merge/facts/time/names.h"

struct tp_step_times;

/* When work of a device was asked for; INT64_MIN: not known. */
typedef int64_t (*tp_step_times_called_fn)(void *ctx, const struct tp_event *work);

/* each: gets every event, cut, when it has been counted. NULL: out of memory. */
struct tp_step_times *tp_step_times_new(const struct tp_run *run, tp_clip_fn each,
					tp_step_times_called_fn called, void *ctx);
void tp_step_times_free(struct tp_step_times *times);	/* NULL: nothing */
void tp_step_times_event(struct tp_step_times *times, const struct tp_event *event);
/* No more events: hands on what was held back; the last steps are final. False: out of memory,
 * figures are not complete. */
bool tp_step_times_end(struct tp_step_times *times);

/* Of a process of the run; lives as long as the times. */
const struct tp_breakdown *tp_step_times_of(const struct tp_step_times *times,
					    const struct tp_proc *proc);
struct tp_names *tp_step_times_names(struct tp_step_times *times);

#endif
