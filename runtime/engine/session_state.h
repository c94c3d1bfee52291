/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_state.h - the inside of a session, shared by session.c and session_open.c only
 */
#ifndef TP_ENGINE_SESSION_STATE_H
#define TP_ENGINE_SESSION_STATE_H

#include "runtime/base/sync.h"
#include "runtime/engine/session.h"

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
	uint64_t dropped;		/* records, at the last boundary */
	struct tp_sched_action action;	/* of the step in progress */
	bool is_window;			/* one is open: the last of head->windows_begun */
	bool is_arm_wanted, is_armed;	/* what the probes should be told, and were told */
	bool is_switching;		/* a thread is telling them */
	bool is_bell_due;		/* the drain should look */
	bool has_ended;			/* a window, at the boundary being crossed */
};
extern struct tp_session_state tp_session_state __attribute__((visibility("hidden")));

/* The run's first step begins, until something better is known. The session is open. */
void tp_session_begin(uint64_t now);
/* The window in progress ends. Under the lock. */
void tp_session_end(uint64_t now);
/* To the state TP_SESSION_NONE, in the child of fork. */
void tp_session_reset(void);

#endif
