/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_say.c - why a run hangs, from what its processes say of themselves
 */
#include <string.h>

#include "runtime/trace/hang.h"

enum { MOST_NAMED = 8 };	/* ranks that are named one by one */

struct reports {
	const struct tp_hang *hang;
	uint32_t n;
};

/* Of the ranks themselves, each once: what it said last. */
static bool is_rank(const struct reports *all, uint32_t i)
{
	const struct tp_hang *hang = &all->hang[i];

	if (hang->worker)
		return false;
	for (uint32_t k = 0; k < all->n; k++)
		if (k != i && !all->hang[k].worker && all->hang[k].rank == hang->rank &&
		    (all->hang[k].real_ns > hang->real_ns ||
		     (all->hang[k].real_ns == hang->real_ns && k < i)))
			return false;
	return true;
}

static void put_rank(struct tp_text *out, const struct tp_hang *hang)
{
	if (hang->rank >= 0)
		tp_text_fmt(out, "rank %d", hang->rank);
	else
		tp_text_fmt(out, "process %u", hang->pid);
}

static void put_seconds(struct tp_text *out, uint64_t ns)
{
	if (ns < 10000000000u)
		tp_text_fmt(out, "%lu.%lu s", (unsigned long)(ns / 1000000000u),
			    (unsigned long)(ns / 100000000u % 10));
	else
		tp_text_fmt(out, "%lu s", (unsigned long)(ns / 1000000000u));
}

bool tp_hang_may_wait_for_gpu(const struct tp_hang *hang)
{
	return hang->state == TP_HANG_IS_SPINNING && strstr(hang->gpus, " 100 % busy");
}

/* What is done at the place. CUDA waits for a kernel without sleeping, unless it was told to. */
static const char *name_activity(const struct tp_hang *hang)
{
	if (tp_hang_may_wait_for_gpu(hang))
		return "waits for the GPU, or computes,";
	return hang->state == TP_HANG_IS_SPINNING ? "computes" : "stands";
}

/* "stands in f (file:line), within g (file:line), and waits in read of /path" */
static void put_place(struct tp_text *out, const struct tp_hang *hang)
{
	bool has_place = hang->where[0] || hang->within[0];

	tp_text_str(out, has_place || hang->state == TP_HANG_IS_SPINNING ? name_activity(hang) : "");
	if (has_place)
		tp_text_fmt(out, " in %s", hang->where[0] ? hang->where : hang->within);
	if (hang->where[0] && hang->within[0])
		tp_text_fmt(out, ", within %s", hang->within);
	if (hang->waits[0] && hang->state != TP_HANG_IS_SPINNING)
		tp_text_fmt(out, "%s%s", has_place ? ", and " : "", hang->waits);
	else if (!has_place && hang->state != TP_HANG_IS_SPINNING)
		tp_text_str(out, "does not say where it stands");
}

/* ---- collectives ---- */

static const struct tp_hang_group *find_group(const struct tp_hang *hang, const char *name)
{
	for (uint32_t i = 0; i < hang->n_groups; i++)
		if (!strcmp(hang->group[i].name, name))
			return &hang->group[i];
	return NULL;
}

/* A collective that has not ended, the one that was asked for first of each group. */
struct point {
	const char *group;
	uint64_t number;
};

/* 0: the rank has asked for it and waits; 1: it has not come; -1: it is not of the group. */
static int judge_rank(const struct tp_hang *hang, const struct point *point)
{
	const struct tp_hang_group *group = find_group(hang, point->group);

	if (!group)
		return -1;
	return group->asked < point->number;
}

/* One that the lowest rank which waits has asked for, and that did not end for it. */
static bool find_waiting(const struct reports *all, struct point *point)
{
	const struct tp_hang *first = NULL;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct tp_hang *hang = &all->hang[i];

		for (uint32_t k = 0; k < hang->n_groups && is_rank(all, i); k++) {
			const struct tp_hang_group *group = &hang->group[k];

			if (group->asked <= group->ended || (first && first->rank <= hang->rank))
				continue;
			first = hang;
			*point = (struct point){group->name, group->ended + 1};
		}
	}
	return first != NULL;
}

