/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_operator.c - time and tensor memory by operator, as torch's key_averages() counts
 * them
 *
 * A row is a name, or a name and its input shapes, or its Python stack (of backward nodes that
 * of the forward operator; those inside of an operator have its). Self is a span's time
 * (memory) without that of the spans directly inside it on its thread; total is the whole. An operator that
 * only calls another overload of itself counts once (see nest.h). Spans that were open
 * when their window began or ended count with the part inside it; asynchronous spans (they
 * end on another thread) have no self time, as in torch. Times of all ranks and threads
 * are added.
 *
 * Where work was launched on devices: a row's device self is the time of kernels, copies and
 * sets launched while it was the innermost span, device total that of all launched inside it
 * (once, also where it encloses itself). CUDA calls are rows of their own, as in torch: their
 * time is not the operator's own. Memory: one row each, the distinct ways spans enclose each
 * other, never the events.
 */
#include "merge/view.h"

#include <stdlib.h>
#include <string.h>

#include "merge/clip.h"
#include "merge/gpu_time.h"
#include "merge/grow.h"
#include "merge/hostmem_frames.h"
#include "merge/keyed.h"
#include "merge/label.h"
#include "merge/launches.h"
#include "merge/memcurve.h"
#include "merge/module_origin.h"
#include "merge/names.h"
#include "merge/nest.h"
#include "merge/paths.h"
#include "merge/shapes.h"
#include "merge/sum.h"
#include "merge/tensor_cores.h"

enum {
	FRAMES_MAX = 128, /* of a stack, the innermost */
	TEXT_MAX = 8192,
};

struct row {
	uint32_t name;	 /* of tp_names */
	uint32_t shapes; /* tp_string.same; 0 when rows are not by shapes */
	uint32_t stack;	 /* 0 when rows are not by stack, or it is not known */
	const struct tp_string *inputs;
	uint64_t calls;
	int64_t self_ns, total_ns;
	int64_t self_bytes, total_bytes;
	int64_t device_self_ns, device_total_ns, tensor_self_ns, tensor_total_ns;
	/* A CUDA call; an operator that could use tensor cores, that has such a one inside. */
	bool is_call, is_eligible, encloses_eligible;
};

/* Device time launched on a path of rows. */
struct launched {
	int64_t ns, tensor_ns;
};

struct state {
	struct tp_view_options options;
	struct tp_names *names;
	struct tp_nest *nest;
	struct tp_memcurve *memory;
	struct tp_clip clip;
	struct tp_launches *launches;
	struct tp_origins *origins;	/* NULL: rows are not by stack */
	struct tp_hostmem_choice *choice; /* at the end */
	struct tp_paths paths;
	struct launched *launched; /* by number of the path */
	uint32_t cap_launched;
	int64_t device_ns, lost_device_ns; /* all; without a call that is known */
	struct row *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed rows; /* by name and shapes */
	bool has_memory, has_shapes, has_device, is_incomplete;
};

/* NULL: out of memory. */
static struct row *find_row(struct state *state, uint32_t name,
			    const struct tp_event *event)
{
	uint32_t shapes = 0, stack = 0, hash, at, i;
	struct row *row;

	if (state->options.by_shape && event->shapes->kind)
		shapes = event->shapes->same;
	if (state->origins)
		stack = tp_origins_of(state->origins, event).stack;
	hash = tp_keyed_hash(((uint64_t)name << 32 | shapes) ^ stack * 0x9e3779b97f4a7c15ull);
	for (i = tp_keyed_first(&state->rows, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&state->rows, hash, &at)) {
		row = &state->row[i];
		if (row->name == name && row->shapes == shapes && row->stack == stack)
			return row;
	}
	if (!tp_grow(&state->row, &state->cap_rows, (uint64_t)state->n_rows + 1,
		     sizeof(*row)) ||
	    !tp_keyed_add(&state->rows, hash, state->n_rows))
		return NULL;
	row = &state->row[state->n_rows++];
	row->name = name;
	row->shapes = shapes;
	row->stack = stack;
	row->inputs = event->shapes;
	row->is_call = event->kind == TP_REC_CALL;
	row->is_eligible =
	    tp_tensor_cores_eligible(tp_names_at(state->names, name)->bytes,
				     tp_names_at(state->names, name)->n_bytes);
	return row;
}

