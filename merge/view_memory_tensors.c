/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_tensors.c - part of the view of memory: what tensors filled it, and what for
 *
 * For each device of a process: its peak by category and who held it, each step's peak, the
 * curve; then the largest blocks of all.
 */
#include "merge/view_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/label.h"
#include "merge/stats.h"
#include "merge/sum.h"

enum { LABEL = TP_VIEW_MEMORY_LABEL, CURVE_LABEL = 24 };

struct shown {
	const struct tp_run *run;
	const struct tp_view_options *options;
	const struct tp_tensormem *mem;
	const struct tp_names *names;
	bool shows_who;
	struct tp_out *out;
};

static const char *device_name(char buf[32], uint32_t device)
{
	static const char *const type[] = {"CPU", "GPU"};
	const uint32_t t = device >> 8 & 0xff, index = device & 0xff;

	if (t < sizeof(type) / sizeof(type[0]))
		snprintf(buf, 32, index == 0xff ? "%s" : "%s %u", type[t], index);
	else
		snprintf(buf, 32, "device %u:%u", t, index);
	return buf;
}

/* "rank 3, CPU" */
static const char *place_name(char buf[128], const struct shown *shown,
			      const struct tp_proc *proc, uint32_t device)
{
	char who[64], where[32];

	if (shown->run->n_procs > 1)
		snprintf(buf, 128, "%s, %s", tp_label_proc(who, shown->run, proc),
			 device_name(where, device));
	else
		snprintf(buf, 128, "%s", device_name(where, device));
	return buf;
}

static void add_place(struct tp_table *table, const struct shown *shown,
		      const struct tp_proc *proc, uint32_t device)
{
	char who[64], where[32];

	if (!shown->shows_who)
		return;
	tp_table_cell(table, "%s", tp_label_proc(who, shown->run, proc));
	tp_table_cell(table, "%s", device_name(where, device));
}

static void add_step(struct tp_table *table, uint64_t step)
{
	if (step == TP_NO_STEP)
		tp_table_cell(table, "%s", "");
	else
		tp_table_cell(table, "%lu", (unsigned long)step);
}

static void add_operator(struct tp_table *table, const struct shown *shown, uint32_t name)
{
	if (name == TP_NO_NAME)
		tp_table_cell(table, "%s", "");
	else
		tp_table_cell(table, "%s", tp_names_at(shown->names, name)->bytes);
}

/* ---- the peak ---- */

static void print_peak(const struct shown *shown, const struct tp_mempeak_track *track)
{
	const struct tp_stretch *peak = &track->stretch[track->best];
	char a[32], b[32], step[48] = "";

	if (peak->step != TP_NO_STEP)
		snprintf(step, sizeof(step), " in step %lu,", (unsigned long)peak->step);
	tp_out_item(shown->out, "", LABEL, "most at a time",
		    "%s,%s %s after the run's begin",
		    tp_show_bytes(a, tp_stretch_bytes(peak)), step,
		    tp_show_ns(b, peak->peak_ns));
}

static void print_categories(const struct shown *shown, const struct tp_mempeak_track *track)
{
	static const struct tp_column column[] = {
		{.title = "process", .field = "process"},
		{.title = "device", .field = "device"},
		{.title = "category", .field = "category"},
		{.title = "at the peak", .align = TP_RIGHT, .field = "peak_bytes"},
		{.title = "%", .align = TP_RIGHT, .field = "percent"},
		{.title = "on average", .align = TP_RIGHT, .field = "mean_bytes"},
	};
	const struct tp_stretch *peak = &track->stretch[track->best];
	const uint32_t skipped = shown->shows_who ? 0 : 2;
	const int64_t all = tp_stretch_bytes(peak);
	struct tp_table *table = tp_table_new(column + skipped,
					      sizeof(column) / sizeof(column[0]) - skipped);

	tp_table_name(table, "tensor_categories");
	for (uint32_t c = 1; c <= TP_TENSOR_N; c++) {
		const enum tp_tensor_category category = c % TP_TENSOR_N;
		const double mean = track->window_ns > 0 ? track->byte_ns[category] /
								   (double)track->window_ns
							 : 0;

		if (!peak->at_peak[category] && mean < 1)
			continue;
		add_place(table, shown, track->proc, track->device);
		tp_table_cell(table, "%s", shown->out->rows ? tp_memcat_word(category)
							    : tp_memcat_title(category));
		tp_cell_bytes(table, peak->at_peak[category]);
		tp_cell_percent(table, (double)peak->at_peak[category], (double)all);
		tp_cell_bytes(table, (int64_t)mean);
		if (!category)
			tp_table_style(table, "dim");
	}
	tp_table_print(table, shown->out);
}

