/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_rhythm.c - advice of the overview on the steps of the whole run: those that are slow at
 * equal distances, at the begin of each epoch, slower and slower, or a few that take very long
 */
#include "merge/view/overview/overview_rhythm_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/slow_steps.h"
#include "merge/facts/code/keepers.h"
#include "merge/kit/sum.h"
#include "merge/view/overview/overview_samples.h"
#include "runtime/base/text.h"
#include "runtime/trace/ledger.h"

enum {
	PERIOD_LEAST = 4,	/* each second or third step is how the loop is written */
	PERIOD_MOST = 4096,
	STEPS_TOLD = 3,
	PARTS = 8,		/* of a run, each slower than the one before ... */
	FEW_PARTS = 4,		/* of a short one, whose parts of few steps may differ by chance */
	PART_LEAST = 4,
	SLOWER_PERCENT = 150,	/* ... and the last one than the first by so much */
	SLOWER = 2,		/* times as slow as a slow step is at least */
	STALL = 5,		/* times the median: inputs of unlike length are not so unlike */
	STALLS_LEAST = 3,
	STALLS_PART = 10,	/* of the steps at most: the median is that of the others */
};

static void tell(const struct tp_rhythm_steps *steps, const struct tp_rhythm_kind *kind, const char *which,
		 struct tp_rhythm_found *found)
{
	struct tp_advice *advice = &found->advice;
	char a[32], b[32], c[32];

	advice->percent = tp_advice_percent(kind->excess_ns, steps->all_ns);
	found->each_ns = kind->excess_ns / kind->n;
	snprintf(advice->evidence, sizeof(advice->evidence), "%s takes %s, the median step %s: up to %s "
		 "of the run", which, tp_show_ns(a, kind->all_ns / kind->n), tp_show_ns(b, steps->median_ns),
		 tp_show_percent(c, (double)kind->excess_ns, (double)steps->all_ns));
}

/* Where most of the chosen steps stood, by the samples that were taken of them. */
static void tell_where(const struct tp_rhythm_steps *steps, tp_step_choose *choose, const void *ctx,
		       struct tp_rhythm_found *found)
{
	struct tp_advice *advice = &found->advice;
	const size_t n = strlen(advice->place);
	char where[TP_SLOW_WHERE];

	if (!tp_slow_steps_where(steps->proc, choose, ctx, where))
		return;
	snprintf(advice->place + n, sizeof(advice->place) - n, "%s%s", n ? ": " : "", where);
	found->has_where = true;
	found->is_garbage = strlen(where) >= strlen(TP_LEDGER_GARBAGE) &&
			    !strcmp(where + strlen(where) - strlen(TP_LEDGER_GARBAGE), TP_LEDGER_GARBAGE);
}

/* The first of the chosen steps by their numbers, and where they stood; goes_on: there are more. */
static void tell_steps(const struct tp_rhythm_steps *steps, tp_step_choose *choose, const void *ctx,
		       bool goes_on, struct tp_rhythm_found *found)
{
	struct tp_text place;
	uint32_t n_told = 0;

	tp_text_init(&place, found->advice.place, sizeof(found->advice.place));
	for (uint32_t i = 0; i < steps->n && n_told < STEPS_TOLD; i++)
		if (choose(ctx, steps->row[i]->index))
			tp_text_fmt(&place, "%s%" PRIu64, n_told++ ? ", " : "steps ", steps->row[i]->index);
	if (goes_on)
		tp_text_fmt(&place, ", ...");
	tell_where(steps, choose, ctx, found);
}

/* ---- the first step of an epoch ---- */

static bool is_epochs_first(const struct tp_step_row *row)
{
	return row->epoch && !row->in_epoch;
}

static bool choose_first(const void *ctx, uint64_t step)
{
	const struct tp_step_row *row = tp_rhythm_row(ctx, step);

	return row && is_epochs_first(row);
}

static bool judge_epochs(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found)
{
	struct tp_rhythm_kind first = {0, 0, 0, 0}, other = {0, 0, 0, 0};

	for (uint32_t i = 0; i < steps->n; i++)
		tp_rhythm_count(steps, steps->row[i], is_epochs_first(steps->row[i]) ? &first : &other);
	if (!tp_rhythm_is_told_apart(&first, &other))
		return false;
	tell(steps, &first, "the first step of an epoch", found);
	tell_where(steps, choose_first, steps, found);
	snprintf(found->advice.todo, sizeof(found->advice.todo), "if a loader starts its workers anew: "
		 "persistent_workers=True, or longer epochs");
	return true;
}

/* ---- every n-th step ---- */

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
		struct tp_rhythm_kind more = {0, 0, 0, 0};

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
	struct tp_rhythm_kind at = {0, 0, 0, 0}, other = {0, 0, 0, 0};
	const uint32_t period = find_period(steps);
	uint32_t n_first = 0;
	char which[64];

	if (!period)
		return false;
	found->period = period;
	found->first = find_begin(steps, period);
	for (uint32_t i = 0; i < steps->n; i++) {
		bool is_at = choose_period(found, steps->row[i]->index);

		tp_rhythm_count(steps, steps->row[i], is_at ? &at : &other);
		n_first += is_at && is_epochs_first(steps->row[i]);
	}
	/* Epochs of one length are a rule of their own. */
	if (!tp_rhythm_is_told_apart(&at, &other) || n_first > at.n / 2 || is_of_shorter(steps, found, &at))
		return false;
	snprintf(which, sizeof(which), "every %" PRIu32 "%s step", period,
		 period % 10 > 3 || period % 100 / 10 == 1 ? "th" : ordinal[period % 10]);
	tell(steps, &at, which, found);
	tell_steps(steps, choose_period, found, true, found);
	snprintf(advice->todo, sizeof(advice->todo), "if it is a checkpoint, an evaluation, a log: less often, or "
		 "beside the training");
	return true;
}

