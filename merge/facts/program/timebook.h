/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timebook.h - what stacks cost in time: Python's frames, the operators that they call, the calls
 * and the device work that those start
 *
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

extern const struct tp_fact tp_fact_timebook;

/* When the pass is over. With names of functions; no rows: none were recorded, or memory is out. */
const struct tp_flame_rows *tp_timebook_rows(struct tp_timebook *book);
bool tp_timebook_is_incomplete(const struct tp_timebook *book);
/* Frames of Python are among them: without, stacks are of operators only. */
bool tp_timebook_has_python(const struct tp_timebook *book);

#endif
