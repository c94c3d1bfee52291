/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff.c - a run against an earlier one: steps, where they go, operators, kernels, memory
 *
 * The run of the command line is "now", that of --compare "base". The second is read when the
 * first has been.
 */
#include "merge/model/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/input/fuse.h"
#include "merge/kit/stats.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/view/diff.h"

#include "runtime/base/text.h"

enum {
	EACH_STEP_MAX = 12,	/* steps that people want to see one by one */
	CHOICE_MAX = 160,
};

struct state {
	struct tp_facts *base_facts;	/* of the other run */
	struct tp_view_options options;
	struct tp_diff_side now, base;
};

void tp_view_diff_change(struct tp_old_table *table, double before, double after)
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

static void row_ns(struct tp_old_table *table, const char *what, double before, double after)
{
	tp_table_cell(table, "  %s", what);
	tp_cell_ns(table, (int64_t)before);
	tp_cell_ns(table, (int64_t)after);
	tp_cell_ns(table, (int64_t)(after - before));
	tp_view_diff_change(table, before, after);
}

struct tp_old_table *tp_view_diff_table(const char *first, const char *name)
{
	const struct tp_old_column column[] = {
		{.title = first, .may_cut = true, .field = "what"},
		{.title = "base", .align = TP_RIGHT, .field = "base"},
		{.title = "now", .align = TP_RIGHT, .field = "now"},
		{.title = "difference", .align = TP_RIGHT, .field = "difference"},
		{.title = "change", .align = TP_RIGHT},
	};
	struct tp_old_table *table = tp_table_new(column, sizeof(column) / sizeof(column[0]));

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
	struct tp_old_table *table = tp_view_diff_table("  steps", "diff_steps");
	char a[32], b[32];

	tp_out_title(out, "Steps: %s recorded in base, %s now", tp_show_count(a, base->n_steps),
		     tp_show_count(b, now->n_steps));
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		row_ns(table, shown[i].name,
		       (double)tp_percentile(base->step_ns, base->n_steps, shown[i].percent),
		       (double)tp_percentile(now->step_ns, now->n_steps, shown[i].percent));
	tp_table_print(table, out);
}

static bool has_memory(const struct tp_diff_side *side)
{
	return side->peak_bytes[TP_DIFF_HOST] || side->peak_bytes[TP_DIFF_DEVICE];
}

static void print_memory(const struct state *state, struct tp_out *out)
{
	static const char *const what[TP_DIFF_PLACES] = {
		[TP_DIFF_HOST] = "  peak in a step, on the host",
		[TP_DIFF_DEVICE] = "  peak in a step, on a device",
	};
	const struct tp_diff_side *base = &state->base, *now = &state->now;
	struct tp_old_table *table;
	bool is_odd = false;

	if (!has_memory(base) && !has_memory(now))
		return;
	table = tp_view_diff_table("  tensor memory", "diff_memory");
	for (uint32_t i = 0; i < TP_DIFF_PLACES; i++) {
		if (!base->peak_bytes[i] && !now->peak_bytes[i])
			continue;
		tp_table_cell(table, "%s", what[i]);
		tp_cell_bytes(table, base->peak_bytes[i]);
		tp_cell_bytes(table, now->peak_bytes[i]);
		tp_cell_bytes(table, now->peak_bytes[i] - base->peak_bytes[i]);
		tp_view_diff_change(table, (double)base->peak_bytes[i], (double)now->peak_bytes[i]);
		is_odd |= base->is_peak_absolute[i] != now->is_peak_absolute[i];
	}
	tp_table_print(table, out);
	if (is_odd)
		tp_out_line(out, "yellow", "  one counts from its window's begin, the other knows "
					   "all: the peaks do not compare");
}

/* Each beside its like, with what has added up so far. */
static void print_each_step(const struct state *state, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
		{.title = "  step of base", .align = TP_RIGHT, .field = "base_step"},
		{.title = "now", .align = TP_RIGHT, .field = "now_step"},
		{.title = "base", .align = TP_RIGHT, .field = "base_ns"},
		{.title = "now", .align = TP_RIGHT, .field = "now_ns"},
		{.title = "difference", .align = TP_RIGHT, .field = "difference_ns"},
		{.title = "change", .align = TP_RIGHT},
		{.title = "added up", .align = TP_RIGHT, .field = "added_up_ns"},
	};
	struct tp_diff_pair pair = {.base = NULL};
	struct tp_old_table *table;
	int64_t sum = 0;

	if (state->base.n_indices > EACH_STEP_MAX && state->options.top && !tp_out_is_full(out)) {
		tp_out_line(out, "dim", "  step by step: --top 0");
		return;
	}
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, "diff_each_step");
	while (tp_diff_next(&state->base, &state->now, &pair)) {
		sum = tp_add(sum, tp_sub(pair.now->ns, pair.base->ns));
		tp_table_cell(table, "%" PRIu64, pair.base->index);
		tp_table_cell(table, "%" PRIu64, pair.now->index);
		tp_cell_ns(table, pair.base->ns);
		tp_cell_ns(table, pair.now->ns);
		tp_cell_ns(table, tp_sub(pair.now->ns, pair.base->ns));
		tp_view_diff_change(table, (double)pair.base->ns, (double)pair.now->ns);
		tp_cell_ns(table, sum);
	}
	tp_out_title(out, "Step by step%s%s", pair.is_by_number ? "" : ", in their order",
		     state->base.n_indices < state->base.n_steps ? ": of several ranks the one that "
								   "took longest" : "");
	tp_table_print(table, out);
}

