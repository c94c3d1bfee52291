/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_follow.c - the session of a worker process: its windows are those of its rank
 *
 * The drain thread looks at the root's page every few milliseconds and takes over what it finds
 * there: numbers and bounds of windows as they are, armed or not. Probes are told on this
 * thread, under the same rules as at a boundary (session.c): torch's lists of callbacks have a
 * lock of their own and may be changed by any thread, and a fork waits until nobody is at it. A
 * step that the clock ends arms on the drain thread, too.
 *
 * A window that begins without warm-up lacks what the worker did until the next look. One that begins where
 * the last one ended begins here with the look: what the threads recorded in between has stacks that the
 * last one's file has.
 */
#include "runtime/base/clock.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session_state.h"
#include "runtime/engine/worker.h"

static struct tp_session_state *const session = &tp_session_state;

bool tp_session_is_follower(void)
{
	return __atomic_load_n(&session->is_follower, __ATOMIC_ACQUIRE);
}

/* Windows before `window` are none of ours: as if their files were written. Drain thread, or
 * before there is one. */
static void skip_to(uint32_t window)
{
	__atomic_store_n(&tp_ring.head->windows_begun, window, __ATOMIC_RELEASE);
	__atomic_store_n(&tp_ring.head->windows_written, window, __ATOMIC_RELEASE);
}

void tp_session_follow_begin(uint64_t now)
{
	session->since = now;
	__atomic_store_n(&session->is_follower, true, __ATOMIC_RELEASE);
}

void tp_session_follow_init(void)
{
	uint32_t begun = __atomic_load_n(&tp_worker_root()->windows_begun, __ATOMIC_ACQUIRE);
	struct tp_ring_window last;

	/* Only the last that began can be open. */
	if (begun && tp_worker_window(begun - 1, &last) && !last.end)
		begun--;
	skip_to(begun);
}

/* Times before there was a session are no part of a window, nor those before the last one's end was
 * seen, in a look that may have come late: what was recorded until then has stacks of that one's file. */
static uint64_t begin_here(uint64_t begin)
{
	return begin > session->since ? begin : session->since;
}

/* The root's window after this one begins at its end. */
static bool is_followed(uint32_t window, uint64_t end)
{
	struct tp_ring_window next;

	return tp_worker_window(window + 1, &next) && next.begin <= end;
}

/* Our window ends where the root's did, or now, where the next one begins. */
static bool end_window(uint64_t now, bool is_root_gone)
{
	const uint32_t window = tp_ring.head->windows_begun - 1;
	const struct tp_ring_window *own = tp_ring_window_at(window);
	uint64_t end = 0, end_step = own->first_step;
	struct tp_ring_window root;

	if (tp_worker_window(window, &root)) {
		end = root.end && is_followed(window, root.end) ? now : root.end;
		end_step = end ? root.end_step : end_step;
	} else {
		end = now;	/* the root is many windows further: its entry is another's */
	}
	if (!end && is_root_gone)
		end = now;
	if (!end)
		return false;
	/* Where the rank moved its begin since (an epoch that was found late) ours stays. */
	tp_session_end_window(end > own->begin ? end : own->begin, end_step);
	session->since = now > own->end ? now : own->end;
	return true;
}

/* The next window of the root becomes ours. False: there is none, or not yet. */
static bool begin_window(uint32_t root_begun, bool is_drain)
{
	struct tp_ring_head *head = tp_ring.head;
	uint32_t next = head->windows_begun;
	uint32_t n_unwritten = next - __atomic_load_n(&head->windows_written, __ATOMIC_ACQUIRE);
	struct tp_ring_window *own, root;

	if (next >= root_begun || n_unwritten >= TP_RING_WINDOWS)
		return false;
	if (!tp_worker_window(next, &root)) {
		/* Its entry is another's by now: the worker did not run for long. Numbers are the
		 * root's, so what was begun before has to be written first. */
		if (is_drain && !n_unwritten) {
			skip_to(next + 1);
			tp_session_lose_window();
		}
		return is_drain && !n_unwritten;
	}
	own = tp_ring_window_at(next);
	own->first_step = root.first_step;
	own->in_epoch = root.in_epoch;
	own->epoch = root.epoch;
	own->opened_by = root.opened_by;
	own->end_step = 0;
	__atomic_store_n(&own->end, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&own->begin, begin_here(root.begin), __ATOMIC_RELAXED);
	/* Release: who sees that it has begun sees its entry. */
	__atomic_store_n(&head->windows_begun, next + 1, __ATOMIC_RELEASE);
	session->is_window = true;
	session->is_bell_due = true;
	return true;
}

/* The open window has ended, or the next one has begun. */
static bool is_turn_due(uint32_t root_begun, bool is_root_gone)
{
	const uint32_t n_begun = tp_ring.head->windows_begun;
	struct tp_ring_window root;

	if (!session->is_window)
		return n_begun < root_begun;
	return is_root_gone || !tp_worker_window(n_begun - 1, &root) || root.end;
}

bool tp_session_follow_root(uint64_t now, bool is_drain)
{
	const struct tp_ring_head *root = tp_worker_root();
	struct tp_ring_head *head = tp_ring.head;
	bool is_gone = tp_worker_is_root_gone();
	/* The phase before the windows: a boundary stores them the other way round. */
	uint32_t phase = __atomic_load_n(&root->phase, __ATOMIC_ACQUIRE);
	uint32_t begun = __atomic_load_n(&root->windows_begun, __ATOMIC_ACQUIRE);
	bool is_armed = !is_gone && (phase == TP_PHASE_WARMUP || phase == TP_PHASE_ACTIVE);
	enum tp_session_level level = is_armed ? TP_LEVEL_WINDOW : TP_LEVEL_NONE;
	const bool is_due = is_turn_due(begun, is_gone);
	bool has_changed = level != session->level_wanted, has_turned = false;

	if (is_due)
		now = tp_session_announce(now);
	while (session->is_window ? end_window(now, is_gone) : begin_window(begun, is_drain))
		has_turned = true;
	/* Also at an end: the stacks of a warm-up that follows are to be in the ring when it is over. */
	if (is_due)
		tp_session_settle(has_turned);
	has_changed |= has_turned;
	session->level_wanted = level;
	__atomic_store_n(&head->phase, phase, __ATOMIC_RELAXED);
	__atomic_store_n(&head->step_begin, __atomic_load_n(&root->step_begin, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&head->epoch, __atomic_load_n(&root->epoch, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&head->in_epoch, __atomic_load_n(&root->in_epoch, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	return has_changed;
}

bool tp_session_follow(void)
{
	uint64_t now = tp_clock_now();
	bool has_changed;

	if (!tp_session_is_follower() || !tp_session_enter())
		return false;
	has_changed = session->is_follower && tp_session_follow_root(now, true);
	tp_session_leave(now);
	return has_changed;
}
