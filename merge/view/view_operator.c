/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_operator.c - operators as a table: operators.h says what its figures are
 */
#include "merge/model/view.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/facts/program/operators.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/model/shapes.h"

enum {
	FRAMES_MAX = 128, /* of a stack, the innermost */
	TEXT_MAX = 8192,
};

struct state {
	struct tp_view_options options;
	const struct tp_operator_rows *all;
	struct tp_hostmem_choice *choice;   /* at the end; NULL: no lines of Python */
	int64_t all_self_ns;
};

static void *begin_operator(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->all = tp_operators_want(facts, options->by_shape, options->by_stack);
	return state;
}

/* Inputs that are no tensors come last in most operators and say nothing: left out there.
 */
static const char *show_inputs(char buf[512], const struct tp_string *inputs)
{
	static const char *const empty[] = {"scalar", "list", "-"};
	size_t n;
	bool is_cut = true;

	tp_show_shapes(buf, 512, inputs->bytes, inputs->n_bytes);
	n = strlen(buf);
	while (is_cut) {
		is_cut = false;
		for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
			size_t len = strlen(empty[i]);

			if (n < len + 2 || memcmp(buf + n - len, empty[i], len) ||
			    buf[n - len - 1] != ' ')
				continue;
			n -= len + 2;
			is_cut = true;
		}
	}
	buf[n] = 0;
	return buf;
}

/* For people the line that tells most; for programs all frames, innermost first. */
static void put_stack(struct tp_row *r, const struct state *state, uint32_t stack)
{
	struct tp_frame frame[FRAMES_MAX];
	char text[TEXT_MAX], one[TEXT_MAX / 4];
	uint32_t n, at = 0;

	text[0] = '\0';
	if (!tp_row_is_for_programs(r)) {
		if (state->choice &&
		    tp_hostmem_choose(state->choice, stack, TP_HOSTMEM_TELLING, frame))
			tp_hostmem_show_frame(text, sizeof(text), frame, TP_HOSTMEM_SHORT);
		tp_row_text(r, "%s", text);
		return;
	}
	n = tp_stacks_frames(tp_origins_stacks(state->all->origins), stack, frame, FRAMES_MAX);
	for (uint32_t i = 0; i < n && i < FRAMES_MAX && at < sizeof(text); i++)
		at += (uint32_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? ";" : "",
					 tp_hostmem_show_frame(one, sizeof(one), &frame[i],
							       TP_HOSTMEM_WHOLE));
	tp_row_text(r, "%s", text);
}

static void put_inputs(struct tp_row *r, const struct tp_operator_row *row)
{
	char inputs[512];

	tp_row_text(r, "%s", row->inputs->kind ? show_inputs(inputs, row->inputs) : "");
}

/* Of operators that can use them, or do. */
static void put_tensor_cores(struct tp_row *r, const struct tp_operator_row *row)
{
	if (row->device_self_ns > 0 && (row->is_eligible || row->tensor_self_ns))
		tp_row_percent(r, (double)row->tensor_self_ns, (double)row->device_self_ns);
	else
		tp_row_text(r, "%s", row->is_eligible ? "-" : "");
}

static const char *say_eligible(const struct tp_operator_row *row)
{
	return row->is_eligible || row->encloses_eligible || row->tensor_self_ns ? "yes" : "";
}

static void put_tensor_cores_total(struct tp_row *r, const struct tp_operator_row *row)
{
	if (row->device_total_ns > 0)
		tp_row_percent(r, (double)row->tensor_total_ns, (double)row->device_total_ns);
}

/* 0: it has none, or some of them are not known. */
static uint64_t known_flops(const struct tp_operator_row *row)
{
	return row->n_unknown_flops ? 0 : row->flops;
}

static void put_flops(struct tp_row *r, const struct tp_operator_row *row)
{
	if (known_flops(row))
		tp_row_count(r, row->flops);
}

/* Those in ns: operations a nanosecond are 10^9 a second. */
static void put_giga(struct tp_row *r, const struct tp_operator_row *row, int64_t ns, uint8_t decimals)
{
	if (known_flops(row) && ns > 0)
		tp_row_real(r, (double)row->flops / (double)ns, decimals);
}

