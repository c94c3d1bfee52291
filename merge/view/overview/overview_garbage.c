/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_garbage.c - advice of the overview on steps that Python's garbage collector takes
 *
 * A collection runs inside whatever line made the object that was one too many, so that no line is to blame
 * by itself. By samples of the steps of windows where many of these collect; of full collections, which come
 * now and then, by the ledger's samples of slow steps, or of the whole run outside windows.
 */
#include "merge/view/overview/overview_samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/facts/code/outside.h"
#include "merge/model/totals.h"
#include "runtime/base/text.h"

enum {
	LEAST = 10,	/* samples */
	NAMED_LEAST = 3,	/* samples in windows: where it is outside of them, too */
	STEPS_LEAST = 3,	/* that were met, */
	STEPS_PART = 4,	/* and one in so many: one long collection says nothing of the others, */
	OUTSIDE_LEAST = 2, /* but with so many samples outside windows, one in OUTSIDE_PART there */
	OUTSIDE_PART = 4,
	SHOWN = 200,
};

static uint64_t count_collecting(const struct tp_sample_owners *owners)
{
	const struct tp_samples_sum *all = owners->samples->all;

	return all[TP_SAMPLES_OPERATOR].collects + all[TP_SAMPLES_DATA].collects +
	       all[TP_SAMPLES_GAP].collects;
}

/* The function of the user's that most samples of steps met. */
static void name_place(const struct tp_sample_owners *owners, const char *where, struct tp_advice *advice)
{
	const struct tp_sample_owner *most = NULL;
	struct tp_sample_owner own;
	char shown[SHOWN];
	struct tp_text out;

	for (uint32_t i = 0; i < owners->n_rows; i++) {
		const struct tp_sample_owner *row = &owners->row[i];

		if (row->where < TP_SAMPLES_OUTSIDE && row->frame.function[0] &&
		    row->sum.collects > (most ? most->sum.collects : 0))
			most = row;
	}
	if (!most)
		return;
	/* What it called makes no odds: any line may set a collection off. */
	own = (struct tp_sample_owner){.frame = most->frame};
	tp_text_init(&out, advice->place, sizeof(advice->place));
	tp_text_fmt(&out, "%smost of it in %s", where, tp_sample_owner_show(shown, sizeof(shown), &own));
}

/* In windows. */
static bool judge_samples(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_sample_owners *owners = facts->overview->owners;
	const uint64_t n = count_collecting(owners), all = tp_advice_count_training(owners),
		       n_full = tp_totals_add(facts->run, "gc.full", false);
	char a[32];

	if (n < LEAST || owners->samples->n_collecting < STEPS_LEAST ||
	    owners->samples->n_collecting * STEPS_PART < facts->sums->n_steps)
		return false;
	advice->percent = 100.0 * (double)n / (double)all;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "in %s of the samples in steps Python collects garbage, in %" PRIu64 " of %" PRIu64
		 " steps; full collections in windows: %" PRIu64,
		 tp_show_percent(a, (double)n, (double)all), owners->samples->n_collecting,
		 (uint64_t)facts->sums->n_steps, n_full);
	name_place(owners, "", advice);
	return true;
}

static bool is_enough_outside(const struct tp_advice_facts *facts, const struct tp_outside *outside)
{
	return outside->n_collecting >= LEAST ||
	       (outside->n_collecting >= OUTSIDE_LEAST &&
		outside->n_collecting * OUTSIDE_PART >= outside->n_training &&
		count_collecting(facts->overview->owners) >= LEAST);
}

/* Outside windows, whose samples say nothing of who collects. */
static bool judge_outside(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	struct tp_outside outside;
	char a[32];
	bool is_any;

	tp_outside_read(facts->run, &outside);
	is_any = is_enough_outside(facts, &outside);
	if (is_any) {
		advice->percent = 100.0 * (double)outside.n_collecting / (double)outside.n_training;
		snprintf(advice->evidence, sizeof(advice->evidence),
			 "outside windows Python collects garbage in %s of %" PRIu64
			 " samples of the training thread",
			 tp_show_percent(a, (double)outside.n_collecting, (double)outside.n_training),
			 outside.n_training);
		if (count_collecting(facts->overview->owners) >= NAMED_LEAST)
			name_place(facts->overview->owners, "in windows ", advice);
	}
	tp_outside_free(&outside);
	return is_any;
}

bool tp_advice_garbage(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_rhythm_found *period = &facts->rhythm->found[TP_RHYTHM_PERIOD];
	const char *rule = advice->rule;
	bool is_any = judge_samples(facts, advice) || judge_outside(facts, advice);

	if (period->is_any && period->is_garbage && (!is_any || period->advice.percent > advice->percent)) {
		*advice = period->advice;
		advice->rule = rule;
		is_any = true;
	}
	snprintf(advice->todo, sizeof(advice->todo), "gc.freeze() before the loop; gc.disable() and gc.collect() "
		 "every so many steps; fewer objects that refer to each other; no gc.collect() in each step");
	return is_any;
}