static void mark_enclosing(struct state *state, const struct tp_event *event)
{
	uint32_t open[64], n = tp_nest_open(state->nest, event, open, 64);

	for (uint32_t i = 0; i < n; i++)
		state->row[open[i]].encloses_eligible = true;
}

static void take_span(struct state *state, const struct tp_event *event)
{
	uint32_t name = tp_names_row(state->names, event);
	struct row *row;

	if (name == TP_NO_NAME) {
		state->is_incomplete = true;
		return;
	}
	/* Not a span of the tables: its time is its parent's own, as in torch. */
	if (tp_names_at(state->names, name)->is_private)
		return;
	row = find_row(state, name, event);
	if (!row) {
		state->is_incomplete = true;
		return;
	}
	state->has_shapes |= event->shapes->kind != 0;
	/* (The flag is another one of calls.) */
	if (event->kind != TP_REC_CALL && event->flags & TP_F_ASYNC) {
		row->calls++;
		row->total_ns = tp_add(row->total_ns, event->end_ns - event->begin_ns);
	} else if (!tp_nest_span(state->nest, event, (uint32_t)(row - state->row), name)) {
		state->is_incomplete = true;
	} else if (row->is_eligible) {
		mark_enclosing(state, event);
	}
}

/* Which operators enclose the call; calls do not count as such. */
static void take_call(struct state *state, const struct tp_event *event)
{
	uint32_t open[64], n = tp_nest_open(state->nest, event, open, 64), n_kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!state->row[open[i]].is_call)
			open[n_kept++] = open[i];
	if (!tp_launches_call(state->launches, event,
			      tp_paths_find(&state->paths, open, n_kept)))
		state->is_incomplete = true;
	take_span(state, event);
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct state *state = ctx;
	int64_t ns = tp_sub(event->end_ns, event->begin_ns);
	struct launched *launched;

	state->has_device = true;
	state->device_ns = tp_add(state->device_ns, ns);
	if (!call) {
		state->lost_device_ns = tp_add(state->lost_device_ns, ns);
		return;
	}
	if (call->owner == TP_NO_PATH ||
	    !tp_grow(&state->launched, &state->cap_launched, (uint64_t)call->owner + 1,
		     sizeof(*launched))) {
		state->is_incomplete = true;
		return;
	}
	launched = &state->launched[call->owner];
	launched->ns = tp_add(launched->ns, ns);
	if (event->kind == TP_REC_KERNEL &&
	    tp_tensor_cores_used(event->name->bytes, event->name->n_bytes))
		launched->tensor_ns = tp_add(launched->tensor_ns, ns);
}

/* From paths to rows: each row of a path once. */
static void share_out(struct state *state)
{
	for (uint32_t path = 1; path < state->paths.n && path < state->cap_launched; path++) {
		const struct launched *launched = &state->launched[path];
		const struct tp_path *all = state->paths.path;
		uint32_t own = path;
		struct row *row = &state->row[all[own].row];

		/* It counts as one with the span of its name around it. */
		while (!row->calls && all[own].parent &&
		       state->row[all[all[own].parent].row].name == row->name) {
			own = all[own].parent;
			row = &state->row[all[own].row];
		}
		row->device_self_ns = tp_add(row->device_self_ns, launched->ns);
		row->tensor_self_ns = tp_add(row->tensor_self_ns, launched->tensor_ns);
		for (uint32_t at = path; at; at = all[at].parent) {
			uint32_t inner = path;

			while (inner != at && all[inner].row != all[at].row)
				inner = all[inner].parent;
			if (inner != at)
				continue;
			row = &state->row[all[at].row];
			row->device_total_ns = tp_add(row->device_total_ns, launched->ns);
			row->tensor_total_ns =
			    tp_add(row->tensor_total_ns, launched->tensor_ns);
			row->encloses_eligible |= launched->tensor_ns > 0;
		}
	}
}

