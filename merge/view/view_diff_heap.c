/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff_heap.c - part of the diff: host memory, and the stacks in which it changed most
 */
#include <stdlib.h>

#include "merge/facts/heap/heapdiff.h"
#include "merge/facts/origin/hostmem_frames.h"
#include "merge/view/diff.h"

enum {
	FRAMES_MAX = 1024,	/* of a stack that are looked at */
	FRAMES_SHOWN = 16,	/* the innermost ones of the stack that changed most */
	TEXT_MAX = 512,
};

struct shown {
	const struct tp_diff_side *base, *now;
	struct tp_out *out;
	uint32_t top;
	struct tp_frame *frame;
	struct tp_hostmem_choice *base_choice, *now_choice;
};

static const struct {
	enum tp_heap_cost cost;
	const char *what, *title, *name;
	bool is_per_step;
} sections[] = {
	{TP_HEAP_PEAK, "bytes at the peak", "Stacks by change of their bytes at the peak",
	 "diff_heap_peak", false},
	{TP_HEAP_ALLOC_BYTES, "bytes allocated", "Stacks by change of the bytes they allocate",
	 "diff_heap_allocated", true},
	{TP_HEAP_LEAKED, "bytes alive at the end", "Stacks by change of their bytes alive at the end",
	 "diff_heap_leaked", false},
};
enum { N_SECTIONS = sizeof(sections) / sizeof(sections[0]) };

/* Runs of different length compare step by step; without steps, as they are. */
static double divisor(const struct shown *shown, const struct tp_diff_side *side, bool is_per_step)
{
	return is_per_step && shown->base->n_steps && shown->now->n_steps ? side->n_steps : 1;
}

static const char *per_step(const struct shown *shown)
{
	return shown->base->n_steps && shown->now->n_steps ? ", per step" : "";
}

static void print_totals(const struct shown *shown)
{
	struct tp_old_table *table = tp_view_diff_table("  host memory", "diff_heap");
	double before, after;

	tp_out_title(shown->out, "Host memory (heap), all processes");
	for (uint32_t i = 0; i < N_SECTIONS; i++) {
		before = shown->base->heap_total[sections[i].cost] /
			 divisor(shown, shown->base, sections[i].is_per_step);
		after = shown->now->heap_total[sections[i].cost] /
			divisor(shown, shown->now, sections[i].is_per_step);
		tp_table_cell(table, "  %s%s", sections[i].what,
			      sections[i].is_per_step ? per_step(shown) : "");
		tp_cell_bytes(table, (int64_t)before);
		tp_cell_bytes(table, (int64_t)after);
		tp_cell_bytes(table, (int64_t)(after - before));
		tp_view_diff_change(table, before, after);
	}
	before = shown->base->heap_total[TP_HEAP_ALLOCS] / divisor(shown, shown->base, true);
	after = shown->now->heap_total[TP_HEAP_ALLOCS] / divisor(shown, shown->now, true);
	tp_table_cell(table, "  allocations%s", per_step(shown));
	tp_table_cell(table, "%.0f", before);
	tp_table_cell(table, "%.0f", after);
	tp_table_cell(table, "%+.0f", after - before);
	tp_view_diff_change(table, before, after);
	tp_table_print(table, shown->out);
	if (shown->base->heap->sample_bytes || shown->now->heap->sample_bytes)
		tp_out_line(shown->out, "yellow", "  figures of a run that was sampled are estimates");
}

/* ---- stacks ---- */

struct ordered {
	double change;
	uint32_t row;
};

static int compare_changes(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	double by_x = x->change < 0 ? -x->change : x->change;
	double by_y = y->change < 0 ? -y->change : y->change;

	if (by_x != by_y)
		return by_x < by_y ? 1 : -1;
	return (x->row > y->row) - (x->row < y->row);
}

static uint32_t load_frames(const struct shown *shown, const struct tp_heapdiff_row *row)
{
	const struct tp_heap_rows *rows = row->is_of_base ? shown->base->heap : shown->now->heap;
	uint32_t n = rows->frames(rows->stacks, row->stack, shown->frame, FRAMES_MAX);

	return n < FRAMES_MAX ? n : FRAMES_MAX;
}

static void cell_frame(struct tp_old_table *table, const struct shown *shown,
		       const struct tp_heapdiff_row *row, enum tp_hostmem_frame which)
{
	const struct tp_hostmem_choice *choice = row->is_of_base ? shown->base_choice
								 : shown->now_choice;
	enum tp_hostmem_show how = shown->out->rows ? TP_HOSTMEM_WHOLE : TP_HOSTMEM_SHORT;
	struct tp_frame frame;
	char text[TEXT_MAX];

	if (tp_hostmem_choose(choice, row->stack, which, &frame))
		tp_table_cell(table, "%s", tp_hostmem_show_frame(text, sizeof(text), &frame, how));
	else
		tp_table_cell(table, "%s", which == TP_HOSTMEM_TELLING ? "(not recorded)" : "");
}

