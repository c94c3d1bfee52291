/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_steps.c - part of the view of memory: tensors step by step, and over the time
 */
#include <stdio.h>
#include <stdlib.h>

#include "merge/kit/stats.h"
#include "merge/kit/sum.h"
#include "merge/view/memory/view_tensors.h"

enum { CURVE_LABEL = 24 };

struct shown {
	const struct tp_tensors_shown *tensors;
	int64_t most[TP_TENSOR_N];	/* of each category */
	bool has_reserved, has_others;
};

/* Steps from..to of a track, which are alike: the first stands for all. */
struct row {
	const struct tp_mempeak_track *track;
	uint32_t from, to;
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

static void look_at(struct shown *shown, const struct tp_mempeak_track *track, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t s = 0; s < track[i].n_stretches; s++) {
			shown->has_reserved |= track[i].stretch[s].reserved > 0;
			shown->has_others |= track[i].stretch[s].others > 0;
		}
	for (uint32_t c = 0; c < TP_TENSOR_N; c++)
		shown->most[c] = most_of(track, n, c);
}

static const char *field_of(enum tp_tensor_category category)
{
	static char field[TP_TENSOR_N][40];

	snprintf(field[category], sizeof(field[category]), "%s_bytes", tp_memcat_word(category));
	return field[category];
}

/* What takes least goes first where there is no room. */
static uint32_t less_of(const struct shown *shown, enum tp_tensor_category category)
{
	uint32_t n_greater = 1;

	for (uint32_t k = 0; k < TP_TENSOR_N; k++)
		n_greater += shown->most[k] > shown->most[category];
	return TP_LESS(n_greater);
}

static void put_step(struct tp_row *r, const struct row *row)
{
	const struct tp_stretch *stretch = row->track->stretch;

	if (row->from == row->to)
		tp_tensors_put_step(r, stretch[row->from].step);
	else
		tp_row_text(r, "%lu-%lu", (unsigned long)stretch[row->from].step,
			    (unsigned long)stretch[row->to].step);
}

/* Rows for programs always have the same fields. */
static void put_stretch(struct tp_row *r, const void *ctx, const void *of)
{
	static const struct shown nowhere;
	const struct shown *shown = ctx ? ctx : &nowhere;
	const struct row *row = of;
	const struct tp_stretch *stretch = of ? &row->track->stretch[row->from] : NULL;

	tp_tensors_put_place(r, shown->tensors, of ? row->track->proc : NULL,
			     of ? row->track->device : 0);
	TP_CELL(r, "step", "step", TP_UNIT_NUMBER, 0, "number of the step", put_step(r, row));
	TP_NS(r, "peak_ns", "at", TP_LESS(TP_TENSOR_N + 1), "time of its peak", stretch->peak_ns);
	TP_WHEN(r, shown->has_others || tp_row_is_for_programs(r))
		TP_BYTES(r, "others_bytes", "others", 0, "device memory used by others", stretch->others);
	TP_WHEN(r, shown->has_reserved || tp_row_is_for_programs(r))
		TP_BYTES(r, "reserved_bytes", "reserved", 0, "bytes reserved by the allocator",
			 stretch->reserved);
	TP_BYTES(r, "bytes", "tensors", 0, "bytes in tensors", tp_stretch_bytes(stretch));
	for (uint32_t c = 1; c <= TP_TENSOR_N; c++) {
		const enum tp_tensor_category category = c % TP_TENSOR_N;

		TP_WHEN(r, shown->most[category] || tp_row_is_for_programs(r))
			TP_BYTES(r, field_of(category), tp_tensor_category_title(category),
				 less_of(shown, category), tp_tensor_category_title(category),
				 stretch->at_peak[category]);
	}
}

const struct tp_table_def tp_table_tensor_steps = {
	.name = "tensor_steps", .columns = put_stretch, .row_bytes = sizeof(struct row),
	.help = "tensor memory at each step's peak, by category",
};
const struct tp_table_def tp_table_tensor_curve = {
	.name = "tensor_curve", .columns = put_stretch, .row_bytes = sizeof(struct row),
	.help = "peak of tensor memory in each interval of time, by category",
};

