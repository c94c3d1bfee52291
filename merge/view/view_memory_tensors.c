/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_tensors.c - part of the view of memory: what tensors filled it, and what for
 *
 * A device of a process: its peak by category and who held it, what the allocator kept beside,
 * the curve, each step's peak; then the largest blocks and operators. Of several devices text shows
 * the one with most, and the others in a table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/stats.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/view/view_tensors.h"

enum { LABEL = TP_VIEW_MEMORY_LABEL, CURVE_LABEL = 24 };

static int64_t peak_of(const struct tp_mempeak_track *track)
{
	return track->n_stretches ? tp_stretch_bytes(&track->stretch[track->best]) : 0;
}

/* ---- the peak ---- */

static void print_peak(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track)
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

static void print_categories(const struct tp_tensors_shown *shown,
			     const struct tp_mempeak_track *track)
{
	static const struct tp_old_column column[] = {
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
	struct tp_old_table *table = tp_table_new(column + skipped,
					      sizeof(column) / sizeof(column[0]) - skipped);

	tp_table_name(table, "tensor_categories");
	for (uint32_t c = 1; c <= TP_TENSOR_N; c++) {
		const enum tp_tensor_category category = c % TP_TENSOR_N;
		const double mean = track->window_ns > 0 ? track->byte_ns[category] /
								   (double)track->window_ns
							 : 0;

		if (!peak->at_peak[category] && mean < 1)
			continue;
		tp_tensors_cell_place(table, shown, track->proc, track->device);
		tp_tensors_cell_category(table, shown, category);
		tp_cell_bytes(table, peak->at_peak[category]);
		tp_cell_percent(table, (double)peak->at_peak[category], (double)all);
		tp_cell_bytes(table, (int64_t)mean);
		if (!category)
			tp_table_style(table, "dim");
	}
	tp_table_print(table, shown->out);
}

/* ---- steps and the curve ---- */

/* Columns: process, device, what comes first in the row, all, then the categories. */
enum { FIXED = 7, COLUMNS = FIXED + TP_TENSOR_N };

struct steps {
	struct tp_old_column column[COLUMNS];
	uint32_t n_columns;
	enum tp_tensor_category category[TP_TENSOR_N];
	uint32_t n_categories;
	bool has_reserved, has_others;
	struct tp_old_table *table;
};

static int64_t most_of(const struct tp_mempeak_track *track, uint32_t n,
		       enum tp_tensor_category category)
{
	int64_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t s = 0; s < track[i].n_stretches; s++)
			if (track[i].stretch[s].at_peak[category] > most)
				most = track[i].stretch[s].at_peak[category];
	return most;
}

static void add_column(struct steps *steps, struct tp_old_column column)
{
	steps->column[steps->n_columns++] = column;
}

/* Rows always have the same fields; in text what takes least goes first where there is no room. */
static void choose_columns(struct steps *steps, const struct tp_tensors_shown *shown,
			   const struct tp_mempeak_track *track, uint32_t n)
{
	static char field[TP_TENSOR_N][40];
	const bool is_rows = shown->out->rows != TP_ROWS_NONE;
	int64_t most[TP_TENSOR_N];

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t s = 0; s < track[i].n_stretches; s++) {
			steps->has_reserved |= track[i].stretch[s].reserved > 0;
			steps->has_others |= track[i].stretch[s].others > 0;
		}
	steps->has_reserved |= is_rows;
	steps->has_others |= is_rows;
	for (uint32_t c = 0; c < TP_TENSOR_N; c++)
		most[c] = most_of(track, n, c);
	if (shown->shows_who) {
		add_column(steps, (struct tp_old_column){.title = "process", .field = "process"});
		add_column(steps, (struct tp_old_column){.title = "device", .field = "device"});
	}
	add_column(steps, (struct tp_old_column){.title = "step", .align = TP_RIGHT, .field = "step"});
	add_column(steps, (struct tp_old_column){.title = "at", .align = TP_RIGHT,
					     .is_extra = TP_TENSOR_N + 1, .field = "peak_ns"});
	if (steps->has_others)
		add_column(steps, (struct tp_old_column){.title = "others", .align = TP_RIGHT,
						     .field = "others_bytes"});
	if (steps->has_reserved)
		add_column(steps, (struct tp_old_column){.title = "reserved", .align = TP_RIGHT,
						     .field = "reserved_bytes"});
	add_column(steps, (struct tp_old_column){.title = "tensors", .align = TP_RIGHT,
					     .field = "bytes"});
	for (uint32_t c = 1; c <= TP_TENSOR_N; c++) {
		const enum tp_tensor_category of = c % TP_TENSOR_N;
		uint8_t n_greater = 1;

		if (!is_rows && !most[of])
			continue;
		for (uint32_t k = 0; k < TP_TENSOR_N; k++)
			n_greater += most[k] > most[of];
		snprintf(field[of], sizeof(field[of]), "%s_bytes", tp_memcat_word(of));
		add_column(steps, (struct tp_old_column){
			.title = tp_memcat_title(of), .align = TP_RIGHT, .field = field[of],
			.is_extra = n_greater,
		});
		steps->category[steps->n_categories++] = of;
	}
}

