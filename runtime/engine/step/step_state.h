/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_state.h - what the files of the step's state machine share: the state, and what it tells the session
 *
 * Of step.c, step_loader.c and step_tell.c only. All of tp_step_state is read and written under its lock;
 * what the session is to be told is collected there, and told after it.
 */
#ifndef TP_ENGINE_STEP_STATE_H
#define TP_ENGINE_STEP_STATE_H

#include "runtime/base/sync.h"
#include "runtime/engine/step/leader.h"
#include "runtime/engine/step/passes.h"
#include "runtime/engine/step/step.h"
#include "runtime/engine/step/usage.h"
#include "runtime/engine/step/zero_grad.h"

enum { TP_STEP_ACCUMULATED = 2048 };	/* batches to a step of an optimizer: more may be something else */

struct tp_step_state {
	struct tp_spin lock;		/* of all below */
	struct tp_step_spec spec;
	struct tp_step_out out;
	uint64_t ticks_per_ms;

	enum tp_step_source source;	/* NONE: not found yet */
	bool is_auto, has_begun;
	bool has_optimizer;		/* one was seen, ever */
	bool has_events;		/* anything but the clock was, or it is not to be guessed */
	uint64_t n_steps;
	struct tp_step_usage step;	/* the one in progress */
	uint64_t n_at_pass;		/* steps when the last pass that may begin an epoch did */
	uint64_t n_of_pass;		/* steps of the last pass that had any */

	struct tp_leader leader;
	struct tp_passes passes;
	struct tp_zero_grad zero;
	uint64_t zeroed;		/* whose zero_grad was the last since an optimizer; 0: nobody's */

	/* The loader as source, or as measure of an optimizer that stopped. */
	uint64_t loader;
	uint32_t n_other_loader;	/* calls of another one since */
	uint64_t n_loader_calls;	/* without anything better, since the start */
	uint64_t n_since_optimizer;	/* batches */
	uint32_t n_accumulated;		/* of these, those that count: whoever ended steps meanwhile */
	uint32_t most_batches;		/* that were accumulated for a step of the optimizer's */

	uint64_t clock_begin;		/* first tick; 0: none yet */
	char clock_text[64], range_text[160];
};
extern struct tp_step_state tp_step_state __attribute__((visibility("hidden")));

/* What this thread is inside of. Outermost spans are known by their begin: a lost end must
 * not make everything after it look nested. */
struct tp_step_self {
	uint64_t optimizer_begin, loader_begin;	/* 0: not inside */
	uint64_t optimizer, loader;		/* identities of the outermost */
	uint64_t pass;				/* of that loader, see passes.h */
	uint8_t is_counted;			/* loader times: 0 not known yet, 1 no, 2 yes */
};
extern __thread struct tp_step_self tp_step_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* ---- what one call tells the session, after the lock ---- */

enum { TP_STEP_TELLS = 3 };

struct tp_step_tell {
	enum { TP_TELL_STEP, TP_TELL_EPOCH, TP_TELL_RESTART } what;
	uint64_t now;
	struct tp_step_facts facts;
};

struct tp_step_tells {
	struct tp_step_tell tell[TP_STEP_TELLS];
	uint32_t n;
};

/* Gives the lock back and tells. */
void tp_step_unlock(const struct tp_step_tells *tells);

/* The first thing seen begins the first step. */
void tp_step_begin_run(struct tp_step_tells *tells, uint64_t now);
void tp_step_begin_epoch(struct tp_step_tells *tells, uint64_t now);
/* A better source of steps: what was counted so far were none. */
void tp_step_restart(struct tp_step_tells *tells, uint64_t now);
/* A pass begins that may begin an epoch: not when passes are one step long. */
bool tp_step_is_epoch(void);
void tp_step_end(struct tp_step_tells *tells, uint64_t now, uint8_t flags);

#endif
