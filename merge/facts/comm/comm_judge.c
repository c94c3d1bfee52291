/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_judge.c - which rank keeps the others waiting, and what it does meanwhile
 *
 * The culprit, not the victims: a rank that comes last in most steps, or in every n-th (it writes a
 * checkpoint, it evaluates), far behind the last but one, and far more so than any other rank (less far,
 * where it is late in each step). What is
 * left are accidents of a busy machine, of which nobody is accused; nor is who comes late without doing
 * anything longer than the others do. A bad network does not make its rank come late, it makes others
 * wait with it: there, all transfers are slow that the rank has a part in, and the same ones without it
 * are not.
 */
#include "merge/facts/comm/comm.h"

#include <stdlib.h>

#include "merge/kit/stats.h"
#include "merge/kit/sum.h"

enum {
	LATE_PERCENT = 5,	/* of its steps' time; less is nothing to speak of, */
	LATE_LEAST_NS = 1000000, /* nor is less than that a step: schedulers are no better */
	LATE_TIMES = 3,		/* what any other rank is late, */
	ALWAYS_TIMES = 2,	/* where it is late in each of its steps, */
	ALWAYS_LEAST = 4,	/* so many of them at least */
	LINK_TIMES = 2,		/* what any other rank's transfers are slow */
	LAST_LEAST = 3,		/* last in so many collectives, at least */
	EXPLAINED = 2,		/* what it does longer explains one of so many parts of its lateness, */
	EXPLAINED_BY_ONE = 4,	/* and the cause alone one of so many */
	STEADY_PERCENT = 70,	/* of a few steps it is late in so many, */
	OFTEN_PERCENT = 20,	/* and of MANY_STEPS */
	MANY_STEPS = 20,
	PERIODS_LEAST = 3,	/* or in so many at even distances, */
	PERIOD_TIMES = 3,	/* where it is late by one of so many parts of the most, */
	PERIOD_PART = 4,	/* and distances differ by one of so many parts */
};

static int64_t per_step(const struct tp_comm_rank *rank, enum tp_category category)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < rank->n_steps; i++)
		sum = tp_add(sum, rank->step[i].ns[category]);
	return rank->n_steps ? sum / rank->n_steps : 0;
}

const char *tp_comm_cause_text(const struct tp_comm_verdict *verdict)
{
	if (verdict->is_network)
		return "its network";
	switch (verdict->cause) {
	case TP_CAT_KERNEL:
		return "its kernels";
	case TP_CAT_MEMCPY:
	case TP_CAT_MEMSET:
		return "copies on its device";
	case TP_CAT_RUNTIME:
		return "calls of CUDA";
	case TP_CAT_DATA:
		return "loading data";
	case TP_CAT_CPU:
		return "operators on the host";
	default:
		return "host code outside operators";
	}
}

/* What the rank does longer than the others' median does. Communication is no cause: it is
 * where the others wait. Returns how much longer all of it is. */
static int64_t find_cause(const struct tp_comm_rank *rank, uint32_t n_ranks,
			  struct tp_comm_verdict *verdict)
{
	int64_t *other = malloc((n_ranks + 1) * sizeof(*other)), sum = 0;

	for (uint32_t category = 0; other && category < TP_CAT_N; category++) {
		int64_t excess;
		uint32_t n = 0;

		if (category == TP_CAT_COMM)
			continue;
		for (uint32_t i = 0; i < n_ranks; i++)
			if (&rank[i] != verdict->rank && rank[i].n_steps)
				other[n++] = per_step(&rank[i], category);
		if (!n)
			break;
		tp_sort_i64(other, n);
		excess = tp_sub(per_step(verdict->rank, category), other[n / 2]);
		sum = tp_add(sum, excess > 0 ? excess : 0);
		if (excess > verdict->excess_ns) {
			verdict->excess_ns = excess;
			verdict->usual_ns = other[n / 2];
			verdict->cause = category;
		}
	}
	free(other);
	return sum;
}

static int64_t find_wall(const struct tp_comm_rank *rank)
{
	int64_t wall = 0;

	for (uint32_t i = 0; i < rank->n_steps; i++)
		wall = tp_add(wall, tp_sub(rank->step[i].end_ns, rank->step[i].begin_ns));
	return wall;
}

static uint32_t count_late(const struct tp_comm_rank *rank, int64_t least_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rank->n_steps; i++)
		n += rank->step_late[i] > least_ns;
	return n;
}

/* Much later in every n-th step than in the others, from the first recorded ones to the last: it writes a
 * checkpoint, it evaluates. */
