/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_tensors.c - part of the view of memory: what tensors filled it, and what for
 *
 * A device of a process: its peak by category and who held it, what the allocator kept beside,
 * the curve, each step's peak; then the largest blocks and operators. Of several devices text shows
 * the one with most, then the others in a table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/view/memory/view_tensors.h"

enum { LABEL = TP_VIEW_MEMORY_LABEL };

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
		    "%s,%s %s after the run started",
		    tp_show_bytes(a, tp_stretch_bytes(peak)), step,
		    tp_show_ns(b, peak->peak_ns));
}

struct shown {
	const struct tp_tensors_shown *tensors;
	const struct tp_mempeak_track *track;
};

static double mean_of(const struct tp_mempeak_track *track, enum tp_tensor_category category)
{
	return track->window_ns > 0
		       ? track->byte_ns[category] / (double)track->window_ns : 0;
}

static void put_category(struct tp_row *r, const void *ctx, const void *of)
{
	static const struct shown nowhere;
	const struct shown *shown = ctx ? ctx : &nowhere;
	const struct tp_mempeak_track *track = shown->track;
	const struct tp_stretch *peak = track ? &track->stretch[track->best] : NULL;
	const enum tp_tensor_category category = of ? *(const enum tp_tensor_category *)of : 0;

	tp_tensors_put_place(r, shown->tensors, track ? track->proc : NULL,
			     track ? track->device : 0);
	TP_CELL(r, "category", "category", TP_UNIT_TEXT, 0, "what for",
		tp_tensors_put_category(r, category, TP_NO_NAME));
	TP_BYTES(r, "peak_bytes", "at the peak", 0, "bytes at the highest peak",
		 peak->at_peak[category]);
	TP_PERCENT(r, "percent", "%", 0, "part of all then", peak->at_peak[category],
		   tp_stretch_bytes(peak));
	TP_BYTES(r, "mean_bytes", "on average", 0, "bytes on average in windows",
		 tp_whole(mean_of(track, category)));
	TP_STYLE(r, category ? NULL : "dim");
}

const struct tp_table_def tp_table_tensor_categories = {
	.name = "tensor_categories", .columns = put_category, .help = "tensor memory by category",
};

static void print_categories(const struct tp_tensors_shown *tensors,
			     const struct tp_mempeak_track *track)
{
	const struct tp_stretch *peak = &track->stretch[track->best];
	const struct shown shown = {tensors, track};
	enum tp_tensor_category row[TP_TENSOR_N];
	uint32_t n = 0;

	for (uint32_t c = 1; c <= TP_TENSOR_N; c++)
		if (peak->at_peak[c % TP_TENSOR_N] || mean_of(track, c % TP_TENSOR_N) >= 1)
			row[n++] = c % TP_TENSOR_N;
	tp_table_show(&tp_table_tensor_categories, &shown, row, n, sizeof(row[0]), TP_TOP_ASKED,
		      tensors->out);
}

/* What the largest holder is when nothing is known of it. */
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

	tp_out_title(shown->out, "What fills tensor memory: %s",
		     tp_tensors_place(name, shown, track->proc, track->device));
	tp_view_tensors_answer(shown, track);
	print_peak(shown, track);
	tp_view_tensors_allocator(shown, track->proc, track->device);
	print_categories(shown, track);
	if (curve)
		tp_view_tensors_curve(shown, curve);
	tp_out_title(shown->out, "What holds it at the peak");
	tp_view_tensors_holders(shown, track->proc, track->device, &tp_table_tensor_holders, track->holder,
				track->n_holders, peak_of(track));
	print_unknown(shown, track);
}

/* ---- several devices ---- */

/* The one with most; n: of none anything was seen. */
static uint32_t find_largest(const struct tp_mempeak_track *track, uint32_t n)
{
	uint32_t best = n;

	for (uint32_t i = 0; i < n; i++)
		if (track[i].n_stretches &&
		    (best == n || peak_of(&track[i]) > peak_of(&track[best])))
			best = i;
	return best;
}

/* Beside the largest it is nothing: what a worker of a data loader holds. */
static bool is_little(const struct tp_mempeak_track *track, const struct tp_mempeak_track *largest)
{
	return peak_of(track) < peak_of(largest) / 100;
}

/* At the peak of each. */
static void put_device(struct tp_row *r, const void *ctx, const void *of)
{
	static const struct tp_mempeak_track none;
	const struct tp_mempeak_track *track = of ? of : &none;
	const struct tp_stretch *peak = of ? &track->stretch[track->best] : NULL;
	uint32_t most = 0;
	char a[32];

	for (uint32_t c = 1; peak && c < TP_TENSOR_N; c++)
		if (peak->at_peak[c] > peak->at_peak[most])
			most = c;
	tp_tensors_put_place(r, ctx, track->proc, track->device);
	TP_BYTES(r, NULL, "tensors", 0, "", peak_of(track));
	TP_BYTES(r, NULL, "reserved", TP_LESS(2), "", peak->reserved);
	TP_CELL(r, NULL, "step", TP_UNIT_NUMBER, 0, "", tp_tensors_put_step(r, peak->step));
	TP_TEXT(r, NULL, "most of it", TP_CUT, "", "%s: %s", tp_tensor_category_title(most),
		tp_show_bytes(a, peak->at_peak[most]));
}

