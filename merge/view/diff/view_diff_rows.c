/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff_rows.c - part of the diff: operators and kernels
 */
#include "merge/view/diff/view_diff.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"

struct shown {
	const struct tp_diff_shown *diff;
	bool is_kernels;
	const struct tp_diff_row *row;
	const double *added_up;		/* down to each of them */
};

static bool is_changed(const struct tp_diff_row *row)
{
	return row->change_ns != 0 || row->device_change_ns != 0 || row->base.calls != row->now.calls;
}

/* Columns are looked for without a run, too. */
static double of_steps(const struct shown *shown, bool is_now)
{
	return !shown ? 1 : is_now ? shown->diff->now->n_steps : shown->diff->base->n_steps;
}

static void put_times(struct tp_row *r, const struct shown *shown, const struct tp_diff_row *row)
{
	const double base = of_steps(shown, false), now = of_steps(shown, true);

	TP_TEXT(r, "base_calls", "calls", TP_LESS(4) | TP_TO_RIGHT, "calls per step in the base run", "%.4g",
		(double)row->base.calls / base);
	TP_TEXT(r, "now_calls", "now", TP_LESS(4) | TP_TO_RIGHT, "calls per step in this run", "%.4g",
		(double)row->now.calls / now);
	TP_NS(r, "base_ns", "base", 0, "self time per step in the base run",
	      tp_whole((double)row->base.self_ns / base));
	TP_NS(r, "now_ns", "now", 0, "self time per step in this run",
	      tp_whole((double)row->now.self_ns / now));
	TP_NS(r, "difference_ns", "difference", 0, "this run minus base", (int64_t)row->change_ns);
	TP_CELL(r, NULL, "change", TP_UNIT_TEXT, TP_TO_RIGHT, "",
		tp_view_diff_change(r,
				    row->base.calls ? (double)row->base.self_ns / base + 1e-9 : 0,
				    row->now.calls ? (double)row->now.self_ns / now + 1e-9 : 0));
	TP_NS(r, "added_up_ns", "added up", TP_LESS(1), "cumulative sum of the differences",
	      (int64_t)shown->added_up[row - shown->row]);
}

static void put_kernel(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_diff_row *row = of;

	TP_TEXT(r, "name", "kernel", TP_CUT, "name of the kernel", "%.*s", (int)row->n_name, row->name);
	put_times(r, ctx, of);
}

static void put_operator(struct tp_row *r, const void *ctx, const void *of)
{
	const struct shown *shown = ctx;
	const struct tp_diff_row *row = of;
	const double base = of_steps(shown, false), now = of_steps(shown, true);

	TP_TEXT(r, "name", "operator", TP_CUT, "name of the operator", "%.*s", (int)row->n_name,
		row->name);
	put_times(r, ctx, of);
	TP_NS(r, "base_total_ns", "total: base", TP_LESS(5), "total time per step in the base run",
	      tp_whole((double)row->base.total_ns / base));
	TP_NS(r, "now_total_ns", "now", TP_LESS(5), "total time per step in this run",
	      tp_whole((double)row->now.total_ns / now));
	TP_WHEN(r, shown->diff->has_devices) {
		TP_NS(r, "base_device_ns", "device: base", TP_LESS(3),
		      "device time of work that it launched itself, per step in the base run",
		      tp_whole((double)row->base.device_ns / base));
		TP_NS(r, "now_device_ns", "now", TP_LESS(3), "the same in this run",
		      tp_whole((double)row->now.device_ns / now));
		TP_NS(r, "difference_device_ns", "difference", TP_LESS(2), "this run minus base",
		      (int64_t)row->device_change_ns);
	}
}

const struct tp_table_def tp_table_diff_operators = {
	.name = "diff_operators", .columns = put_operator,
	.help = "operators by the change of their self time",
};
const struct tp_table_def tp_table_diff_kernels = {
	.name = "diff_kernels", .columns = put_kernel, .help = "kernels by the change of their time",
};

static void print_table(const struct shown *shown, uint32_t n, const char *by)
{
	struct tp_out *out = shown->diff->out;
	uint32_t n_new = 0, n_gone = 0, n_shown = n, n_left;
	char a[32], b[32];

	for (uint32_t i = 0; i < n; i++) {
		n_new += !shown->row[i].base.calls;
		n_gone += !shown->row[i].now.calls;
	}
	/* What is as it was is of interest to programs only. */
	while (!tp_out_is_full(out) && n_shown && !is_changed(&shown->row[n_shown - 1]))
		n_shown--;
	if (!n_shown) {
		tp_out_title(out, "Which %s changed: none", shown->is_kernels ? "kernels" : "operators");
		return;
	}
	tp_out_title(out, "Which %s changed most, by their%s time%s, per step: %s new, %s gone",
		     shown->is_kernels ? "kernels" : "operators", shown->is_kernels ? "" : " self", by,
		     tp_show_count(a, n_new), tp_show_count(b, n_gone));
	n_left = tp_table_show(shown->is_kernels ? &tp_table_diff_kernels : &tp_table_diff_operators,
			       shown, shown->row, n_shown, sizeof(*shown->row),
			       shown->diff->options->top, out);
	tp_out_left(out, n_left, "rows");
}

/* Takes the rows. */
static void print_rows(const struct tp_diff_shown *diff, struct tp_diff_row *row, uint32_t n,
		       bool is_kernels)
{
	const char *sort = diff->out->sort;
	bool is_by_device = !is_kernels && sort && (!strcmp(sort, "device_self_ns") ||
						    !strcmp(sort, "difference_device_ns"));
	double *added_up = malloc(((size_t)n + 1) * sizeof(*added_up)), sum = 0;
	struct shown shown = {
		.diff = diff, .is_kernels = is_kernels, .row = row, .added_up = added_up};

	if (row && n && added_up) {
		tp_diff_sort(row, n, is_by_device);
		for (uint32_t i = 0; i < n; i++)
			added_up[i] = sum += row[i].change_ns;
		print_table(&shown, n, is_by_device ? " on devices" : "");
	}
	free(added_up);
	free(row);
}

void tp_view_diff_operators(const struct tp_diff_shown *shown)
{
	uint32_t n;
	struct tp_diff_row *row = tp_diff_operators(shown->base, shown->now, &n);

	print_rows(shown, row, n, false);
}

void tp_view_diff_kernels(const struct tp_diff_shown *shown)
{
	uint32_t n;
	struct tp_diff_row *row = tp_diff_kernels(shown->base, shown->now, &n);

	print_rows(shown, row, n, true);
}
