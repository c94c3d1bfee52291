/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_rhythm.c - advice of the overview on the steps of the whole run: the first ones of epochs that
 * are slow, time between epochs, a few that take very long; and what overview_period.c, overview_trend.c and
 * overview_since.c find in them
 */
#include "merge/view/overview/overview_rhythm_in.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/facts/code/slow_steps.h"
#include "merge/kit/sum.h"
#include "runtime/base/begins.h"
#include "runtime/base/text.h"
#include "runtime/trace/ledger.h"

enum {
	STEPS_TOLD = 3,
	STALL = 5,		/* times the median: inputs of unlike length are not so unlike */
	STALLS_LEAST = 3,
	STALLS_PART = 10,	/* of the steps at most: the median is that of the others */
	ALIKE_PART = 10,	/* costs of two ranks that differ by less are the same */
	LATE = 3,		/* times as late as another rank: it is that one */
	PAUSES_LEAST = 2,	/* between epochs */
};

void tp_rhythm_tell(const struct tp_rhythm_steps *steps, const struct tp_rhythm_kind *kind, const char *which,
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

void tp_rhythm_tell_where(const struct tp_rhythm_steps *steps, tp_step_choose *choose, const void *ctx,
			  struct tp_rhythm_found *found)
{
	struct tp_advice *advice = &found->advice;
	const size_t n = strlen(advice->place);
	struct tp_slow_where where;

	if (!tp_slow_steps_where(steps->proc, choose, ctx, &where))
		return;
	snprintf(advice->place + n, sizeof(advice->place) - n, "%s%s", n ? ": " : "", where.text);
	found->has_where = true;
	found->n_own = where.n_own;
	found->is_garbage = tp_ends(where.text, TP_LEDGER_GARBAGE);
}

void tp_rhythm_tell_steps(const struct tp_rhythm_steps *steps, tp_step_choose *choose, const void *ctx,
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
	tp_rhythm_tell_where(steps, choose, ctx, found);
}

/* ---- the first step of an epoch ---- */

static bool choose_first(const void *ctx, uint64_t step)
{
	const struct tp_step_row *row = tp_rhythm_row(ctx, step);

	return row && tp_rhythm_is_epochs_first(row);
}

static bool judge_epochs(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found)
{
	struct tp_rhythm_kind first;

	if (!tp_rhythm_tell_apart(steps, choose_first, steps, &first))
		return false;
	tp_rhythm_tell(steps, &first, "the first step of an epoch", found);
	tp_rhythm_tell_where(steps, choose_first, steps, found);
	snprintf(found->advice.todo, sizeof(found->advice.todo), "if a loader starts its workers anew: "
		 "persistent_workers=True, or longer epochs");
	return true;
}

/* ---- between epochs ---- */

/* Before the ledger's row i, the first step of an epoch: what is part of no step. */
static int64_t pause_before(const struct tp_overview_proc *proc, uint32_t i)
{
	const struct tp_step_row *row = &proc->ledger[i], *last = row - 1;

	if (row->index != last->index + 1 || !tp_rhythm_is_epochs_first(row) || last->dur_ns < 0)
		return 0;
	return tp_add(row->begin_ns, -tp_add(last->begin_ns, last->dur_ns));
}

/* A sample of a pause is told as one of the step that ends after it. */
static bool judge_pauses(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found)
{
	const struct tp_overview_proc *proc = found->of;
	const struct tp_step_row *last = &proc->ledger[proc->n_ledger - 1];
	const int64_t all_ns = tp_add(tp_add(last->begin_ns, last->dur_ns), -proc->ledger[0].begin_ns);
	struct tp_advice *advice = &found->advice;
	int64_t pause_ns = 0;
	uint32_t n = 0;
	char a[32], b[32];

	for (uint32_t i = 1; i < proc->n_ledger; i++) {
		const int64_t ns = pause_before(proc, i);

		if (ns <= 0)
			continue;
		pause_ns = tp_add(pause_ns, ns);
		n++;
	}
	if (n < PAUSES_LEAST || all_ns <= 0)
		return false;
	found->each_ns = pause_ns / n;
	advice->percent = tp_advice_percent(pause_ns, all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence), "up to %s of the run is between epochs, in no step: "
		 "%" PRIu32 " times %s", tp_show_percent(a, (double)pause_ns, (double)all_ns), n,
		 tp_show_ns(b, found->each_ns));
	tp_rhythm_tell_where(steps, choose_first, steps, found);
	snprintf(advice->todo, sizeof(advice->todo), "an evaluation, checkpoints, shuffling? less often, on fewer "
		 "samples, or beside the training");
	return true;
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
	struct tp_rhythm_kind stall = {0, 0, 0};
	char which[64];

	for (uint32_t i = 0; i < steps->n; i++)
		if (is_stall(steps, steps->row[i]))
			tp_rhythm_count(steps, steps->row[i], &stall);
	if (stall.n < STALLS_LEAST || stall.n > steps->n / STALLS_PART)
		return false;
	snprintf(which, sizeof(which), "each of %" PRIu32 " slow steps of %" PRIu32, stall.n, steps->n);
	tp_rhythm_tell(steps, &stall, which, found);
	tp_rhythm_tell_steps(steps, choose_stall, steps, stall.n > STEPS_TOLD, found);
	snprintf(advice->todo, sizeof(advice->todo), "storage, a network, a lock, another program? "
		 "TRAINPROF_TRIGGER=slow=%dx records the next ones", STALL);
	return true;
}

