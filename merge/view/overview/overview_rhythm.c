/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_rhythm.c - advice of the overview on the steps of the whole run: those that are slow at
 * equal distances, at the begin of each epoch, or slower and slower
 *
 * By the ledger, which has every step. Steps of windows are left out: recording makes them longer, and
 * windows come at equal distances, too.
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "runtime/base/text.h"
#include "runtime/trace/ring_layout.h"

enum {
	FIRST_STEP = 2,		/* those before it warm up */
	STEPS_LEAST = 24,
	PERIOD_LEAST = 4,	/* each second or third step is how the loop is written */
	PERIOD_MOST = 4096,
	TIMES_LEAST = 3,	/* as often it has to be seen */
	SLOW_PERCENT = 150,	/* of the median */
	PARTS = 8,		/* of a run, each slower than the one before ... */
	PART_LEAST = 4,
	SLOWER_PERCENT = 150,	/* ... and the last one than the first by so much */
};

/* What is asked about one process: its steps outside of windows. */
struct steps {
	const struct tp_step_row **row;
	uint32_t n;
	int64_t median_ns, all_ns;
};

/* Steps of a kind: how many there are, how many are slow, what they take beyond the median. */
struct kind {
	uint32_t n, n_slow;
	int64_t all_ns, excess_ns;
};

