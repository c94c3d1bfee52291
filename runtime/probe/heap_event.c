/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_event.c - HEAPALLOC and HEAPFREE records
 */
#include "runtime/probe/heap_event.h"

#include <stdbool.h>

#include "runtime/base/clock.h"
#include "runtime/engine/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/heap_count.h"

/* Not of the profiler's own thread, and not after the session's end. */
static inline bool is_wanted(void)
{
	return tp_likely(tp_session_is_armed()) && tp_likely(!tp_heap_self.is_profiler);
}

static inline void put(uint64_t time, enum tp_rec_kind kind, uint8_t flags, const void *block,
		       size_t bytes, uint32_t stack)
{
	struct tp_rec *rec = tp_ring_reserve();

	if (tp_unlikely(!rec))
		return;
	rec->time = time;
	tp_rec_set_len(rec, bytes);
	rec->kind = (uint8_t)kind;
	rec->flags = flags;
	rec->name = 0;
	rec->link = stack;
	rec->arg = (uintptr_t)block;
	tp_ring_commit();
}

void tp_heap_record_alloc(const void *block, size_t bytes, const void *frame)
{
	if (is_wanted())
		put(tp_clock_now(), TP_REC_HEAPALLOC, 0, block, bytes, 0);
}

void tp_heap_record_free(const void *block)
{
	if (is_wanted())
		put(tp_clock_now(), TP_REC_HEAPFREE, 0, block, 0, 0);
}

void tp_heap_record_realloc(uint64_t begin, const void *old, const void *block, size_t bytes,
			    const void *frame)
{
	uint8_t flags = block ? TP_F_MOVED : 0;

	if (!is_wanted())
		return;
	put(begin, TP_REC_HEAPFREE, flags, old, 0, 0);
	if (block)
		put(tp_clock_now(), TP_REC_HEAPALLOC, flags, block, bytes, 0);
}
