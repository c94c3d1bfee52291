/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leader.c - which of several optimizers ends the training step
 *
 * Identities only, no names, no times: a few words of state however many optimizers there
 * are (a model may have one for each of its thousand parameters).
 */
#include "runtime/engine/step/leader.h"

enum {
	/* Steps of a rival without one of the leader, before any whole round told what is usual:
	 * more than the critic of a GAN takes in one round. Where nobody leads, so many make a leader. */
	RIVAL_FIRST_LIMIT = 16,
	ALONE_LEAST = 4,	/* rounds of the leader alone: its place can be taken at once */
	STRANGERS_MOST = 8,	/* in a round: then nobody leads */
};

static void begin_round(struct tp_leader *leader)
{
	leader->n_others = 0;
	leader->n_strangers = leader->n_same = 0;
	leader->n_expected = 0;
	leader->n_rival = 0;
}

static void lead(struct tp_leader *leader, uint64_t who, bool is_settled)
{
	leader->who = who;
	leader->has_leader = true;
	leader->is_nobody = false;
	leader->is_settled = is_settled;
	leader->has_expected = false;
	leader->has_former = false;
	leader->most_rival = 0;
	leader->n_alone = 0;
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
	if (leader->n_others)
		leader->n_alone = 0;
	else if (leader->n_alone < ALONE_LEAST)
		leader->n_alone++;
	leader->has_former = false;
	leader->has_expected = leader->n_others > 0;
	leader->expected = leader->last;
	if (leader->n_rival > leader->most_rival)
		leader->most_rival = leader->n_rival;
	begin_round(leader);
	return true;
}

/* The place of one that was always alone is taken at once, or given back to it. */
static bool change_at_once(struct tp_leader *leader, uint64_t who, bool has_iteration)
{
	const uint64_t former = leader->who;

	if (leader->has_former && who == leader->former) {
		/* Inside its iteration: both belong to one step. */
		leader->is_shared |= !has_iteration;
		lead(leader, who, false);
		return true;
	}
	if (!has_iteration || leader->is_shared || leader->n_others || leader->n_alone < ALONE_LEAST)
		return false;
	lead(leader, who, false);
	leader->former = former;
	leader->has_former = true;
	return true;
}

static void note_last(struct tp_leader *leader, uint64_t who)
{
	leader->n_same = leader->n_same && who == leader->last ? leader->n_same + 1 : 1;
	leader->last = who;
}

static bool is_stranger(const struct tp_leader *leader, uint64_t who)
{
	return !(leader->n_strangers && who == leader->stranger) &&
	       !(leader->n_rival && who == leader->rival);
}

/* Another one than the leader steps. True: it leads from now on. */
static bool take_rival(struct tp_leader *leader, uint64_t who)
{
	const uint32_t limit = leader->most_rival ? 2 * leader->most_rival + 2 : RIVAL_FIRST_LIMIT;

	if (!leader->n_rival)
		leader->rival = who;
	if (!(who == leader->rival && ++leader->n_rival >= limit) && leader->n_same < limit)
		return false;
	lead(leader, who, true);
	return true;
}

/* Nobody leads: until one steps often enough without another. */
static void take_any(struct tp_leader *leader, uint64_t who)
{
	note_last(leader, who);
	if (leader->n_same >= RIVAL_FIRST_LIMIT)
		lead(leader, who, false);
}

bool tp_leader_step(struct tp_leader *leader, uint64_t who, bool has_iteration)
{
	if (!leader->has_leader) {
		lead(leader, who, false);
		return true;
	}
	if (leader->is_nobody) {
		take_any(leader, who);
		return true;
	}
	if (who == leader->who)
		return finish_round(leader);
	if (change_at_once(leader, who, has_iteration))
		return true;
	if (has_iteration && is_stranger(leader, who)) {
		leader->n_strangers++;
		leader->stranger = who;
	}
	note_last(leader, who);
	leader->n_others++;
	if (leader->has_expected && who == leader->expected)
		leader->n_expected++;
	if (take_rival(leader, who))
		return true;
	if (leader->n_strangers < STRANGERS_MOST)
		return false;
	leader->is_nobody = true;
	return true;
}