static void print_stack(const struct shown *shown, const struct tp_heapdiff_row *row)
{
	uint32_t n = load_frames(shown, row);
	char text[TEXT_MAX];

	if (n)
		tp_out_line(shown->out, "", "  the first one's stack:");
	for (uint32_t i = 0; i < n; i++) {
		if (shown->top && i == FRAMES_SHOWN) {
			tp_out_line(shown->out, "dim", "    ... %u more: --top 0 shows all", n - i);
			break;
		}
		tp_out_line(shown->out, shown->frame[i].is_python ? "bold" : "", "    %s",
			    tp_hostmem_show_frame(text, sizeof(text), &shown->frame[i],
						  TP_HOSTMEM_LONG));
	}
}

static void print_section(const struct shown *shown, uint32_t at,
			  const struct tp_heapdiff_row *row, uint32_t n_rows,
			  struct ordered *order)
{
	static const struct tp_old_column column[] = {
		{.title = "base", .align = TP_RIGHT, .field = "base_bytes"},
		{.title = "now", .align = TP_RIGHT, .field = "now_bytes"},
		{.title = "difference", .align = TP_RIGHT, .field = "difference_bytes"},
		{.title = "change", .align = TP_RIGHT},
		{.title = "allocs", .align = TP_RIGHT, .is_extra = 2, .field = "base_allocations"},
		{.title = "now", .align = TP_RIGHT, .is_extra = 2, .field = "now_allocations"},
		{.title = "code", .may_cut = true, .field = "code"},
		{.title = "asked by", .may_cut = true, .field = "native"},
	};
	bool is_per_step = sections[at].is_per_step;
	double base = divisor(shown, shown->base, is_per_step);
	double now = divisor(shown, shown->now, is_per_step);
	uint32_t n = 0, top;
	struct tp_old_table *table;
	char a[32];

	for (uint32_t i = 0; i < n_rows; i++) {
		double change = (double)row[i].now[sections[at].cost] / now -
				(double)row[i].base[sections[at].cost] / base;

		if (change != 0)
			order[n++] = (struct ordered){change, i};
	}
	if (!n)
		return;
	qsort(order, n, sizeof(order[0]), compare_changes);
	top = shown->top && shown->top < n ? shown->top : n;
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, sections[at].name);
	tp_out_title(shown->out, "%s%s", sections[at].title, is_per_step ? per_step(shown) : "");
	for (uint32_t i = 0; i < top; i++) {
		const struct tp_heapdiff_row *of = &row[order[i].row];
		double before = (double)of->base[sections[at].cost] / base;
		double after = (double)of->now[sections[at].cost] / now;

		tp_cell_bytes(table, (int64_t)before);
		tp_cell_bytes(table, (int64_t)after);
		tp_cell_bytes(table, (int64_t)order[i].change);
		tp_view_diff_change(table, before, after);
		tp_cell_count(table, of->base[TP_HEAP_ALLOCS]);
		tp_cell_count(table, of->now[TP_HEAP_ALLOCS]);
		cell_frame(table, shown, of, TP_HOSTMEM_TELLING);
		cell_frame(table, shown, of, TP_HOSTMEM_NATIVE);
	}
	tp_table_print(table, shown->out);
	if (top < n)
		tp_out_line(shown->out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, n - top));
	print_stack(shown, &row[order[0].row]);
}

void tp_view_diff_heap(const struct tp_diff_side *base, const struct tp_diff_side *now,
		       uint32_t top, struct tp_out *out)
{
	struct shown shown = {.base = base, .now = now, .out = out, .top = top};
	struct tp_heapdiff_row *row;
	struct ordered *order = NULL;
	uint32_t n;

	if (!base->heap->n_rows || !now->heap->n_rows) {
		if (base->heap->n_rows || now->heap->n_rows)
			tp_out_line(out, "yellow", "no host memory was recorded in %s: it is not "
						   "compared",
				    base->heap->n_rows ? now->heap->run->path
						       : base->heap->run->path);
		return;
	}
	print_totals(&shown);
	row = tp_heapdiff(base->heap, now->heap, &n);
	if (row)
		order = malloc((n + 1) * sizeof(order[0]));
	shown.frame = malloc(FRAMES_MAX * sizeof(shown.frame[0]));
	shown.base_choice = tp_hostmem_choice_new(base->heap->stacks);
	shown.now_choice = tp_hostmem_choice_new(now->heap->stacks);
	if (row && order && shown.frame && shown.base_choice && shown.now_choice) {
		for (uint32_t i = 0; i < N_SECTIONS; i++)
			print_section(&shown, i, row, n, order);
	} else {
		tp_out_line(out, "red", "stacks are not compared: out of memory");
	}
	free(row);
	free(order);
	free(shown.frame);
	tp_hostmem_choice_free(shown.base_choice);
	tp_hostmem_choice_free(shown.now_choice);
}