static void print_categories(const struct state *state, struct tp_out *out)
{
	const struct tp_overview_sums *base = &state->base.sums, *now = &state->now.sums;
	struct tp_old_table *table = tp_view_diff_table("  a step's time", "diff_categories");

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

static bool has_devices(const struct state *state)
{
	return state->base.kernels->ns || state->now.kernels->ns;
}

/* As a training sees it; work of devices counts where it was asked for. */
static void print_parts(const struct state *state, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
		{.title = "  part of a step", .may_cut = true, .field = "what"},
		{.title = "base", .align = TP_RIGHT, .field = "base_ns"},
		{.title = "now", .align = TP_RIGHT, .field = "now_ns"},
		{.title = "difference", .align = TP_RIGHT, .field = "difference_ns"},
		{.title = "change", .align = TP_RIGHT},
		{.title = "device: base", .align = TP_RIGHT, .field = "base_device_ns"},
		{.title = "now", .align = TP_RIGHT, .field = "now_device_ns"},
		{.title = "difference", .align = TP_RIGHT, .field = "difference_device_ns"},
	};
	struct tp_old_table *table;

	table = tp_table_new(column, has_devices(state) ? 8 : 5);
	tp_table_name(table, "diff_parts");
	tp_out_title(out, "Parts of a step, on the host%s: average of all recorded steps",
		     has_devices(state) ? ", and the work that they asked devices for" : "");
	for (uint32_t i = 0; i < TP_PARTS; i++) {
		enum tp_part part = (enum tp_part)i;
		double base = tp_diff_part_ns(&state->base, part);
		double now = tp_diff_part_ns(&state->now, part);
		double base_device = tp_diff_part_device_ns(&state->base, part);
		double now_device = tp_diff_part_device_ns(&state->now, part);

		if (!tp_part_name(part) || (base <= 0 && now <= 0 && base_device <= 0 && now_device <= 0))
			continue;
		row_ns(table, tp_part_name(part), base, now);
		if (!has_devices(state))
			continue;
		tp_cell_ns(table, (int64_t)base_device);
		tp_cell_ns(table, (int64_t)now_device);
		tp_cell_ns(table, (int64_t)(now_device - base_device));
	}
	tp_table_print(table, out);
}

/* ---- operators and kernels ---- */

static bool is_changed(const struct tp_diff_row *row)
{
	return row->change_ns != 0 || row->device_change_ns != 0 || row->base.calls != row->now.calls;
}