/* Short steps have others that are slow by chance: then those that are slower still are looked at. */
static bool judge_period(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found)
{
	struct tp_rhythm_steps slower = *steps;

	slower.slow_percent *= SLOWER;
	return find_periodic(steps, found) || find_periodic(&slower, found);
}

/* ---- a few that take very long ---- */

static bool is_stall(const struct tp_rhythm_steps *steps, const struct tp_step_row *row)
{
	return row->dur_ns / STALL >= steps->median_ns;
}

static bool choose_stall(const void *ctx, uint64_t step)
{
	const struct tp_step_row *row = tp_rhythm_row(ctx, step);

	return row && is_stall(ctx, row);
}

static bool judge_stalls(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found)
{
	struct tp_advice *advice = &found->advice;
	struct tp_rhythm_kind stall = {0, 0, 0, 0};
	char which[64];

	for (uint32_t i = 0; i < steps->n; i++)
		if (is_stall(steps, steps->row[i]))
			tp_rhythm_count(steps, steps->row[i], &stall);
	if (stall.n < STALLS_LEAST || stall.n > steps->n / STALLS_PART)
		return false;
	snprintf(which, sizeof(which), "each of %" PRIu32 " slow steps of %" PRIu32, stall.n, steps->n);
	tell(steps, &stall, which, found);
	tell_steps(steps, choose_stall, steps, stall.n > STEPS_TOLD, found);
	snprintf(advice->todo, sizeof(advice->todo), "storage, a network, a lock, another program? "
		 "TRAINPROF_TRIGGER=slow=%dx records the next ones", STALL);
	return true;
}

/* ---- slower and slower ---- */

/* False: not each of so many parts is slower than the one before, or the last one not by enough. */
static bool find_growth(const struct tp_rhythm_steps *steps, uint32_t parts, int64_t *first, int64_t *last)
{
	const uint32_t n = steps->n / parts;
	int64_t median = 0, before;

	if (n < PART_LEAST)
		return false;
	for (uint32_t part = 0; part < parts; part++) {
		before = median;
		median = tp_rhythm_median(steps, steps->n - (parts - part) * n, n);
		if (!part)
			*first = median;
		else if (median <= before)
			return false;
	}
	*last = median;
	return *last / SLOWER_PERCENT >= *first / 100;
}

static bool judge_trend(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found)
{
	struct tp_advice *advice = &found->advice;
	int64_t first, last;
	char a[32], b[32];

	found->has_few_parts = !find_growth(steps, PARTS, &first, &last);
	if (found->has_few_parts && !find_growth(steps, FEW_PARTS, &first, &last))
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

/* ---- of all processes ---- */

void tp_rhythm_find(const struct tp_overview *overview, struct tp_rhythm *rhythm)
{
	static bool (*const judge[TP_RHYTHM_N])(const struct tp_rhythm_steps *, struct tp_rhythm_found *) = {
		[TP_RHYTHM_EPOCHS] = judge_epochs, [TP_RHYTHM_PERIOD] = judge_period,
		[TP_RHYTHM_TREND] = judge_trend, [TP_RHYTHM_STALLS] = judge_stalls,
	};

	memset(rhythm, 0, sizeof(*rhythm));
	for (uint32_t i = 0; i < overview->n_procs; i++) {
		struct tp_rhythm_steps steps;
		bool has_steps = tp_rhythm_steps(&overview->proc[i], &steps);

		for (uint32_t k = 0; has_steps && k < TP_RHYTHM_N; k++) {
			struct tp_rhythm_found one = {.is_any = true, .of = &overview->proc[i]};

			if (judge[k](&steps, &one) && (!rhythm->found[k].is_any ||
			    one.advice.percent > rhythm->found[k].advice.percent))
				rhythm->found[k] = one;
		}
		tp_rhythm_steps_free(&steps);
	}
}

/* Of the process that it costs most. */
static bool take(const struct tp_rhythm_found *found, struct tp_advice *advice)
{
	const char *rule = advice->rule;

	if (!found->is_any)
		return false;
	*advice = found->advice;
	advice->rule = rule;
	return true;
}

bool tp_advice_epochs(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	return take(&facts->rhythm->found[TP_RHYTHM_EPOCHS], advice);
}

/* Not where other rules say when they come, nor where a core was waited for: a step may stand anywhere. */
bool tp_advice_stalls(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_rhythm *rhythm = facts->rhythm;

	return !facts->is_crowded && !rhythm->found[TP_RHYTHM_PERIOD].is_any &&
	       !rhythm->found[TP_RHYTHM_EPOCHS].is_any && take(&rhythm->found[TP_RHYTHM_STALLS], advice);
}

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
	if ((found->has_few_parts && facts->is_crowded) || !take(found, advice))
		return false;
	if (facts->is_growing)
		snprintf(advice->todo, sizeof(advice->todo), "memory grows with it: what each step goes through is "
			 "kept; a state that is carried from step to step keeps its whole graph: .detach() it");
	else if (tp_keepers_of(found->of->ledger->proc, keeper))
		snprintf(advice->todo, sizeof(advice->todo), "what gets longer with each step? perhaps %s",
			 tp_keeper_tell(who, sizeof(who), &keeper[0]));
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
	if ((found->is_garbage && facts->is_collecting) || !take(found, advice))
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