/* Another rank was asked for fewer of the group. */
static bool is_ahead(const struct reports *all, const struct tp_hang_group *group)
{
	for (uint32_t i = 0; i < all->n; i++) {
		const struct tp_hang_group *other =
			is_rank(all, i) ? find_group(&all->hang[i], group->name) : NULL;

		if (other && other->asked < group->asked)
			return true;
	}
	return false;
}

/* Where ends are not seen: the last that not all have asked for. */
static bool find_behind(const struct reports *all, struct point *point)
{
	for (uint32_t i = 0; i < all->n; i++) {
		const struct tp_hang *hang = &all->hang[i];

		for (uint32_t k = 0; k < hang->n_groups && is_rank(all, i); k++) {
			if (!is_ahead(all, &hang->group[k]))
				continue;
			*point = (struct point){hang->group[k].name, hang->group[k].asked};
			return true;
		}
	}
	return false;
}

/* Names the ranks of one judgement; returns how many there are. *first: one of them. */
static uint32_t put_ranks(struct tp_text *out, const struct reports *all, const struct point *point,
			  int judgement, const struct tp_hang **first)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < all->n; i++) {
		if (!is_rank(all, i) || judge_rank(&all->hang[i], point) != judgement)
			continue;
		if (n < MOST_NAMED) {
			tp_text_str(out, n ? ", " : "");
			put_rank(out, &all->hang[i]);
		}
		if (!n++ || all->hang[i].rank < (*first)->rank)
			*first = &all->hang[i];
	}
	if (n > MOST_NAMED)
		tp_text_fmt(out, " and %u more", n - MOST_NAMED);
	return n;
}

static void put_point(struct tp_text *out, const struct point *point, const struct tp_hang *waits)
{
	const struct tp_hang_group *group = find_group(waits, point->group);

	tp_text_fmt(out, "%s, number %lu of group %s", group && group->last[0] ? group->last : "a collective",
		    (unsigned long)point->number, point->group);
}

/* Ranks that stand in the same number of a group, and call it by another name. */
static const struct tp_hang *find_other_name(const struct reports *all, const struct point *point,
					     const struct tp_hang *waits)
{
	const struct tp_hang_group *own = find_group(waits, point->group);

	for (uint32_t i = 0; i < all->n; i++) {
		const struct tp_hang_group *group = find_group(&all->hang[i], point->group);

		if (is_rank(all, i) && group && own && group->asked > group->ended &&
		    group->ended + 1 == point->number && strcmp(group->last, own->last))
			return &all->hang[i];
	}
	return NULL;
}

/* The first rank of a world that has said nothing, from `rank` on; -1: all have. */
static int32_t find_silent(const struct reports *all, int32_t rank, int32_t world_size)
{
	for (; rank < world_size; rank++) {
		bool is_there = false;

		for (uint32_t i = 0; i < all->n && !is_there; i++)
			is_there = !all->hang[i].worker && all->hang[i].rank == rank;
		if (!is_there)
			return rank;
	}
	return -1;
}

static bool say_collective(const struct tp_hang *of, const struct reports *all, struct tp_text *out)
{
	const struct tp_hang *waits = NULL, *away = NULL, *other;
	char waiting[256], missing[256];
	struct tp_text text;
	struct point point;
	int32_t silent;

	if (!find_waiting(all, &point) && !find_behind(all, &point))
		return false;
	tp_text_init(&text, waiting, sizeof(waiting));
	if (!put_ranks(&text, all, &point, 0, &waits))
		return false;
	tp_text_init(&text, missing, sizeof(missing));
	if (put_ranks(&text, all, &point, 1, &away)) {
		tp_text_fmt(out, "%s waits in ", waiting);
		put_point(out, &point, waits);
		tp_text_fmt(out, ", to which %s has not come: it ", missing);
		put_place(out, away);
		tp_text_char(out, '\n');
		return true;
	}
	other = find_other_name(all, &point, waits);
	silent = other ? -1 : find_silent(all, 0, of->world_size);
	if (!other && silent < 0)
		return false;
	put_rank(out, waits);
	tp_text_str(out, " waits in ");
	put_point(out, &point, waits);
	if (other) {
		tp_text_fmt(out, " (%s), and ", waits->where);
		put_rank(out, other);
		tp_text_fmt(out, " in %s in its place (%s)\n", find_group(other, point.group)->last,
			    other->where);
	} else {
		tp_text_fmt(out, "; rank %d says nothing: it has ended, or goes on elsewhere\n", silent);
	}
	return true;
}

