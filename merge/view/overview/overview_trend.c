/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_trend.c - advice of the overview on steps that get slower and slower
 */
#include "merge/view/overview/overview_rhythm_in.h"

#include <stdio.h>
#include <string.h>

#include "merge/facts/code/keepers.h"
#include "merge/kit/sum.h"

enum {
	PARTS = 8,		/* of a run, each slower than the one before ... */
	FEW_PARTS = 4,		/* of a short one, whose parts of few steps may differ by chance */
	PART_LEAST = 4,
	SLOWER_PERCENT = 150,	/* ... and the last one than the first by so much */
	FEW_RISE = 12,		/* of few parts each rises by one of so many parts of that: what grows with
				 * the square of the steps rises by a sixth first */
	JUMPS = 3,		/* so many of the rises between PARTS make */
	JUMPS_PERCENT = 85,	/* of all: with the square of the steps these are 64, with the cube 78; */
	FEW_JUMPS_PERCENT = 75,	/* where not each of PARTS is slower: steps differ by chance, too */
};

static int64_t median_of(const struct tp_rhythm_steps *steps, uint32_t parts, uint32_t part)
{
	const uint32_t n = steps->n / parts;

	return tp_rhythm_median(steps, steps->n - (parts - part) * n, n);
}

/* False: not each of so many parts is slower than the one before, or the last one not by enough. */
static bool find_growth(const struct tp_rhythm_steps *steps, uint32_t parts, int64_t *first, int64_t *last)
{
	int64_t median = 0, before, least = INT64_MAX;

	if (steps->n / parts < PART_LEAST)
		return false;
	for (uint32_t part = 0; part < parts; part++) {
		before = median;
		median = median_of(steps, parts, part);
		if (!part)
			*first = median;
		else if (median - before < least)
			least = median - before;
	}
	*last = median;
	return least > 0 && (parts > FEW_PARTS || least >= (*last - *first) / FEW_RISE) &&
	       *last / SLOWER_PERCENT >= *first / 100;
}

/* Steps stand still between few jumps: a program that makes its images, sequences or batches larger. */
static bool is_in_jumps(const struct tp_rhythm_steps *steps, int64_t percent)
{
	int64_t most[JUMPS] = {0}, first, now, in_jumps = 0;

	if (steps->n / PARTS < PART_LEAST)
		return false;
	now = first = median_of(steps, PARTS, 0);
	for (uint32_t part = 1; part < PARTS; part++) {
		const int64_t next = median_of(steps, PARTS, part);
		int64_t rise = next - now;

		now = next;
		for (uint32_t i = 0; i < JUMPS; i++)
			if (rise > most[i]) {
				const int64_t less = most[i];

				most[i] = rise;
				rise = less;
			}
	}
	for (uint32_t i = 0; i < JUMPS; i++)
		in_jumps = tp_add(in_jumps, most[i]);
	return in_jumps / percent >= (now - first) / 100;
}

bool tp_rhythm_judge_trend(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found)
{
	struct tp_advice *advice = &found->advice;
	int64_t first, last;
	char a[32], b[32];

	found->has_few_parts = !find_growth(steps, PARTS, &first, &last);
	if ((found->has_few_parts && !find_growth(steps, FEW_PARTS, &first, &last)) ||
	    is_in_jumps(steps, found->has_few_parts ? FEW_JUMPS_PERCENT : JUMPS_PERCENT))
		return false;
	/* Numbers that a file made up may be too large for a product of integers. */
	advice->percent = 100.0 - 100.0 * (double)first * steps->n / (double)steps->all_ns;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "steps get slower and slower: %s in the first %s of the run, %s in the last",
		 tp_show_ns(a, first), found->has_few_parts ? "quarter" : "eighth", tp_show_ns(b, last));
	snprintf(advice->todo, sizeof(advice->todo), "what gets longer with each step? a list or a history "
		 "that every step goes through");
	return true;
}

/* ---- the rule ---- */

static bool choose_late(const void *ctx, uint64_t step)
{
	const uint64_t *middle = ctx;

	return step > *middle;
}

/* What the later ones of the recorded steps take longer than the earlier ones, on average. */
static int64_t grown_ns(const struct tp_breakdown *breakdown, uint64_t middle)
{
	double late = 0, early = 0;
	uint32_t n_late = 0;

	for (uint32_t i = 0; i < breakdown->n_steps; i++) {
		const bool is_late = breakdown->step[i].index > middle;

		*(is_late ? &late : &early) += (double)tp_overview_step_ns(&breakdown->step[i]);
		n_late += is_late;
	}
	if (!n_late || n_late == breakdown->n_steps)
		return 0;
	return tp_whole(late / n_late - early / (breakdown->n_steps - n_late));
}

/* With what grows, where it is operators. */
bool tp_advice_trend(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_rhythm_found *found = &facts->rhythm->found[TP_RHYTHM_TREND];
	const struct tp_breakdown *breakdown;
	struct tp_keeper keeper[TP_KEEPERS];
	char place[sizeof(advice->place)], who[300];
	int64_t more_ns, grown;
	uint64_t middle;

	/* Another program that begins in the middle of a run slows its steps as well. */
	if ((found->has_few_parts && facts->is_crowded) || !tp_rhythm_take(found, advice))
		return false;
	if (facts->growing) {
		snprintf(advice->todo, sizeof(advice->todo), "memory grows with it: what each step goes through is "
			 "kept; a state that is carried from step to step keeps its whole graph: .detach() it");
		snprintf(advice->place, sizeof(advice->place), "%s", facts->growing->place);
	} else if (tp_keepers_of(found->of->ledger->proc, keeper)) {
		snprintf(advice->todo, sizeof(advice->todo), "what gets longer with each step? perhaps %s",
			 tp_keeper_tell(who, sizeof(who), &keeper[0]));
	}
	breakdown = found->of->breakdown;
	if (!breakdown->n_steps)
		return true;
	middle = breakdown->step[0].index / 2 + breakdown->step[breakdown->n_steps - 1].index / 2;
	grown = grown_ns(breakdown, middle);
	if (grown > 0 && tp_sites_longer(facts->overview->sites, found->of->ledger->proc, choose_late,
					 &middle, place, sizeof(place), &more_ns) && more_ns >= grown / 2)
		snprintf(advice->place, sizeof(advice->place), "%s", place);
	return true;
}
