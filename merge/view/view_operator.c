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
};

static void *begin(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->all = tp_operators_want(facts, options->by_shape, options->by_stack);
	return state;
}

/* Sort keys: the option's word, the title's, the figure. */
#define FIGURE(name, expression)                                                           \
	static int64_t get_##name(const struct tp_operator_row *row)                                   \
	{                                                                                  \
		return expression;                                                         \
	}
FIGURE(self, row->self_ns)
FIGURE(total, row->total_ns)
FIGURE(calls, (int64_t)row->calls)
FIGURE(memory, row->self_bytes)
FIGURE(device, row->device_self_ns)
#undef FIGURE

static const struct sort_key {
	const char *word, *title;
	int64_t (*get)(const struct tp_operator_row *row);
} sort_keys[] = {
    {"self", "self CPU time", get_self},
    {"total", "total CPU time", get_total},
    {"calls", "number of calls", get_calls},
    {"memory", "tensor memory allocated less freed", get_memory},
    {"device", "device time of work launched in them", get_device},
};

static const struct sort_key *find_sort_key(const char *word)
{
	for (uint32_t i = 0; word && i < sizeof(sort_keys) / sizeof(sort_keys[0]); i++)
		if (!strcmp(word, sort_keys[i].word))
			return &sort_keys[i];
	return &sort_keys[0];
}

struct ordered {
	int64_t figure;
	uint32_t row;
};

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->figure != y->figure)
		return x->figure < y->figure ? 1 : -1;
	/* Equal figures: in order of first call, so that output does not change by chance.
	 */
	return (x->row > y->row) - (x->row < y->row);
}

