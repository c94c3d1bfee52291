/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff_steps.c - part of the diff: steps, their memory, where they go
 */
#include "merge/view/diff/view_diff.h"

#include <stdio.h>

#include "merge/kit/stats.h"
#include "merge/kit/sum.h"

enum {
	EACH_STEP_MAX = 12,	/* steps that people want to see one by one */
};

void tp_view_diff_change(struct tp_row *r, double before, double after)
{
	if (before <= 0 && after <= 0)
		tp_row_text(r, "%s", "");
	else if (before <= 0)
		tp_row_text(r, "new");
	else if (after <= 0)
		tp_row_text(r, "gone");
	else
		tp_row_text(r, "%+.1f %%", 100 * (after / before - 1));
}

static void put_figure(struct tp_row *r, const struct tp_diff_figure *of, double value,
		       const char *count)
{
	if (of->is_count)
		tp_row_text(r, count, value);
	else
		tp_row_integer(r, (int64_t)value);
}

static void put_figures(struct tp_row *r, enum tp_unit unit, const char *title,
			const struct tp_diff_figure *of)
{
	TP_TEXT(r, "what", title, TP_CUT | TP_INSET, "quantity", "%s", of->what);
	TP_CELL(r, "base", "base", unit, 0, "value in the base run", put_figure(r, of, of->base, "%.0f"));
	TP_CELL(r, "now", "now", unit, 0, "value in this run", put_figure(r, of, of->now, "%.0f"));
	TP_CELL(r, "difference", "difference", unit, 0, "this run minus base",
		put_figure(r, of, of->now - of->base, "%+.0f"));
	TP_CELL(r, NULL, "change", TP_UNIT_TEXT, TP_TO_RIGHT, "",
		tp_view_diff_change(r, of->base, of->now));
	TP_STYLE(r, of->is_sum ? "bold" : NULL);
}

static void put_ns(struct tp_row *r, const void *ctx, const void *of)
{
	put_figures(r, TP_UNIT_NS, ctx, of);
}

void tp_view_diff_bytes(struct tp_row *r, const void *ctx, const void *of)
{
	put_figures(r, TP_UNIT_BYTES, ctx, of);
}

/* ---- steps and memory ---- */

const struct tp_table_def tp_table_diff_steps = {
	.name = "diff_steps", .columns = put_ns, .help = "step durations of both runs",
};

void tp_view_diff_steps(const struct tp_diff_shown *shown)
{
	static const struct {
		const char *name;
		double percent;
	} places[] = {{"fastest", 0}, {"median", 50}, {"p90", 90}, {"slowest", 100}};
	enum { N = sizeof(places) / sizeof(places[0]) };
	const struct tp_diff_side *base = shown->base, *now = shown->now;
	struct tp_diff_figure row[N] = {{.what = NULL}};
	char a[32], b[32];

	if (base->is_bare)
		tp_out_title(shown->out, "How long steps take outside windows: %s in base, %s now",
			     tp_show_count(a, base->n_bare), tp_show_count(b, now->n_bare));
	else
		tp_out_title(shown->out, "How long steps take: %s recorded in base, %s now",
			     tp_show_count(a, base->n_steps), tp_show_count(b, now->n_steps));
	for (size_t i = 0; i < N; i++)
		row[i] = (struct tp_diff_figure){
			.what = places[i].name,
			.base = (double)tp_diff_length(base, places[i].percent),
			.now = (double)tp_diff_length(now, places[i].percent),
		};
	tp_table_show(&tp_table_diff_steps, "steps", row, N, sizeof(row[0]), TP_TOP_ASKED, shown->out);
}

static bool has_memory(const struct tp_diff_side *side)
{
	return side->peak_bytes[TP_DIFF_HOST] || side->peak_bytes[TP_DIFF_DEVICE];
}

const struct tp_table_def tp_table_diff_memory = {
	.name = "diff_memory", .columns = tp_view_diff_bytes,
	.help = "peak tensor memory of a step in both runs",
};

void tp_view_diff_memory(const struct tp_diff_shown *shown)
{
	static const char *const what[TP_DIFF_PLACES] = {
		[TP_DIFF_HOST] = "peak in a step, on the host",
		[TP_DIFF_DEVICE] = "peak in a step, on a device",
	};
	const struct tp_diff_side *base = shown->base, *now = shown->now;
	struct tp_diff_figure row[TP_DIFF_PLACES];
	bool is_odd = false;
	uint32_t n = 0;

	if (!has_memory(base) && !has_memory(now))
		return;
	for (uint32_t i = 0; i < TP_DIFF_PLACES; i++) {
		if (!base->peak_bytes[i] && !now->peak_bytes[i])
			continue;
		row[n++] = (struct tp_diff_figure){.what = what[i],
						   .base = (double)base->peak_bytes[i],
						   .now = (double)now->peak_bytes[i]};
		is_odd |= base->is_peak_absolute[i] != now->is_peak_absolute[i];
	}
	tp_table_show(&tp_table_diff_memory, "tensor memory", row, n, sizeof(row[0]), TP_TOP_ASKED,
		      shown->out);
	if (is_odd)
		tp_out_line(shown->out, "yellow", "  one counts from its window's start, the other "
						  "knows all: the peaks do not compare");
}

/* Each beside its like, with what has added up so far. */
struct pair {
	struct tp_diff_pair of;
	int64_t added_up_ns;
};

