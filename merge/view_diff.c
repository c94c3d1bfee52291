/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff.c - a run against an earlier one: steps, where they go, operators, kernels, memory
 *
 * The run of the command line is "now", that of --compare "base". The second is read when the
 * first has been.
 */
#include "merge/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/diff.h"
#include "merge/fuse.h"
#include "merge/stats.h"

struct state {
	struct tp_view_options options;
	struct tp_diff_side now, base;
};

/* "+5.2 %"; "new", "gone" */
static void cell_change(struct tp_table *table, double before, double after)
{
	if (before <= 0 && after <= 0)
		tp_table_cell(table, "%s", "");
	else if (before <= 0)
		tp_table_cell(table, "new");
	else if (after <= 0)
		tp_table_cell(table, "gone");
	else
		tp_table_cell(table, "%+.1f %%", 100 * (after / before - 1));
}

static void row_ns(struct tp_table *table, const char *what, double before, double after)
{
	tp_table_cell(table, "  %s", what);
	tp_cell_ns(table, (int64_t)before);
	tp_cell_ns(table, (int64_t)after);
	tp_cell_ns(table, (int64_t)(after - before));
	cell_change(table, before, after);
}

static struct tp_table *new_table(const char *first, const char *name)
{
	const struct tp_column column[] = {
		{.title = first, .may_cut = true, .field = "what"},
		{.title = "base", .align = TP_RIGHT, .field = "base"},
		{.title = "now", .align = TP_RIGHT, .field = "now"},
		{.title = "difference", .align = TP_RIGHT, .field = "difference"},
		{.title = "change", .align = TP_RIGHT},
	};
	struct tp_table *table = tp_table_new(column, sizeof(column) / sizeof(column[0]));

	tp_table_name(table, name);
	return table;
}

static void print_steps(const struct state *state, struct tp_out *out)
{
	static const struct {
		const char *name;
		double percent;
	} shown[] = {{"fastest", 0}, {"median", 50}, {"p90", 90}, {"slowest", 100}};
	const struct tp_diff_side *base = &state->base, *now = &state->now;
	struct tp_table *table = new_table("  steps", "diff_steps");
	char a[32], b[32];

	tp_out_title(out, "Steps: %s recorded in base, %s now", tp_show_count(a, base->n_steps),
		     tp_show_count(b, now->n_steps));
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		row_ns(table, shown[i].name,
		       (double)tp_percentile(base->step_ns, base->n_steps, shown[i].percent),
		       (double)tp_percentile(now->step_ns, now->n_steps, shown[i].percent));
	tp_table_print(table, out);
	if (!base->peak_bytes && !now->peak_bytes)
		return;
	table = new_table("  tensor memory", "diff_memory");
	tp_table_cell(table, "  peak in a step");
	tp_cell_bytes(table, base->peak_bytes);
	tp_cell_bytes(table, now->peak_bytes);
	tp_cell_bytes(table, now->peak_bytes - base->peak_bytes);
	cell_change(table, (double)base->peak_bytes, (double)now->peak_bytes);
	tp_table_print(table, out);
	if (base->is_peak_absolute != now->is_peak_absolute)
		tp_out_line(out, "yellow", "  one counts from its window's begin, the other knows "
					   "all: the peaks do not compare");
}

static void print_categories(const struct state *state, struct tp_out *out)
{
	const struct tp_overview_sums *base = &state->base.sums, *now = &state->now.sums;
	struct tp_table *table = new_table("  a step's time", "diff_categories");

	tp_out_title(out, "Where a step goes: average of all recorded steps");
	for (uint32_t c = 0; c < TP_CAT_N; c++)
		if (base->ns[c] || now->ns[c])
			row_ns(table, tp_category_name((enum tp_category)c),
			       (double)base->ns[c] / (double)base->n_steps,
			       (double)now->ns[c] / (double)now->n_steps);
	row_ns(table, "step", (double)base->all_ns / (double)base->n_steps,
	       (double)now->all_ns / (double)now->n_steps);
	tp_table_style(table, "bold");
	tp_table_print(table, out);
}

static void print_rows(const struct state *state, struct tp_diff_row *row, uint32_t n,
		       const char *title, const char *first, const char *name,
		       struct tp_out *out)
{
	const struct tp_column column[] = {
		{.title = first, .may_cut = true, .field = "name"},
		{.title = "calls", .align = TP_RIGHT, .is_extra = 2, .field = "base_calls"},
		{.title = "now", .align = TP_RIGHT, .is_extra = 2, .field = "now_calls"},
		{.title = "base", .align = TP_RIGHT, .field = "base_ns"},
		{.title = "now", .align = TP_RIGHT, .field = "now_ns"},
		{.title = "difference", .align = TP_RIGHT, .field = "difference_ns"},
		{.title = "change", .align = TP_RIGHT},
		{.title = "added up", .align = TP_RIGHT, .is_extra = 1, .field = "added_up_ns"},
	};
	double base_steps = state->base.n_steps, now_steps = state->now.n_steps, sum = 0;
	uint32_t top = state->options.top && state->options.top < n ? state->options.top : n;
	struct tp_table *table;
	char a[32];

