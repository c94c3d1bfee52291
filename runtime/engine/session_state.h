/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_state.h - the inside of a session, shared by session*.c and life.c only
 */
#ifndef TP_ENGINE_SESSION_STATE_H
#define TP_ENGINE_SESSION_STATE_H

#include "runtime/base/sync.h"
#include "runtime/engine/session.h"
#include "runtime/trace/ring_layout.h"

enum tp_session_life {
	TP_SESSION_NONE = 0,
	TP_SESSION_OPENING = 1,
	TP_SESSION_OPEN = 2,
	TP_SESSION_CLOSING = 3,
	TP_SESSION_CLOSED = 4,
};

struct tp_session_state {
	uint32_t state;			/* atomic: enum tp_session_life */
	const struct tp_config *config;	/* these four do not change while it is open */
	const struct tp_probe *const *probes;
	uint32_t step_name;
	uint32_t closer_tid;

	struct tp_spin lock;		/* all that follows */
	uint64_t steps;			/* finished, whole run */
	uint64_t at;			/* position in the schedule of the step in progress */
	uint64_t in_epoch;		/* number of the step in progress */
	uint32_t epoch;
	uint64_t step_begin;
	uint32_t step_tid;		/* atomic: the thread that crossed the last boundary */
	uint64_t dropped;		/* records, at the last boundary */
	struct tp_sched_action action;	/* of the step in progress */
	struct tp_sched_extra extra;	/* the window that was asked for last */
	bool is_window;			/* one is open: the last of head->windows_begun */
	enum tp_session_level level_wanted, level; /* what the probes should be told, and were told */
	bool is_switching;		/* a thread is telling them */
	bool is_bell_due;		/* the drain should look */
	bool has_ended;			/* a window, at the boundary being crossed */
	bool has_fired;			/* the flight recorder, before */
	uint32_t n_windows_lost;	/* atomic */
	uint64_t stall[TP_RING_WINDOWS];/* atomic; ticks */

	bool is_follower;		/* atomic; a worker's session */
	uint64_t since;			/* of a follower: when it was opened, or saw its last window end */
};
extern struct tp_session_state tp_session_state __attribute__((visibility("hidden")));

/* Takes the lock; false: there is no session. */
bool tp_session_enter(void);
/* Tells the probes what changed since tp_session_enter, at `entered`, and gives the lock back. */
void tp_session_leave(uint64_t entered);
/* The step in progress is over: into the ring of steps, and a record where one is wanted. Under the lock. */
void tp_session_finish_step(uint64_t now, const struct tp_step_facts *facts);
/* A window was due, but TP_RING_WINDOWS earlier ones are not written yet. */
void tp_session_lose_window(void);
/* The window that is open ends; `end_step`: the first step after it. Under the lock. */
void tp_session_end_window(uint64_t now, uint64_t end_step);

/*
 * A boundary that may begin a window says so before it takes its time: a thread that did not see
 * it has an event from before, one that sees it makes the stacks of its event anew
 * (stack_tree.c), and the drain throws nothing away until it is settled. Returns the
 * boundary's time. Under the lock.
 */
uint64_t tp_session_announce(uint64_t now);
/* `is_begun`: there was one; else the stacks that threads have are good for what comes. */
void tp_session_settle(bool is_begun);

/* ---- session_follow.c ---- */

/* The session that is being opened is a worker's, whose time begins `now`. */
void tp_session_follow_begin(uint64_t now);
/* Before the drain thread starts: which of the root's windows is the first of ours. */
void tp_session_follow_init(void);
/* What the root did since the last time. True: anything. Under the lock. `is_drain`: on the
 * drain thread. */
bool tp_session_follow_root(uint64_t now, bool is_drain);

/* ---- session_recorder.c, all under the lock ---- */

/* A step begins: the flight recorder stands beside the windows, and says what level it wants. */
void tp_session_recorder_follow(uint64_t now);
bool tp_session_recorder_is_on(void);
/* What the flight recorder holds becomes a window, which is over. */
void tp_session_recorder_fire(uint64_t now, const char *why);

/* The run's first step begins, until something better is known. The session is open. */
void tp_session_begin(uint64_t now);
/* The window in progress ends. Under the lock; without, when that was not to be had. */
void tp_session_end(uint64_t now, bool is_locked);
/* To the state TP_SESSION_NONE, in the child of fork. */
void tp_session_reset(void);

#endif
