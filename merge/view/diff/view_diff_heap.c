/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff_heap.c - part of the diff: host memory, and the stacks in which it changed most
 */
#include <stdio.h>
#include <stdlib.h>

#include "merge/facts/heap/heapdiff.h"
#include "merge/facts/origin/hostmem_frames.h"
#include "merge/view/diff/view_diff.h"

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

static const struct section {
	enum tp_heap_cost cost;
	const char *what, *title;
	const struct tp_table_def *table;
	bool is_per_step;
} sections[] = {
	{TP_HEAP_PEAK, "bytes at the peak", "Which stacks hold more or less at the peak",
	 &tp_table_diff_heap_peak, false},
	{TP_HEAP_ALLOC_BYTES, "bytes allocated", "Which stacks allocate more or less",
	 &tp_table_diff_heap_allocated, true},
	{TP_HEAP_LEAKED, "bytes alive at the end", "Which stacks hold more or less at the end",
	 &tp_table_diff_heap_leaked, false},
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

const struct tp_table_def tp_table_diff_heap = {
	.name = "diff_heap", .columns = tp_view_diff_bytes, .help = "host memory of both runs",
};

static struct tp_diff_figure figure_of(const struct shown *shown, char text[64], const char *what,
				       enum tp_heap_cost cost, bool is_per_step)
{
	snprintf(text, 64, "%s%s", what, is_per_step ? per_step(shown) : "");
	return (struct tp_diff_figure){
		.what = text, .is_count = cost == TP_HEAP_ALLOCS,
		.base = shown->base->heap_total[cost] / divisor(shown, shown->base, is_per_step),
		.now = shown->now->heap_total[cost] / divisor(shown, shown->now, is_per_step),
	};
}

static void print_totals(const struct shown *shown)
{
	struct tp_diff_figure row[N_SECTIONS + 1];
	char text[N_SECTIONS + 1][64];

	tp_out_title(shown->out, "How host memory (heap) changed, all processes");
	for (uint32_t i = 0; i < N_SECTIONS; i++)
		row[i] = figure_of(shown, text[i], sections[i].what, sections[i].cost,
				   sections[i].is_per_step);
	row[N_SECTIONS] = figure_of(shown, text[N_SECTIONS], "allocations", TP_HEAP_ALLOCS, true);
	tp_table_show(&tp_table_diff_heap, "host memory", row, N_SECTIONS + 1, sizeof(row[0]),
		      TP_TOP_ASKED, shown->out);
	if (shown->base->heap->sample_bytes || shown->now->heap->sample_bytes)
		tp_out_line(shown->out, "yellow", "  figures of a run that was sampled are estimates");
}

/* ---- stacks ---- */

struct ordered {
	double before, after, change;
	const struct tp_heapdiff_row *row;
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

static void put_frame(struct tp_row *r, const struct shown *shown,
		      const struct tp_heapdiff_row *row, enum tp_hostmem_frame which)
{
	const struct tp_hostmem_choice *choice = row->is_of_base ? shown->base_choice
								 : shown->now_choice;
	enum tp_hostmem_show how = tp_row_is_for_programs(r) ? TP_HOSTMEM_WHOLE : TP_HOSTMEM_SHORT;
	struct tp_frame frame;
	char text[TEXT_MAX];

	if (tp_hostmem_choose(choice, row->stack, which, &frame))
		tp_row_text(r, "%s", tp_hostmem_show_frame(text, sizeof(text), &frame, how));
	else
		tp_row_text(r, "%s", which == TP_HOSTMEM_TELLING ? "(not recorded)" : "");
}

static void put_stack(struct tp_row *r, const void *ctx, const void *of)
{
	const struct ordered *row = of;

	TP_BYTES(r, "base_bytes", "base", 0, "bytes in the base run", row->before);
	TP_BYTES(r, "now_bytes", "now", 0, "bytes in this run", row->after);
	TP_BYTES(r, "difference_bytes", "difference", 0, "this run minus base", row->change);
	TP_CELL(r, NULL, "change", TP_UNIT_TEXT, TP_TO_RIGHT, "",
		tp_view_diff_change(r, row->before, row->after));
	TP_COUNT(r, "base_allocations", "allocs", TP_LESS(2), "allocations in the base run",
		 row->row->base[TP_HEAP_ALLOCS]);
	TP_COUNT(r, "now_allocations", "now", TP_LESS(2), "allocations in this run",
		 row->row->now[TP_HEAP_ALLOCS]);
	TP_CELL(r, "code", "code", TP_UNIT_PLACE, TP_CUT, "most informative frame",
		put_frame(r, ctx, row->row, TP_HOSTMEM_TELLING));
	TP_CELL(r, "native", "requested by", TP_UNIT_PLACE, TP_CUT, "native function inside it",
		put_frame(r, ctx, row->row, TP_HOSTMEM_NATIVE));
}

const struct tp_table_def tp_table_diff_heap_peak = {
	.name = "diff_heap_peak", .columns = put_stack,
	.help = "stacks by change of their bytes at the peak",
};
const struct tp_table_def tp_table_diff_heap_allocated = {
	.name = "diff_heap_allocated", .columns = put_stack,
	.help = "stacks by change of their allocated bytes",
};
const struct tp_table_def tp_table_diff_heap_leaked = {
	.name = "diff_heap_leaked", .columns = put_stack,
	.help = "stacks by change of their live bytes at the end",
};

static void print_stack(const struct shown *shown, const struct tp_heapdiff_row *row)
{
	uint32_t n = load_frames(shown, row);
	char text[TEXT_MAX];

	if (n)
		tp_out_line(shown->out, "", "  the first one's stack:");
	for (uint32_t i = 0; i < n; i++) {
		if (shown->top && i == FRAMES_SHOWN) {
			tp_out_line(shown->out, "dim", "    ... %u more%s", n - i,
				    tp_out_is_terminal(shown->out) ? ": --top 0 shows all" : "");
			break;
		}
		tp_out_line(shown->out, shown->frame[i].is_python ? "bold" : "", "    %s",
			    tp_hostmem_show_frame(text, sizeof(text), &shown->frame[i],
						  TP_HOSTMEM_LONG));
	}
}

static void print_section(const struct shown *shown, const struct section *section,
			  const struct tp_heapdiff_row *row, uint32_t n_rows,
			  struct ordered *order)
{
	double base = divisor(shown, shown->base, section->is_per_step);
	double now = divisor(shown, shown->now, section->is_per_step);
	uint32_t n = 0, n_left;

	for (uint32_t i = 0; i < n_rows; i++) {
		struct ordered of = {.row = &row[i],
				     .before = (double)row[i].base[section->cost] / base,
				     .after = (double)row[i].now[section->cost] / now};

		of.change = of.after - of.before;
		if (of.change != 0)
			order[n++] = of;
	}
	if (!n)
		return;
	qsort(order, n, sizeof(order[0]), compare_changes);
	tp_out_title(shown->out, "%s%s", section->title,
		     section->is_per_step ? per_step(shown) : "");
	n_left = tp_table_show(section->table, shown, order, n, sizeof(order[0]), shown->top,
			       shown->out);
	tp_out_left(shown->out, n_left, "rows");
	print_stack(shown, order[0].row);
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
			print_section(&shown, &sections[i], row, n, order);
	} else {
		tp_out_line(out, "red", "stacks are not compared: out of memory");
	}
	free(row);
	free(order);
	free(shown.frame);
	tp_hostmem_choice_free(shown.base_choice);
	tp_hostmem_choice_free(shown.now_choice);
}
