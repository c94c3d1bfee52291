/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_event.h - records of blocks that the malloc family gives out and takes back
 *
 * An allocation is recorded after the call, a free before it, each with the time of that moment:
 * so that by their times a block's free comes before the allocation that gets its address next,
 * whichever thread makes it. (The clock may be read a few instructions early: across threads
 * the two can still be the wrong way round by as much.) A realloc is a free and an allocation,
 * both recorded when it has succeeded: until then nobody else can have the new address, and who
 * gets the old one meanwhile records a later time.
 *
 * Runs inside malloc with the guard held (preload/guard.h): no lock, no allocation, errno kept.
 * The mode (tp_heap_mode) has TP_HEAP_EVENTS. `frame`: see tp_stack_take.
 */
#ifndef TP_PROBE_HEAP_EVENT_H
#define TP_PROBE_HEAP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void tp_heap_record_alloc(const void *block, size_t bytes, const void *frame);
/* The block is not given back yet. */
void tp_heap_record_free(const void *block);

/* A realloc: begins before the call, and ends after it, when it has succeeded, with the new
 * block (NULL: it only freed `old`), or fails. */
struct tp_heap_move {
	uint64_t begin;
	const void *old;
	bool is_recorded;	/* the old block's end is */
};
void tp_heap_move_begin(struct tp_heap_move *move, const void *old);
void tp_heap_move_end(const struct tp_heap_move *move, const void *block, size_t bytes,
		      const void *frame);
void tp_heap_move_fail(const struct tp_heap_move *move);

/* Calls that were not recorded, because the thread was at work for the profiler (or a signal
 * handler on top of that) or inside the allocator. */
void tp_heap_note_nested(void);
uint64_t tp_heap_nested(void);

#endif
