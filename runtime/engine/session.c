/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - step boundaries become phases and windows
 *
 * Everything here happens on the thread that crosses a boundary, inside some hook of the
 * guest: numbers change under a spin lock for a fraction of a microsecond. Probes are armed and
 * disarmed outside of it, because they call into torch. Should another boundary come
 * meanwhile (from another thread), it only says what it wants; the thread that is switching sees
 * to it. So nobody waits for anybody, and the last word is the newest.
 *
 * Opening and closing are in life.c, what is different in workers in session_follow.c.
 */
#include "runtime/engine/session.h"

#include <string.h>

#include "runtime/base/log.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session_state.h"
#include "runtime/engine/step/step.h"

struct tp_session_state tp_session_state = {.lock = {.rank = TP_LOCK_SESSION}};

static struct tp_session_state *const session = &tp_session_state;

bool tp_session_is_open(void)
{
	return tp_own_words.is_ours &&
	       __atomic_load_n(&session->state, __ATOMIC_ACQUIRE) == TP_SESSION_OPEN;
}

/* ---- windows ---- */

void tp_session_lose_window(void)
{
	__atomic_fetch_add(&session->n_windows_lost, 1, __ATOMIC_RELAXED);
}

uint32_t tp_session_windows_lost(void)
{
	return __atomic_load_n(&session->n_windows_lost, __ATOMIC_RELAXED);
}

uint64_t tp_session_stall(uint32_t window)
{
	return __atomic_load_n(&session->stall[window % TP_RING_WINDOWS], __ATOMIC_RELAXED);
}

uint64_t tp_session_announce(uint64_t now)
{
	uint32_t *turn = &tp_ring.head->window_turn;
	uint64_t taken;

	__atomic_store_n(turn, *turn | 1, __ATOMIC_RELAXED);
	taken = tp_clock_after_stores();
	return taken > now ? taken : now;
}

void tp_session_settle(bool is_begun)
{
	uint32_t *turn = &tp_ring.head->window_turn;

	if (*turn & 1)
		__atomic_store_n(turn, is_begun ? *turn + 1 : *turn - 1, __ATOMIC_RELEASE);
}

static void begin_window(uint64_t now)
{
	struct tp_ring_head *head = tp_ring.head;
	uint32_t window = head->windows_begun;
	struct tp_ring_window *facts = tp_ring_window_at(window);

	if (window - __atomic_load_n(&head->windows_written, __ATOMIC_ACQUIRE) >=
	    TP_RING_WINDOWS) {
		tp_session_lose_window();
		tp_warn_once("windows end faster than they can be written: some are not recorded");
		return;
	}
	facts->first_step = session->steps;
	facts->in_epoch = session->in_epoch;
	facts->epoch = session->epoch;
	facts->opened_by = session->action.is_extra ? TP_OPENED_TRIGGER : TP_OPENED_SCHEDULE;
	facts->end_step = 0;
	__atomic_store_n(&facts->end, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&facts->begin, now, __ATOMIC_RELAXED);
	/* Release: who sees that it has begun sees its entry. */
	__atomic_store_n(&head->windows_begun, window + 1, __ATOMIC_RELEASE);
	session->is_window = true;
}

void tp_session_end_window(uint64_t now, uint64_t end_step)
{
	struct tp_ring_window *facts = tp_ring_window_at(tp_ring.head->windows_begun - 1);

	facts->end_step = end_step;
	__atomic_store_n(&facts->end, now ? now : 1, __ATOMIC_RELEASE);
	session->is_window = false;
	session->has_ended = true;
	session->is_bell_due = true;
}

/* Does the step after this one begin a window, as far as the schedule knows now? */
static bool is_window_next(void)
{
	struct tp_sched_action next = tp_sched_with(&session->config->schedule, &session->extra,
						    session->at + 1, session->steps + 1);

	return next.phase == TP_PHASE_ACTIVE &&
	       (session->action.phase != TP_PHASE_ACTIVE || session->action.is_last_active);
}

static void set_step_begin(uint64_t now)
{
	session->step_begin = now;
	__atomic_store_n(&tp_ring.head->step_begin, now, __ATOMIC_RELAXED);
}