static void put_pair(struct tp_row *r, const void *ctx, const void *of)
{
	const struct pair *row = of;
	const struct tp_diff_step *base = of ? row->of.base : NULL, *now = of ? row->of.now : NULL;

	TP_NUMBER(r, "base_step", "step of base", TP_INSET, "number of the step in the base run", base->index);
	TP_NUMBER(r, "now_step", "now", 0, "number of its counterpart in this run", now->index);
	TP_NS(r, "base_ns", "base", 0, "duration in the base run", base->ns);
	TP_NS(r, "now_ns", "now", 0, "duration in this run", now->ns);
	TP_NS(r, "difference_ns", "difference", 0, "this run minus base", tp_sub(now->ns, base->ns));
	TP_CELL(r, NULL, "change", TP_UNIT_TEXT, TP_TO_RIGHT, "",
		tp_view_diff_change(r, (double)base->ns, (double)now->ns));
	TP_NS(r, "added_up_ns", "added up", 0, "cumulative sum of the differences", row->added_up_ns);
}

const struct tp_table_def tp_table_diff_each_step = {
	.name = "diff_each_step", .columns = put_pair, .row_bytes = sizeof(struct pair),
	.help = "each step of both runs",
};

void tp_view_diff_each_step(const struct tp_diff_shown *shown)
{
	const struct tp_diff_side *base = shown->base;
	struct tp_diff_pair first = {.base = NULL};
	struct pair pair = {.added_up_ns = 0};
	struct tp_table *table;

	if (base->n_indices > EACH_STEP_MAX && shown->options->top && !tp_out_is_full(shown->out)) {
		tp_out_line(shown->out, "dim", "  step by step: --top 0");
		return;
	}
	tp_diff_next(base, shown->now, &first);
	tp_out_title(shown->out, "How each step changed%s%s", first.is_by_number ? "" : ", in their order",
		     base->n_indices < base->n_steps ? ": of several ranks the one that took longest"
						     : "");
	table = tp_table_begin(&tp_table_diff_each_step, NULL, TP_TOP_ASKED, shown->out);
	while (tp_diff_next(base, shown->now, &pair.of)) {
		pair.added_up_ns = tp_add(pair.added_up_ns, tp_sub(pair.of.now->ns, pair.of.base->ns));
		tp_table_add(table, &pair);
	}
	tp_table_end(table);
}

/* ---- where a step goes ---- */

const struct tp_table_def tp_table_diff_categories = {
	.name = "diff_categories", .columns = put_ns, .help = "step time by category in both runs",
};

void tp_view_diff_categories(const struct tp_diff_shown *shown)
{
	const struct tp_overview_sums *base = &shown->base->sums, *now = &shown->now->sums;
	struct tp_diff_figure row[TP_CAT_N + 1];
	uint32_t n = 0;

	tp_out_title(shown->out, "Where a step goes: average of all recorded steps");
	for (uint32_t c = 0; c < TP_CAT_N; c++)
		if (base->ns[c] || now->ns[c])
			row[n++] = (struct tp_diff_figure){
				.what = tp_category_name((enum tp_category)c),
				.base = (double)base->ns[c] / (double)base->n_steps,
				.now = (double)now->ns[c] / (double)now->n_steps,
			};
	row[n++] = (struct tp_diff_figure){
		.what = "step", .is_sum = true,
		.base = (double)base->all_ns / (double)base->n_steps,
		.now = (double)now->all_ns / (double)now->n_steps,
	};
	tp_table_show(&tp_table_diff_categories, "a step's time", row, n, sizeof(row[0]), TP_TOP_ASKED,
		      shown->out);
}

/* As a training sees it; work of devices counts where it was asked for. */
struct part {
	const char *name;
	double base, now, base_device, now_device;
};

static void put_part(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_diff_shown *shown = ctx;
	const struct part *row = of;

	TP_TEXT(r, "what", "part of a step", TP_CUT | TP_INSET, "part of a step", "%s", row->name);
	TP_NS(r, "base_ns", "base", 0, "value in the base run", (int64_t)row->base);
	TP_NS(r, "now_ns", "now", 0, "value in this run", (int64_t)row->now);
	TP_NS(r, "difference_ns", "difference", 0, "this run minus base", tp_whole(row->now - row->base));
	TP_CELL(r, NULL, "change", TP_UNIT_TEXT, TP_TO_RIGHT, "",
		tp_view_diff_change(r, row->base, row->now));
	TP_WHEN(r, shown->has_devices) {
		TP_NS(r, "base_device_ns", "device: base", 0, "device time of work launched in it, in the base run",
		      (int64_t)row->base_device);
		TP_NS(r, "now_device_ns", "now", 0, "the same in this run", (int64_t)row->now_device);
		TP_NS(r, "difference_device_ns", "difference", 0, "this run minus base",
		      tp_whole(row->now_device - row->base_device));
	}
}

const struct tp_table_def tp_table_diff_parts = {
	.name = "diff_parts", .columns = put_part,
	.help = "step time by part: data loading, forward, backward, optimizer",
};

void tp_view_diff_parts(const struct tp_diff_shown *shown)
{
	struct part row[TP_PARTS];
	uint32_t n = 0;

	tp_out_title(shown->out, "Which part of a step changed, on the host%s: average of all recorded steps",
		     shown->has_devices ? ", and the work that they requested from devices" : "");
	for (uint32_t i = 0; i < TP_PARTS; i++) {
		enum tp_part part = (enum tp_part)i;
		struct part of = {
			.name = tp_part_name(part),
			.base = tp_diff_part_ns(shown->base, part),
			.now = tp_diff_part_ns(shown->now, part),
			.base_device = tp_diff_part_device_ns(shown->base, part),
			.now_device = tp_diff_part_device_ns(shown->now, part),
		};

		if (of.name && (of.base > 0 || of.now > 0 || of.base_device > 0 || of.now_device > 0))
			row[n++] = of;
	}
	tp_table_show(&tp_table_diff_parts, shown, row, n, sizeof(row[0]), TP_TOP_ASKED, shown->out);
}
