/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_kernel.c - the kernels of all devices: how often, how long, how well they fill a device
 *
 * A row is a name; with --by-grid a name with its grid, block, registers and shared memory;
 * with --by-operator a name and the innermost operator around its launch (where there is
 * none, the innermost range). Figures are those
 * of torch-tb-profiler's kernel view: blocks per SM and occupancy are means weighted by
 * time. Without these options copies and launches have a table each. Memory: rows (about 2 KB
 * each), and what launches.h and nest.h keep.
 */
#include "merge/model/view.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/clip.h"
#include "merge/facts/time/copies.h"
#include "merge/facts/time/gpu_time.h"
#include "merge/facts/time/launch_times.h"
#include "merge/facts/time/launches.h"
#include "merge/facts/time/names.h"
#include "merge/facts/time/nest.h"
#include "merge/facts/time/occupancy.h"
#include "merge/facts/time/tensor_cores.h"
#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"
#include "merge/kit/spread.h"
#include "merge/kit/sum.h"
#include "merge/model/device.h"

enum { NO_OPERATOR = 0xffffffff };

struct key {
	uint32_t name;	   /* of tp_names: kernels of a name share a row */
	uint32_t operator; /* of tp_names; NO_OPERATOR */
	uint32_t grid[3], block[3], registers, shared;
};

struct row {
	struct key key;
	struct tp_spread ns;
	double blocks_ns, occupancy_ns, known_ns; /* sums of figure times duration */
	bool uses_tensor_cores;
};

struct state {
	struct tp_view_options options;
	struct tp_names *names;
	struct tp_nest *nest;
	struct tp_launches *launches;
	struct tp_clip clip;
	struct row *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed rows; /* by key */
	bool *is_operator; /* by row of names: some span of that name is one, not a range */
	uint32_t cap_is_operator;
	bool is_plain;		/* a row is a name: copies and launches are shown, too */
	struct tp_copies copies;
	struct tp_launch_times launch_times;
	bool is_incomplete;
};

static uint32_t hash_key(const struct key *key)
{
	uint32_t word[sizeof(*key) / sizeof(uint32_t)];
	uint64_t h = 0;

	memcpy(word, key, sizeof(word));
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		h = (h ^ word[i]) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32);
}

/* NULL: out of memory. */
static struct row *find_row(struct state *state, const struct key *key)
{
	struct row *row;
	uint32_t hash = hash_key(key), at, i;

	for (i = tp_keyed_first(&state->rows, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&state->rows, hash, &at))
		if (!memcmp(&state->row[i].key, key, sizeof(*key)))
			return &state->row[i];
	if (!tp_grow(&state->row, &state->cap_rows, (uint64_t)state->n_rows + 1, sizeof(*row)) ||
	    !tp_keyed_add(&state->rows, hash, state->n_rows))
		return NULL;
	row = &state->row[state->n_rows++];
	row->key = *key;
	return row;
}

static void take_kernel(struct state *state, const struct tp_event *event, uint32_t operator)
{
	struct tp_launch launch = tp_device_launch(event);
	int64_t ns = tp_sub(event->end_ns, event->begin_ns);
	struct key key = {.name = tp_names_row(state->names, event), .operator = operator};
	struct tp_occupancy o;
	struct row *row;

	if (state->options.by_grid) {
		memcpy(key.grid, launch.grid, sizeof(key.grid));
		memcpy(key.block, launch.block, sizeof(key.block));
		key.registers = launch.registers;
		key.shared = launch.shared_static + launch.shared_dynamic;
	}
	row = key.name == TP_NO_NAME ? NULL : find_row(state, &key);
	if (!row) {
		state->is_incomplete = true;
		return;
	}
	if (!row->ns.n)
		row->uses_tensor_cores =
		    tp_tensor_cores_used(event->name->bytes, event->name->n_bytes);
	if (!tp_spread_add(&row->ns, ns))
		state->is_incomplete = true;
	o = tp_occupancy(tp_device_of(event->proc, event->queue->device), &launch);
	if (!o.blocks_per_sm || ns <= 0)
		return;
	row->blocks_ns += o.blocks * (double)ns;
	row->occupancy_ns += o.estimated * (double)ns;
	row->known_ns += (double)ns;
}

static void take_launched(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct state *state = ctx;

	if (!state->is_plain)
		take_kernel(state, event, call ? call->owner : NO_OPERATOR);
	else if (call)
		tp_launch_times_add(&state->launch_times, event, call);
}

