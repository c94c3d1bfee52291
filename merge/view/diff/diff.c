/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.c - two runs side by side: what each took per step, name by name
 */
#include "merge/view/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/kit/stats.h"
#include "merge/kit/sum.h"
#include "runtime/trace/ring_layout.h"

enum {
	BARE_FIRST = 2,		/* the first steps are longer than any other */
	BARE_LEAST = 20,
	BARE_TIMES = 2,		/* as many as recorded ones, at least */
};

static void begin_kernels(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_diff_kernels *kernels = state;

	kernels->names = tp_names_new();
}

static void take_kernel(void *state, const struct tp_event *event)
{
	struct tp_diff_kernels *kernels = state;
	uint32_t row = tp_names_row(kernels->names, event);

	if (row == TP_NO_NAME)
		tp_need_failed();
	tp_need_room(&kernels->row, &kernels->cap, (uint64_t)row + 1, sizeof(kernels->row[0]));
	kernels->row[row].calls++;
	kernels->row[row].self_ns = tp_add(kernels->row[row].self_ns, (int64_t)event->len);
	kernels->ns = tp_add(kernels->ns, (int64_t)event->len);
}

static void free_kernels(void *state)
{
	struct tp_diff_kernels *kernels = state;

	tp_names_free(kernels->names);
	free(kernels->row);
}

static const struct tp_fact fact_kernels = {
	.name = "kernels by name",
	.bytes = sizeof(struct tp_diff_kernels),
	.kinds = TP_FACT_KIND(TP_REC_KERNEL),
	.begin = begin_kernels,
	.event = take_kernel,
	.free = free_kernels,
};

void tp_diff_begin(struct tp_diff_side *side, struct tp_facts *facts)
{
	*side = (struct tp_diff_side){
		.overview = tp_facts_want(facts, &tp_fact_overview, NULL),
		.parts = tp_facts_want(facts, &tp_fact_step_parts, NULL),
		.heap = tp_facts_want(facts, &tp_fact_heap_rows, NULL),
		.kernels = tp_facts_want(facts, &fact_kernels, NULL),
		.modules = tp_facts_want(facts, &tp_fact_module_times_cut, NULL),
	};
}

void tp_diff_free(struct tp_diff_side *side)
{
	free(side->step_ns);
	free(side->bare_ns);
	free(side->step);
	memset(side, 0, sizeof(*side));
}

static void take_peak(struct tp_diff_side *side, enum tp_diff_place place, int64_t bytes,
		      bool is_absolute)
{
	if (bytes <= side->peak_bytes[place])
		return;
	side->peak_bytes[place] = bytes;
	side->is_peak_absolute[place] = is_absolute;
}

/* As the ledger says: sizes of blocks from before the window that are freed in it may not be known. */
static void take_host_peak(struct tp_diff_side *side, const struct tp_overview_proc *proc,
			   const struct tp_overview_peak *peak)
{
	const struct tp_step_row *row = tp_overview_ledger(proc, peak->step);

	if (row && row->peak_bytes && peak->live_bytes)
		take_peak(side, TP_DIFF_HOST, (int64_t)row->peak_bytes, true);
	else
		take_peak(side, TP_DIFF_HOST, peak->live_bytes, peak->is_absolute);
}

static void take_steps(struct tp_diff_side *side, const struct tp_overview_proc *proc)
{
	const struct tp_breakdown *breakdown = proc->breakdown;

	tp_overview_sum(&side->sums, breakdown);
	for (uint32_t i = 0; i < breakdown->n_steps; i++) {
		int64_t ns = tp_overview_step_ns(&breakdown->step[i]);

		side->step[side->n_steps] = (struct tp_diff_step){breakdown->step[i].index, ns};
		side->step_ns[side->n_steps++] = ns;
		if (i >= proc->cap_peaks)
			continue;
		take_host_peak(side, proc, &proc->peak[i]);
		take_peak(side, TP_DIFF_DEVICE, proc->peak[i].device_bytes,
			  proc->peak[i].is_device_absolute);
	}
}

