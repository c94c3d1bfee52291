/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ahead.h - slices of blocks decoded by a few threads before they are due
 *
 * One thread asks and takes; what it gets does not depend on how many threads there are. A
 * slice that no thread has begun when it is taken is decoded by the one that takes it.
 */
#ifndef TP_MERGE_AHEAD_H
#define TP_MERGE_AHEAD_H

#include "merge/input/decode.h"

enum {
	TP_AHEAD_THREADS = 8,	/* at most */
	TP_AHEAD_TASKS = 32,	/* asked for and not taken, at most */
};

struct tp_ahead;

/* NULL: out of memory. With one CPU, or when no thread can be started, there is no ahead. */
struct tp_ahead *tp_ahead_start(struct tp_run_in *run, uint32_t slice_events);
void tp_ahead_stop(struct tp_ahead *ahead);

/* The number of a task: the slice of the block from the `from`th event on. At most
 * TP_AHEAD_TASKS are out. */
uint32_t tp_ahead_ask(struct tp_ahead *ahead, const struct tp_block_ref *ref, uint32_t from);
/* Its slice: see its `trouble` and `err`. NULL: out of memory. */
struct tp_decoded *tp_ahead_take(struct tp_ahead *ahead, uint32_t task);
/* The same without having asked. */
struct tp_decoded *tp_ahead_now(struct tp_ahead *ahead, const struct tp_block_ref *ref,
				uint32_t from);
void tp_ahead_release(struct tp_ahead *ahead, struct tp_decoded *d);

#endif