/* Ranks that were never heard of, before the first step. */
static bool say_joining(const struct tp_hang *of, const struct reports *all, struct tp_text *out)
{
	int32_t silent = find_silent(all, 0, of->world_size);
	uint32_t n = 0;

	if (!of->is_joining || silent < 0)
		return false;
	put_rank(out, of);
	tp_text_str(out, " waits for the others in init_process_group");
	if (of->where[0])
		tp_text_fmt(out, " (%s)", of->where);
	tp_text_str(out, "; rank ");
	for (; silent >= 0; silent = find_silent(all, silent + 1, of->world_size), n++)
		if (n < MOST_NAMED)
			tp_text_fmt(out, "%s%d", n ? ", " : "", silent);
	if (n > MOST_NAMED)
		tp_text_fmt(out, " and %u more", n - MOST_NAMED);
	tp_text_fmt(out, " of %d %s nothing: not started, ended, or elsewhere\n", of->world_size,
		    n > 1 ? "say" : "says");
	return true;
}

/* ---- one rank ---- */

/* The rank itself; the worker, where it has said nothing. */
static const struct tp_hang *rank_of(const struct reports *all, const struct tp_hang *worker)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (!all->hang[i].worker && all->hang[i].rank == worker->rank)
			return &all->hang[i];
	return worker;
}

static bool say_worker(const struct reports *all, struct tp_text *out)
{
	for (uint32_t i = 0; i < all->n; i++) {
		const struct tp_hang *hang = &all->hang[i];

		if (!hang->worker || hang->is_idle || !hang->where[0])
			continue;
		put_rank(out, rank_of(all, hang));
		tp_text_fmt(out, " waits for its worker %u (pid %u), which ", hang->worker, hang->pid);
		put_place(out, hang);
		tp_text_char(out, '\n');
		return true;
	}
	return false;
}

void tp_hang_say(const struct tp_hang *of, const struct tp_hang *hang, uint32_t n, struct tp_text *out)
{
	const struct reports all = {hang, n};

	tp_text_str(out, of->state == TP_HANG_IS_OVER ? "it hung: no step of " : "no step of ");
	put_rank(out, of);
	tp_text_str(out, " has ended for ");
	put_seconds(out, of->late_ns);
	if (of->median_ns) {
		tp_text_fmt(out, ", step %lu is in progress; they took ", (unsigned long)of->steps);
		if (of->median_ns >= 100000000u)
			put_seconds(out, of->median_ns);
		else
			tp_text_fmt(out, "%lu.%lu ms", (unsigned long)(of->median_ns / 1000000u),
				    (unsigned long)(of->median_ns / 100000u % 10));
	}
	tp_text_char(out, '\n');
	if (say_collective(of, &all, out) || say_joining(of, &all, out) || say_worker(&all, out))
		return;
	put_rank(out, of);
	tp_text_char(out, ' ');
	put_place(out, of);
	if (of->other[0])
		tp_text_fmt(out, "; another thread stands in %s", of->other);
	if (of->gpus[0])
		tp_text_fmt(out, "; %s", of->gpus);
	if (of->queues[0])
		tp_text_fmt(out, "; %s", of->queues);
	tp_text_char(out, '\n');
}
