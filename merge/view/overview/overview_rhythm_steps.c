/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_rhythm_steps.c - steps of a process outside windows: see overview_rhythm_steps.h
 */
#include "merge/view/overview/overview_rhythm_steps.h"

#include <stdlib.h>

#include "merge/facts/code/crowded_steps.h"
#include "merge/kit/stats.h"
#include "merge/kit/sum.h"
#include "runtime/trace/ring_layout.h"

enum {
	FIRST_STEP = 2,		/* those before it warm up */
	STEPS_LEAST = 24,
	TIMES_LEAST = 3,	/* as often a slow one has to be seen */
	SLOW_PERCENT = 150,
	LIKE_PART = 3,		/* of a kind's excess that each of it has: less is slow by chance */
	CROWDED_PART = 3,	/* of the steps, at most: then they are left out */
};

int64_t tp_rhythm_median(const struct tp_rhythm_steps *steps, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		steps->scratch[i] = steps->row[first + i]->dur_ns;
	tp_sort_i64(steps->scratch, n);
	return steps->scratch[n / 2];
}

uint32_t tp_rhythm_part_first(const struct tp_rhythm_steps *steps, uint32_t parts, uint32_t part)
{
	return (uint32_t)((uint64_t)steps->n * part / parts);
}

int64_t tp_rhythm_part_median(const struct tp_rhythm_steps *steps, uint32_t parts, uint32_t part)
{
	const uint32_t first = tp_rhythm_part_first(steps, parts, part);

	return tp_rhythm_median(steps, first, tp_rhythm_part_first(steps, parts, part + 1) - first);
}

void tp_rhythm_steps_free(struct tp_rhythm_steps *steps)
{
	free(steps->row);
	free(steps->scratch);
}

/* What other programs do to a step says nothing of the job. Where most steps have no core, it is the job. */
static void leave_out_crowded(struct tp_rhythm_steps *steps)
{
	struct tp_crowded crowded;
	uint32_t n = 0;

	tp_crowded_read(steps->proc, &crowded);
	for (uint32_t i = 0; i < steps->n; i++)
		n += tp_crowded_percent(&crowded, steps->row[i]->index) > 0;
	if (n > steps->n / CROWDED_PART)
		return;
	n = 0;
	for (uint32_t i = 0; i < steps->n; i++)
		if (!tp_crowded_percent(&crowded, steps->row[i]->index))
			steps->row[n++] = steps->row[i];
	steps->n = n;
}

static void take_rows(const struct tp_overview_proc *proc, bool has_windows, struct tp_rhythm_steps *steps)
{
	steps->n = 0;
	for (uint32_t i = 0; i < proc->n_ledger; i++) {
		const struct tp_step_row *row = &proc->ledger[i];

		if (row->index >= FIRST_STEP && row->phase != TP_PHASE_WARMUP &&
		    (has_windows || row->phase != TP_PHASE_ACTIVE) && row->dur_ns >= 0)
			steps->row[steps->n++] = row;
	}
}

bool tp_rhythm_steps(const struct tp_overview_proc *proc, struct tp_rhythm_steps *steps)
{
	uint32_t n_all;

	*steps = (struct tp_rhythm_steps){.slow_percent = SLOW_PERCENT};
	if (proc->n_ledger < STEPS_LEAST)
		return false;
	steps->proc = proc->ledger[0].proc;
	steps->row = malloc(proc->n_ledger * sizeof(*steps->row));
	steps->scratch = malloc(proc->n_ledger * sizeof(*steps->scratch));
	if (!steps->row || !steps->scratch)
		return false;
	take_rows(proc, true, steps);
	n_all = steps->n;
	take_rows(proc, false, steps);
	/* Where most are recorded, that makes none of them longer than the others. */
	if (steps->n < STEPS_LEAST && steps->n < n_all / 2)
		take_rows(proc, true, steps);
	leave_out_crowded(steps);
	for (uint32_t i = 0; i < steps->n; i++)
		steps->all_ns = tp_add(steps->all_ns, steps->row[i]->dur_ns);
	if (steps->n >= STEPS_LEAST)
		steps->median_ns = tp_rhythm_median(steps, 0, steps->n);
	return steps->median_ns > 0;
}

const struct tp_step_row *tp_rhythm_row(const struct tp_rhythm_steps *steps, uint64_t index)
{
	uint32_t first = 0, last = steps->n;

	while (first < last) {
		const uint32_t middle = first + (last - first) / 2;

		if (steps->row[middle]->index < index)
			first = middle + 1;
		else
			last = middle;
	}
	return first < steps->n && steps->row[first]->index == index ? steps->row[first] : NULL;
}

bool tp_rhythm_is_slow(const struct tp_rhythm_steps *steps, const struct tp_step_row *row)
{
	return row->dur_ns / steps->slow_percent >= steps->median_ns / 100 && row->dur_ns > steps->median_ns;
}

void tp_rhythm_count(const struct tp_rhythm_steps *steps, const struct tp_step_row *row,
		     struct tp_rhythm_kind *kind)
{
	kind->n++;
	kind->all_ns = tp_add(kind->all_ns, row->dur_ns);
	kind->excess_ns = tp_add(kind->excess_ns, row->dur_ns - steps->median_ns);
}

bool tp_rhythm_tell_apart(const struct tp_rhythm_steps *steps, tp_step_choose *choose, const void *ctx,
			  struct tp_rhythm_kind *kind)
{
	uint32_t n_slow = 0, n_others_slow = 0;
	int64_t least_ns;

	*kind = (struct tp_rhythm_kind){0, 0, 0};
	for (uint32_t i = 0; i < steps->n; i++)
		if (choose(ctx, steps->row[i]->index))
			tp_rhythm_count(steps, steps->row[i], kind);
	if (kind->n < TIMES_LEAST || kind->n >= steps->n - kind->n)
		return false;
	least_ns = tp_add(steps->median_ns, kind->excess_ns / kind->n / LIKE_PART);
	for (uint32_t i = 0; i < steps->n; i++) {
		if (steps->row[i]->dur_ns < least_ns || !tp_rhythm_is_slow(steps, steps->row[i]))
			continue;
		if (choose(ctx, steps->row[i]->index))
			n_slow++;
		else
			n_others_slow++;
	}
	return n_slow >= TIMES_LEAST && n_slow >= kind->n - kind->n / 5 &&
	       n_others_slow <= (steps->n - kind->n) / 10;
}