static int compare_steps(const void *a, const void *b)
{
	const struct tp_diff_step *x = a, *y = b;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* The longest of each number stays. */
static void join_ranks(struct tp_diff_side *side)
{
	if (side->n_steps)
		qsort(side->step, side->n_steps, sizeof(*side->step), compare_steps);
	for (uint32_t i = 0; i < side->n_steps; i++)
		if (!i || side->step[i].index != side->step[side->n_indices - 1].index)
			side->step[side->n_indices++] = side->step[i];
}

static void take_heap(struct tp_diff_side *side)
{
	side->is_incomplete |= side->heap->is_incomplete;
	for (uint32_t i = 0; i < side->heap->n_rows; i++) {
		for (uint32_t k = 0; k < TP_HEAP_FIGURES; k++)
			side->heap_total[k] += (double)tp_heap_value(&side->heap->row[i],
								     (enum tp_heap_cost)k);
	}
}

static bool is_bare(const struct tp_step_row *row)
{
	return row->index >= BARE_FIRST && row->phase != TP_PHASE_WARMUP && row->phase != TP_PHASE_ACTIVE;
}

static void take_bare(struct tp_diff_side *side)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < side->overview->n_procs; i++)
		n += side->overview->proc[i].n_ledger;
	side->bare_ns = tp_need(n + 1, sizeof(side->bare_ns[0]));
	for (uint32_t i = 0; i < side->overview->n_procs; i++) {
		const struct tp_overview_proc *proc = &side->overview->proc[i];

		for (uint32_t k = 0; k < proc->n_ledger; k++)
			if (is_bare(&proc->ledger[k]))
				side->bare_ns[side->n_bare++] = proc->ledger[k].dur_ns;
	}
	tp_sort_i64(side->bare_ns, side->n_bare);
}

static bool has_many_bare(const struct tp_diff_side *side)
{
	return side->n_bare >= BARE_LEAST && side->n_bare / BARE_TIMES >= side->n_steps;
}

void tp_diff_choose_steps(struct tp_diff_side *base, struct tp_diff_side *now)
{
	base->is_bare = now->is_bare = has_many_bare(base) && has_many_bare(now);
}

int64_t tp_diff_length(const struct tp_diff_side *side, double percent)
{
	return side->is_bare ? tp_percentile(side->bare_ns, side->n_bare, percent)
			     : tp_percentile(side->step_ns, side->n_steps, percent);
}

void tp_diff_end(struct tp_diff_side *side, const struct tp_fuse_options *chosen)
{
	uint64_t n = 0;

	side->is_incomplete |= side->overview->is_incomplete;
	side->is_incomplete |= tp_step_parts_is_incomplete(side->parts);
	side->is_incomplete |= tp_module_times_is_incomplete(side->modules);
	take_heap(side);
	for (uint32_t i = 0; i < side->overview->n_procs; i++)
		n += side->overview->proc[i].breakdown->n_steps;
	side->step_ns = tp_need(n, sizeof(side->step_ns[0]));
	side->step = tp_need(n, sizeof(side->step[0]));
	for (uint32_t i = 0; i < side->overview->n_procs; i++)
		take_steps(side, &side->overview->proc[i]);
	tp_sort_i64(side->step_ns, side->n_steps);
	join_ranks(side);
	if (!chosen || (!chosen->steps && !chosen->windows))
		take_bare(side);
}

double tp_diff_part_ns(const struct tp_diff_side *side, enum tp_part part)
{
	return tp_diff_per_step(side, tp_step_parts_host_ns(side->parts, part));
}

double tp_diff_part_device_ns(const struct tp_diff_side *side, enum tp_part part)
{
	return tp_diff_per_step(side, tp_step_parts_device_ns(side->parts, part));
}

/* ---- steps of both ---- */

static bool has_common(const struct tp_diff_side *base, const struct tp_diff_side *now)
{
	uint32_t i = 0, k = 0;

	while (i < base->n_indices && k < now->n_indices) {
		if (base->step[i].index == now->step[k].index)
			return true;
		if (base->step[i].index < now->step[k].index)
			i++;
		else
			k++;
	}
	return false;
}

bool tp_diff_next(const struct tp_diff_side *base, const struct tp_diff_side *now,
		  struct tp_diff_pair *pair)
{
	if (!pair->base)
		pair->is_by_number = has_common(base, now);
	while (pair->at[0] < base->n_indices && pair->at[1] < now->n_indices) {
		pair->base = &base->step[pair->at[0]];
		pair->now = &now->step[pair->at[1]];
		pair->at[0] += !pair->is_by_number || pair->base->index <= pair->now->index;
		pair->at[1] += !pair->is_by_number || pair->now->index <= pair->base->index;
		if (!pair->is_by_number || pair->base->index == pair->now->index)
			return true;
	}
	return false;
}
