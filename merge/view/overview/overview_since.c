/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_since.c - advice of the overview on steps that are slow from one of them on
 *
 * Larger batches, longer sequences and other layers that learn take longer, too, and more memory: where
 * that stays as it was, something else has changed.
 */
#include "merge/view/overview/overview_rhythm_in.h"

#include <inttypes.h>
#include <stdio.h>

#include "merge/facts/code/crowded_steps.h"
#include "merge/kit/sum.h"

enum {
	POINTS = 32,		/* along a run: a point is slow ... */
	SLOW_PERCENT = 150,	/* ... against the median of all before the slow ones at its end, */
	POINTS_LEAST = 4,	/* so many of which are slow, and so many are not, */
	STEPS_LEAST = 24,	/* and so many steps are slow: a few may be by chance; */
	TWICE = 2,		/* the median of the slow ones is that of the others so many times */
	STRAY_PART = 10,	/* of each kind's steps at most are of the other kind */
	SAME_PERCENT = 10,	/* that memory differs by, at most */
};

static int64_t median_to(const struct tp_rhythm_steps *steps, uint32_t point)
{
	return tp_rhythm_median(steps, 0, tp_rhythm_part_first(steps, POINTS, point));
}

/* The first of the slow steps at the end, by their order in `steps`. 0: there is none. */
static uint32_t find_since(const struct tp_rhythm_steps *steps)
{
	uint32_t point = POINTS - POINTS_LEAST;
	int64_t slow_ns = tp_whole((double)median_to(steps, POINTS_LEAST) * SLOW_PERCENT / 100);

	for (uint32_t i = point; i < POINTS; i++)
		if (tp_rhythm_part_median(steps, POINTS, i) < slow_ns)
			return 0;
	while (point >= POINTS_LEAST && tp_rhythm_part_median(steps, POINTS, point - 1) >= slow_ns)
		point--;
	if (point < POINTS_LEAST)
		return 0;
	slow_ns = tp_whole((double)median_to(steps, point) * SLOW_PERCENT / 100);
	for (uint32_t i = tp_rhythm_part_first(steps, POINTS, point - 1); i < steps->n; i++)
		if (steps->row[i]->dur_ns >= slow_ns)
			return i;
	return 0;
}

/* Few of those before are slow, few of those after it are not. */
static bool is_clear(const struct tp_rhythm_steps *steps, uint32_t since, int64_t before_ns)
{
	const int64_t slow_ns = tp_whole((double)before_ns * SLOW_PERCENT / 100);
	uint32_t n_before = 0, n_after = 0;

	for (uint32_t i = 0; i < steps->n; i++) {
		n_before += i < since && steps->row[i]->dur_ns >= slow_ns;
		n_after += i >= since && steps->row[i]->dur_ns < slow_ns;
	}
	return n_before <= since / STRAY_PART && n_after <= (steps->n - since) / STRAY_PART;
}

/* On average; 0: not known. */
static double mean_peak(const struct tp_rhythm_steps *steps, uint32_t from, uint32_t to, bool of_device)
{
	double sum = 0;

	for (uint32_t i = from; i < to; i++)
		sum += (double)(of_device ? steps->row[i]->device_peak : steps->row[i]->peak_bytes);
	return sum / (to - from);
}

static bool is_memory_same(const struct tp_rhythm_steps *steps, uint32_t since)
{
	bool is_any = false;

	for (int of_device = 0; of_device < 2; of_device++) {
		const double before = mean_peak(steps, 0, since, of_device),
			     after = mean_peak(steps, since, steps->n, of_device),
			     apart = after > before ? after - before : before - after;

		if (apart * 100 > before * SAME_PERCENT)
			return false;
		is_any |= before > 0;
	}
	return is_any;
}

/* Others of the machine's programs may have begun then. */
static bool had_no_core(const struct tp_rhythm_steps *steps, uint32_t since)
{
	struct tp_crowded crowded;
	uint32_t n = 0;

	tp_crowded_read(steps->proc, &crowded);
	for (uint32_t i = since; i < steps->n; i++)
		n += tp_crowded_percent(&crowded, steps->row[i]->index) > 0;
	return n > (steps->n - since) / STRAY_PART;
}

static bool choose_since(const void *ctx, uint64_t step)
{
	const uint64_t *since = ctx;

	return step >= *since;
}

bool tp_rhythm_judge_since(const struct tp_rhythm_steps *steps, struct tp_rhythm_found *found)
{
	struct tp_advice *advice = &found->advice;
	int64_t before_ns, after_ns, excess_ns = 0;
	uint32_t since;
	char a[32], b[32];

	if (steps->n < POINTS || !(since = find_since(steps)) || steps->n - since < STEPS_LEAST ||
	    tp_rhythm_is_epochs_first(steps->row[since]))
		return false;
	before_ns = tp_rhythm_median(steps, 0, since);
	after_ns = tp_rhythm_median(steps, since, steps->n - since);
	if (after_ns / TWICE < before_ns || !is_clear(steps, since, before_ns) ||
	    !is_memory_same(steps, since) || had_no_core(steps, since))
		return false;
	for (uint32_t i = since; i < steps->n; i++)
		excess_ns = tp_add(excess_ns, tp_sub(steps->row[i]->dur_ns, before_ns));
	advice->percent = tp_advice_percent(excess_ns, steps->all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "from step %" PRIu64 " on steps take %s, before %s, with as much memory of tensors as before",
		 steps->row[since]->index, tp_show_ns(a, after_ns), tp_show_ns(b, before_ns));
	tp_rhythm_tell_where(steps, choose_since, &steps->row[since]->index, found);
	snprintf(advice->todo, sizeof(advice->todo), "what changed then? a phase of the program, storage, a network, "
		 "heat, numbers so small (denormal) that operators are slow: torch.set_flush_denormal(True)");
	return true;
}

bool tp_advice_since(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_rhythm *rhythm = facts->rhythm;

	return !facts->is_crowded && !rhythm->found[TP_RHYTHM_TREND].is_any &&
	       tp_rhythm_take(&rhythm->found[TP_RHYTHM_SINCE], advice);
}
