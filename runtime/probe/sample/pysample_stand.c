/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_stand.c - see pysample_stand.h
 */
#include "runtime/probe/sample/pysample_stand.h"

#include "runtime/base/clock.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/sample/pysample_slow.h"

enum { EACH_NS = 10000000 };	/* whose function is whose takes as long as half a sample */

static struct {
	uint64_t next_ns;	/* of CLOCK_MONOTONIC */
	bool is_last;		/* what the ring has is the last look */
} noted;

bool tp_pysample_name_of(uint32_t string, const char **bytes, uint32_t *n_bytes)
{
	uint32_t kind;

	return tp_intern_get(NULL, string, &kind, bytes, n_bytes);
}

static void begin(struct tp_ring_stand *stand)
{
	/* Odd, also where a fork has cut the parent's off. */
	__atomic_store_n(&stand->turn, stand->turn | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end(struct tp_ring_stand *stand)
{
	__atomic_store_n(&stand->turn, stand->turn + 1, __ATOMIC_RELEASE);
}

void tp_pysample_stand_note(const struct tp_pysample_look *look, uint64_t time)
{
	struct tp_ring_stand *stand = &tp_ring.head->stand;
	const uint64_t now_ns = tp_clock_mono_ns();
	uint32_t n = 0;

	noted.is_last = false;
	if (!look->n || now_ns < noted.next_ns)
		return;
	noted.next_ns = now_ns + EACH_NS;
	begin(stand);
	stand->time = time;
	for (uint32_t i = 0; i < look->n && n < TP_RING_STAND; i++) {
		const struct tp_pysample_frame *frame = &look->frame[i];

		if (frame->is_hidden || !frame->string ||
		    (n && !tp_slow_is_own(frame->string, tp_pysample_name_of)))
			continue;
		stand->place[n].name = frame->string;
		stand->place[n++].line = frame->line;
	}
	for (; n < TP_RING_STAND; n++)
		stand->place[n].name = 0;
	end(stand);
	noted.is_last = true;
}

void tp_pysample_stand_again(uint64_t time)
{
	struct tp_ring_stand *stand = &tp_ring.head->stand;

	if (!noted.is_last)
		return;
	begin(stand);
	stand->time = time;
	end(stand);
}

void tp_pysample_stand_forget(void)
{
	noted.is_last = false;
	noted.next_ns = 0;
}
