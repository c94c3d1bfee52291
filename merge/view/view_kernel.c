/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_kernel.c - kernels as a table: kernels.h says what its figures are; without --by-grid and
 * --by-operator copies and launches have a table each
 */
#include "merge/model/view.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/program/kernels.h"
#include "merge/facts/time/tensor_cores.h"
#include "merge/facts/time/copies.h"
#include "merge/facts/time/launch_times.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

struct state {
	struct tp_view_options options;
	const struct tp_kernel_rows *kernels;
	struct tp_copies *copies;		/* NULL: not asked for */
	struct tp_launch_times *launch_times;
};

static void *begin(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->kernels = tp_kernels_want(facts, options->by_grid, options->by_operator);
	if (options->by_grid || options->by_operator)
		return state;
	state->copies = tp_facts_want(facts, &tp_fact_copies, NULL);
	state->launch_times = tp_facts_want(facts, &tp_fact_launch_times, NULL);
	return state;
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
	struct ordered *order = malloc((state->kernels->n_rows + 1) * sizeof(*order));
	bool by_calls = sorts_by_calls(state);

	if (!order)
		return NULL;
	for (uint32_t i = 0; i < state->kernels->n_rows; i++)
		order[i] = (struct ordered){
		    by_calls ? (int64_t)state->kernels->row[i].ns.n : state->kernels->row[i].ns.sum, i};
	qsort(order, state->kernels->n_rows, sizeof(*order), compare_ordered);
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
static bool is_eligible(const struct state *state, const struct tp_kernel_row *row)
{
	const struct tp_name *name;

	if (row->key.operator == TP_KERNEL_NO_OPERATOR)
		return false;
	name = tp_names_at(state->kernels->names, row->key.operator);
	return tp_tensor_cores_eligible(name->bytes, name->n_bytes);
}

static void add_row(struct tp_table *table, const struct state *state, const struct tp_kernel_row *row,
		    int64_t all_ns, bool is_whole)
{
	add_name(table, tp_names_at(state->kernels->names, row->key.name), is_whole);
	if (state->options.by_operator) {
		if (row->key.operator == TP_KERNEL_NO_OPERATOR)
			tp_table_cell(table, "-");
		else
			add_name(table, tp_names_at(state->kernels->names, row->key.operator), true);
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
		add_row(table, state, &state->kernels->row[order[i].row], all_ns,
			out->rows != TP_ROWS_NONE);
	tp_table_print(table, out);
}

static void print_sums(const struct state *state, const struct tp_run *run, uint32_t n_shown,
		       struct tp_out *out)
{
	int64_t all_ns = 0, tensor_ns = 0;
	uint64_t n_calls = 0;
	char a[32], b[32], c[32];

	for (uint32_t i = 0; i < state->kernels->n_rows; i++) {
		n_calls += state->kernels->row[i].ns.n;
		all_ns = tp_add(all_ns, state->kernels->row[i].ns.sum);
		if (state->kernels->row[i].uses_tensor_cores)
			tensor_ns = tp_add(tensor_ns, state->kernels->row[i].ns.sum);
	}
	tp_out_line(out, "dim", "%s kernels ran for %s, %s of it with tensor cores (TC)%s.",
		    tp_show_count(a, n_calls), tp_show_ns(b, all_ns),
		    tp_show_percent(c, (double)tensor_ns, (double)all_ns),
		    run->n_procs > 1 ? "; all ranks and devices added" : "");
	if (n_shown < state->kernels->n_rows)
		tp_out_line(out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, state->kernels->n_rows - n_shown));
}

static void print(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	struct ordered *order;
	int64_t all_ns = 0;
	uint32_t n;

	order = sort_rows(state);
	for (uint32_t i = 0; i < state->kernels->n_rows; i++)
		all_ns = tp_add(all_ns, state->kernels->row[i].ns.sum);
	n = state->options.top && state->options.top < state->kernels->n_rows ? state->options.top
								     : state->kernels->n_rows;
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
	if (state->copies)
		tp_copies_print(state->copies, out);
	if (state->launch_times)
		tp_launch_times_print(state->launch_times, out);
	if (state->kernels->is_incomplete || (state->copies && state->copies->is_incomplete) ||
	    (state->launch_times && state->launch_times->is_incomplete))
		tp_out_line(out, "red", "out of memory: some kernels are missing here");
	free(order);
	free(state);
}

const struct tp_view tp_view_kernel = {
    .name = "kernel",
    .help = "calls, times, occupancy and tensor cores of every GPU kernel; copies, launches",
    .begin = begin,
    .print = print,
};