static void take_memory(struct state *state, const struct tp_event *event)
{
	int64_t change;

	if (!tp_memcurve_event(state->memory, event, &change))
		return;
	state->has_memory = true;
	if (change)
		tp_nest_bytes(state->nest, event, change);
}

static void take_event(void *ctx, const struct tp_event *event)
{
	struct state *state = ctx;

	if (state->origins)
		tp_origins_event(state->origins, event);
	switch (event->kind) {
	case TP_REC_OP:
	case TP_REC_RANGE:
		take_span(state, event);
		break;
	case TP_REC_ALLOC:
	case TP_REC_FREE:
	case TP_REC_TOTALS:
		take_memory(state, event);
		break;
	case TP_REC_CALL:
		take_call(state, event);
		break;
	default:
		if (tp_gpu_is_work(event))
			tp_launches_work(state->launches, event);
		break;
	}
}

static void close_span(void *ctx, const struct tp_nest_span *span)
{
	struct state *state = ctx;
	struct row *row = &state->row[span->row];

	row->calls++;
	row->total_ns = tp_add(row->total_ns, span->end_ns - span->begin_ns);
	row->self_ns = tp_add(row->self_ns, tp_nest_self_ns(span));
	row->self_bytes = tp_add(row->self_bytes, span->self_bytes);
	row->total_bytes =
	    tp_add(row->total_bytes, tp_add(span->self_bytes, span->child_bytes));
}

static void free_state(struct state *state)
{
	tp_nest_end(state->nest);
	tp_names_free(state->names);
	tp_memcurve_free(state->memory);
	tp_launches_free(state->launches);
	tp_hostmem_choice_free(state->choice);
	tp_origins_free(state->origins);
	tp_paths_free(&state->paths);
	free(state->launched);
	free(state->row);
	tp_keyed_free(&state->rows);
	free(state);
}

static void *begin(const struct tp_run *run, const struct tp_view_options *options)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->options = *options;
	state->names = tp_names_new();
	state->nest = tp_nest_new(close_span, state);
	state->memory = tp_memcurve_new();
	state->launches = tp_launches_new(run);
	if (options->by_stack)
		state->origins = tp_origins_new(run);
	tp_clip_init(&state->clip, run, take_event, state);
	if ((options->by_stack && !state->origins) || !state->names || !state->nest || !state->memory || !state->launches) {
		free_state(state);
		return NULL;
	}
	tp_launches_each(state->launches, take_launched, state);
	return state;
}

static void event(void *state, const struct tp_event *ev)
{
	if (state)
		tp_clip_event(&((struct state *)state)->clip, ev);
}

/* Sort keys: the option's word, the title's, the figure. */
#define FIGURE(name, expression)                                                           \
	static int64_t get_##name(const struct row *row)                                   \
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
	int64_t (*get)(const struct row *row);
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
	struct ordered *order = malloc((state->n_rows + 1) * sizeof(*order));

	*n = 0;
	for (uint32_t i = 0; order && i < state->n_rows; i++)
		if (state->row[i].calls)
			order[(*n)++] = (struct ordered){key->get(&state->row[i]), i};
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
	n = tp_stacks_frames(tp_origins_stacks(state->origins), stack, frame, FRAMES_MAX);
	for (uint32_t i = 0; i < n && i < FRAMES_MAX && at < sizeof(text); i++)
		at += (uint32_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? ";" : "",
					 tp_hostmem_show_frame(one, sizeof(one), &frame[i],
							       TP_HOSTMEM_WHOLE));
	tp_table_cell(table, "%s", text);
}

