/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.c - two runs side by side: what each took per step, name by name
 */
#include "merge/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/grow.h"
#include "merge/stats.h"
#include "merge/sum.h"

int tp_diff_begin(struct tp_diff_side *side, const struct tp_run *run,
		  const struct tp_view_options *options)
{
	memset(side, 0, sizeof(*side));
	side->overview = tp_overview_new(run, options);
	side->kernel_names = tp_names_new();
	side->heapbook = tp_heapbook_take(run);
	if (side->overview && side->kernel_names && side->heapbook)
		return 0;
	tp_diff_free(side);
	return -ENOMEM;
}

void tp_diff_free(struct tp_diff_side *side)
{
	if (side->overview)
		tp_overview_free(side->overview);
	tp_names_free(side->kernel_names);
	free(side->kernel);
	free(side->step_ns);
	tp_heapbook_leave(side->heapbook);
	memset(side, 0, sizeof(*side));
}

void tp_diff_event(struct tp_diff_side *side, const struct tp_event *event)
{
	uint32_t row;

	tp_overview_event(side->overview, event);
	tp_heapbook_event(side->heapbook, side, event);
	if (event->kind != TP_REC_KERNEL)
		return;
	row = tp_names_row(side->kernel_names, event);
	if (row == TP_NO_NAME || !tp_grow(&side->kernel, &side->cap_kernels, (uint64_t)row + 1,
					  sizeof(side->kernel[0]))) {
		side->is_incomplete = true;
		return;
	}
	side->kernel[row].calls++;
	side->kernel[row].self_ns = tp_add(side->kernel[row].self_ns, (int64_t)event->len);
	side->kernel_ns = tp_add(side->kernel_ns, (int64_t)event->len);
}

static void take_steps(struct tp_diff_side *side, const struct tp_overview_proc *proc)
{
	const struct tp_breakdown *breakdown = &proc->breakdown;

	tp_overview_sum(&side->sums, breakdown);
	for (uint32_t i = 0; i < breakdown->n_steps; i++) {
		side->step_ns[side->n_steps++] = tp_overview_step_ns(&breakdown->step[i]);
		if (i >= proc->cap_peaks || proc->peak[i].live_bytes <= side->peak_bytes)
			continue;
		side->peak_bytes = proc->peak[i].live_bytes;
		side->is_peak_absolute = proc->peak[i].is_absolute;
	}
}

static void take_heap(struct tp_diff_side *side)
{
	side->heap = tp_heapbook_rows(side->heapbook);
	side->is_incomplete |= side->heap->is_incomplete;
	for (uint32_t i = 0; i < side->heap->n_rows; i++) {
		for (uint32_t k = 0; k < TP_HEAP_FIGURES; k++)
			side->heap_total[k] += (double)tp_heap_value(&side->heap->row[i],
								     (enum tp_heap_cost)k);
	}
}

void tp_diff_end(struct tp_diff_side *side)
{
	uint64_t n = 0;

	tp_overview_end(side->overview);
	side->is_incomplete |= side->overview->is_incomplete;
	take_heap(side);
	for (uint32_t i = 0; i < side->overview->n_procs; i++)
		n += side->overview->proc[i].breakdown.n_steps;
	side->step_ns = malloc((n + 1) * sizeof(side->step_ns[0]));
	if (!side->step_ns) {
		side->is_incomplete = true;
		return;
	}
	for (uint32_t i = 0; i < side->overview->n_procs; i++)
		take_steps(side, &side->overview->proc[i]);
	tp_sort_i64(side->step_ns, side->n_steps);
}

/* ---- names of both ---- */

static int compare_names(const void *a, const void *b)
{
	const struct tp_diff_row *x = a, *y = b;
	uint32_t n = x->n_name < y->n_name ? x->n_name : y->n_name;
	int order = memcmp(x->name, y->name, n);

	return order ? order : (x->n_name > y->n_name) - (x->n_name < y->n_name);
}

/* Rows of one side behind those that are there; returns how many there are then. */
static uint32_t add_side(struct tp_diff_row *row, uint32_t n, const struct tp_names *names,
			 const struct tp_overview_row *figures, uint32_t cap, bool is_base)
{
	for (uint32_t i = 0; i < tp_names_count(names) && i < cap; i++) {
		const struct tp_name *name = tp_names_at(names, i);

		if (!figures[i].calls)
			continue;
		row[n] = (struct tp_diff_row){.name = name->bytes, .n_name = name->n_bytes};
		*(is_base ? &row[n].base : &row[n].now) = figures[i];
		n++;
	}
	return n;
}

static struct tp_diff_row *join(const struct tp_diff_side *base, const struct tp_diff_side *now,
				bool is_kernels, uint32_t *n_rows)
{
	const struct tp_diff_side *side[2] = {base, now};
	struct tp_diff_row *row;
	uint32_t n = 0, kept = 0;

	*n_rows = 0;
	for (int i = 0; i < 2; i++)
		n += tp_names_count(is_kernels ? side[i]->kernel_names : side[i]->overview->names);
	row = malloc((n + 1) * sizeof(row[0]));
	if (!row)
		return NULL;
	n = 0;
	for (int i = 0; i < 2; i++)
		n = is_kernels ? add_side(row, n, side[i]->kernel_names, side[i]->kernel,
					  side[i]->cap_kernels, !i)
			       : add_side(row, n, side[i]->overview->names,
					  side[i]->overview->row, side[i]->overview->cap_rows, !i);
	if (n)
		qsort(row, n, sizeof(row[0]), compare_names);
	for (uint32_t i = 0; i < n; i++) {
		if (kept && !compare_names(&row[kept - 1], &row[i])) {
			if (row[i].base.calls)
				row[kept - 1].base = row[i].base;
			else
				row[kept - 1].now = row[i].now;
			continue;
		}
		row[kept++] = row[i];
	}
	for (uint32_t i = 0; i < kept; i++)
		row[i].change_ns =
			(now->n_steps ? (double)row[i].now.self_ns / now->n_steps : 0) -
			(base->n_steps ? (double)row[i].base.self_ns / base->n_steps : 0);
	*n_rows = kept;
	return row;
}