/* Within a hundredth, category by category. */
static bool is_like(const struct tp_stretch *a, const struct tp_stretch *b)
{
	const int64_t near = tp_stretch_bytes(a) / 100;

	for (uint32_t c = 0; c < TP_TENSOR_N; c++)
		if (llabs((long long)tp_sub(a->at_peak[c], b->at_peak[c])) > near)
			return false;
	return llabs((long long)tp_sub(a->reserved, b->reserved)) <= near;
}

/* Steps from..to of a track, which are alike: the first stands for all. */
static void add_stretch(struct steps *steps, const struct tp_tensors_shown *shown,
			const struct tp_mempeak_track *track, uint32_t from, uint32_t to)
{
	const struct tp_stretch *stretch = &track->stretch[from];

	tp_tensors_cell_place(steps->table, shown, track->proc, track->device);
	if (from == to)
		tp_tensors_cell_step(steps->table, stretch->step);
	else
		tp_table_cell(steps->table, "%lu-%lu", (unsigned long)stretch->step,
			      (unsigned long)track->stretch[to].step);
	tp_cell_ns(steps->table, stretch->peak_ns);
	if (steps->has_others)
		tp_cell_bytes(steps->table, stretch->others);
	if (steps->has_reserved)
		tp_cell_bytes(steps->table, stretch->reserved);
	tp_cell_bytes(steps->table, tp_stretch_bytes(stretch));
	for (uint32_t c = 0; c < steps->n_categories; c++)
		tp_cell_bytes(steps->table, stretch->at_peak[steps->category[c]]);
}

/* The next stretch of the track that is a step (any, where not is_steps), from `at` on. */
static uint32_t next_stretch(const struct tp_mempeak_track *track, uint32_t at, bool is_steps)
{
	while (at < track->n_stretches && is_steps && track->stretch[at].step == TP_NO_STEP)
		at++;
	return at;
}

static void print_stretches(const struct tp_tensors_shown *shown,
			    const struct tp_mempeak_track *track, uint32_t n, bool is_steps)
{
	const bool folds = !tp_out_is_full(shown->out) && shown->options->top;
	struct steps steps = {.n_columns = 0};
	uint32_t n_rows = 0, n_shown = 0, most = is_steps && shown->options->top
							  ? shown->options->top : UINT32_MAX;
	char a[32];

	choose_columns(&steps, shown, track, n);
	tp_out_title(shown->out, is_steps ? "Each step's peak" : "The most in each stretch of time");
	steps.table = tp_table_new(steps.column, steps.n_columns);
	tp_table_name(steps.table, is_steps ? "tensor_steps" : "tensor_curve");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = next_stretch(&track[i], 0, is_steps);

		while (from < track[i].n_stretches) {
			uint32_t to = from, next = next_stretch(&track[i], from + 1, is_steps);

			while (folds && next < track[i].n_stretches &&
			       is_like(&track[i].stretch[from], &track[i].stretch[next])) {
				to = next;
				next = next_stretch(&track[i], next + 1, is_steps);
			}
			if (n_shown < most) {
				add_stretch(&steps, shown, &track[i], from, to);
				n_shown++;
			}
			n_rows++;
			from = next;
		}
	}
	tp_table_print(steps.table, shown->out);
	if (n_shown < n_rows)
		tp_out_line(shown->out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, n_rows - n_shown));
}

enum { RESERVED = TP_TENSOR_N, OTHERS, CURVES };

static int64_t curve_value(const struct tp_stretch *stretch, uint32_t which)
{
	return which == RESERVED ? stretch->reserved
	       : which == OTHERS ? stretch->others
	       : which		 ? stretch->at_peak[which % TP_TENSOR_N]
				 : tp_stretch_bytes(stretch);
}

/* Windows follow each other in it. Each line is full at its own greatest: how it comes and goes is
 * seen of small ones, too. */
