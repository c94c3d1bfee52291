/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.c - one window after the other: when its file is opened, when its records are taken, when it is
 * finished
 *
 * When a window ends, a thread may still be between reading the clock and publishing its
 * record. The file is therefore finished a moment after the end, not at once; what comes
 * still later is counted ("late"), not kept. Before that each probe is asked for what it has
 * to add (settle): a device's records come long after their window.
 */
#include "runtime/engine/window.h"

#include <errno.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/engine/open_spans.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/engine/window_records.h"

enum { GRACE_NS = 2000000 };	/* a preempted thread is back within a time slice or two */

static struct {
	const struct tp_probe *const *probes;
	uint32_t n_settled;		/* probes that have nothing to add to the window */
	bool is_closing;
} state;

int tp_window_init(const struct tp_window_spec *spec)
{
	state.probes = spec->probes;
	state.n_settled = 0;
	state.is_closing = false;
	tp_window_records_init(spec->probes);
	if (tp_open_spans_init(spec->arena))
		return -ENOMEM;
	return tp_window_file_init(spec);
}

void tp_window_lose(void)
{
	tp_window_file_lose();
}

void tp_window_abandon(void)
{
	tp_window_file_abandon();
}

/* Whether no probe has more for the window, which is over. */
static bool is_settled(uint32_t window)
{
	/* None of those that are asked records for the flight recorder. */
	if (tp_ring_window_at(window)->opened_by == TP_OPENED_RECORDER)
		return true;
	for (const struct tp_probe *const *probe; *(probe = &state.probes[state.n_settled]);
	     state.n_settled++)
		if ((*probe)->settle &&
		    !(*probe)->settle(tp_ring_window_end_of(window), state.is_closing))
			return false;
	return true;
}

/* The window is over, and nothing more comes for it. */
static void finish_window(uint32_t window)
{
	tp_window_file_loose();
	tp_window_records_last(window);
	tp_window_file_close(window);
	/* Release: a reader of the dead looks for this window in files only from here on. */
	__atomic_store_n(&tp_ring.head->windows_written, window + 1, __ATOMIC_RELEASE);
	tp_ring.head->trace_path[0] = '\0';
	state.n_settled = 0;
}

/* So full that records will soon be dropped. */
static bool is_half_used(void)
{
	return tp_ring_chunks_used() * 2 >= tp_ring.head->n_chunks;
}

/* A worker's file waits until something has to be written: there may be nothing at all. */
static bool is_file_due(uint32_t window)
{
	return !tp_session_is_follower() || tp_ring_window_end_of(window) || is_half_used() ||
	       tp_ring_waiting() >= TP_BLOCK_EVENTS_MAX;
}

/* No window has begun. */
static void make_room(uint32_t window)
{
	/* Else warm-up, or leftovers: nobody wants them. */
	if (!tp_session_recorder_trim() && is_half_used())
		tp_window_records_before(window);
}

bool tp_window_serve(void)
{
	struct tp_ring_head *head = tp_ring.head;

	for (;;) {
		uint32_t window = head->windows_written;

		if (window == __atomic_load_n(&head->windows_begun, __ATOMIC_ACQUIRE)) {
			if (is_half_used() || tp_ring_is_short_of_slots())
				make_room(window);
			return true;
		}
		if (!tp_window_file_writer() && is_file_due(window))
			tp_window_file_open(window);
		if (!tp_ring_window_end_of(window)) {
			if (is_half_used() ||
			    (tp_window_file_writer() && tp_ring_waiting() >= TP_BLOCK_EVENTS_MAX))
				tp_window_records_take(window);
			return true;
		}
		if (tp_clock_now() - tp_ring_window_end_of(window) < tp_window_file_ticks(GRACE_NS))
			return false;
		if (!is_settled(window)) {
			if (is_half_used())
				tp_window_records_take(window);
			return false;
		}
		finish_window(window);
		/* Windows may end as fast as they are written: this goes on then. */
		if (tp_ring_is_cut())
			return true;
		if (window + 1 == __atomic_load_n(&head->windows_begun, __ATOMIC_ACQUIRE)) {
			if (tp_ring_window_at(window)->opened_by != TP_OPENED_RECORDER)
				tp_ring_forget_spans();
			tp_ring_reap(!tp_session_is_armed());
		}
	}
}

void tp_window_finish(void)
{
	struct timespec grace = {.tv_nsec = GRACE_NS};

	state.is_closing = true;
	nanosleep(&grace, NULL);
	while (!tp_window_serve())
		nanosleep(&grace, NULL);
	tp_window_file_say_lost();
}
