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
	POINTS = 32,		/* along a run, of which ... */
	JUMPS = 3,		/* ... so many are jumps, if levels leave half as much as a curve */
	POINT_LEAST = 3,	/* steps of a point: of few parts the rise is one that a curve explains, */
	CHANCE_PART = 5,	/* but for one of so many parts of the squares */
};

/* False: not each of so many parts is slower than the one before, or the last one not by enough. */
static bool find_growth(const struct tp_rhythm_steps *steps, uint32_t parts, int64_t *first, int64_t *last)
{
	int64_t median = 0, before, least = INT64_MAX;

	if (steps->n / parts < PART_LEAST)
		return false;
	for (uint32_t part = 0; part < parts; part++) {
		before = median;
		median = tp_rhythm_part_median(steps, parts, part);
		if (!part)
			*first = median;
		else if (median - before < least)
			least = median - before;
	}
	*last = median;
	return least > 0 && (parts > FEW_PARTS || least >= (*last - *first) / FEW_RISE) &&
	       *last / SLOWER_PERCENT >= *first / 100;
}

/* ---- steps that stand still between few jumps: images, sequences or batches are made larger ---- */

/* What is left of the squares of values where their mean is taken off. */
static double left_by_level(const double *value, uint32_t n)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += value[i];
	for (uint32_t i = 0; i < n; i++)
		squares += (value[i] - sum / n) * (value[i] - sum / n);
	return squares;
}

/* The same by so many levels, one after the other, where these are chosen best. */
static double left_by_levels(const double value[POINTS], uint32_t levels)
{
	double left[POINTS + 1], whole;

	for (uint32_t end = 0; end <= POINTS; end++)
		left[end] = left_by_level(value, end);
	for (uint32_t level = 1; level < levels; level++)
		for (uint32_t end = POINTS; end > level; end--)
			for (uint32_t from = level; from < end; from++) {
				whole = left[from] + left_by_level(value + from, end - from);
				if (whole < left[end])
					left[end] = whole;
			}
	return left[POINTS];
}

/* The same by a parabola: a level, a slope and a bow that have nothing of each other. */
static double left_by_curve(const double value[POINTS])
{
	const double bow = (POINTS * POINTS - 1) / 12.0;
	double on[2] = {0}, own[2] = {0};

	for (uint32_t i = 0; i < POINTS; i++) {
		const double x = i - (POINTS - 1) / 2.0;
		const double part[2] = {x, x * x - bow};

		for (uint32_t k = 0; k < 2; k++) {
			on[k] += value[i] * part[k];
			own[k] += part[k] * part[k];
		}
	}
	return left_by_level(value, POINTS) - on[0] * on[0] / own[0] - on[1] * on[1] / own[1];
}

/* What differs by chance is left by both: so much better, then. */
static bool is_in_jumps(const struct tp_rhythm_steps *steps, const double value[POINTS])
{
	return steps->n >= POINTS && left_by_levels(value, JUMPS + 1) < left_by_curve(value) / 2;
}

/* What else the machine does for a while may make one quarter slower than the other. */
static bool is_by_chance(const struct tp_rhythm_steps *steps, const double value[POINTS])
{
	return steps->n >= POINTS * POINT_LEAST &&
	       left_by_curve(value) > left_by_level(value, POINTS) / CHANCE_PART;
}

/* ---- the steps ---- */

bool tp_rhythm_judge_trend(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found)
{
	struct tp_advice *advice = &found->advice;
	int64_t first, last;
	double value[POINTS];
	char a[32], b[32];

	found->has_few_parts = !find_growth(steps, PARTS, &first, &last);
	if (found->has_few_parts && !find_growth(steps, FEW_PARTS, &first, &last))
		return false;
	for (uint32_t i = 0; i < POINTS && steps->n >= POINTS; i++)
		value[i] = (double)tp_rhythm_part_median(steps, POINTS, i);
	if (is_in_jumps(steps, value) || (found->has_few_parts && is_by_chance(steps, value)))
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