static void print_curve(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track)
{
	const uint32_t columns = shown->out->width > CURVE_LABEL + 30 ?
					 shown->out->width - CURVE_LABEL - 16 : 14;
	int64_t *value = malloc((track->n_stretches + 1) * sizeof(*value));
	char *bars = malloc(3 * (size_t)columns + 1), a[32];

	if (!value || !bars || track->n_stretches < 2 || shown->out->rows) {
		free(value);
		free(bars);
		return;
	}
	tp_out_title(shown->out, "Over the time in windows (each full at its greatest)");
	for (uint32_t which = 0; which < CURVES; which++) {
		int64_t most = 0, least = INT64_MAX;

		for (uint32_t s = 0; s < track->n_stretches; s++) {
			value[s] = curve_value(&track->stretch[s], which);
			most = value[s] > most ? value[s] : most;
			least = value[s] < least ? value[s] : least;
		}
		/* What stays as it is has no curve. */
		if (most && (!which || which >= RESERVED || least < most - most / 50))
			tp_out_line(shown->out, "", "  %-*s%s %s", CURVE_LABEL,
				    which == RESERVED ? "reserved"
				    : which == OTHERS ? "used by others"
				    : which	      ? tp_memcat_title(which)
						      : "tensors",
				    tp_sparkline(bars, value, track->n_stretches, columns, most),
				    tp_show_bytes(a, most));
	}
	free(value);
	free(bars);
}

/* What the greatest holder is of whom nothing is known. */
static void print_unknown(const struct tp_tensors_shown *shown,
			  const struct tp_mempeak_track *track)
{
	const struct tp_stretch *peak = &track->stretch[track->best];

	if (peak->at_peak[TP_TENSOR_UNKNOWN] * 20 < tp_stretch_bytes(peak))
		return;
	tp_out_line(shown->out, "dim",
		    "Unknown: there before the window, and in no model or optimizer that was looked "
		    "at: data sets, caches, copies%s.",
		    tp_label_is_kineto(shown->run)
			    ? "; torch.profiler does not look at models"
			    : ". A window from the start (TRAINPROF_SCHEDULE=always) sees who "
			      "makes them");
}

static void print_track(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track,
			const struct tp_mempeak_track *curve)
{
	char name[128];

	tp_out_title(shown->out, "Tensor memory: %s",
		     tp_tensors_place(name, shown, track->proc, track->device));
	print_peak(shown, track);
	tp_view_tensors_allocator(shown, track->proc, track->device);
	print_categories(shown, track);
	if (curve)
		print_curve(shown, curve);
	tp_out_title(shown->out, "Who held it");
	tp_view_tensors_holders(shown, track->proc, track->device, "tensor_holders", track->holder,
				track->n_holders, peak_of(track));
	print_unknown(shown, track);
}

/* ---- several devices ---- */

/* The one with most; n: of none anything was seen. */
static uint32_t find_greatest(const struct tp_mempeak_track *track, uint32_t n)
{
	uint32_t best = n;

	for (uint32_t i = 0; i < n; i++)
		if (track[i].n_stretches &&
		    (best == n || peak_of(&track[i]) > peak_of(&track[best])))
			best = i;
	return best;
}

/* Beside the greatest it is nothing: what a worker of a data loader holds. */
static bool is_little(const struct tp_mempeak_track *track, const struct tp_mempeak_track *greatest)
{
	return peak_of(track) < peak_of(greatest) / 100;
}

