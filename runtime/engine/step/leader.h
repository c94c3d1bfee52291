/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leader.h - which of several optimizers ends the training step
 *
 * The first one seen leads. When each round turns out to end with another one that comes
 * once (a GAN's two networks, Muon beside AdamW, an optimizer per parameter), that one leads
 * from then on: the step then ends where the iteration does. When the leader stops while
 * another goes on, the lead passes to that one. Pure; the caller has the lock.
 */
#ifndef TP_ENGINE_LEADER_H
#define TP_ENGINE_LEADER_H

#include <stdbool.h>
#include <stdint.h>

struct tp_leader {
	uint64_t who;			/* valid when has_leader */
	bool has_leader, is_settled;	/* settled: the end of the round is known, or not to be */

	/* The round in progress: what stepped since the leader did. */
	uint64_t last;			/* the last other one */
	uint32_t n_others;
	uint64_t expected;		/* the last one of the round before */
	bool has_expected;
	uint32_t n_expected;		/* how often it came in this round */

	/* Another one that may have to take over. */
	uint64_t rival;
	uint32_t n_rival, most_rival;	/* in this round; in any whole round */
};

/* A step of optimizer `who` ended. True: the training step ended with it. */
bool tp_leader_step(struct tp_leader *leader, uint64_t who);

#endif
