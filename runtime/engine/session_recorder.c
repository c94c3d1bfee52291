/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_recorder.c - the flight recorder: when it stands, what makes a window of it, what it holds
 *
 * It stands whenever no window is open. Its records are in the ring like all others: what was
 * recorded in the last TRAINPROF_RECORDER steps at least; what is older stays until half of the ring
 * is used, and is then given back by the drain thread. Steps that do not fit make room, the oldest
 * first, and are counted: they are not lost, the ring is too small for so many. Names have a
 * table of their own and are never given up.
 *
 * Fired, its time becomes a window that is over, and it starts anew.
 */
#include "runtime/base/clock.h"
#include "runtime/base/text.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session_state.h"
#include "runtime/trace/kinds.h"

enum { HALVINGS = 8 };	/* of the step in progress, before all of it is given up */

static struct tp_session_state *const session = &tp_session_state;

/* Of the windows that are not written yet. */
static char fired_why[TP_RING_WINDOWS][TP_SESSION_WHY];

bool tp_session_recorder_is_on(void)
{
	return session->config->recorder_steps && !session->config->schedule.always &&
	       !session->is_follower;
}

static struct tp_ring_window *recorder(void)
{
	return &tp_ring.head->recorder;
}

/* From here on it holds what is recorded. */
static void stand(uint64_t now)
{
	struct tp_ring_window *facts = recorder();

	facts->first_step = session->steps;
	facts->in_epoch = session->in_epoch;
	facts->epoch = session->epoch;
	facts->opened_by = TP_OPENED_RECORDER;
	facts->end = facts->end_step = 0;
	__atomic_store_n(&facts->begin, now, __ATOMIC_RELEASE);
}

/* Whatever it forgets later, a step of it names its own stacks: all tables begin anew (stack_tree.c). */
static void go_on(uint64_t now)
{
	uint32_t *turn = &tp_ring.head->window_turn;

	if (!recorder()->begin)
		stand(now);
	__atomic_store_n(turn, (*turn & ~1u) + 2, __ATOMIC_RELEASE);
}

void tp_session_recorder_follow(uint64_t now)
{
	if (!tp_session_recorder_is_on())
		return;
	if (session->is_window)
		__atomic_store_n(&recorder()->begin, 0, __ATOMIC_RELEASE);
	else
		go_on(now);
	if (session->level_wanted == TP_LEVEL_NONE)
		session->level_wanted = TP_LEVEL_RECORDER;
}

/* Its begin is that of step `first`, or what it was, whichever is later. */
static void move_to(uint64_t first)
{
	struct tp_ring_window *facts = recorder();
	struct tp_ring_step step;

	if (first <= facts->first_step)
		return;
	if (first < session->steps && tp_ring_step(first, &step)) {
		facts->in_epoch = step.in_epoch;
		facts->epoch = step.epoch;
	} else {
		first = session->steps;
		step.begin = session->step_begin;
		facts->in_epoch = session->in_epoch;
		facts->epoch = session->epoch;
	}
	facts->first_step = first;
	if (step.begin > facts->begin)
		__atomic_store_n(&facts->begin, step.begin, __ATOMIC_RELEASE);
}

static uint64_t first_wanted(void)
{
	uint64_t n = session->config->recorder_steps;

	return session->steps > n ? session->steps - n : 0;
}