/* *n: how many there are. Rows whose spans were all taken in by their parents are not. */
static struct ordered *sort_rows(const struct state *state, const struct sort_key *key,
				 uint32_t *n)
{
	struct ordered *order = malloc((state->all->n_rows + 1) * sizeof(*order));

	*n = 0;
	for (uint32_t i = 0; order && i < state->all->n_rows; i++)
		if (state->all->row[i].calls)
			order[(*n)++] = (struct ordered){key->get(&state->all->row[i]), i};
	if (order)
		qsort(order, *n, sizeof(*order), compare_ordered);
	return order;
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
static void add_stack(struct tp_table *table, const struct state *state, uint32_t stack,
		      bool is_whole)
{
	struct tp_frame frame[FRAMES_MAX];
	char text[TEXT_MAX], one[TEXT_MAX / 4];
	uint32_t n, at = 0;

	text[0] = '\0';
	if (!is_whole) {
		if (state->choice &&
		    tp_hostmem_choose(state->choice, stack, TP_HOSTMEM_TELLING, frame))
			tp_hostmem_show_frame(text, sizeof(text), frame, TP_HOSTMEM_SHORT);
		tp_table_cell(table, "%s", text);
		return;
	}
	n = tp_stacks_frames(tp_origins_stacks(state->all->origins), stack, frame, FRAMES_MAX);
	for (uint32_t i = 0; i < n && i < FRAMES_MAX && at < sizeof(text); i++)
		at += (uint32_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? ";" : "",
					 tp_hostmem_show_frame(one, sizeof(one), &frame[i],
							       TP_HOSTMEM_WHOLE));
	tp_table_cell(table, "%s", text);
}

/* What would be too wide for people. */
static void add_tensor_cores(struct tp_table *table, const struct tp_operator_row *row)
{
	bool is_eligible = row->is_eligible || row->encloses_eligible || row->tensor_self_ns;

	tp_table_cell(table, "%s", is_eligible ? "yes" : "");
	if (row->device_total_ns > 0)
		tp_cell_percent(table, (double)row->tensor_total_ns,
				(double)row->device_total_ns);
	else
		tp_table_cell(table, "%s", "");
}

static void add_row(struct tp_table *table, const struct state *state,
		    const struct tp_operator_row *row, int64_t all_self_ns, bool is_whole)
{
	const struct tp_name *name = tp_names_at(state->all->names, row->name);
	char inputs[512];

	tp_table_cell(table, "%.*s", (int)name->n_bytes, name->bytes);
	if (state->options.by_shape)
		tp_table_cell(table, "%s",
			      row->inputs->kind ? show_inputs(inputs, row->inputs) : "");
	if (state->all->origins)
		add_stack(table, state, row->stack, is_whole);
	tp_cell_count(table, row->calls);
	tp_cell_ns(table, row->self_ns);
	tp_cell_percent(table, (double)row->self_ns, (double)all_self_ns);
	tp_cell_ns(table, row->total_ns);
	tp_cell_ns(table, row->total_ns / (int64_t)row->calls);
	if (state->all->has_device) {
		tp_cell_ns(table, row->device_self_ns);
		tp_cell_ns(table, row->device_total_ns);
		if (row->device_self_ns > 0 && (row->is_eligible || row->tensor_self_ns))
			tp_cell_percent(table, (double)row->tensor_self_ns,
					(double)row->device_self_ns);
		else
			tp_table_cell(table, "%s", row->is_eligible ? "-" : "");
		if (is_whole)
			add_tensor_cores(table, row);
	}
	if (state->all->has_memory) {
		tp_cell_bytes(table, row->self_bytes);
		tp_cell_bytes(table, row->total_bytes);
	}
}

static void print_rows(const struct state *state, const struct ordered *order, uint32_t n,
		       int64_t all_self_ns, struct tp_out *out)
{
	static const struct tp_column times[] = {
	    {.title = "calls", .align = TP_RIGHT, .field = "calls"},
	    {.title = "self", .align = TP_RIGHT, .field = "self_ns"},
	    {.title = "self %", .align = TP_RIGHT, .field = "self_percent"},
	    {.title = "total", .align = TP_RIGHT, .field = "total_ns"},
	    {.title = "average", .align = TP_RIGHT, .is_extra = 2, .field = "average_ns"},
	},
	device[] = {
	    {.title = "GPU self", .align = TP_RIGHT, .field = "device_self_ns"},
	    {.title = "GPU total", .align = TP_RIGHT, .field = "device_total_ns"},
	    {.title = "TC", .align = TP_RIGHT, .is_extra = 1, .field = "tensor_cores_percent"},
	},
	tensor_cores[] = {
	    {.title = "TC could", .field = "tensor_cores_eligible"},
	    {.title = "TC total", .align = TP_RIGHT, .field = "tensor_cores_total_percent"},
	},
	memory[] = {
	    {.title = "self mem", .align = TP_RIGHT, .is_extra = 1, .field = "self_bytes"},
	    {.title = "total mem", .align = TP_RIGHT, .is_extra = 3, .field = "total_bytes"},
	};
	static const struct tp_column inputs = {
	    .title = "inputs", .may_cut = true, .field = "inputs"},
	from = {.title = "from", .may_cut = true, .field = "call_stack"};
	struct tp_column column[15] = {
	    {.title = "operator", .may_cut = true, .field = "operator"},
	};
	uint32_t n_columns = 1;
	struct tp_table *table;

	if (state->options.by_shape)
		column[n_columns++] = inputs;
	if (state->all->origins)
		column[n_columns++] = from;

	memcpy(column + n_columns, times, sizeof(times));
	n_columns += sizeof(times) / sizeof(times[0]);
	if (state->all->has_device) {
		memcpy(column + n_columns, device, sizeof(device));
		n_columns += sizeof(device) / sizeof(device[0]);
	}
	if (state->all->has_device && out->rows != TP_ROWS_NONE) {
		memcpy(column + n_columns, tensor_cores, sizeof(tensor_cores));
		n_columns += sizeof(tensor_cores) / sizeof(tensor_cores[0]);
	}
	if (state->all->has_memory) {
		memcpy(column + n_columns, memory, sizeof(memory));
		n_columns += sizeof(memory) / sizeof(memory[0]);
	}
	table = tp_table_new(column, n_columns);
	tp_table_name(table, "operator");
	for (uint32_t i = 0; i < n; i++)
		add_row(table, state, &state->all->row[order[i].row], all_self_ns,
			out->rows != TP_ROWS_NONE);
	tp_table_print(table, out);
}

static void print(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	const struct sort_key *key;
	struct ordered *order;
	int64_t all_self_ns = 0;
	uint64_t n_calls = 0;
	uint32_t n, n_rows;
	char a[32], b[32];

	key = find_sort_key(state->options.sort);
	/* Without, no line is shown. */
	if (state->all->origins && !tp_stacks_resolve(tp_origins_stacks(state->all->origins), NULL))
		state->choice = tp_hostmem_choice_new(tp_origins_stacks(state->all->origins));
	order = sort_rows(state, key, &n_rows);
	for (uint32_t i = 0; i < state->all->n_rows; i++) {
		all_self_ns = tp_add(all_self_ns, state->all->row[i].self_ns);
		n_calls += state->all->row[i].calls;
	}
	n = state->options.top && state->options.top < n_rows ? state->options.top : n_rows;
	tp_out_title(out, "Operators%s%s by %s", state->options.by_shape ? " and inputs" : "",
		     state->options.by_stack ? " and lines of Python" : "", key->title);
	if (!n_rows || !order) {
		tp_out_line(out, "",
			    !order ? "out of memory"
				   : "no operator was recorded: no step lay inside a "
				     "window, or TRAINPROF_RECORD has no 'ops'");
	} else {
		print_rows(state, order, n, all_self_ns, out);
		tp_out_line(out, "dim", "%s calls, %s of CPU time in them%s.",
			    tp_show_count(a, n_calls), tp_show_ns(b, all_self_ns),
			    run->n_procs > 1 ? ", all ranks and threads added" : "");
		if (state->all->has_device)
			tp_out_line(out, "dim",
				    "%s of GPU time (TC: part of it with tensor cores, of operators "
				    "that can use them)%s%s.",
				    tp_show_ns(a, state->all->device_ns),
				    state->all->lost_device_ns ? ", launched by calls not recorded: " : "",
				    state->all->lost_device_ns ? tp_show_ns(b, state->all->lost_device_ns) : "");
		if (n < n_rows)
			tp_out_line(out, "dim", "%s more rows: --top 0 shows all.",
				    tp_show_count(a, n_rows - n));
		if (state->options.by_shape && !state->all->has_shapes)
			tp_out_line(out, "yellow",
				    "input shapes were not recorded: run with %s",
				    tp_label_is_kineto(run) ?
					    "torch.profiler's record_shapes=True" :
					    "TRAINPROF_RECORD=ops,shapes,tensors,host");
		if (state->all->origins && !tp_origins_has_any(state->all->origins))
			tp_out_line(out, "yellow",
				    "Python stacks were not recorded: run with %s",
				    tp_label_is_kineto(run) ?
					    "torch.profiler's with_stack=True" :
					    "TRAINPROF_RECORD=pystacks,tensors,host");
	}
	if (state->all->lost_blocks)
		tp_out_line(out, "yellow",
			    "%s blocks were too many to keep: what frees them counts as 0 bytes",
			    tp_show_count(a, state->all->lost_blocks));
	if (state->all->is_incomplete)
		tp_out_line(out, "red", "out of memory: some operators are missing here");
	free(order);
	tp_hostmem_choice_free(state->choice);
	free(state);
}

const struct tp_view tp_view_operator = {
    .name = "operator",
    .help = "self and total time, calls and tensor memory of every operator",
    .begin = begin,
    .print = print,
};