/* The step that begins now gets its phase; `is_new`: whatever came before, a cycle begins. */
static void enter_step(uint64_t now, bool is_new)
{
	struct tp_ring_head *head = tp_ring.head;
	uint32_t n_begun = head->windows_begun;
	struct tp_sched_action last = session->action;
	struct tp_sched_action action = tp_sched_with(&session->config->schedule, &session->extra,
						      session->at, session->steps);
	bool is_active = action.phase == TP_PHASE_ACTIVE;

	session->action = action;
	/* What was asked for by steps of the run knows no epochs. */
	if (last.is_extra && action.is_extra && !last.is_last_active)
		is_new = false;
	if (session->is_window && (!is_active || last.is_last_active || is_new))
		tp_session_end_window(now, session->steps);
	if (is_active && (last.phase != TP_PHASE_ACTIVE || last.is_last_active || is_new))
		begin_window(now);
	tp_session_settle(head->windows_begun != n_begun);
	set_step_begin(now);
	session->level_wanted = is_active || action.phase == TP_PHASE_WARMUP ? TP_LEVEL_WINDOW
									    : TP_LEVEL_NONE;
	tp_session_recorder_follow(now);
	__atomic_store_n(&head->phase, action.phase, __ATOMIC_RELEASE);
	__atomic_store_n(&head->epoch, session->epoch, __ATOMIC_RELAXED);
	__atomic_store_n(&head->in_epoch, (uint32_t)session->in_epoch, __ATOMIC_RELAXED);
}

static void tell_probes(enum tp_session_level level, bool is_armed)
{
	for (uint32_t i = 0; session->probes[i]; i++) {
		const struct tp_probe *probe = session->probes[i];
		void (*tell)(void) = is_armed ? probe->arm : probe->disarm;

		if (tell && (level == TP_LEVEL_WINDOW || probe->is_for_recorder))
			tell();
	}
}

/* Brings the probes to what is wanted; the lock is held on entry and on return. */
static void switch_probes(void)
{
	if (session->is_switching)
		return;
	session->is_switching = true;
	while (session->level != session->level_wanted) {
		enum tp_session_level last = session->level, level = session->level_wanted;

		session->level = level;
		session->is_bell_due |= last == TP_LEVEL_WINDOW || level == TP_LEVEL_WINDOW;
		__atomic_store_n(&tp_own_words.level, level, __ATOMIC_RELEASE);
		tp_spin_unlock(&session->lock);
		if (last != TP_LEVEL_NONE)
			tell_probes(last, false);
		if (level != TP_LEVEL_NONE)
			tell_probes(level, true);
		tp_spin_lock(&session->lock);
	}
	session->is_switching = false;
}

void tp_session_leave(uint64_t entered)
{
	uint32_t ended = tp_ring.head->windows_begun - 1 - session->is_window;
	bool has_ended = session->has_ended, is_bell_due;

	session->has_ended = false;
	switch_probes();
	is_bell_due = session->is_bell_due;
	session->is_bell_due = false;
	tp_spin_unlock(&session->lock);
	if (is_bell_due)
		tp_ring_ring_bell();
	if (has_ended)
		__atomic_store_n(&session->stall[ended % TP_RING_WINDOWS],
				 tp_clock_now() - entered, __ATOMIC_RELAXED);
}

bool tp_session_enter(void)
{
	if (!tp_session_is_open())
		return false;
	tp_spin_lock(&session->lock);
	if (tp_session_is_open())
		return true;
	tp_spin_unlock(&session->lock);
	return false;
}

/* The same; also false in a worker, where nothing but the rank's steps counts. */
static bool enter_boundary(void)
{
	if (!tp_session_enter())
		return false;
	if (!session->is_follower)
		return true;
	tp_spin_unlock(&session->lock);
	return false;
}

void tp_session_step(uint64_t now, const struct tp_step_facts *facts)
{
	uint64_t entered = tp_clock_now();

	if (!enter_boundary())
		return;
	if (is_window_next())
		now = tp_session_announce(now);
	tp_session_finish_step(now, facts);
	enter_step(now, false);
	tp_session_leave(entered);
}

/* A cycle begins with the step that began at `begun`. It may be told late, even at the end of that step: what
 * is recorded turns now. */
static void begin_cycle(uint64_t begun)
{
	enter_step(tp_session_announce(begun), true);
	set_step_begin(begun);
}

/* What was taken for a step so far, or for the time before the first, was none. */
static void move_begin(uint64_t now)
{
	set_step_begin(now);
	/* A window over everything has begun before, and keeps what was recorded since. */
	if (session->is_window && !session->config->schedule.always) {
		struct tp_ring_window *facts = tp_ring_window_at(tp_ring.head->windows_begun - 1);

		if (facts->first_step == session->steps)
			__atomic_store_n(&facts->begin, now, __ATOMIC_RELEASE);
	}
}

