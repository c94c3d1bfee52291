/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timebook.h - what stacks cost in time: Python's frames, the operators that they call, the calls
 * and the device work that those start; kept once a run for all who want it
 *
 * Whoever wants it takes it when the run begins and leaves it at its end; events are counted once.
 * A span's own time is the host's without the spans inside of it; of a device, the time of each
 * piece of work. What the backward pass does stands below the forward operator's frames, which it
 * was made by, behind one that says so. One thread.
 *
 * Memory: distinct stacks, up to a limit beyond which a span counts for the one around it.
 */
#ifndef TP_MERGE_TIMEBOOK_H
#define TP_MERGE_TIMEBOOK_H

#include "merge/facts/time/flame.h"

enum { TP_TIME_HOST, TP_TIME_DEVICE, TP_TIME_COSTS };

struct tp_timebook;

/* NULL: out of memory. */
struct tp_timebook *tp_timebook_take(const struct tp_run *run);
/* `who` is the same in all calls of one taker; every taker may give every event. */
void tp_timebook_event(struct tp_timebook *book, const void *who, const struct tp_event *event);
/* No more events. With names of functions; no rows: none were recorded, or memory is out. */
const struct tp_flame_rows *tp_timebook_rows(struct tp_timebook *book);
bool tp_timebook_is_incomplete(const struct tp_timebook *book);
/* Frames of Python are among them: without, stacks are of operators only. */
bool tp_timebook_has_python(const struct tp_timebook *book);
void tp_timebook_leave(struct tp_timebook *book);

#endif