static int compare_ns(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Negative: out of memory. */
static int64_t median_of(const struct tp_step_row *const *row, uint32_t n)
{
	int64_t *ns = malloc(n * sizeof(*ns)), median;

	if (!ns)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		ns[i] = row[i]->dur_ns;
	qsort(ns, n, sizeof(*ns), compare_ns);
	median = ns[n / 2];
	free(ns);
	return median;
}

/* To be freed. False: too few of them to say anything. */
static bool find_steps(const struct tp_overview_proc *proc, struct steps *steps)
{
	*steps = (struct steps){NULL, 0, 0, 0};
	if (proc->n_ledger < STEPS_LEAST)
		return false;
	steps->row = malloc(proc->n_ledger * sizeof(*steps->row));
	for (uint32_t i = 0; steps->row && i < proc->n_ledger; i++) {
		const struct tp_step_row *row = &proc->ledger[i];

		if (row->index < FIRST_STEP || row->phase == TP_PHASE_WARMUP ||
		    row->phase == TP_PHASE_ACTIVE || row->dur_ns < 0)
			continue;
		steps->row[steps->n++] = row;
		steps->all_ns = tp_add(steps->all_ns, row->dur_ns);
	}
	if (steps->n >= STEPS_LEAST)
		steps->median_ns = median_of(steps->row, steps->n);
	if (steps->median_ns > 0)
		return true;
	free(steps->row);
	return false;
}

static bool is_slow(const struct steps *steps, const struct tp_step_row *row)
{
	return row->dur_ns / SLOW_PERCENT >= steps->median_ns / 100 && row->dur_ns > steps->median_ns;
}

static void count_step(const struct steps *steps, const struct tp_step_row *row, struct kind *kind)
{
	kind->n++;
	kind->n_slow += is_slow(steps, row);
	kind->all_ns = tp_add(kind->all_ns, row->dur_ns);
	kind->excess_ns = tp_add(kind->excess_ns, row->dur_ns - steps->median_ns);
}

/* Nearly all steps of the kind are slow, and few others are. */
static bool is_told_apart(const struct kind *kind, const struct kind *other)
{
	return kind->n_slow >= TIMES_LEAST && kind->n_slow >= kind->n - kind->n / 5 &&
	       other->n_slow <= other->n / 10 && kind->n < other->n;
}

static void tell(const struct steps *steps, const struct kind *kind, const char *which,
		 struct tp_advice *advice)
{
	char a[32], b[32], c[32];

	advice->percent = tp_advice_percent(kind->excess_ns, steps->all_ns);
	advice->each_ns = kind->excess_ns / kind->n;
	snprintf(advice->evidence, sizeof(advice->evidence), "%s takes %s, the median step %s: up to %s "
		 "of the run", which, tp_show_ns(a, kind->all_ns / kind->n), tp_show_ns(b, steps->median_ns),
		 tp_show_percent(c, (double)kind->excess_ns, (double)steps->all_ns));
}

/* ---- the first step of an epoch ---- */

static bool is_epochs_first(const struct tp_step_row *row)
{
	return row->epoch && !row->in_epoch;
}

static bool judge_epochs_of(const struct steps *steps, struct tp_advice *advice)
{
	struct kind first = {0, 0, 0, 0}, other = {0, 0, 0, 0};

	for (uint32_t i = 0; i < steps->n; i++)
		count_step(steps, steps->row[i], is_epochs_first(steps->row[i]) ? &first : &other);
	if (!is_told_apart(&first, &other))
		return false;
	tell(steps, &first, "the first step of an epoch", advice);
	snprintf(advice->todo, sizeof(advice->todo), "does a loader start its workers anew? "
		 "persistent_workers=True, longer epochs");
	return true;
}

/* ---- every n-th step ---- */

/* The distance that most slow steps have from the slow step before. 0: none. */
static uint32_t find_period(const struct steps *steps)
{
	uint32_t *times = calloc(PERIOD_MOST, sizeof(*times)), period = 0;
	const struct tp_step_row *before = NULL;

	for (uint32_t i = 0; times && i < steps->n; i++) {
		const struct tp_step_row *row = steps->row[i];

		if (!is_slow(steps, row))
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
static uint64_t find_begin(const struct steps *steps, uint32_t period)
{
	const struct tp_step_row *before = NULL;

	for (uint32_t i = 0; i < steps->n; i++) {
		const struct tp_step_row *row = steps->row[i];

		if (!is_slow(steps, row))
			continue;
		if (before && row->index - before->index == period)
			return row->index % period;
		before = row;
	}
	return 0;
}

static bool judge_period_of(const struct steps *steps, struct tp_advice *advice)
{
	struct kind at = {0, 0, 0, 0}, other = {0, 0, 0, 0};
	uint32_t period = find_period(steps), n_first = 0, n_told = 0;
	struct tp_text place;
	char which[64];
	uint64_t begin;

	if (!period)
		return false;
	begin = find_begin(steps, period);
	for (uint32_t i = 0; i < steps->n; i++) {
		bool is_at = steps->row[i]->index % period == begin;

		count_step(steps, steps->row[i], is_at ? &at : &other);
		n_first += is_at && is_epochs_first(steps->row[i]);
	}
	/* Epochs of one length are a rule of their own. */
	if (!is_told_apart(&at, &other) || n_first > at.n / 2)
		return false;
	snprintf(which, sizeof(which), "every %" PRIu32 "%s step", period,
		 period % 100 / 10 == 1 ? "th" : period % 10 == 1 ? "st" : period % 10 == 2 ? "nd"
		 : period % 10 == 3 ? "rd" : "th");
	tell(steps, &at, which, advice);
	tp_text_init(&place, advice->place, sizeof(advice->place));
	for (uint32_t i = 0; i < steps->n && n_told < TIMES_LEAST; i++)
		if (steps->row[i]->index % period == begin)
			tp_text_fmt(&place, "%s%" PRIu64, n_told++ ? ", " : "steps ", steps->row[i]->index);
	tp_text_fmt(&place, ", ...");
	snprintf(advice->todo, sizeof(advice->todo), "a checkpoint, an evaluation, a log? less often, or "
		 "beside the training; a window on such a step names its lines");
	return true;
}

/* ---- slower and slower ---- */

static bool judge_trend_of(const struct steps *steps, struct tp_advice *advice)
{
	const uint32_t n = steps->n / PARTS;
	int64_t median[PARTS];
	char a[32], b[32];

	if (n < PART_LEAST)
		return false;
	for (uint32_t part = 0; part < PARTS; part++) {
		median[part] = median_of(&steps->row[steps->n - (PARTS - part) * n], n);
		if (median[part] < 0 || (part && median[part] <= median[part - 1]))
			return false;
	}
	if (median[PARTS - 1] / SLOWER_PERCENT < median[0] / 100)
		return false;
	/* Numbers that a file made up may be too large for a product of integers. */
	advice->percent = 100.0 - 100.0 * (double)median[0] * steps->n / (double)steps->all_ns;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "steps get slower and slower: %s in the first eighth of the run, %s in the last",
		 tp_show_ns(a, median[0]), tp_show_ns(b, median[PARTS - 1]));
	snprintf(advice->todo, sizeof(advice->todo), "what gets longer with each step? a list or a history "
		 "that every step goes through");
	return true;
}

/* ---- of all processes ---- */

static bool judge_each(const struct tp_advice_facts *facts, struct tp_advice *advice,
		       bool (*judge)(const struct steps *, struct tp_advice *))
{
	const struct tp_overview *overview = facts->overview;
	const struct tp_advice blank = *advice;
	bool is_any = false;

	for (uint32_t i = 0; i < overview->n_procs; i++) {
		struct tp_advice one = blank;
		struct steps steps;

		if (!find_steps(&overview->proc[i], &steps))
			continue;
		if (judge(&steps, &one) && (!is_any || one.percent > advice->percent)) {
			*advice = one;
			is_any = true;
		}
		free(steps.row);
	}
	return is_any;
}

bool tp_advice_epochs(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	return judge_each(facts, advice, judge_epochs_of);
}

/* The longest gap of a window that met such a step, where it is most of what the step takes longer. */
static void add_gap(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	size_t n = strlen(advice->place);
	struct tp_site site;
	struct tp_advice gap;

	if (!tp_sites_top(facts->overview->sites, NULL, TP_SITE_GAP, &site, 1) ||
	    site.longest_ns < advice->each_ns / 2)
		return;
	tp_advice_gap(facts, &site, &gap);
	snprintf(advice->place + n, sizeof(advice->place) - n, ": %.150s", gap.place);
}

bool tp_advice_period(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	if (!judge_each(facts, advice, judge_period_of))
		return false;
	add_gap(facts, advice);
	return true;
}

bool tp_advice_trend(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	return judge_each(facts, advice, judge_trend_of);
}