/* Within a hundredth, category by category. */
static bool is_like(const struct tp_stretch *a, const struct tp_stretch *b)
{
	const int64_t near = tp_stretch_bytes(a) / 100;

	for (uint32_t c = 0; c < TP_TENSOR_N; c++)
		if (llabs((long long)tp_sub(a->at_peak[c], b->at_peak[c])) > near)
			return false;
	return llabs((long long)tp_sub(a->reserved, b->reserved)) <= near;
}

/* The next stretch of the track that is a step (any, where not is_steps), from `at` on. */
static uint32_t next_stretch(const struct tp_mempeak_track *track, uint32_t at, bool is_steps)
{
	while (at < track->n_stretches && is_steps && track->stretch[at].step == TP_NO_STEP)
		at++;
	return at;
}

/* Those of a track, in text those that are alike together. */
static void add_rows(struct tp_table *table, const struct tp_mempeak_track *track, bool is_steps,
		     bool folds)
{
	uint32_t from = next_stretch(track, 0, is_steps);

	while (from < track->n_stretches) {
		uint32_t to = from, next = next_stretch(track, from + 1, is_steps);

		while (folds && next < track->n_stretches &&
		       is_like(&track->stretch[from], &track->stretch[next])) {
			to = next;
			next = next_stretch(track, next + 1, is_steps);
		}
		tp_table_add(table, &(struct row){track, from, to});
		from = next;
	}
}

void tp_view_tensors_stretches(const struct tp_tensors_shown *tensors,
			       const struct tp_mempeak_track *track, uint32_t n, bool is_steps)
{
	const bool folds = !tp_out_is_full(tensors->out) && tensors->options->top;
	struct shown shown = {.tensors = tensors};
	struct tp_table *table;
	uint32_t n_left;

	look_at(&shown, track, n);
	tp_out_title(tensors->out,
		     is_steps ? "How the peak changes from step to step" : "How high the peak is in "
		     "each interval of time");
	table = tp_table_begin(is_steps ? &tp_table_tensor_steps : &tp_table_tensor_curve, &shown,
			       is_steps ? tensors->options->top : TP_TOP_ASKED, tensors->out);
	for (uint32_t i = 0; i < n; i++)
		add_rows(table, &track[i], is_steps, folds);
	n_left = tp_table_end(table);
	tp_out_left(tensors->out, n_left, "rows");
}

enum { RESERVED = TP_TENSOR_N, OTHERS, CURVES };

static int64_t curve_value(const struct tp_stretch *stretch, uint32_t which)
{
	return which == RESERVED ? stretch->reserved
	       : which == OTHERS ? stretch->others
	       : which		 ? stretch->at_peak[which % TP_TENSOR_N]
				 : tp_stretch_bytes(stretch);
}

/* Windows follow each other in it. Each line is full at its own largest: how it comes and goes is
 * seen of small ones, too. */
void tp_view_tensors_curve(const struct tp_tensors_shown *shown,
			   const struct tp_mempeak_track *track)
{
	const uint32_t columns = shown->out->width > CURVE_LABEL + 30 ?
					 shown->out->width - CURVE_LABEL - 16 : 14;
	int64_t *value = malloc((track->n_stretches + 1) * sizeof(*value));
	char *bars = malloc(3 * (size_t)columns + 1), a[32];

	if (!value || !bars || track->n_stretches < 2 || !tp_out_is_terminal(shown->out)) {
		free(value);
		free(bars);
		return;
	}
	tp_out_title(shown->out, "How it changes over the time in windows (each full at its largest)");
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
				    : which	      ? tp_tensor_category_title(which)
						      : "tensors",
				    tp_sparkline(bars, value, track->n_stretches, columns, most),
				    tp_show_bytes(a, most));
	}
	free(value);
	free(bars);
}