void tp_session_epoch(uint64_t now)
{
	const struct tp_sched_spec *spec = &session->config->schedule;
	uint64_t entered = tp_clock_now();

	if (!enter_boundary())
		return;
	if (session->in_epoch == 0) {
		move_begin(now);
	} else {
		session->epoch++;
		session->in_epoch = 0;
		if (spec->per_run || spec->always) {
			move_begin(now);
		} else {
			session->at = 0;
			begin_cycle(now);
		}
	}
	tp_session_leave(entered);
}

void tp_session_restart(uint64_t now)
{
	uint64_t entered = tp_clock_now();

	if (!enter_boundary())
		return;
	session->at = 0;
	if (session->config->schedule.always)
		move_begin(now);
	else
		begin_cycle(now);
	tp_session_leave(entered);
}

void tp_session_lead(uint64_t now)
{
	uint64_t entered = tp_clock_now();

	if (!tp_session_enter())
		return;
	if (session->is_follower) {
		__atomic_store_n(&session->is_follower, false, __ATOMIC_RELEASE);
		session->action = (struct tp_sched_action){0};
		/* A window over everything goes on; of the rank's others this one ends here. */
		if (session->config->schedule.always && session->is_window)
			session->action.phase = TP_PHASE_ACTIVE;
		else
			enter_step(tp_session_announce(now), true);
		session->step_begin = now;
	}
	tp_session_leave(entered);
}

void tp_session_lose(void)
{
	uint32_t open = TP_SESSION_OPEN;

	/* Who is closing it goes on: the drain thread ends. */
	if (!tp_session_enter())
		return;
	session->is_window = false;
	session->level_wanted = TP_LEVEL_NONE;
	switch_probes();
	__atomic_compare_exchange_n(&session->state, &open, TP_SESSION_CLOSED, false,
				    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	tp_spin_unlock(&session->lock);
}

/* ---- windows that were asked for ---- */

enum tp_sched_asked tp_session_ask(uint64_t from, uint64_t to)
{
	enum tp_sched_asked asked = TP_SCHED_ASKED_OK;
	uint64_t entered = tp_clock_now();

	if (!enter_boundary())
		return TP_SCHED_ASKED_MISSED;
	/* The step in progress keeps its phase: the next one is the first that can be in it. */
	if (to <= session->steps + 1)
		asked = TP_SCHED_ASKED_MISSED;
	else if (from <= session->steps)
		asked = TP_SCHED_ASKED_LATE;
	if (asked != TP_SCHED_ASKED_MISSED)
		session->extra = (struct tp_sched_extra){from, to, session->extra.stop};
	tp_session_leave(entered);
	return asked;
}

void tp_session_stop(uint64_t from)
{
	struct tp_sched_extra *extra = &session->extra;
	uint64_t entered = tp_clock_now();

	if (!enter_boundary())
		return;
	extra->stop = from;
	if (extra->to > from)
		extra->to = from;
	if (extra->from > from)
		extra->from = from;
	tp_session_leave(entered);
}

uint64_t tp_session_steps(void)
{
	return __atomic_load_n(&tp_ring.head->steps_done, __ATOMIC_RELAXED);
}

bool tp_session_is_asked_over(void)
{
	/* Written by the drain thread alone, which is the one that asks. */
	return tp_session_steps() >= session->extra.to;
}

/* ---- for life.c ---- */

void tp_session_begin(uint64_t now)
{
	tp_spin_lock(&session->lock);
	session->dropped = tp_ring_dropped();
	if (session->is_follower) {
		tp_session_follow_root(now, false);
	} else {
		enter_step(tp_session_announce(now), true);
		if (session->level_wanted != TP_LEVEL_WINDOW)
			__atomic_store_n(&tp_ring.head->phase, TP_PHASE_STARTUP, __ATOMIC_RELEASE);
	}
	tp_session_leave(now);
}

void tp_session_end(uint64_t now, bool is_locked)
{
	/* The rank's boundary counts, when it has been there. */
	if (session->is_follower && is_locked)
		tp_session_follow_root(now, false);
	if (session->is_window)
		tp_session_end_window(now, session->steps);
	__atomic_store_n(&tp_own_words.level, TP_LEVEL_NONE, __ATOMIC_RELEASE);
}

void tp_session_reset(void)
{
	const struct tp_session_state none = {.lock = {.rank = TP_LOCK_SESSION}};

	__atomic_store_n(&tp_own_words.level, TP_LEVEL_NONE, __ATOMIC_RELAXED);
	memcpy(session, &none, sizeof(none));
}