static int64_t flop_ns(const struct tp_operator_row *row)
{
	return row->device_total_ns > 0 ? row->device_total_ns : row->total_ns;
}

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct state *state = ctx;
	const struct tp_operator_row *row = of;

	TP_TEXT(r, "operator", "operator", TP_CUT, "name of the operator, autograd node or range", "%s",
		tp_names_at(state->all->names, row->name)->bytes);
	TP_WHEN(r, state->options.by_shape)
		TP_CELL(r, "inputs", "inputs", TP_UNIT_TEXT, TP_CUT, "types and shapes of its inputs",
			put_inputs(r, row));
	TP_WHEN(r, state->all->origins)
		TP_CELL(r, "call_stack", "from", TP_UNIT_PLACE, TP_CUT,
			"Python call stack, innermost frame first", put_stack(r, state, row->stack));
	TP_COUNT(r, "calls", "calls", 0, "number of calls", row->calls);
	TP_NS(r, "self_ns", "self", 0, "self CPU time", row->self_ns);
	TP_PERCENT(r, "self_percent", "self %", 0, "share of all self CPU time", row->self_ns,
		   state->all_self_ns);
	TP_NS(r, "total_ns", "total", 0, "total CPU time", row->total_ns);
	TP_NS(r, "average_ns", "average", TP_LESS(2), "mean total CPU time per call",
	      row->total_ns / (int64_t)row->calls);
	TP_WHEN(r, state->all->has_device) {
		TP_NS(r, "device_self_ns", "GPU self", 0, "device time of work that they launched themselves",
		      row->device_self_ns);
		TP_NS(r, "device_total_ns", "GPU total", 0, "device time of all work launched inside them",
		      row->device_total_ns);
		TP_CELL(r, "tensor_cores_percent", "TC", TP_UNIT_PERCENT, TP_LESS(1),
			"share of self device time in kernels that use tensor cores", put_tensor_cores(r, row));
		TP_TEXT(r, "tensor_cores_eligible", "TC could", TP_ROWS_ONLY,
			"whether it, or an operator inside it, can use tensor cores", "%s", say_eligible(row));
		TP_CELL(r, "tensor_cores_total_percent", "TC total", TP_UNIT_PERCENT, TP_ROWS_ONLY,
			"share of total device time in kernels that use tensor cores", put_tensor_cores_total(r, row));
	}
	TP_WHEN(r, state->all->has_memory) {
		TP_BYTES(r, "self_bytes", "self mem", TP_LESS(1), "tensor memory allocated minus freed, self",
			 row->self_bytes);
		TP_BYTES(r, "total_bytes", "total mem", TP_LESS(3),
			 "tensor memory allocated minus freed, total", row->total_bytes);
	}
	TP_WHEN(r, state->all->has_flops) {
		TP_CELL(r, "flops", NULL, TP_UNIT_COUNT, TP_ROWS_ONLY,
			"self floating-point operations, from its name and inputs", put_flops(r, row));
		TP_CELL(r, "gflop", "GFLOP", TP_UNIT_REAL, TP_LESS(2),
			"self floating-point operations, in 10^9", put_giga(r, row, 1000000000, 3));
		TP_CELL(r, "gflops_per_second", "GFLOP/s", TP_UNIT_REAL, TP_LESS(2),
			"the same per second of device time, or of CPU time where it has none", put_giga(r, row, flop_ns(row), 2));
	}
	TP_NS(r, "self_average_ns", "self avg", TP_LESS(4), "mean self CPU time per call",
	      row->self_ns / (int64_t)row->calls);
}

static const struct tp_table_def table_def = {
	.name = "operator", .columns = put_columns, .order = "self_ns",
	.help = "operators, autograd nodes and ranges, over all ranks and threads",
};

/* Rows whose spans were all taken in by their parents are not shown. */
static uint32_t print_rows(struct state *state, struct tp_out *out)
{
	struct tp_table *table = tp_table_begin(&table_def, state, state->options.top, out);

	for (uint32_t i = 0; i < state->all->n_rows; i++)
		if (state->all->row[i].calls)
			tp_table_add(table, &state->all->row[i]);
	return tp_table_end(table);
}

