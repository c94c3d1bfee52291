/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_event.c - HEAPALLOC and HEAPFREE records
 */
#include "runtime/probe/heap/heap_event.h"

#include <stdbool.h>

#include "runtime/base/clock.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/heap/heap_count.h"
#include "runtime/probe/heap/heap_sample.h"
#include "runtime/probe/stack/stack.h"

static uint64_t n_nested;	/* atomic */

/* Not on the profiler's own thread, not in handlers of fork, not after the session's end; and
 * not in a signal handler that came while another probe makes a record. */
static inline bool is_wanted(void)
{
	if (tp_unlikely(!tp_session_is_armed() || tp_heap_self.is_quiet))
		return false;
	if (tp_unlikely(tp_ring_is_reserved())) {
		tp_heap_note_nested();
		return false;
	}
	return true;
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

static inline void put_alloc(uint32_t mode, uint8_t flags, const void *block, size_t bytes,
			     const void *frame)
{
	uint64_t time = tp_clock_now();
	uint32_t stack = mode & TP_HEAP_WITH_STACKS ? tp_stack_take(time, frame) : 0;

	put(time, TP_REC_HEAPALLOC, flags, block, bytes, stack);
}

void tp_heap_record_alloc(const void *block, size_t bytes, const void *frame)
{
	uint32_t mode = tp_heap_get_mode();

	if (!is_wanted())
		return;
	if (!(mode & TP_HEAP_CHOSEN))
		put_alloc(mode, 0, block, bytes, frame);
	else if (tp_heap_sample_choose(block, bytes))
		put_alloc(mode, TP_F_SAMPLED, block, bytes, frame);
}

void tp_heap_record_free(const void *block)
{
	uint32_t mode = tp_heap_get_mode();

	if (!is_wanted())
		return;
	if (!(mode & TP_HEAP_CHOSEN))
		put(tp_clock_now(), TP_REC_HEAPFREE, 0, block, 0, 0);
	else if (tp_unlikely(tp_heap_sample_drop(block)))
		put(tp_clock_now(), TP_REC_HEAPFREE, TP_F_SAMPLED, block, 0, 0);
}

void tp_heap_move_begin(struct tp_heap_move *move, const void *old)
{
	move->old = old;
	move->is_recorded = is_wanted() && (!(tp_heap_get_mode() & TP_HEAP_CHOSEN) ||
					    tp_heap_sample_drop(old));
	move->begin = tp_clock_now();
}

void tp_heap_move_end(const struct tp_heap_move *move, const void *block, size_t bytes,
		      const void *frame)
{
	uint32_t mode = tp_heap_get_mode();
	uint8_t flags = mode & TP_HEAP_CHOSEN ? TP_F_SAMPLED : 0;
	bool has_block;

	if (!is_wanted())
		return;
	has_block = block && (!flags || tp_heap_sample_choose(block, bytes));
	if (move->is_recorded && has_block)
		flags |= TP_F_MOVED;
	if (move->is_recorded)
		put(move->begin, TP_REC_HEAPFREE, flags, move->old, 0, 0);
	if (has_block)
		put_alloc(mode, flags, block, bytes, frame);
}

void tp_heap_move_fail(const struct tp_heap_move *move)
{
	if (move->is_recorded && tp_heap_get_mode() & TP_HEAP_CHOSEN)
		tp_heap_sample_keep_back(move->old);
}

void tp_heap_note_nested(void)
{
	if (!tp_heap_self.is_quiet)
		__atomic_fetch_add(&n_nested, 1, __ATOMIC_RELAXED);
}

uint64_t tp_heap_nested(void)
{
	return __atomic_load_n(&n_nested, __ATOMIC_RELAXED);
}
