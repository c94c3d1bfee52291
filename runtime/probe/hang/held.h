/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.h - who holds tensor memory: a table of live blocks that the drain thread keeps from records
 *
 * For reports that are written while the program runs; the merge finds more (merge/facts/tensor).
 * Blocks, stacks and modules of one window, or of the flight recorder's steps. Drain thread, or
 * whoever has its work (own_table.h). Memory: 4 MiB of addresses, touched where records come; blocks
 * that find no place are counted.
 */
#ifndef TP_PROBE_HELD_H
#define TP_PROBE_HELD_H

#include "runtime/base/text.h"
#include "runtime/trace/trainprof_trace.h"

/* All of what is recorded was seen up to here; no record of a later time is taken before
 * tp_held_go_on. */
void tp_held_stop_at(uint64_t time);
void tp_held_go_on(void);

/* Records of one thread, in their order; again, too: a later pass may have them once more. */
void tp_held_see(uint32_t window, uint32_t slot, const struct tp_rec *rec, uint32_t n);
/* Nothing was seen: it is old, or in the child of fork the parent's. */
void tp_held_forget(void);

struct tp_held_asked {
	uint32_t window;	/* what was seen of another one is old */
	uint32_t device;
	uint64_t time;		/* ticks: what was alive then */
	uint64_t step_begin;	/* ticks, of the step in progress */
	uint64_t total;		/* bytes of the device's tensors; 0: not known */
};

/* The largest holders: a line each into `lines`, the first of them in a sentence into `said`. Bytes that
 * they are; 0: no block is known. */
uint64_t tp_held_put(const struct tp_held_asked *asked, struct tp_text *lines, struct tp_text *said);

#endif