static void print_devices(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track,
			  uint32_t n, const struct tp_mempeak_track *greatest)
{
	static const struct tp_old_column column[] = {
		{.title = "process"},
		{.title = "device"},
		{.title = "tensors", .align = TP_RIGHT},
		{.title = "reserved", .align = TP_RIGHT, .is_extra = 2},
		{.title = "step", .align = TP_RIGHT},
		{.title = "most of it", .may_cut = true},
	};
	struct tp_tensors_shown each = *shown;
	uint32_t n_little = 0, n_rows = 0;
	struct tp_old_table *table;
	int64_t little = 0;
	char a[32], b[32];

	for (uint32_t i = 0; i < n; i++) {
		if (!track[i].n_stretches)
			continue;
		if (!is_little(&track[i], greatest)) {
			n_rows++;
			continue;
		}
		n_little++;
		little = peak_of(&track[i]) > little ? peak_of(&track[i]) : little;
	}
	if (n_little)
		tp_out_line(shown->out, "dim",
			    "%s other%s (workers, other devices): at most %s each; --top 0 shows them.",
			    tp_show_count(a, n_little), n_little == 1 ? "" : "s",
			    tp_show_bytes(b, little));
	if (n_rows < 2)
		return;
	each.shows_who = true;
	tp_out_title(shown->out, "Tensor memory by device, at the peak of each");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_stretch *peak = &track[i].stretch[track[i].best];
		uint32_t most = 0;

		if (!track[i].n_stretches || is_little(&track[i], greatest))
			continue;
		for (uint32_t c = 1; c < TP_TENSOR_N; c++)
			if (peak->at_peak[c] > peak->at_peak[most])
				most = c;
		tp_tensors_cell_place(table, &each, track[i].proc, track[i].device);
		tp_cell_bytes(table, peak_of(&track[i]));
		tp_cell_bytes(table, peak->reserved);
		tp_tensors_cell_step(table, peak->step);
		tp_table_cell(table, "%s: %s", tp_memcat_title(most),
			      tp_show_bytes(a, peak->at_peak[most]));
	}
	tp_table_print(table, shown->out);
	tp_out_line(shown->out, "dim", "Below, the one with most; --ranks chooses others, --top 0 "
		    "shows all.");
}

/* ---- what is not known ---- */

static void print_doubts(const struct tp_tensors_shown *shown)
{
	const struct tp_memcat_doubts doubts =
		tp_memcat_doubts(tp_tensormem_cat(shown->mem));
	struct tp_out *out = shown->out;
	char a[32], b[32], c[32];

	if (!doubts.n_scans)
		tp_out_line(out, "dim", "What is older than a window is unknown, and the rest told "
			    "by when it was made and freed%s.",
			    tp_label_is_kineto(shown->run)
				    ? "" : ": TRAINPROF_RECORD=categories asks the optimizer, too");
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

/* ---- the whole ---- */

/* Whether anything is said to be of a module, of a line. */
static void look_for_origins(struct tp_tensors_shown *shown)
{
	uint32_t n;
	const struct tp_mempeak_track *track = tp_tensormem_by_step(shown->mem, &n);

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < track[i].n_holders; k++) {
			shown->has_modules |= track[i].holder[k].origin.path != 0;
			shown->has_lines |= track[i].holder[k].origin.stack != 0;
		}
	shown->has_modules |= shown->out->rows;
	shown->has_lines |= shown->out->rows;
}

static void print_nothing(const struct tp_tensors_shown *shown)
{
	tp_out_title(shown->out, "Tensor memory");
	if (tp_label_is_kineto(shown->run))
		tp_out_line(shown->out, "", "none was recorded: torch.profiler does with "
			    "profile_memory=True (since torch 1.12)");
	else
		tp_out_line(shown->out, "", "none was recorded: TRAINPROF_RECORD=tensors does, "
			    "categories says also what it is for");
}

void tp_view_memory_tensors(const struct tp_run *run, const struct tp_view_options *options,
			    const struct tp_tensormem *mem, struct tp_out *out)
{
	struct tp_tensors_shown shown = {
		.run = run, .options = options, .mem = mem, .out = out,
		.names = tp_memcat_names(tp_tensormem_cat(mem)),
		.origins = tp_memcat_origins(tp_tensormem_cat(mem)),
		.shows_who = tp_out_is_full(out),
	};
	uint32_t n, n_times, greatest;
	const struct tp_mempeak_track *track = tp_tensormem_by_step(mem, &n);
	const struct tp_mempeak_track *curve = tp_tensormem_by_time(mem, &n_times);
	const bool shows_all = tp_out_is_full(out) || !options->top;

	greatest = find_greatest(track, n);
	if (greatest == n) {
		print_nothing(&shown);
		return;
	}
	look_for_origins(&shown);
	tp_view_tensors_ooms(&shown);
	if (n > 1 && !shows_all)
		print_devices(&shown, track, n, &track[greatest]);
	for (uint32_t i = 0; i < n; i++)
		if (track[i].n_stretches && (shows_all || i == greatest))
			print_track(&shown, &track[i], i < n_times ? &curve[i] : NULL);
	tp_view_tensors_allocators(&shown);
	shown.shows_who |= shows_all && n > 1;
	print_stretches(&shown, shows_all ? track : &track[greatest], shows_all ? n : 1, true);
	if (tp_out_is_full(out))
		print_stretches(&shown, curve, n_times, false);
	tp_view_tensors_blocks(&shown);
	tp_view_tensors_operators(&shown, track[greatest].proc, track[greatest].device);
	print_doubts(&shown);
}
