/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff_modules.c - part of the diff: nn.Modules of both runs as one tree
 *
 * Where rows are limited, those whose time changed most are shown, and what they are in.
 */
#include "merge/view/diff/view_diff.h"

#include <math.h>
#include <stdlib.h>

#include "merge/kit/need.h"
#include "merge/kit/sum.h"

static double host_ns(const struct tp_diff_module *row, enum tp_diff_which which)
{
	return row->time[which].forward_ns + row->time[which].backward_ns;
}

static double change_of(const struct tp_diff_module *row)
{
	return fabs(host_ns(row, TP_DIFF_NOW) - host_ns(row, TP_DIFF_BASE)) +
	       fabs(row->time[TP_DIFF_NOW].device_ns - row->time[TP_DIFF_BASE].device_ns);
}

const struct tp_module_path *tp_view_diff_path(const struct tp_diff_shown *shown,
					       const struct tp_diff_module *row)
{
	const enum tp_diff_which which = row->path[TP_DIFF_NOW] ? TP_DIFF_NOW : TP_DIFF_BASE;
	const struct tp_diff_side *side = which == TP_DIFF_NOW ? shown->now : shown->base;

	return tp_module_paths_at(tp_module_times_paths(side->modules), row->path[which]);
}

static void put_module(struct tp_row *r, const struct tp_module_path *path)
{
	char text[TP_MODULE_TEXT];

	tp_row_text(r, "%s", tp_module_show(text, path, tp_row_is_for_programs(r)));
}

static void put_class(struct tp_row *r, const struct tp_module_path *path)
{
	uint32_t n;
	const char *class = tp_module_class(path, &n);

	tp_row_text(r, "%.*s", (int)n, class);
}

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	static const struct tp_diff_module nothing;
	const struct tp_diff_shown *shown = ctx;
	const struct tp_diff_module *row = of ? of : &nothing;
	const struct tp_diff_module_time *base = &row->time[TP_DIFF_BASE], *now = &row->time[TP_DIFF_NOW];
	const double before = host_ns(row, TP_DIFF_BASE), after = host_ns(row, TP_DIFF_NOW);

	TP_DEPTH(r, row->depth ? row->depth - 1 : 0);
	TP_CELL(r, "module", "module", TP_UNIT_TEXT, TP_CUT | TP_TREE, "name in its parent module",
		put_module(r, tp_view_diff_path(shown, row)));
	TP_CELL(r, "class", "class", TP_UNIT_TEXT, TP_CUT | TP_LESS(2), "class",
		put_class(r, tp_view_diff_path(shown, row)));
	TP_REAL(r, "base_calls", "calls", TP_LESS(4), "calls per step in the base run", base->calls, 2);
	TP_REAL(r, "now_calls", "now", TP_LESS(4), "calls per step in this run", now->calls, 2);
	TP_NS(r, "base_ns", "base", 0, "host time per step in the base run, forward and backward, total",
	      tp_whole(before));
	TP_NS(r, "now_ns", "now", 0, "the same in this run", tp_whole(after));
	TP_NS(r, "difference_ns", "difference", 0, "this run minus base", tp_whole(after - before));
	TP_CELL(r, NULL, "change", TP_UNIT_TEXT, TP_TO_RIGHT, "",
		tp_view_diff_change(r, row->path[TP_DIFF_BASE] ? before + 1e-9 : 0,
				    row->path[TP_DIFF_NOW] ? after + 1e-9 : 0));
	TP_NS(r, "base_self_ns", "self: base", TP_LESS(3), "the same, self",
	      tp_whole(base->self_ns));
	TP_NS(r, "now_self_ns", "now", TP_LESS(3), "the same in this run", tp_whole(now->self_ns));
	TP_NS(r, "base_backward_ns", NULL, TP_ROWS_ONLY, "backward pass in the base run", tp_whole(base->backward_ns));
	TP_NS(r, "now_backward_ns", NULL, TP_ROWS_ONLY, "the same in this run", tp_whole(now->backward_ns));
	TP_WHEN(r, shown->has_devices) {
		TP_NS(r, "base_device_ns", "device: base", TP_LESS(1), "device time per step in the base run",
		      tp_whole(base->device_ns));
		TP_NS(r, "now_device_ns", "now", TP_LESS(1), "the same in this run", tp_whole(now->device_ns));
		TP_NS(r, "difference_device_ns", "difference", TP_LESS(1), "this run minus base",
		      tp_whole(now->device_ns - base->device_ns));
	}
}

const struct tp_table_def tp_table_diff_modules = {
	.name = "diff_modules", .columns = put_columns, .help = "the tree of nn.Modules of both runs",
};

struct ordered {
	double change;
	uint32_t at;
};

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->change != y->change)
		return x->change < y->change ? 1 : -1;
	return (x->at > y->at) - (x->at < y->at);
}

/* It, and what it is in: the rows above it of lower depth. */
static void mark(const struct tp_diff_module *row, uint32_t at, uint8_t *is_shown)
{
	uint32_t depth = row[at].depth + 1;

	for (uint32_t i = at + 1; i-- > 0 && depth > 1;) {
		if (row[i].depth >= depth)
			continue;
		depth = row[i].depth;
		is_shown[i] = 1;
	}
}

/* top 0: all. To be freed. */
static uint8_t *choose(const struct tp_diff_module *row, uint32_t n, uint32_t top)
{
	struct ordered *order = tp_need(n, sizeof(*order));
	uint8_t *is_shown = tp_need(n, 1);

	for (uint32_t i = 0; i < n; i++)
		order[i] = (struct ordered){change_of(&row[i]), i};
	qsort(order, n, sizeof(*order), compare_ordered);
	for (uint32_t i = 0; i < n && (!top || i < top); i++)
		mark(row, order[i].at, is_shown);
	free(order);
	return is_shown;
}

static void print_tree(const struct tp_diff_shown *shown, const struct tp_diff_module *row, uint32_t n)
{
	uint8_t *is_shown = choose(row, n, tp_out_is_full(shown->out) ? 0 : shown->options->top);
	struct tp_table *table =
		tp_table_begin(&tp_table_diff_modules, shown, TP_TOP_NONE, shown->out);
	uint32_t n_left = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (is_shown[i])
			tp_table_add(table, &row[i]);
		n_left += !is_shown[i];
	}
	tp_table_end(table);
	tp_out_left(shown->out, n_left, "modules");
	free(is_shown);
}

void tp_view_diff_modules(const struct tp_diff_shown *shown)
{
	uint32_t n, n_new = 0, n_gone = 0;
	struct tp_diff_module *row = tp_diff_modules(shown->base, shown->now, &n);
	double change = 0;
	char a[32], b[32];

	for (uint32_t i = 0; i < n; i++) {
		n_new += !row[i].path[TP_DIFF_BASE];
		n_gone += !row[i].path[TP_DIFF_NOW];
		change += change_of(&row[i]);
	}
	if (n && !n_new && !n_gone && !(change > 0) && !tp_out_is_full(shown->out)) {
		tp_out_title(shown->out, "Modules: no difference");
	} else if (n) {
		tp_out_title(shown->out, "Modules, per step: %s new, %s gone", tp_show_count(a, n_new),
			     tp_show_count(b, n_gone));
		print_tree(shown, row, n);
	}
	free(row);
}