/* ---- of all processes ---- */

/* How long others waited for it, by the collectives that were recorded. */
static int64_t find_late(const struct tp_overview *overview, const struct tp_proc *proc)
{
	const struct tp_comm_rank *rank;
	uint32_t n = 0;

	rank = overview->comm ? tp_comm_ranks(overview->comm, &n) : NULL;
	for (uint32_t i = 0; i < n; i++)
		if (rank[i].proc == proc)
			return rank[i].late_ns;
	return 0;
}

/* The dearest. Where ranks wait in a collective for what one of them does, it costs them the same: then the
 * one that is waited for, by what was recorded, or by where it stands. */
static bool says_more(const struct tp_overview *overview, const struct tp_rhythm_found *one,
		      const struct tp_rhythm_found *other)
{
	const double percent = one->advice.percent, its = other->advice.percent;
	int64_t late_ns, its_late_ns;

	if (percent < its - its / ALIKE_PART || its < percent - percent / ALIKE_PART)
		return percent > its;
	late_ns = find_late(overview, one->of->ledger->proc);
	its_late_ns = find_late(overview, other->of->ledger->proc);
	if (late_ns / LATE > its_late_ns || its_late_ns / LATE > late_ns)
		return late_ns > its_late_ns;
	if (one->is_garbage != other->is_garbage)
		return one->is_garbage;
	return one->n_own != other->n_own ? one->n_own > other->n_own : percent > its;
}

void tp_rhythm_find(const struct tp_overview *overview, struct tp_rhythm *rhythm)
{
	static bool (*const judge[TP_RHYTHM_N])(const struct tp_rhythm_steps *, struct tp_rhythm_found *) = {
		[TP_RHYTHM_EPOCHS] = judge_epochs, [TP_RHYTHM_PAUSES] = judge_pauses,
		[TP_RHYTHM_PERIOD] = tp_rhythm_judge_period, [TP_RHYTHM_TREND] = tp_rhythm_judge_trend,
		[TP_RHYTHM_SINCE] = tp_rhythm_judge_since, [TP_RHYTHM_STALLS] = judge_stalls,
	};

	memset(rhythm, 0, sizeof(*rhythm));
	for (uint32_t i = 0; i < overview->n_procs; i++) {
		struct tp_rhythm_steps steps;
		bool has_steps = tp_rhythm_steps(&overview->proc[i], &steps);

		for (uint32_t k = 0; has_steps && k < TP_RHYTHM_N; k++) {
			struct tp_rhythm_found one = {.is_any = true, .of = &overview->proc[i]};

			if (judge[k](&steps, &one) &&
			    (!rhythm->found[k].is_any || says_more(overview, &one, &rhythm->found[k])))
				rhythm->found[k] = one;
		}
		tp_rhythm_steps_free(&steps);
	}
}

bool tp_rhythm_take(const struct tp_rhythm_found *found, struct tp_advice *advice)
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
	return tp_rhythm_take(&facts->rhythm->found[TP_RHYTHM_EPOCHS], advice);
}

bool tp_advice_pauses(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	return tp_rhythm_take(&facts->rhythm->found[TP_RHYTHM_PAUSES], advice);
}

/* Not where other rules say when they come, nor where a core was waited for: a step may stand anywhere. */
bool tp_advice_stalls(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_rhythm *rhythm = facts->rhythm;

	return !facts->is_crowded && !rhythm->found[TP_RHYTHM_PERIOD].is_any &&
	       !rhythm->found[TP_RHYTHM_EPOCHS].is_any &&
	       tp_rhythm_take(&rhythm->found[TP_RHYTHM_STALLS], advice);
}