static uint32_t find_operator(const struct state *state, const struct tp_event *call)
{
	uint32_t open[64], n = tp_nest_open(state->nest, call, open, 64);

	for (uint32_t i = 0; i < n; i++)
		if (state->is_operator[open[i]])
			return open[i];
	return n ? open[0] : NO_OPERATOR;
}

static uint32_t find_owner(struct state *state, const struct tp_event *call)
{
	return state->is_plain ? tp_names_row(state->launch_times.names, call)
			       : find_operator(state, call);
}

/* Only --by-operator asks what encloses a launch. */
static void take_span(struct state *state, const struct tp_event *event)
{
	uint32_t row = tp_names_row(state->names, event);

	if (event->flags & TP_F_ASYNC)
		return;
	if (row == TP_NO_NAME || !tp_grow(&state->is_operator, &state->cap_is_operator,
					  (uint64_t)row + 1, sizeof(*state->is_operator))) {
		state->is_incomplete = true;
		return;
	}
	state->is_operator[row] |= event->kind == TP_REC_OP;
	if (!tp_names_at(state->names, row)->is_private &&
	    !tp_nest_span(state->nest, event, row, row))
		state->is_incomplete = true;
}

static void take_event(void *ctx, const struct tp_event *event)
{
	struct state *state = ctx;

	bool needs_launches = state->is_plain || state->options.by_operator;

	if (tp_gpu_is_work(event)) {
		/* A graph that is recorded as one stands for its kernels. */
		bool is_kernel = event->kind == TP_REC_KERNEL || event->kind == TP_REC_GRAPH;

		if (is_kernel && !state->options.by_operator)
			take_kernel(state, event, NO_OPERATOR);
		if (state->is_plain || (is_kernel && state->options.by_operator))
			tp_launches_work(state->launches, event);
	} else if (event->kind == TP_REC_OP || event->kind == TP_REC_RANGE) {
		if (state->options.by_operator)
			take_span(state, event);
	} else if (event->kind == TP_REC_CALL && needs_launches) {
		if (!tp_launches_call(state->launches, event, find_owner(state, event)))
			state->is_incomplete = true;
	}
}

static void ignore_span(void *ctx, const struct tp_nest_span *span)
{
}

static void free_state(struct state *state)
{
	for (uint32_t i = 0; i < state->n_rows; i++)
		tp_spread_free(&state->row[i].ns);
	tp_nest_end(state->nest);
	tp_names_free(state->names);
	tp_launches_free(state->launches);
	tp_copies_free(&state->copies);
	tp_launch_times_free(&state->launch_times);
	free(state->is_operator);
	free(state->row);
	tp_keyed_free(&state->rows);
	free(state);
}

static void *begin(struct tp_facts *facts, const struct tp_view_options *options)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->options = *options;
	state->names = tp_names_new();
	state->nest = tp_nest_new(ignore_span, state);
	state->launches = tp_launches_new(run);
	state->is_plain = !options->by_grid && !options->by_operator;
	state->copies.names = tp_names_new();
	state->launch_times.names = tp_names_new();
	tp_clip_init(&state->clip, run, take_event, state);
	if (!state->names || !state->nest || !state->launches || !state->copies.names ||
	    !state->launch_times.names) {
		free_state(state);
		return NULL;
	}
	tp_launches_each(state->launches, take_launched, state);
	return state;
}

static void event(void *opaque, const struct tp_event *ev)
{
	struct state *state = opaque;

	if (!state)
		return;
	if (state->is_plain && (ev->kind == TP_REC_MEMCPY || ev->kind == TP_REC_MEMSET))
		tp_copies_add(&state->copies, ev);
	tp_clip_event(&state->clip, ev);
}

/* ---- printing ---- */

static bool sorts_by_calls(const struct state *state)
{
	return state->options.sort && !strcmp(state->options.sort, "calls");
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
	return (x->row > y->row) - (x->row < y->row);
}

static struct ordered *sort_rows(const struct state *state)
{
	struct ordered *order = malloc((state->n_rows + 1) * sizeof(*order));
	bool by_calls = sorts_by_calls(state);

	if (!order)
		return NULL;
	for (uint32_t i = 0; i < state->n_rows; i++)
		order[i] = (struct ordered){
		    by_calls ? (int64_t)state->row[i].ns.n : state->row[i].ns.sum, i};
	qsort(order, state->n_rows, sizeof(*order), compare_ordered);
	return order;
}