static void print_rows(const struct state *state, struct tp_diff_row *row, uint32_t n,
		       bool is_kernels, struct tp_out *out)
{
	const struct tp_old_column column[] = {
		{.title = is_kernels ? "kernel" : "operator", .may_cut = true, .field = "name"},
		{.title = "calls", .align = TP_RIGHT, .is_extra = 4, .field = "base_calls"},
		{.title = "now", .align = TP_RIGHT, .is_extra = 4, .field = "now_calls"},
		{.title = "base", .align = TP_RIGHT, .field = "base_ns"},
		{.title = "now", .align = TP_RIGHT, .field = "now_ns"},
		{.title = "difference", .align = TP_RIGHT, .field = "difference_ns"},
		{.title = "change", .align = TP_RIGHT},
		{.title = "added up", .align = TP_RIGHT, .is_extra = 1, .field = "added_up_ns"},
		{.title = "total: base", .align = TP_RIGHT, .is_extra = 5, .field = "base_total_ns"},
		{.title = "now", .align = TP_RIGHT, .is_extra = 5, .field = "now_total_ns"},
		{.title = "device: base", .align = TP_RIGHT, .is_extra = 3, .field = "base_device_ns"},
		{.title = "now", .align = TP_RIGHT, .is_extra = 3, .field = "now_device_ns"},
		{.title = "difference", .align = TP_RIGHT, .is_extra = 2, .field = "difference_device_ns"},
	};
	double base_steps = state->base.n_steps, now_steps = state->now.n_steps, sum = 0;
	uint32_t n_columns = is_kernels ? 8 : has_devices(state) ? 13 : 10, n_new = 0, n_gone = 0, top;
	bool is_by_device = !is_kernels && state->options.sort && !strcmp(state->options.sort, "device_self_ns");
	struct tp_old_table *table;
	char a[32], b[32];

	if (!row || !n) {
		free(row);
		return;
	}
	tp_diff_sort(row, n, is_by_device);
	for (uint32_t i = 0; i < n; i++) {
		n_new += !row[i].base.calls;
		n_gone += !row[i].now.calls;
	}
	/* What is as it was is of interest to programs only. */
	while (!tp_out_is_full(out) && n && !is_changed(&row[n - 1]))
		n--;
	if (!n) {
		tp_out_title(out, "%s: no difference", is_kernels ? "Kernels" : "Operators");
		free(row);
		return;
	}
	top = state->options.top && state->options.top < n ? state->options.top : n;
	table = tp_table_new(column, n_columns);
	tp_table_name(table, is_kernels ? "diff_kernels" : "diff_operators");
	tp_out_title(out, "%s by change of their%s time%s, per step: %s new, %s gone",
		     is_kernels ? "Kernels" : "Operators", is_kernels ? "" : " own",
		     is_by_device ? " on devices" : "", tp_show_count(a, n_new), tp_show_count(b, n_gone));
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
		tp_view_diff_change(table, row[i].base.calls ? base_ns + 1e-9 : 0,
				    row[i].now.calls ? now_ns + 1e-9 : 0);
		tp_cell_ns(table, (int64_t)sum);
		if (n_columns > 8) {
			tp_cell_ns(table, (int64_t)((double)row[i].base.total_ns / base_steps));
			tp_cell_ns(table, (int64_t)((double)row[i].now.total_ns / now_steps));
		}
		if (n_columns > 10) {
			tp_cell_ns(table, (int64_t)((double)row[i].base.device_ns / base_steps));
			tp_cell_ns(table, (int64_t)((double)row[i].now.device_ns / now_steps));
			tp_cell_ns(table, (int64_t)row[i].device_change_ns);
		}
	}
	tp_table_print(table, out);
	if (top < n)
		tp_out_line(out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, n - top));
	free(row);
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
	state->base_facts = tp_facts_new(*run);
	tp_diff_begin(&state->base, state->base_facts);
	if (tp_fuse_events(*run, tp_facts_event, state->base_facts)) {
		tp_out_line(out, "red", "diff: out of memory");
		return false;
	}
	tp_facts_end(state->base_facts);
	tp_diff_end(&state->base);
	return true;
}

static void *begin(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	tp_diff_begin(&state->now, facts);
	return state;
}

static void print_all_steps(const struct state *state, struct tp_out *out)
{
	const struct tp_diff_side *base = &state->base, *now = &state->now;
	struct tp_diff_row *row;
	uint32_t n;

	print_steps(state, out);
	print_memory(state, out);
	print_each_step(state, out);
	print_categories(state, out);
	print_parts(state, out);
	row = tp_diff_operators(base, now, &n);
	print_rows(state, row, n, false, out);
	row = tp_diff_kernels(base, now, &n);
	print_rows(state, row, n, true, out);
}

/* "windows 0-3, ranks 0 of "; "": all of it. */
static const char *show_choice(char buf[CHOICE_MAX], const struct tp_fuse_options *options)
{
	const struct {
		const char *what, *list;
	} chosen[] = {{"steps", options->steps}, {"ranks", options->ranks}, {"windows", options->windows}};
	struct tp_text text;

	tp_text_init(&text, buf, CHOICE_MAX);
	for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++)
		if (chosen[i].list)
			tp_text_fmt(&text, "%s%s %s", text.len ? ", " : "", chosen[i].what, chosen[i].list);
	if (text.len)
		tp_text_str(&text, " of ");
	return buf;
}

static void print_all(const struct state *state, const struct tp_run *run,
		      const struct tp_run *other, struct tp_out *out)
{
	const struct tp_diff_side *base = &state->base, *now = &state->now;
	char a[CHOICE_MAX], b[CHOICE_MAX];

	tp_out_title(out, "Difference: %s%s against %s%s", show_choice(a, state->options.chosen),
		     run->path, show_choice(b, state->options.compare), other->path);
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

	tp_diff_end(&state->now);
	if (read_base(state, out, &other))
		print_all(state, run, other, out);
	else
		*state->options.is_worse |= state->options.fail_if != NULL;
	tp_diff_free(&state->now);
	tp_diff_free(&state->base);
	tp_facts_free(state->base_facts);
	tp_run_free(other);
	free(state);
}

const struct tp_view tp_view_diff = {
	.name = "diff",
	.help = "against another run (--compare): steps, operators, kernels, memory, host stacks",
	.begin = begin,
	.print = print,
};