static void print_holders(const struct shown *shown, const struct tp_mempeak_track *track)
{
	static const struct tp_column column[] = {
		{.title = "process", .field = "process"},
		{.title = "device", .field = "device"},
		{.title = "at the peak", .align = TP_RIGHT, .field = "peak_bytes"},
		{.title = "%", .align = TP_RIGHT, .field = "percent"},
		{.title = "blocks", .align = TP_RIGHT, .is_extra = 1, .field = "peak_blocks"},
		{.title = "category", .field = "category"},
		{.title = "allocated by", .may_cut = true, .field = "operator"},
	};
	const uint32_t skipped = shown->shows_who ? 0 : 2;
	const int64_t all = tp_stretch_bytes(&track->stretch[track->best]);
	const uint32_t n = tp_view_memory_rows(shown->options, track->n_holders);
	struct tp_table *table;
	char a[32];

	if (!n)
		return;
	tp_out_title(shown->out, "Who held it");
	table = tp_table_new(column + skipped, sizeof(column) / sizeof(column[0]) - skipped);
	tp_table_name(table, "tensor_holders");
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_holder *holder = &track->holder[i];

		add_place(table, shown, track->proc, track->device);
		tp_cell_bytes(table, holder->bytes);
		tp_cell_percent(table, (double)holder->bytes, (double)all);
		tp_cell_count(table, holder->n_blocks);
		tp_table_cell(table, "%s", shown->out->rows ? tp_memcat_word(holder->category)
							    : tp_memcat_title(holder->category));
		if (holder->name == TP_NO_NAME && !shown->out->rows)
			tp_table_cell(table, "(before the window)");
		else
			add_operator(table, shown, holder->name);
	}
	tp_table_print(table, shown->out);
	if (n < track->n_holders)
		tp_out_line(shown->out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, track->n_holders - n));
}

/* ---- steps and the curve ---- */

/* Columns: process, device, what comes first in the row, all, then the categories. */
enum { FIXED = 5, COLUMNS = FIXED + TP_TENSOR_N };

static bool has_category(const struct tp_mempeak_track *track, uint32_t n,
			 enum tp_tensor_category category)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t s = 0; s < track[i].n_stretches; s++)
			if (track[i].stretch[s].at_peak[category])
				return true;
	return false;
}

static void print_stretches(const struct shown *shown, const struct tp_mempeak_track *track,
			    uint32_t n, bool is_steps)
{
	struct tp_column column[COLUMNS] = {
		{.title = "process", .field = "process"},
		{.title = "device", .field = "device"},
		{.title = "step", .align = TP_RIGHT, .field = "step"},
		{.title = "at", .align = TP_RIGHT, .is_extra = 1, .field = "peak_ns"},
		{.title = "all", .align = TP_RIGHT, .field = "bytes"},
	};
	enum tp_tensor_category category[TP_TENSOR_N];
	static char field[TP_TENSOR_N][40];
	const uint32_t skipped = shown->shows_who ? 0 : 2;
	uint32_t n_categories = 0, n_rows = 0, n_shown = 0, most;
	struct tp_table *table;
	char a[32];

	for (uint32_t c = 1; c <= TP_TENSOR_N; c++) {
		const enum tp_tensor_category of = c % TP_TENSOR_N;

		/* Rows always have the same fields. */
		if (!shown->out->rows && !has_category(track, n, of))
			continue;
		snprintf(field[of], sizeof(field[of]), "%s_bytes", tp_memcat_word(of));
		column[FIXED + n_categories] = (struct tp_column){
			.title = tp_memcat_title(of), .align = TP_RIGHT, .field = field[of],
		};
		category[n_categories++] = of;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t s = 0; s < track[i].n_stretches; s++)
			n_rows += !is_steps || track[i].stretch[s].step != TP_NO_STEP;
	if (!n_rows)
		return;
	most = is_steps && shown->options->top && shown->options->top < n_rows ? shown->options->top
									       : n_rows;
	tp_out_title(shown->out, is_steps ? "Each step's peak" : "The most in each stretch of time");
	table = tp_table_new(column + skipped, FIXED + n_categories - skipped);
	tp_table_name(table, is_steps ? "tensor_steps" : "tensor_curve");
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t s = 0; s < track[i].n_stretches && n_shown < most; s++) {
			const struct tp_stretch *stretch = &track[i].stretch[s];

			if (is_steps && stretch->step == TP_NO_STEP)
				continue;
			n_shown++;
			add_place(table, shown, track[i].proc, track[i].device);
			add_step(table, stretch->step);
			tp_cell_ns(table, stretch->peak_ns);
			tp_cell_bytes(table, tp_stretch_bytes(stretch));
			for (uint32_t c = 0; c < n_categories; c++)
				tp_cell_bytes(table, stretch->at_peak[category[c]]);
		}
	tp_table_print(table, shown->out);
	if (n_shown < n_rows)
		tp_out_line(shown->out, "dim", "%s more steps: --top 0 shows all.",
			    tp_show_count(a, n_rows - n_shown));
}