static const struct tp_table_def devices_def = {.columns = put_device};

static void print_devices(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track,
			  uint32_t n, const struct tp_mempeak_track *largest)
{
	struct tp_tensors_shown each = *shown;
	struct tp_table *table;
	uint32_t n_rows = 0;

	for (uint32_t i = 0; i < n; i++)
		n_rows += track[i].n_stretches && !is_little(&track[i], largest);
	if (n_rows < 2)
		return;
	each.shows_who = true;
	tp_out_title(shown->out, "Which devices hold tensor memory, at the peak of each");
	table = tp_table_begin(&devices_def, &each, TP_TOP_NONE, shown->out);
	for (uint32_t i = 0; i < n; i++)
		if (track[i].n_stretches && !is_little(&track[i], largest))
			tp_table_add(table, &track[i]);
	tp_table_end(table);
	tp_out_line(shown->out, "dim", "Above is the one with the highest peak%s.",
		    tp_out_is_terminal(shown->out) ? "; --ranks chooses others, --top 0 shows all"
						   : "");
}

static void print_little(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track,
			 uint32_t n, const struct tp_mempeak_track *largest)
{
	uint32_t n_little = 0;
	int64_t little = 0;
	char a[32], b[32];

	for (uint32_t i = 0; i < n; i++) {
		if (!track[i].n_stretches || !is_little(&track[i], largest))
			continue;
		n_little++;
		little = peak_of(&track[i]) > little ? peak_of(&track[i]) : little;
	}
	if (n_little)
		tp_out_line(shown->out, "dim",
			    "%s other process%s or device%s (workers of loaders) had at most %s each%s.",
			    tp_show_count(a, n_little), n_little == 1 ? "" : "es",
			    n_little == 1 ? "" : "s", tp_show_bytes(b, little),
			    tp_out_is_terminal(shown->out) ? ": --top 0 shows them" : "");
}

/* ---- what is not known ---- */

static void print_doubts(const struct tp_tensors_shown *shown)
{
	const struct tp_memcat_doubts doubts =
		tp_memcat_doubts(tp_tensormem_cat(shown->mem));
	struct tp_out *out = shown->out;
	char a[32], b[32], c[32];

	if (!doubts.n_scans)
		tp_out_line(out, "dim", "What is older than a window is unknown, and the rest classified "
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

/* Without addresses: what operators allocated is known, nothing of what was alive. */
static bool print_operators_alone(struct tp_tensors_shown *shown)
{
	const struct tp_proc *proc;
	uint32_t device, n = 0;

	while (tp_memcat_operators(tp_tensormem_cat(shown->mem), n, &proc, &device))
		n++;
	if (!n)
		return false;
	tp_out_title(shown->out, "What fills tensor memory");
	tp_out_line(shown->out, "dim", "The trace does not say which block was freed when (torch before 1.12): how "
		    "much was alive, how long and what for is not known.");
	shown->shows_who = true;
	tp_view_tensors_operators(shown, NULL, 0);
	return true;
}

static void print_nothing(const struct tp_tensors_shown *shown)
{
	tp_out_title(shown->out, "What fills tensor memory");
	if (tp_label_is_kineto(shown->run))
		tp_out_line(shown->out, "", "none was recorded: torch.profiler does with "
			    "profile_memory=True");
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
	uint32_t n, n_times, largest;
	const struct tp_mempeak_track *track = tp_tensormem_by_step(mem, &n);
	const struct tp_mempeak_track *curve = tp_tensormem_by_time(mem, &n_times);
	const bool shows_all = tp_out_is_full(out) || !options->top;

	largest = find_largest(track, n);
	if (largest == n) {
		if (!print_operators_alone(&shown))
			print_nothing(&shown);
		return;
	}
	look_for_origins(&shown);
	tp_view_tensors_ooms(&shown);
	for (uint32_t k = 0; k < n; k++) {
		/* People read the one with most first. */
		uint32_t i = out->rows ? k : !k ? largest : k - (k <= largest);

		if (track[i].n_stretches && (shows_all || i == largest))
			print_track(&shown, &track[i], i < n_times ? &curve[i] : NULL);
	}
	if (n > 1 && !shows_all) {
		print_devices(&shown, track, n, &track[largest]);
		print_little(&shown, track, n, &track[largest]);
	}
	tp_view_tensors_allocators(&shown);
	shown.shows_who |= shows_all && n > 1;
	tp_view_tensors_stretches(&shown, shows_all ? track : &track[largest], shows_all ? n : 1, true);
	if (tp_out_is_full(out))
		tp_view_tensors_stretches(&shown, curve, n_times, false);
	tp_view_tensors_blocks(&shown);
	tp_view_tensors_operators(&shown, track[largest].proc, track[largest].device);
	print_doubts(&shown);
}
