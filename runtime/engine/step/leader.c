/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leader.c - which of several optimizers ends the training step
 *
 * Identities only, no names, no times: a few words of state however many optimizers there
 * are (a model may have one for each of its thousand parameters).
 */
#include "runtime/engine/step/leader.h"

/* Steps of a rival without one of the leader, before any whole round told what is usual:
 * more than the critic of a GAN takes in one round. */
enum { RIVAL_FIRST_LIMIT = 16 };

static void begin_round(struct tp_leader *leader)
{
	leader->n_others = 0;
	leader->n_expected = 0;
	leader->n_rival = 0;
}

static void lead(struct tp_leader *leader, uint64_t who, bool is_settled)
{
	leader->who = who;
	leader->has_leader = true;
	leader->is_settled = is_settled;
	leader->has_expected = false;
	leader->most_rival = 0;
	begin_round(leader);
}

/* A round is whole: does it end as the one before did, with one that came once? */
static bool is_end_confirmed(const struct tp_leader *leader)
{
	return !leader->is_settled && leader->has_expected && leader->n_others &&
	       leader->last == leader->expected && leader->n_expected == 1;
}

static bool finish_round(struct tp_leader *leader)
{
	if (is_end_confirmed(leader)) {
		/* Its own step follows in this very round and ends the training step. */
		lead(leader, leader->expected, true);
		return false;
	}
	leader->has_expected = leader->n_others > 0;
	leader->expected = leader->last;
	if (leader->n_rival > leader->most_rival)
		leader->most_rival = leader->n_rival;
	begin_round(leader);
	return true;
}

bool tp_leader_step(struct tp_leader *leader, uint64_t who)
{
	uint32_t limit = leader->most_rival ? 2 * leader->most_rival + 2 : RIVAL_FIRST_LIMIT;

	if (!leader->has_leader) {
		lead(leader, who, false);
		return true;
	}
	if (who == leader->who)
		return finish_round(leader);

	leader->last = who;
	leader->n_others++;
	if (leader->has_expected && who == leader->expected)
		leader->n_expected++;
	if (!leader->n_rival)
		leader->rival = who;
	if (who == leader->rival && ++leader->n_rival >= limit) {
		lead(leader, who, true);
		return true;
	}
	return false;
}