/* Windows follow each other in it. */
static void print_curve(const struct shown *shown, const struct tp_mempeak_track *track)
{
	const uint32_t columns = shown->out->width > CURVE_LABEL + 30 ?
					 shown->out->width - CURVE_LABEL - 16 : 14;
	int64_t *value = malloc((track->n_stretches + 1) * sizeof(*value)), top = 0;
	char *bars = malloc(3 * (size_t)columns + 1), a[32];

	if (!value || !bars || track->n_stretches < 2 || shown->out->rows) {
		free(value);
		free(bars);
		return;
	}
	for (uint32_t s = 0; s < track->n_stretches; s++) {
		const int64_t bytes = tp_stretch_bytes(&track->stretch[s]);

		top = bytes > top ? bytes : top;
	}
	tp_out_title(shown->out, "Over the time in windows (full: %s)", tp_show_bytes(a, top));
	for (uint32_t c = 0; c <= TP_TENSOR_N; c++) {
		const enum tp_tensor_category category = c % TP_TENSOR_N;
		int64_t most = 0;

		for (uint32_t s = 0; s < track->n_stretches; s++) {
			value[s] = c ? track->stretch[s].at_peak[category]
				     : tp_stretch_bytes(&track->stretch[s]);
			most = value[s] > most ? value[s] : most;
		}
		if (most)
			tp_out_line(shown->out, "", "  %-*s%s %s", CURVE_LABEL,
				    c ? tp_memcat_title(category) : "all",
				    tp_sparkline(bars, value, track->n_stretches, columns, top),
				    tp_show_bytes(a, most));
	}
	free(value);
	free(bars);
}

/* ---- blocks ---- */

static void print_largest(const struct shown *shown)
{
	static const struct tp_column column[] = {
		{.title = "process", .field = "process"},
		{.title = "device", .field = "device"},
		{.title = "bytes", .align = TP_RIGHT, .field = "bytes"},
		{.title = "category", .field = "category"},
		{.title = "step", .align = TP_RIGHT, .field = "step"},
		{.title = "allocated", .align = TP_RIGHT, .is_extra = 2, .field = "allocated_ns"},
		{.title = "freed", .align = TP_RIGHT, .is_extra = 3, .field = "freed_ns"},
		{.title = "lived", .align = TP_RIGHT, .is_extra = 1, .field = "lifetime_ns"},
		{.title = "allocated by", .may_cut = true, .field = "operator"},
		{.title = "tensor", .may_cut = true, .field = "tensor"},
		{.field = "internal"},	/* in rows only */
	};
	const uint32_t skipped = shown->shows_who ? 0 : 2, n_hidden = !shown->out->rows;
	uint32_t n_kept, n;
	const struct tp_life *life = tp_tensormem_largest(shown->mem, &n_kept);
	struct tp_table *table;

	if (!n_kept)
		return;
	n = tp_view_memory_rows(shown->options, n_kept);
	tp_out_title(shown->out, "The largest blocks of tensors");
	table = tp_table_new(column + skipped,
			     sizeof(column) / sizeof(column[0]) - skipped - n_hidden);
	tp_table_name(table, "tensor_blocks");
	for (uint32_t i = 0; i < n; i++, life++) {
		add_place(table, shown, life->proc, life->device);
		tp_cell_bytes(table, life->bytes);
		tp_table_cell(table, "%s", shown->out->rows ? tp_memcat_word(life->category)
							    : tp_memcat_title(life->category));
		add_step(table, life->step);
		if (life->is_older)
			tp_table_cell(table, "%s", shown->out->rows ? "" : "before");
		else
			tp_cell_ns(table, life->begin_ns);
		if (life->is_alive)
			tp_table_cell(table, "%s", shown->out->rows ? "" : "later");
		else
			tp_cell_ns(table, life->end_ns);
		if (life->is_alive || life->is_older)
			tp_table_cell(table, "%s", "");
		else
			tp_cell_ns(table, tp_sub(life->end_ns, life->begin_ns));
		add_operator(table, shown, life->name);
		tp_table_cell(table, "%s", life->label ? life->label->bytes : "");
		if (!n_hidden)
			tp_cell_count(table, life->is_internal);
	}
	tp_table_print(table, shown->out);
}

/* ---- operators ---- */

