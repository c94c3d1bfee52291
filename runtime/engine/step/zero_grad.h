/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zero_grad.h - what calls of zero_grad tell: an optimizer that was passed over
 *
 * A gradient scaler that finds inf does not call the optimizer, so nothing ends the step. But
 * zero_grad goes on: two calls with a batch but no optimizer between them enclose a skipped
 * step. Without a loader, more calls than a whole step usually has tell the same. Pure; the
 * caller has the lock.
 */
#ifndef TP_ENGINE_ZERO_GRAD_H
#define TP_ENGINE_ZERO_GRAD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/step/leader.h"

struct tp_zero_grad {
	uint64_t who;			/* whose calls count; valid when has_any */
	bool has_any;
	bool is_after_batch;		/* zero_grad begins the iteration, else it ends it */
	bool had_batch;			/* between the last two calls that counted */
	uint32_t n_strangers;		/* calls of others in a row */
	uint32_t n_rounds;		/* calls that counted, since `who` does */

	bool has_batches, has_optimizer; /* ever */
	bool has_batch_since;		/* since the last call, or the last optimizer */
	bool has_optimizer_since;	/* since the last call */
	uint32_t n_in_step, n_before;	/* calls in this step, in the one before */
	uint32_t usual;			/* calls in a step; 0: not known */
	uint32_t usual_least;		/* as skips that came too regularly taught */

	/* Which it is, where no optimizer is seen: the iteration's work lies in the longer gap. */
	uint64_t last_call, last_batch;	/* time; 0: none */
	uint64_t from_batch, to_batch;	/* ticks between the end of a batch and the next call, */
					/* and between a call and the next batch; all of them */

	uint32_t n_skips;		/* in a row */
	uint32_t n_between, n_regular;	/* steps since the last skip; skips each one step apart */
};

/* Several optimizers have a zero_grad each: do the calls of this one count? */
bool tp_zero_grad_counts(struct tp_zero_grad *zero, uint64_t who, const struct tp_leader *leader);

/* A call that counts ended. True: a step ended since the last one, and its optimizer was
 * skipped (never before an optimizer was seen). */
bool tp_zero_grad_call(struct tp_zero_grad *zero, uint64_t now);

/* A batch came, asked for at `begin`; an optimizer ran; a step ended with its optimizer. */
void tp_zero_grad_batch(struct tp_zero_grad *zero, uint64_t begin, uint64_t now);
void tp_zero_grad_optimizer(struct tp_zero_grad *zero);
void tp_zero_grad_step(struct tp_zero_grad *zero);

#endif
