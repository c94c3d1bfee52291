/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leader.h - which of several optimizers ends the training step
 *
 * The first one seen leads. When each round turns out to end with another one that comes
 * once (a GAN's two networks, Muon beside AdamW, an optimizer per parameter), that one leads
 * from then on: the step then ends where the iteration does. When the leader stops while
 * another goes on, the lead passes to that one: at once where it had always been alone and the
 * other one steps in an iteration of its own (a new optimizer for each epoch, fold or image), and
 * back at once if it was a visitor. When each iteration has another one (a new optimizer in each
 * step, inner ones of meta-learning), nobody leads: each ends a step. Pure; the caller has the lock.
 */
#ifndef TP_ENGINE_LEADER_H
#define TP_ENGINE_LEADER_H

#include <stdbool.h>
#include <stdint.h>

struct tp_leader {
	uint64_t who;			/* valid when has_leader */
	bool has_leader, is_settled;	/* settled: the end of the round is known, or not to be */
	bool is_nobody;			/* each ends a step */
	uint32_t n_alone;		/* whole rounds of the leader alone, the last ones; up to a limit */

	/* Whose place the leader took at once, until it steps again. */
	uint64_t former;
	bool has_former;
	bool is_shared;			/* one such place was not free: never again */

	/* The round in progress: what stepped since the leader did. */
	uint64_t last;			/* the last other one; where nobody leads the last of all */
	uint32_t n_others;
	uint32_t n_strangers;		/* with iterations of their own, but the rival */
	uint64_t stranger;		/* the last one that counted */
	uint32_t n_same;		/* steps of `last` in a row */
	uint64_t expected;		/* the last one of the round before */
	bool has_expected;
	uint32_t n_expected;		/* how often it came in this round */

	/* Another one that may have to take over. */
	uint64_t rival;
	uint32_t n_rival, most_rival;	/* in this round; in any whole round */
};

/* A step of optimizer `who` ended; has_iteration: since the step of any before it there was a batch, or its
 * zero_grad. True: the training step ended with it. */
bool tp_leader_step(struct tp_leader *leader, uint64_t who, bool has_iteration);

#endif