/* Where the list of parameters at the end begins; n: none. */
static uint32_t find_parameters(const char *name, uint32_t n)
{
	uint32_t depth = 0;

	if (!n || name[n - 1] != ')')
		return n;
	for (uint32_t i = n; i-- > 0;) {
		depth += name[i] == ')';
		depth -= name[i] == '(';
		if (!depth)
			return i;
	}
	return n;
}

/* For people, what tells kernels apart: not what they return, nor their parameters. */
static void add_name(struct tp_table *table, const struct tp_name *name, bool is_whole)
{
	const char *bytes = name->bytes;
	uint32_t n = name->n_bytes, end;

	if (is_whole) {
		tp_table_cell(table, "%.*s", (int)n, bytes);
		return;
	}
	if (n > 5 && !memcmp(bytes, "void ", 5)) {
		bytes += 5;
		n -= 5;
	}
	end = find_parameters(bytes, n);
	tp_table_cell(table, "%.*s", (int)(end ? end : n), bytes);
}

static void add_shape(struct tp_table *table, const uint32_t *shape)
{
	if (shape[2] > 1)
		tp_table_cell(table, "%u,%u,%u", shape[0], shape[1], shape[2]);
	else if (shape[1] > 1)
		tp_table_cell(table, "%u,%u", shape[0], shape[1]);
	else
		tp_table_cell(table, "%u", shape[0]);
}

/* Could its operator use tensor cores? */
static bool is_eligible(const struct state *state, const struct row *row)
{
	const struct tp_name *name;

	if (row->key.operator == NO_OPERATOR)
		return false;
	name = tp_names_at(state->names, row->key.operator);
	return tp_tensor_cores_eligible(name->bytes, name->n_bytes);
}

static void add_row(struct tp_table *table, const struct state *state, const struct row *row,
		    int64_t all_ns, bool is_whole)
{
	add_name(table, tp_names_at(state->names, row->key.name), is_whole);
	if (state->options.by_operator) {
		if (row->key.operator == NO_OPERATOR)
			tp_table_cell(table, "-");
		else
			add_name(table, tp_names_at(state->names, row->key.operator), true);
		if (is_whole)
			tp_table_cell(table, "%s", is_eligible(state, row) ? "yes" : "");
	}
	if (state->options.by_grid) {
		add_shape(table, row->key.grid);
		add_shape(table, row->key.block);
		tp_cell_count(table, row->key.registers);
		tp_cell_bytes(table, row->key.shared);
	}
	tp_cell_count(table, row->ns.n);
	tp_cell_ns(table, row->ns.sum);
	tp_cell_percent(table, (double)row->ns.sum, (double)all_ns);
	tp_cell_ns(table, tp_spread_mean(&row->ns));
	tp_cell_ns(table, row->ns.least);
	tp_cell_ns(table, tp_spread_percentile(&row->ns, 50));
	tp_cell_ns(table, tp_spread_percentile(&row->ns, 99));
	tp_cell_ns(table, row->ns.most);
	if (row->known_ns > 0) {
		tp_table_cell(table, "%.*f",
			      is_whole			       ? 4
			      : row->blocks_ns < 10 * row->known_ns ? 1
								    : 0,
			      row->blocks_ns / row->known_ns);
		tp_cell_percent(table, row->occupancy_ns, row->known_ns);
	} else {
		tp_table_cell(table, "?");
		tp_table_cell(table, "?");
	}
	tp_table_cell(table, "%s", row->uses_tensor_cores ? "yes" : "");
}

