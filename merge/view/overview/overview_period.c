/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_period.c - advice of the overview on steps that are slow at equal distances: every n-th step
 */
#include "merge/view/overview/overview_rhythm_in.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/view/overview/overview_samples.h"

enum {
	PERIOD_LEAST = 4,	/* each second or third step is how the loop is written */
	PERIOD_MOST = 4096,
	SLOWER = 2,		/* times as slow as a slow step is at least */
};

/* The distance that most slow steps have from the slow step before. 0: none. */
static uint32_t find_period(const struct tp_rhythm_steps *steps)
{
	uint32_t *times = calloc(PERIOD_MOST, sizeof(*times)), period = 0;
	const struct tp_step_row *before = NULL;

	for (uint32_t i = 0; times && i < steps->n; i++) {
		const struct tp_step_row *row = steps->row[i];

		if (!tp_rhythm_is_slow(steps, row))
			continue;
		if (before && row->index - before->index < PERIOD_MOST)
			times[row->index - before->index]++;
		before = row;
	}
	for (uint32_t n = PERIOD_LEAST; times && n < PERIOD_MOST; n++)
		if (times[n] > (period ? times[period] : 0))
			period = n;
	free(times);
	return period;
}

/* Slow steps that have others at that distance on both sides say where it begins. */
static uint64_t find_begin(const struct tp_rhythm_steps *steps, uint32_t period)
{
	const struct tp_step_row *before = NULL;

	for (uint32_t i = 0; i < steps->n; i++) {
		const struct tp_step_row *row = steps->row[i];

		if (!tp_rhythm_is_slow(steps, row))
			continue;
		if (before && row->index - before->index == period)
			return row->index % period;
		before = row;
	}
	return 0;
}

static bool choose_period(const void *ctx, uint64_t step)
{
	const struct tp_rhythm_found *found = ctx;

	return step % found->period == found->first;
}

/* Each second or third step is longer, of which some are longer still by chance: `at` are these. */
static bool is_of_shorter(const struct tp_rhythm_steps *steps, const struct tp_rhythm_found *found,
			  const struct tp_rhythm_kind *at)
{
	for (uint32_t d = 2; d < PERIOD_LEAST; d++) {
		struct tp_rhythm_kind more = {0, 0, 0};

		for (uint32_t i = 0; i < steps->n && found->period % d == 0; i++)
			if (steps->row[i]->index % d == found->first % d &&
			    !choose_period(found, steps->row[i]->index))
				tp_rhythm_count(steps, steps->row[i], &more);
		if (more.n && more.excess_ns / (int64_t)more.n >= at->excess_ns / (int64_t)at->n / 2)
			return true;
	}
	return false;
}

static bool find_periodic(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found)
{
	static const char *const ordinal[] = {"th", "st", "nd", "rd"};
	struct tp_advice *advice = &found->advice;
	struct tp_rhythm_kind at;
	const uint32_t period = find_period(steps);
	uint32_t n_first = 0;
	char which[64];

	if (!period)
		return false;
	found->period = period;
	found->first = find_begin(steps, period);
	if (!tp_rhythm_tell_apart(steps, choose_period, found, &at))
		return false;
	for (uint32_t i = 0; i < steps->n; i++)
		n_first += choose_period(found, steps->row[i]->index) &&
			   tp_rhythm_is_epochs_first(steps->row[i]);
	/* Epochs of one length are a rule of their own. */
	if (n_first > at.n / 2 || is_of_shorter(steps, found, &at))
		return false;
	snprintf(which, sizeof(which), "every %" PRIu32 "%s step", period,
		 period % 10 > 3 || period % 100 / 10 == 1 ? "th" : ordinal[period % 10]);
	tp_rhythm_tell(steps, &at, which, found);
	tp_rhythm_tell_steps(steps, choose_period, found, true, found);
	snprintf(advice->todo, sizeof(advice->todo), "if it is a checkpoint, an evaluation, a log: less often, or "
		 "beside the training");
	return true;
}

/* Short steps have others that are slow by chance: then those that are slower still are looked at. */
bool tp_rhythm_judge_period(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found)
{
	struct tp_rhythm_steps slower = *steps;

	slower.slow_percent *= SLOWER;
	return find_periodic(steps, found) || find_periodic(&slower, found);
}

/* ---- the rule ---- */

static bool tell_operators(const struct tp_advice_facts *facts, const struct tp_rhythm_found *found,
			   struct tp_advice *advice)
{
	const size_t n = strlen(advice->place);
	char place[sizeof(advice->place)];
	int64_t more_ns;

	if (!tp_sites_longer(facts->overview->sites, found->of->ledger->proc, choose_period, found, place,
			     sizeof(place), &more_ns) || more_ns < found->each_ns / 2)
		return false;
	snprintf(advice->place + n, sizeof(advice->place) - n, ": %.150s", place);
	return true;
}

/* With what a window that met such a step has more of: operators, or its longest gap, where that is most of
 * what the step takes longer. */
bool tp_advice_period(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_rhythm_found *found = &facts->rhythm->found[TP_RHYTHM_PERIOD];
	struct tp_site site;
	struct tp_advice gap;
	size_t n;

	/* Another rule says it. */
	if ((found->is_garbage && facts->is_collecting) || !tp_rhythm_take(found, advice))
		return false;
	if (found->has_where || tell_operators(facts, found, advice))
		return true;
	if (!tp_sites_top(facts->overview->sites, NULL, TP_SITE_GAP, &site, 1) ||
	    site.longest_ns < found->each_ns / 2) {
		strncat(advice->todo, "; a window on such a step names its lines",
			sizeof(advice->todo) - strlen(advice->todo) - 1);
		return true;
	}
	n = strlen(advice->place);
	tp_advice_gap(facts, &site, &gap);
	tp_advice_gap_function(facts, &gap);
	snprintf(advice->place + n, sizeof(advice->place) - n, ": %.150s", gap.place);
	return true;
}