	if (!row || !n) {
		free(row);
		return;
	}
	tp_diff_sort(row, n);
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, name);
	tp_out_title(out, "%s", title);
	for (uint32_t i = 0; i < top; i++) {
		double base_ns = (double)row[i].base.self_ns / base_steps;
		double now_ns = (double)row[i].now.self_ns / now_steps;

		sum += row[i].change_ns;
		tp_table_cell(table, "%.*s", (int)row[i].n_name, row[i].name);
		tp_table_cell(table, "%.4g", (double)row[i].base.calls / base_steps);
		tp_table_cell(table, "%.4g", (double)row[i].now.calls / now_steps);
		tp_cell_ns(table, (int64_t)base_ns);
		tp_cell_ns(table, (int64_t)now_ns);
		tp_cell_ns(table, (int64_t)row[i].change_ns);
		cell_change(table, row[i].base.calls ? base_ns + 1e-9 : 0,
			    row[i].now.calls ? now_ns + 1e-9 : 0);
		tp_cell_ns(table, (int64_t)sum);
	}
	tp_table_print(table, out);
	if (top < n)
		tp_out_line(out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, n - top));
	free(row);
}

static void give_event(void *ctx, const struct tp_event *event)
{
	tp_diff_event(ctx, event);
}

/* The other run, from its begin to its end. False: said. */
static bool read_base(struct state *state, struct tp_out *out, struct tp_run **run)
{
	if (!state->options.compare) {
		tp_out_line(out, "red", "diff: --compare PATH names the run to compare with");
		return false;
	}
	*run = tp_run_open(state->options.compare);
	if (!*run)
		return false;
	if (tp_diff_begin(&state->base, *run, &state->options) ||
	    tp_fuse_events(*run, give_event, &state->base)) {
		tp_out_line(out, "red", "diff: out of memory");
		return false;
	}
	tp_diff_end(&state->base);
	return true;
}

static void *begin(const struct tp_run *run, const struct tp_view_options *options)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->options = *options;
	if (!tp_diff_begin(&state->now, run, options))
		return state;
	free(state);
	return NULL;
}

static void event(void *state, const struct tp_event *ev)
{
	if (state)
		tp_diff_event(&((struct state *)state)->now, ev);
}

static void print_all_steps(const struct state *state, struct tp_out *out)
{
	const struct tp_diff_side *base = &state->base, *now = &state->now;
	struct tp_diff_row *row;
	uint32_t n;

	print_steps(state, out);
	print_categories(state, out);
	row = tp_diff_operators(base, now, &n);
	print_rows(state, row, n, "Operators by change of their own time, per step", "operator",
		   "diff_operators", out);
	row = tp_diff_kernels(base, now, &n);
	print_rows(state, row, n, "Kernels by change of their time, per step", "kernel",
		   "diff_kernels", out);
}

static void print_all(const struct state *state, const struct tp_run *run,
		      const struct tp_run *other, struct tp_out *out)
{
	const struct tp_diff_side *base = &state->base, *now = &state->now;

	tp_out_title(out, "Difference: %s against %s", run->path, other->path);
	if (!base->n_steps || !now->n_steps)
		tp_out_line(out, "yellow", "no recorded step in %s: %s",
			    !base->n_steps ? other->path : run->path,
			    base->heap->n_rows && now->heap->n_rows
				    ? "only host memory can be compared" : "nothing to compare");
	else
		print_all_steps(state, out);
	tp_view_diff_heap(base, now, state->options.top, out);
	if (base->is_incomplete || now->is_incomplete)
		tp_out_line(out, "red", "out of memory: figures are not complete");
	if (tp_diff_is_worse(base, now, state->options.fail_if, out))
		*state->options.is_worse = true;
}

static void print(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	struct tp_run *other = NULL;

	if (!state) {
		tp_out_line(out, "red", "diff: out of memory");
		return;
	}
	tp_diff_end(&state->now);
	if (read_base(state, out, &other))
		print_all(state, run, other, out);
	else
		*state->options.is_worse |= state->options.fail_if != NULL;
	tp_diff_free(&state->now);
	tp_diff_free(&state->base);
	tp_run_free(other);
	free(state);
}

const struct tp_view tp_view_diff = {
	.name = "diff",
	.help = "against another run (--compare): steps, operators, kernels, memory, host stacks",
	.begin = begin,
	.event = event,
	.print = print,
};