/* The first line, unless something else is asked for: what takes most. */
static void print_answer(const struct state *state, const struct tp_run *run, struct tp_out *out)
{
	const struct tp_operator_row *most = NULL;
	char a[32], b[32], c[32];

	for (uint32_t i = 0; i < state->all->n_rows; i++) {
		const struct tp_operator_row *row = &state->all->row[i];

		if (!state->options.sort && row->calls && (!most || row->self_ns > most->self_ns))
			most = row;
	}
	if (most)
		tp_out_line(out, "bold", "Most self CPU time goes to %s: %s of %s (%s)%s.",
			    tp_names_at(state->all->names, most->name)->bytes,
			    tp_show_ns(a, most->self_ns), tp_show_ns(b, state->all_self_ns),
			    tp_show_percent(c, (double)most->self_ns, (double)state->all_self_ns),
			    run->n_procs > 1 ? ", all ranks and threads added" : "");
}

/* Returns how many calls there were. */
static uint64_t add_up(struct state *state)
{
	uint64_t n_calls = 0;

	for (uint32_t i = 0; i < state->all->n_rows; i++) {
		state->all_self_ns = tp_add(state->all_self_ns, state->all->row[i].self_ns);
		n_calls += state->all->row[i].calls;
	}
	return n_calls;
}

static void print_notes(const struct state *state, const struct tp_run *run, uint64_t n_calls,
			uint32_t n_left, struct tp_out *out)
{
	char a[32], b[32];

	tp_out_line(out, "dim", "%s calls, %s of CPU time in them%s.", tp_show_count(a, n_calls),
		    tp_show_ns(b, state->all_self_ns),
		    run->n_procs > 1 ? ", all ranks and threads added" : "");
	if (state->all->has_device)
		tp_out_line(out, "dim",
			    "%s of GPU time (TC: part of it with tensor cores, of operators "
			    "that can use them)%s%s.",
			    tp_show_ns(a, state->all->device_ns),
			    state->all->lost_device_ns ? ", launched by calls not recorded: " : "",
			    state->all->lost_device_ns ? tp_show_ns(b, state->all->lost_device_ns) : "");
	tp_out_left(out, n_left, "rows");
	if (state->options.by_shape && !state->all->has_shapes)
		tp_out_line(out, "yellow", "input shapes were not recorded: run with %s",
			    tp_label_is_kineto(run) ? "torch.profiler's record_shapes=True"
						    : "TRAINPROF_RECORD=ops,shapes,tensors,host");
	if (state->all->origins && !tp_origins_has_any(state->all->origins))
		tp_out_line(out, "yellow", "Python stacks were not recorded: run with %s",
			    tp_label_is_kineto(run) ? "torch.profiler's with_stack=True"
						    : "TRAINPROF_RECORD=pystacks,tensors,host");
}

static void print_operator(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	uint64_t n_calls;
	char a[32];

	/* Without, no line is shown. */
	if (state->all->origins && !tp_stacks_resolve(tp_origins_stacks(state->all->origins), NULL))
		state->choice = tp_hostmem_choice_new(tp_origins_stacks(state->all->origins));
	n_calls = add_up(state);
	tp_out_title(out, "Which operators%s%s take most, by %s", state->options.by_shape ? " and inputs" : "",
		     state->options.by_stack ? " and lines of Python" : "",
		     tp_table_order(&table_def, state, out));
	if (!n_calls)
		tp_out_line(out, "", "no operator was recorded: no step lay inside a window, or "
				     "TRAINPROF_RECORD has no 'ops'");
	else {
		print_answer(state, run, out);
		print_notes(state, run, n_calls, print_rows(state, out), out);
	}
	if (state->all->lost_blocks)
		tp_out_line(out, "yellow",
			    "%s blocks were too many to keep: what frees them counts as 0 bytes",
			    tp_show_count(a, state->all->lost_blocks));
	if (state->all->is_incomplete)
		tp_out_line(out, "red", "out of memory: some operators are missing here");
	tp_hostmem_choice_free(state->choice);
	free(state);
}

const struct tp_view tp_view_operator = {
	.name = "operator",
	.help = "self and total time, calls and tensor memory of every operator",
	.tables = (const struct tp_table_def *const[]){&table_def, NULL},
	.begin = begin_operator,
	.print = print_operator,
};