/* What would be too wide for people. */
static void add_tensor_cores(struct tp_table *table, const struct row *row)
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
		    const struct row *row, int64_t all_self_ns, bool is_whole)
{
	const struct tp_name *name = tp_names_at(state->names, row->name);
	char inputs[512];

	tp_table_cell(table, "%.*s", (int)name->n_bytes, name->bytes);
	if (state->options.by_shape)
		tp_table_cell(table, "%s",
			      row->inputs->kind ? show_inputs(inputs, row->inputs) : "");
	if (state->origins)
		add_stack(table, state, row->stack, is_whole);
	tp_cell_count(table, row->calls);
	tp_cell_ns(table, row->self_ns);
	tp_cell_percent(table, (double)row->self_ns, (double)all_self_ns);
	tp_cell_ns(table, row->total_ns);
	tp_cell_ns(table, row->total_ns / (int64_t)row->calls);
	if (state->has_device) {
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
	if (state->has_memory) {
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
	if (state->origins)
		column[n_columns++] = from;

	memcpy(column + n_columns, times, sizeof(times));
	n_columns += sizeof(times) / sizeof(times[0]);
	if (state->has_device) {
		memcpy(column + n_columns, device, sizeof(device));
		n_columns += sizeof(device) / sizeof(device[0]);
	}
	if (state->has_device && out->rows != TP_ROWS_NONE) {
		memcpy(column + n_columns, tensor_cores, sizeof(tensor_cores));
		n_columns += sizeof(tensor_cores) / sizeof(tensor_cores[0]);
	}
	if (state->has_memory) {
		memcpy(column + n_columns, memory, sizeof(memory));
		n_columns += sizeof(memory) / sizeof(memory[0]);
	}
	table = tp_table_new(column, n_columns);
	tp_table_name(table, "operator");
	for (uint32_t i = 0; i < n; i++)
		add_row(table, state, &state->row[order[i].row], all_self_ns,
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

	if (!state) {
		tp_out_line(out, "red", "operators: out of memory");
		return;
	}
	key = find_sort_key(state->options.sort);
	tp_clip_end(&state->clip);
	tp_nest_end(state->nest);
	state->nest = NULL;
	tp_launches_end(state->launches);
	share_out(state);
	/* Without, no line is shown. */
	if (state->origins && !tp_stacks_resolve(tp_origins_stacks(state->origins), NULL))
		state->choice = tp_hostmem_choice_new(tp_origins_stacks(state->origins));
	order = sort_rows(state, key, &n_rows);
	for (uint32_t i = 0; i < state->n_rows; i++) {
		all_self_ns = tp_add(all_self_ns, state->row[i].self_ns);
		n_calls += state->row[i].calls;
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
		if (state->has_device)
			tp_out_line(out, "dim",
				    "%s of GPU time (TC: part of it with tensor cores, of operators "
				    "that can use them)%s%s.",
				    tp_show_ns(a, state->device_ns),
				    state->lost_device_ns ? ", launched by calls not recorded: " : "",
				    state->lost_device_ns ? tp_show_ns(b, state->lost_device_ns) : "");
		if (n < n_rows)
			tp_out_line(out, "dim", "%s more rows: --top 0 shows all.",
				    tp_show_count(a, n_rows - n));
		if (state->options.by_shape && !state->has_shapes)
			tp_out_line(out, "yellow",
				    "input shapes were not recorded: run with %s",
				    tp_label_is_kineto(run) ?
					    "torch.profiler's record_shapes=True" :
					    "TRAINPROF_RECORD=ops,shapes,tensors,host");
		if (state->origins && !tp_origins_has_any(state->origins))
			tp_out_line(out, "yellow",
				    "Python stacks were not recorded: run with %s",
				    tp_label_is_kineto(run) ?
					    "torch.profiler's with_stack=True" :
					    "TRAINPROF_RECORD=pystacks,tensors,host");
	}
	if (tp_memcurve_lost(state->memory))
		tp_out_line(out, "yellow",
			    "%s blocks were too many to keep: what frees them counts as 0 bytes",
			    tp_show_count(a, tp_memcurve_lost(state->memory)));
	if (state->is_incomplete)
		tp_out_line(out, "red", "out of memory: some operators are missing here");
	free(order);
	free_state(state);
}

const struct tp_view tp_view_operator = {
    .name = "operator",
    .help = "self and total time, calls and tensor memory of every operator",
    .begin = begin,
    .event = event,
    .print = print,
};
