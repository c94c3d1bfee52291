/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_hot.c - the functions of Python that samples met, by what their threads were doing
 */
#include <stdlib.h>

#include "merge/facts/code/outside.h"
#include "merge/facts/code/samples.h"
#include "merge/facts/origin/hostmem_frames.h"
#include "merge/kit/need.h"
#include "merge/kit/show.h"
#include "merge/model/view.h"

enum { TEXT_MAX = 2048 };

struct state {
	struct tp_view_options options;
	const struct tp_samples *samples;
};

static void *begin_hot(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->samples = tp_samples_want(facts);
	return state;
}

/* "train.py:12 save" */
static void put_place(struct tp_row *r, const struct tp_frame *frame)
{
	char text[TEXT_MAX];

	tp_row_text(r, "%s", tp_hostmem_show_frame(text, sizeof(text), frame,
						   tp_row_is_for_programs(r) ? TP_HOSTMEM_WHOLE
									     : TP_HOSTMEM_LONG));
}

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct state *state = ctx;
	const struct tp_samples_row *row = of;
	uint64_t all = tp_row_is_there(r) ? state->samples->all[row->where].n : 0;

	TP_TEXT(r, "thread", "thread", 0, "what the thread was doing, or whose it is", "%s",
		tp_samples_where_text(row->where));
	TP_CELL(r, "function", "function", TP_UNIT_PLACE, TP_CUT,
		"function, and its line with the most samples", put_place(r, &row->frame));
	TP_COUNT(r, "self_samples", "self", 0, "samples in the function itself", row->self.n);
	TP_PERCENT(r, "self_percent", "self %", 0, "share of all samples of such threads", row->self.n, all);
	TP_COUNT(r, "total_samples", "total", 0, "samples in the function and in its callees", row->total.n);
	TP_PERCENT(r, "total_percent", "total %", TP_LESS(1), "share of all samples of such threads",
		   row->total.n, all);
	TP_PERCENT(r, "waiting_percent", "waits %", TP_LESS(2),
		   "share of its samples in which the thread waited in the kernel",
		   row->total.waiting, row->total.waiting + row->total.running);
	TP_PERCENT(r, "collecting_percent", "gc %", TP_LESS(2),
		   "share of its samples in garbage collection", row->total.collects, row->total.n);
	TP_NS(r, "self_ns", "self time", TP_LESS(3), "time that its self samples represent",
	      row->self.ns);
}

static const struct tp_table_def table_def = {
	.name = "hot", .columns = put_columns, .order = "self_samples",
	.help = "Python functions by samples, over all ranks",
};

/* ---- outside windows ---- */

static void put_outside_place(struct tp_row *r, const struct tp_outside_row *row)
{
	struct tp_frame frame = {.module = "", .is_python = true};
	char text[TEXT_MAX];

	frame.line = tp_outside_split(row, text, sizeof(text), &frame.file, &frame.function);
	put_place(r, &frame);
}

static void put_outside_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_outside *outside = ctx;
	const struct tp_outside_row *row = of;
	uint64_t all = 0;

	if (tp_row_is_there(r))
		all = row->is_other ? outside->n_other : outside->n_training;
	TP_TEXT(r, "thread", "thread", 0, "training, or other: the rank's other threads", "%s",
		tp_row_is_there(r) && row->is_other ? "other" : "training");
	TP_CELL(r, "function", "function", TP_UNIT_PLACE, TP_CUT,
		"innermost source line, else innermost line", put_outside_place(r, row));
	TP_COUNT(r, "samples", "samples", 0, "samples on that line", row->n);
	TP_PERCENT(r, "samples_percent", "samples %", 0, "share of all samples of such threads", row->n, all);
}

static const struct tp_table_def outside_def = {
	.name = "outside", .columns = put_outside_columns, .order = "samples",
	.help = "Python lines by samples outside windows, for the whole run, from the step logs",
};

/* No function is its own: it runs inside whatever made one object too many. */
static void say_garbage(uint64_t collects, uint64_t n, const char *where, struct tp_out *out)
{
	char a[32];

	if (collects)
		tp_out_line(out, "", "Python collects garbage in %llu of %llu samples (%s), %s.",
			    (unsigned long long)collects, (unsigned long long)n,
			    tp_show_percent(a, (double)collects, (double)n), where);
}

static void print_outside(const struct state *state, const struct tp_run *run, struct tp_out *out)
{
	struct tp_outside outside;

	tp_outside_read(run, &outside);
	if (outside.n_training + outside.n_other) {
		tp_out_title(out, "Outside windows, by %s", tp_table_order(&outside_def, &outside, out));
		say_garbage(outside.n_collecting, outside.n_training, "training", out);
		tp_out_left(out, tp_table_show(&outside_def, &outside, outside.row, outside.n_rows,
					       sizeof(*outside.row), state->options.top, out), "rows");
		if (outside.n_unlisted)
			tp_out_line(out, "", "%llu more samples on other lines.",
				    (unsigned long long)outside.n_unlisted);
	}
	tp_outside_free(&outside);
}

/* ---- in windows ---- */

/* The first line: rows are by samples of their own; the first that does more than wait. */
static void print_answer(const struct tp_samples *samples, struct tp_out *out)
{
	const struct tp_samples_row *most = samples->row;
	const struct tp_samples_row *end = most + samples->n_rows;
	char text[TEXT_MAX], a[32];
	uint64_t all;

	while (most < end && most->self.waiting > most->self.n / 2)
		most++;
	if (most == end)
		return;
	all = samples->all[most->where].n;
	tp_out_line(out, "bold", "Most samples are in %s: %llu of %llu (%s), %s.",
		    tp_hostmem_show_frame(text, sizeof(text), &most->frame, TP_HOSTMEM_SHORT),
		    (unsigned long long)most->self.n, (unsigned long long)all,
		    tp_show_percent(a, (double)most->self.n, (double)all),
		    tp_samples_where_text(most->where));
}

static void print_garbage(const struct tp_samples *samples, struct tp_out *out)
{
	for (uint32_t i = 0; i < TP_SAMPLES_N; i++)
		say_garbage(samples->all[i].collects, samples->all[i].n,
			    tp_samples_where_text((enum tp_samples_where)i), out);
}

static void print_hot(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	const struct tp_samples *samples = state->samples;
	uint32_t n_left;

	tp_out_title(out, "Which functions run most, by %s", tp_table_order(&table_def, state, out));
	if (!samples->n_rows) {
		tp_out_line(out, "", "no sample was recorded in a window: run with "
			    "TRAINPROF_RECORD=ops,samples");
		print_outside(state, run, out);
		free(state);
		return;
	}
	if (!state->options.sort)
		print_answer(samples, out);
	print_garbage(samples, out);
	n_left = tp_table_show(&table_def, state, samples->row, samples->n_rows, sizeof(*samples->row),
			       state->options.top, out);
	tp_out_left(out, n_left, "rows");
	print_outside(state, run, out);
	free(state);
}

const struct tp_view tp_view_hot = {
	.name = "hot",
	.help = "Python functions by samples: between operators, in workers, in other threads",
	.tables = (const struct tp_table_def *const[]){&table_def, &outside_def, NULL},
	.begin = begin_hot,
	.print = print_hot,
};