static void print_operators(const struct shown *shown)
{
	static const struct tp_column column[] = {
		{.title = "operator", .may_cut = true, .field = "operator"},
		{.title = "calls", .align = TP_RIGHT, .field = "calls"},
		{.title = "increase", .align = TP_RIGHT, .is_extra = 2, .field = "increase_bytes"},
		{.title = "self incr.", .align = TP_RIGHT, .field = "self_increase_bytes"},
		{.title = "allocs", .align = TP_RIGHT, .is_extra = 4, .field = "allocations"},
		{.title = "self allocs", .align = TP_RIGHT, .is_extra = 1,
		 .field = "self_allocations"},
		{.title = "allocated", .align = TP_RIGHT, .is_extra = 3, .field = "allocated_bytes"},
		{.title = "self alloc.", .align = TP_RIGHT, .field = "self_allocated_bytes"},
	};
	const struct tp_memops *ops = tp_memcat_operators(tp_tensormem_cat(shown->mem));
	const uint32_t n = tp_view_memory_rows(shown->options, ops->n);
	struct tp_table *table;
	char a[32];

	if (!n)
		return;
	tp_out_title(shown->out, "Tensor memory by operator, all devices and processes");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, "tensor_operators");
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_memop *op = &ops->op[i];

		add_operator(table, shown, op->name);
		tp_cell_count(table, op->calls);
		tp_cell_bytes(table, op->bytes);
		tp_cell_bytes(table, op->self_bytes);
		tp_cell_count(table, op->allocs);
		tp_cell_count(table, op->self_allocs);
		tp_cell_bytes(table, op->alloc_bytes);
		tp_cell_bytes(table, op->self_alloc_bytes);
	}
	tp_table_print(table, shown->out);
	if (n < ops->n)
		tp_out_line(shown->out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, ops->n - n));
}

/* ---- what is not known ---- */

static void print_doubts(const struct shown *shown)
{
	const struct tp_memcat_doubts doubts =
		tp_memcat_doubts(tp_tensormem_cat(shown->mem));
	struct tp_out *out = shown->out;
	char a[32], b[32], c[32];

	if (!doubts.n_scans)
		tp_out_line(out, "dim",
			    "What is older than a window is unknown, and the rest told by when it "
			    "was made and freed: TRAINPROF_RECORD=categories asks the optimizer, too.");
	else
		tp_out_line(out, "dim", "Optimizers and models that were looked at: %s; tensors named by them: %s, in %s.",
			    tp_show_count(a, doubts.n_scans), tp_show_count(b, doubts.n_scanned),
			    tp_show_ns(c, doubts.scan_ns));
	if (doubts.n_unread)
		tp_out_line(out, "dim", "%s tensors of other classes could not be read.",
			    tp_show_count(a, doubts.n_unread));
	if (doubts.n_older_frees)
		tp_out_line(out, "dim",
			    "%s blocks from before a window that nobody named were freed in it; "
			    "where the size is not known they still count as unknown.",
			    tp_show_count(a, doubts.n_older_frees));
	if (!doubts.has_totals)
		tp_out_line(out, "dim",
			    "What was alive when a window began is not known in all: what nobody "
			    "named of it is missing.");
	if (doubts.n_lost || tp_tensormem_is_incomplete(shown->mem))
		tp_out_line(out, "red", "out of memory: some of it is missing here");
}

void tp_view_memory_tensors(const struct tp_run *run, const struct tp_view_options *options,
			    const struct tp_tensormem *mem, struct tp_out *out)
{
	struct shown shown = {
		.run = run, .options = options, .mem = mem, .out = out,
		.names = tp_memcat_names(tp_tensormem_cat(mem)),
		.shows_who = tp_out_is_full(out),
	};
	uint32_t n, n_times;
	const struct tp_mempeak_track *track = tp_tensormem_by_step(mem, &n);
	const struct tp_mempeak_track *curve = tp_tensormem_by_time(mem, &n_times);
	char name[128];

	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++) {
		/* Blocks of which no moment was seen: a damaged file. */
		if (!track[i].n_stretches)
			continue;
		tp_out_title(out, "Tensor memory: %s",
			     place_name(name, &shown, track[i].proc, track[i].device));
		print_peak(&shown, &track[i]);
		print_categories(&shown, &track[i]);
		if (i < n_times)
			print_curve(&shown, &curve[i]);
		print_holders(&shown, &track[i]);
	}
	shown.shows_who |= n > 1;
	print_stretches(&shown, track, n, true);
	if (tp_out_is_full(out))
		print_stretches(&shown, curve, n_times, false);
	print_largest(&shown);
	print_operators(&shown);
	print_doubts(&shown);
}