void tp_session_recorder_fire(uint64_t now, const char *why)
{
	struct tp_ring_head *head = tp_ring.head;
	uint32_t window = head->windows_begun;
	struct tp_ring_window *facts = &head->windows[window % TP_RING_WINDOWS];
	struct tp_text text;

	if (!recorder()->begin || (session->has_fired && session->steps == recorder()->first_step))
		return;
	if (window - __atomic_load_n(&head->windows_written, __ATOMIC_ACQUIRE) >= TP_RING_WINDOWS) {
		tp_session_lose_window();
		return;
	}
	move_to(first_wanted());
	tp_text_init(&text, fired_why[window % TP_RING_WINDOWS], TP_SESSION_WHY);
	tp_text_str(&text, why);
	*facts = *recorder();
	facts->end_step = session->steps;
	__atomic_store_n(&facts->end, now, __ATOMIC_RELAXED);
	__atomic_store_n(&session->stall[window % TP_RING_WINDOWS], 0, __ATOMIC_RELAXED);
	/* Release: who sees that it has begun sees its entry. */
	__atomic_store_n(&head->windows_begun, window + 1, __ATOMIC_RELEASE);
	stand(now);
	session->has_fired = session->is_bell_due = true;
}

bool tp_session_fire(const char *why)
{
	uint64_t now = tp_clock_now();
	uint32_t n_begun;

	if (!tp_session_enter())
		return false;
	n_begun = tp_ring.head->windows_begun;
	tp_session_recorder_fire(now, why);
	n_begun = tp_ring.head->windows_begun - n_begun;
	tp_session_leave(now);
	return n_begun != 0;
}

const char *tp_session_fired_why(uint32_t window)
{
	return fired_why[window % TP_RING_WINDOWS];
}

/* ---- the drain thread ---- */

/* It begins with the last steps that it is to hold, `n_more` of them less, and not before
 * `least_begin`. Returns its begin, and how many steps have ended since; 0: it does not stand, or
 * windows have to be written first. */
static uint64_t forget(uint64_t n_more, uint64_t least_begin, uint64_t *n_left)
{
	uint64_t begin = 0, first;

	*n_left = 0;
	if (!tp_session_enter())
		return 0;
	if (recorder()->begin && tp_ring.head->windows_begun ==
					 __atomic_load_n(&tp_ring.head->windows_written, __ATOMIC_RELAXED)) {
		first = first_wanted();
		if (first < recorder()->first_step)
			first = recorder()->first_step;
		move_to(first + n_more);
		if (least_begin > recorder()->begin)
			__atomic_store_n(&recorder()->begin, least_begin, __ATOMIC_RELEASE);
		begin = recorder()->begin;
		*n_left = session->steps - recorder()->first_step;
	}
	tp_spin_unlock(&session->lock);
	return begin;
}

/* One pass: what ended before. */
struct pass {
	uint64_t begin, n;
};

static uint32_t take_old(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	struct pass *pass = ctx;
	uint32_t i = 0;

	while (i < n && tp_rec_end(&rec[i]) < pass->begin)
		i++;
	pass->n += i;
	return i;
}

/* Returns how many records it gave up. */
static uint64_t forget_before(uint64_t begin)
{
	struct pass pass = {.begin = begin};

	tp_ring_take(take_old, &pass);
	tp_ring_release(0, 0);
	/* No file knows a slot's number meanwhile. */
	tp_ring_reap(true);
	return pass.n;
}

/* More of it than leaves room for what comes until the next look. Chunks that threads still write
 * to do not count: there may be many of them with little in each. */
static bool is_crowded(void)
{
	return tp_ring_chunks_full() * 8 >= tp_ring.head->n_chunks * 3;
}

static void count_overwritten(uint64_t n)
{
	__atomic_fetch_add(&tp_ring.head->recorder_overwritten, n, __ATOMIC_RELAXED);
}

bool tp_session_recorder_trim(void)
{
	uint64_t n_left, begin = forget(0, 0, &n_left);

	if (!begin)
		return false;
	forget_before(begin);
	while (n_left && is_crowded() &&
	       (begin = forget(1 + n_left / 8, 0, &n_left)))
		count_overwritten(forget_before(begin));
	for (uint32_t i = 0; i < HALVINGS && begin && is_crowded(); i++) {
		begin += (tp_clock_now() - begin) / 2;
		begin = forget(0, begin, &n_left);
		count_overwritten(forget_before(begin));
	}
	return true;
}