static void print_rows(const struct state *state, const struct ordered *order, uint32_t n,
		       int64_t all_ns, struct tp_out *out)
{
	static const struct tp_column by_name[] = {
	    {.title = "kernel", .may_cut = true, .field = "kernel"},
	},
	by_operator[] = {
	    {.title = "operator", .may_cut = true, .field = "operator"},
	    {.title = "TC could", .field = "tensor_cores_eligible"},
	},
	by_grid[] = {
	    {.title = "grid", .align = TP_RIGHT, .field = "grid"},
	    {.title = "block", .align = TP_RIGHT, .field = "block"},
	    {.title = "regs", .align = TP_RIGHT, .field = "registers"},
	    {.title = "shared", .align = TP_RIGHT, .field = "shared_bytes"},
	},
	figures[] = {
	    {.title = "calls", .align = TP_RIGHT, .field = "calls"},
	    {.title = "total", .align = TP_RIGHT, .field = "total_ns"},
	    {.title = "%", .align = TP_RIGHT, .is_extra = 3, .field = "percent"},
	    {.title = "mean", .align = TP_RIGHT, .is_extra = 2, .field = "mean_ns"},
	    {.title = "min", .align = TP_RIGHT, .is_extra = 4, .field = "min_ns"},
	    {.title = "p50", .align = TP_RIGHT, .is_extra = 1, .field = "p50_ns"},
	    {.title = "p99", .align = TP_RIGHT, .field = "p99_ns"},
	    {.title = "max", .align = TP_RIGHT, .field = "max_ns"},
	    {.title = "blocks", .align = TP_RIGHT, .field = "blocks_per_sm"},
	    {.title = "occup.", .align = TP_RIGHT, .field = "occupancy_percent"},
	    {.title = "TC", .field = "tensor_cores"},
	};
	struct tp_column column[20];
	uint32_t n_columns = 1;
	struct tp_table *table;

	column[0] = by_name[0];
	if (state->options.by_operator)
		column[n_columns++] = by_operator[0];
	if (state->options.by_operator && out->rows != TP_ROWS_NONE)
		column[n_columns++] = by_operator[1];
	for (size_t i = 0; state->options.by_grid && i < sizeof(by_grid) / sizeof(by_grid[0]); i++)
		column[n_columns++] = by_grid[i];
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		column[n_columns++] = figures[i];
	table = tp_table_new(column, n_columns);
	tp_table_name(table, "kernel");
	for (uint32_t i = 0; i < n; i++)
		add_row(table, state, &state->row[order[i].row], all_ns,
			out->rows != TP_ROWS_NONE);
	tp_table_print(table, out);
}

static void print_sums(const struct state *state, const struct tp_run *run, uint32_t n_shown,
		       struct tp_out *out)
{
	int64_t all_ns = 0, tensor_ns = 0;
	uint64_t n_calls = 0;
	char a[32], b[32], c[32];

	for (uint32_t i = 0; i < state->n_rows; i++) {
		n_calls += state->row[i].ns.n;
		all_ns = tp_add(all_ns, state->row[i].ns.sum);
		if (state->row[i].uses_tensor_cores)
			tensor_ns = tp_add(tensor_ns, state->row[i].ns.sum);
	}
	tp_out_line(out, "dim", "%s kernels ran for %s, %s of it with tensor cores (TC)%s.",
		    tp_show_count(a, n_calls), tp_show_ns(b, all_ns),
		    tp_show_percent(c, (double)tensor_ns, (double)all_ns),
		    run->n_procs > 1 ? "; all ranks and devices added" : "");
	if (n_shown < state->n_rows)
		tp_out_line(out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, state->n_rows - n_shown));
}

static void print(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	struct ordered *order;
	int64_t all_ns = 0;
	uint32_t n;

	if (!state) {
		tp_out_line(out, "red", "kernels: out of memory");
		return;
	}
	tp_clip_end(&state->clip);
	tp_launches_end(state->launches);
	order = sort_rows(state);
	for (uint32_t i = 0; i < state->n_rows; i++)
		all_ns = tp_add(all_ns, state->row[i].ns.sum);
	n = state->options.top && state->options.top < state->n_rows ? state->options.top
								     : state->n_rows;
	tp_out_title(out, "Kernels%s%s by %s",
		     state->options.by_operator ? " and operators" : "",
		     state->options.by_grid ? " and grids" : "",
		     sorts_by_calls(state) ? "number of calls" : "total time");
	if (!n || !order) {
		tp_out_line(out, "",
			    !order ? "out of memory"
				   : "no kernel was recorded: no GPU was used in a window, or "
				     "-v health says what is off");
	} else {
		print_rows(state, order, n, all_ns, out);
		print_sums(state, run, n, out);
	}
	tp_copies_print(&state->copies, out);
	tp_launch_times_print(&state->launch_times, out);
	if (state->is_incomplete || state->copies.is_incomplete ||
	    state->launch_times.is_incomplete)
		tp_out_line(out, "red", "out of memory: some kernels are missing here");
	free(order);
	free_state(state);
}

const struct tp_view tp_view_kernel = {
    .name = "kernel",
    .help = "calls, times, occupancy and tensor cores of every GPU kernel; copies, launches",
    .begin = begin,
    .event = event,
    .print = print,
};