struct tp_diff_row *tp_diff_operators(const struct tp_diff_side *base,
				      const struct tp_diff_side *now, uint32_t *n)
{
	return join(base, now, false, n);
}

struct tp_diff_row *tp_diff_kernels(const struct tp_diff_side *base,
				    const struct tp_diff_side *now, uint32_t *n)
{
	return join(base, now, true, n);
}

static int compare_changes(const void *a, const void *b)
{
	double x = ((const struct tp_diff_row *)a)->change_ns;
	double y = ((const struct tp_diff_row *)b)->change_ns;

	x = x < 0 ? -x : x;
	y = y < 0 ? -y : y;
	return x != y ? (x < y ? 1 : -1) : compare_names(a, b);
}

void tp_diff_sort(struct tp_diff_row *row, uint32_t n)
{
	if (n)
		qsort(row, n, sizeof(row[0]), compare_changes);
}

/* ---- limits ---- */

static double median_of(const struct tp_diff_side *side)
{
	return (double)tp_percentile(side->step_ns, side->n_steps, 50);
}

static double peak_of(const struct tp_diff_side *side)
{
	return (double)side->peak_bytes;
}

static double kernels_of(const struct tp_diff_side *side)
{
	return side->n_steps ? (double)side->kernel_ns / side->n_steps : 0;
}

static double heap_peak_of(const struct tp_diff_side *side)
{
	return side->heap_total[TP_HEAP_PEAK];
}

static double heap_allocs_of(const struct tp_diff_side *side)
{
	return side->heap_total[TP_HEAP_ALLOCS] / (side->n_steps ? side->n_steps : 1);
}

static double heap_leaked_of(const struct tp_diff_side *side)
{
	return side->heap_total[TP_HEAP_LEAKED];
}

static bool has_steps(const struct tp_diff_side *side)
{
	return side->n_steps != 0;
}

static bool has_heap(const struct tp_diff_side *side)
{
	return side->heap->n_rows != 0;
}

static const struct limit {
	const char *word, *what;
	double (*of)(const struct tp_diff_side *side);
	bool (*is_known)(const struct tp_diff_side *side);
} limits_known[] = {
	{"step", "the median step takes", median_of, has_steps},
	{"memory", "the peak of tensor memory takes", peak_of, has_steps},
	{"kernel", "the kernels of a step take", kernels_of, has_steps},
	{"heap-peak", "host memory at its peak takes", heap_peak_of, has_heap},
	{"heap-allocs", "the number of allocations a step is", heap_allocs_of, has_heap},
	{"heap-leaked", "host memory alive at the end takes", heap_leaked_of, has_heap},
};

/* "step>5%", up to a comma or the end; returns what follows, NULL: it is none. */
static const char *read_limit(const char *p, const struct limit **limit, double *percent)
{
	char *end;

	*limit = NULL;
	for (size_t i = 0; i < sizeof(limits_known) / sizeof(limits_known[0]); i++) {
		size_t n = strlen(limits_known[i].word);

		if (!strncmp(p, limits_known[i].word, n) && p[n] == '>') {
			*limit = &limits_known[i];
			p += n + 1;
			break;
		}
	}
	if (!*limit || *p < '0' || *p > '9')
		return NULL;
	*percent = strtod(p, &end);
	if (*end != '%' || (end[1] && (end[1] != ',' || !end[2])))
		return NULL;
	return end[1] ? end + 2 : end + 1;
}

bool tp_diff_is_limit(const char *text)
{
	const struct limit *limit;
	double percent;

	do
		text = read_limit(text, &limit, &percent);
	while (text && *text);
	return text != NULL;
}

bool tp_diff_is_worse(const struct tp_diff_side *base, const struct tp_diff_side *now,
		      const char *limits, struct tp_out *out)
{
	const struct limit *limit;
	bool is_worse = false;
	double percent;

	while (limits && *limits && (limits = read_limit(limits, &limit, &percent))) {
		double before = limit->of(base), after = limit->of(now);

		if (!limit->is_known(base) || !limit->is_known(now)) {
			tp_out_line(out, "red", "FAILED: '%s' cannot be told: %s has no %s",
				    limit->word, limit->is_known(base) ? "this run" : "the base",
				    limit->is_known == has_heap ? "record of host memory"
								: "recorded step");
			is_worse = true;
			continue;
		}
		/* What was not there at all has no percentage; of memory that stays it is the worst. */
		if (before <= 0 && after > 0 && limit->is_known == has_heap) {
			tp_out_line(out, "red", "FAILED: %s something, nothing before",
				    limit->what);
			is_worse = true;
			continue;
		}
		if (before <= 0 || after <= before * (1 + percent / 100))
			continue;
		tp_out_line(out, "red", "FAILED: %s %.1f %% more than before, over the limit of "
				       "%.4g %%", limit->what, 100 * (after / before - 1), percent);
		is_worse = true;
	}
	return is_worse;
}