static bool is_late_by_periods(const struct tp_comm_rank *rank, int64_t least_ns)
{
	int64_t most_ns = 0, nearest = INT64_MAX, farthest = 0;
	uint32_t n = 0, first = 0, last = 0;

	for (uint32_t i = 0; i < rank->n_steps; i++)
		most_ns = rank->step_late[i] > most_ns ? rank->step_late[i] : most_ns;
	if (most_ns / PERIOD_TIMES > least_ns)
		least_ns = most_ns / PERIOD_TIMES;
	for (uint32_t i = 0; i < rank->n_steps; i++) {
		int64_t distance = (int64_t)(rank->step[i].index - rank->step[last].index);

		if (rank->step_late[i] <= least_ns)
			continue;
		if (n++) {
			nearest = distance < nearest ? distance : nearest;
			farthest = distance > farthest ? distance : farthest;
		} else {
			first = i;
		}
		last = i;
	}
	/* Steps beside each other are one hold-up. */
	return n >= PERIODS_LEAST && nearest > 1 && farthest - nearest <= nearest / PERIOD_PART &&
	       first <= farthest && rank->n_steps - 1 - last <= farthest;
}

/* Once held up by other work of its machine, a rank is late once, however much. */
static bool is_often_late(const struct tp_comm_rank *rank, int64_t step_ns)
{
	uint32_t percent = rank->n_steps < MANY_STEPS ? STEADY_PERCENT : OFTEN_PERCENT;
	int64_t least_ns = step_ns / 100 * LATE_PERCENT;

	return (uint64_t)count_late(rank, least_ns) * 100 >= (uint64_t)rank->n_steps * percent ||
	       is_late_by_periods(rank, least_ns);
}

static int64_t times_of_others(const struct tp_comm_rank *rank, int64_t step_ns)
{
	const bool is_always = rank->n_steps >= ALWAYS_LEAST &&
			       count_late(rank, step_ns / 100 * LATE_PERCENT) == rank->n_steps;

	return is_always ? ALWAYS_TIMES : LATE_TIMES;
}

static void judge_late(const struct tp_comm_rank *rank, uint32_t n_ranks,
		       struct tp_comm_verdict *verdict)
{
	const struct tp_comm_rank *worst = NULL;
	int64_t others = 0, wall_ns, explained_ns;

	for (uint32_t i = 0; i < n_ranks; i++)
		if (!worst || rank[i].late_ns > worst->late_ns)
			worst = &rank[i];
	if (!worst || !worst->n_steps)
		return;
	for (uint32_t i = 0; i < n_ranks; i++)
		if (&rank[i] != worst && rank[i].late_ns > others)
			others = rank[i].late_ns;
	wall_ns = find_wall(worst);
	if (worst->n_last < LAST_LEAST ||
	    worst->late_ns / times_of_others(worst, wall_ns / worst->n_steps) < others ||
	    worst->late_ns < wall_ns / 100 * LATE_PERCENT ||
	    !is_often_late(worst, wall_ns / worst->n_steps))
		return;
	verdict->late_step_ns = worst->late_ns / worst->n_steps;
	if (verdict->late_step_ns < LATE_LEAST_NS)
		return;
	verdict->rank = worst;
	explained_ns = find_cause(rank, n_ranks, verdict);
	if (explained_ns < verdict->late_step_ns / EXPLAINED ||
	    verdict->excess_ns < verdict->late_step_ns / EXPLAINED_BY_ONE)
		verdict->rank = NULL;
}

static void judge_links(const struct tp_comm_rank *rank, uint32_t n_ranks,
			struct tp_comm_verdict *verdict)
{
	const struct tp_comm_rank *worst = NULL;
	int64_t others = 0;

	for (uint32_t i = 0; i < n_ranks; i++)
		if (rank[i].link_ns > 0 && (!worst || rank[i].link_ns > worst->link_ns))
			worst = &rank[i];
	if (!worst || !worst->n_steps)
		return;
	for (uint32_t i = 0; i < n_ranks; i++)
		if (&rank[i] != worst && rank[i].link_ns > others)
			others = rank[i].link_ns;
	/* Two ranks that only talk to each other: it may be either. */
	if (worst->link_ns / LINK_TIMES < others ||
	    worst->link_ns < find_wall(worst) / 100 * LATE_PERCENT)
		return;
	verdict->rank = worst;
	verdict->is_network = true;
	verdict->excess_ns = verdict->late_step_ns = worst->link_ns / worst->n_steps;
}

void tp_comm_judge(const struct tp_comm_rank *rank, uint32_t n_ranks,
		   struct tp_comm_verdict *verdict)
{
	*verdict = (struct tp_comm_verdict){.cause = TP_CAT_N};
	judge_late(rank, n_ranks, verdict);
	if (!verdict->rank) {
		*verdict = (struct tp_comm_verdict){.cause = TP_CAT_N};
		judge_links(rank, n_ranks, verdict);
	}
}
