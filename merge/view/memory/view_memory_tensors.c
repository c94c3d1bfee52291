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
	return tp_stretch_bytes(&track->stretch[track->best]);
}

/* ---- the peak ---- */

static void print_peak(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track)
{
	const struct tp_stretch *peak = &track->stretch[track->best];
	char a[32], b[32], step[48] = "";

	if (peak->step != TP_NO_STEP)
		snprintf(step, sizeof(step), " in step %lu,", (unsigned long)peak->step);
	tp_out_item(shown->out, "", LABEL, "most at a time",
		    "%s,%s %s after recording began",
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

/* For people what is kept across steps stands apart from what is not known at all. */
struct category {
	enum tp_tensor_category category;
	bool is_kept;
	int64_t at_peak;
};

static void put_category(struct tp_row *r, const void *ctx, const void *of)
{
	static const struct shown nowhere;
	const struct shown *shown = ctx ? ctx : &nowhere;
	const struct tp_mempeak_track *track = shown->track;
	const struct tp_stretch *peak = track ? &track->stretch[track->best] : NULL;
	const struct category *row = of;

	tp_tensors_put_place(r, shown->tensors, track ? track->proc : NULL,
			     track ? track->device : 0);
	TP_CELL(r, "category", "category", TP_UNIT_TEXT, 0, "category",
		row->is_kept ? tp_row_text(r, "kept across steps")
			     : tp_tensors_put_category(r, row->category, TP_NO_NAME));
	TP_BYTES(r, "peak_bytes", "at the peak", 0, "bytes at the highest peak", row->at_peak);
	TP_PERCENT(r, "percent", "%", 0, "share of all at that time", row->at_peak, tp_stretch_bytes(peak));
	TP_CELL(r, "mean_bytes", "on average", TP_UNIT_BYTES, 0, "mean bytes in windows",
		row->is_kept ? (void)0 : tp_row_integer(r, tp_whole(mean_of(track, row->category))));
	TP_STYLE(r, of && !row->is_kept && !row->category ? "dim" : NULL);
}

const struct tp_table_def tp_table_tensor_categories = {
	.name = "tensor_categories", .columns = put_category, .help = "tensor memory by category",
};

static void print_categories(const struct tp_tensors_shown *tensors,
			     const struct tp_mempeak_track *track)
{
	const struct tp_stretch *peak = &track->stretch[track->best];
	const int64_t kept = tensors->out->rows ? 0 : tp_view_tensors_kept_bytes(track);
	const struct shown shown = {tensors, track};
	struct category row[TP_TENSOR_N + 1];
	uint32_t n = 0;

	if (kept)
		row[n++] = (struct category){.is_kept = true, .at_peak = kept};
	for (uint32_t c = 1; c <= TP_TENSOR_N; c++) {
		const enum tp_tensor_category category = c % TP_TENSOR_N;
		const int64_t at_peak = peak->at_peak[category] - (category == TP_TENSOR_UNKNOWN ? kept : 0);

		if (peak->at_peak[category] || mean_of(track, category) >= 1)
			row[n++] = (struct category){.category = category, .at_peak = at_peak};
	}
	tp_table_show(&tp_table_tensor_categories, &shown, row, n, sizeof(row[0]), TP_TOP_ASKED,
		      tensors->out);
}

/* What the largest holder is when nothing is known of it. */
static void print_unknown(const struct tp_tensors_shown *shown,
			  const struct tp_mempeak_track *track)
{
	const struct tp_stretch *peak = &track->stretch[track->best];

	if (peak->at_peak[TP_TENSOR_UNKNOWN] < tp_stretch_bytes(peak) / 20)
		return;
	tp_out_line(shown->out, "dim",
		    "Unknown: allocated before the window, and in no model or optimizer that was "
		    "examined: data sets, caches, copies%s.",
		    tp_label_is_kineto(shown->run)
			    ? "; torch.profiler does not look at models"
			    : ". A window from the start (TRAINPROF_SCHEDULE=always) shows what "
			    "allocates them");
}

static void print_track(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track,
			const struct tp_mempeak_track *curve)
{
	char name[128];

	tp_out_title(shown->out, "What fills tensor memory: %s",
		     tp_tensors_place(name, shown, track->proc, track->device));
	tp_view_tensors_answer(shown, track);
	if (!shown->out->rows && tp_view_tensors_kept_bytes(track)) {
		tp_view_tensors_kept(shown, track);
		tp_out_title(shown->out, "What it is for, at the peak");
	}
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

/* ---- what is not known ---- */

static void print_doubts(const struct tp_tensors_shown *shown)
{
	const struct tp_memcat_doubts doubts =
		tp_memcat_doubts(tp_tensormem_cat(shown->mem));
	struct tp_out *out = shown->out;
	char a[32], b[32], c[32];

	if (!doubts.n_scans)
		tp_out_line(out, "dim", "Tensors older than a window are unknown, others are classified "
			    "by when they were allocated and freed%s.",
			    tp_label_is_kineto(shown->run)
				    ? "" : ": TRAINPROF_RECORD=categories also asks the optimizer");
	else
		tp_out_line(out, "dim", "Optimizers and models examined: %s; tensors named by them: %s, "
			    "in %s.",
			    tp_show_count(a, doubts.n_scans), tp_show_count(b, doubts.n_scanned),
			    tp_show_ns(c, doubts.scan_ns));
	if (doubts.n_unread)
		tp_out_line(out, "dim", "%s tensors of other classes could not be read.",
			    tp_show_count(a, doubts.n_unread));
	if (doubts.n_older_frees)
		tp_out_line(out, "dim",
			    "%s unnamed blocks from before a window were freed in it; those of unknown "
			    "size still count as unknown.",
			    tp_show_count(a, doubts.n_older_frees));
	if (!doubts.has_totals)
		tp_out_line(out, "dim",
			    "Tensors that were alive when a window started are only partly known: those "
			    "that nothing named are missing.");
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
		tp_out_line(shown->out, "", "none was recorded: torch.profiler records it with "
			    "profile_memory=True");
	else
		tp_out_line(shown->out, "", "none was recorded: TRAINPROF_RECORD=tensors records it, "
			    "categories also what it is for");
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

	largest = tp_view_tensors_largest(track, n);
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
		tp_view_tensors_devices(&shown, track, n, &track[largest]);
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
