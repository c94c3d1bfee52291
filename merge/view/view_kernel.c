/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_kernel.c - kernels as a table: kernels.h says what its figures are; without --by-grid and
 * --by-operator copies and launches have a table each
 */
#include "merge/view/view_kernel.h"

#include <stdlib.h>

#include "merge/facts/program/kernels.h"
#include "merge/facts/time/tensor_cores.h"
#include "merge/kit/demangle.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

struct state {
	struct tp_view_options options;
	const struct tp_kernel_rows *kernels;
	struct tp_copies *copies;		/* NULL: not asked for */
	struct tp_launch_times *launch_times;
	int64_t all_ns;				/* of all rows */
};

enum { NAME_MOST = 50 };	/* of a name in the first line */

static void *begin_kernel(struct tp_facts *facts, const struct tp_view_options *options)
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

/* For people, what tells kernels apart. */
static void put_name(struct tp_row *r, const struct tp_name *name)
{
	uint32_t n = name->n_bytes;
	const char *bytes = tp_row_is_for_programs(r) ? name->bytes : tp_short_function(name->bytes, &n);

	tp_row_text(r, "%.*s", (int)n, bytes);
}

static void put_operator(struct tp_row *r, const struct state *state, const struct tp_kernel_row *row)
{
	const struct tp_name *name;

	if (row->key.operator == TP_KERNEL_NO_OPERATOR) {
		tp_row_text(r, "-");
		return;
	}
	name = tp_names_at(state->kernels->names, row->key.operator);
	tp_row_text(r, "%.*s", (int)name->n_bytes, name->bytes);
}

static void put_shape(struct tp_row *r, const uint32_t *shape)
{
	if (shape[2] > 1)
		tp_row_text(r, "%u,%u,%u", shape[0], shape[1], shape[2]);
	else if (shape[1] > 1)
		tp_row_text(r, "%u,%u", shape[0], shape[1]);
	else
		tp_row_text(r, "%u", shape[0]);
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

static void put_blocks(struct tp_row *r, const struct tp_kernel_row *row)
{
	if (row->blocks_known_ns > 0)
		tp_row_real(r, row->blocks_ns / row->blocks_known_ns,
			    tp_row_is_for_programs(r)			 ? 4
			    : row->blocks_ns < 10 * row->blocks_known_ns ? 1
									 : 0);
	else
		tp_row_text(r, "?");
}

static void put_occupancy(struct tp_row *r, const struct tp_kernel_row *row)
{
	if (row->known_ns > 0)
		tp_row_percent(r, row->occupancy_ns, row->known_ns);
	else
		tp_row_text(r, "?");
}

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct state *state = ctx;
	const struct tp_kernel_row *row = of;

	TP_CELL(r, "kernel", "kernel", TP_UNIT_TEXT, TP_CUT, "name",
		put_name(r, tp_names_at(state->kernels->names, row->key.name)));
	TP_WHEN(r, state->options.by_operator) {
		TP_CELL(r, "operator", "operator", TP_UNIT_TEXT, TP_CUT, "operator that launched it",
			put_operator(r, state, row));
		TP_TEXT(r, "tensor_cores_eligible", "TC could", TP_ROWS_ONLY,
			"whether the operator can use tensor cores", "%s", is_eligible(state, row) ? "yes" : "");
	}
	TP_WHEN(r, state->options.by_grid) {
		TP_CELL(r, "grid", "grid", TP_UNIT_TEXT, TP_TO_RIGHT, "grid size in blocks, x,y,z",
			put_shape(r, row->key.grid));
		TP_CELL(r, "block", "block", TP_UNIT_TEXT, TP_TO_RIGHT, "block size in threads, x,y,z",
			put_shape(r, row->key.block));
		TP_COUNT(r, "registers", "regs", 0, "registers per thread", row->key.registers);
		TP_BYTES(r, "shared_bytes", "shared", 0, "shared memory per block", row->key.shared);
	}
	TP_COUNT(r, "calls", "calls", 0, "number of calls", row->ns.n);
	TP_NS(r, "total_ns", "total", 0, "total time", row->ns.sum);
	TP_PERCENT(r, "percent", "%", TP_LESS(3), "share of the total time of all kernels", row->ns.sum,
		   state->all_ns);
	TP_NS(r, "mean_ns", "mean", TP_LESS(2), "mean time per call", tp_spread_mean(&row->ns));
	TP_NS(r, "min_ns", "min", TP_LESS(4), "shortest call", row->ns.least);
	TP_NS(r, "p50_ns", "p50", TP_LESS(1), "median time per call", tp_spread_percentile(&row->ns, 50));
	TP_NS(r, "p99_ns", "p99", 0, "99th percentile of the time per call",
	      tp_spread_percentile(&row->ns, 99));
	TP_NS(r, "max_ns", "max", 0, "longest call", row->ns.most);
	TP_CELL(r, "blocks_per_sm", "blocks", TP_UNIT_REAL, 0, "blocks per multiprocessor of the device",
		put_blocks(r, row));
	TP_CELL(r, "occupancy_percent", "occup.", TP_UNIT_PERCENT, 0, "estimated achieved occupancy",
		put_occupancy(r, row));
	TP_TEXT(r, "tensor_cores", "TC", 0, "whether it uses tensor cores, by its name", "%s",
		row->uses_tensor_cores ? "yes" : "");
}

static const struct tp_table_def table_def = {
	.name = "kernel", .columns = put_columns, .order = "total_ns",
	.help = "kernels, over all devices and ranks",
};

/* The first line, unless something else is asked for: which kernel takes most. */
static void print_answer(const struct state *state, struct tp_out *out)
{
	const struct tp_kernel_row *most = &state->kernels->row[0];
	const struct tp_name *of;
	const char *name;
	char a[32], b[32], c[32];
	uint32_t n;

	for (uint32_t i = 1; i < state->kernels->n_rows; i++)
		if (state->kernels->row[i].ns.sum > most->ns.sum)
			most = &state->kernels->row[i];
	of = tp_names_at(state->kernels->names, most->key.name);
	n = of->n_bytes;
	name = tp_short_function(of->bytes, &n);
	tp_out_line(out, "bold", "Most kernel time goes to %.*s%s: %s of %s (%s).",
		    (int)(n < NAME_MOST ? n : NAME_MOST), name, n < NAME_MOST ? "" : "...",
		    tp_show_ns(a, most->ns.sum), tp_show_ns(b, state->all_ns),
		    tp_show_percent(c, (double)most->ns.sum, (double)state->all_ns));
}

static void print_sums(const struct state *state, const struct tp_run *run, uint32_t n_left,
		       struct tp_out *out)
{
	int64_t tensor_ns = 0;
	uint64_t n_calls = 0;
	char a[32], b[32], c[32];

	for (uint32_t i = 0; i < state->kernels->n_rows; i++) {
		n_calls += state->kernels->row[i].ns.n;
		if (state->kernels->row[i].uses_tensor_cores)
			tensor_ns = tp_add(tensor_ns, state->kernels->row[i].ns.sum);
	}
	tp_out_line(out, "dim", "%s kernels ran for %s, %s of it with tensor cores (TC)%s.",
		    tp_show_count(a, n_calls), tp_show_ns(b, state->all_ns),
		    tp_show_percent(c, (double)tensor_ns, (double)state->all_ns),
		    run->n_procs > 1 ? "; all ranks and devices added" : "");
	if (state->kernels->n_reported)
		tp_out_line(out, "dim", "The occupancy of %s kernels is torch.profiler's own estimate: "
			    "properties of their device are missing in its file.",
			    tp_show_count(a, state->kernels->n_reported));
	tp_out_left(out, n_left, "rows");
}

static void print_kernel(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;

	for (uint32_t i = 0; i < state->kernels->n_rows; i++)
		state->all_ns = tp_add(state->all_ns, state->kernels->row[i].ns.sum);
	tp_out_title(out, "Which kernels%s%s take most, by %s",
		     state->options.by_operator ? " and operators" : "",
		     state->options.by_grid ? " and grids" : "",
		     tp_table_order(&table_def, state, out));
	if (!state->kernels->n_rows)
		tp_out_line(out, "", "no kernel was recorded: no GPU was used in a window, or "
				     "-v health says what is off");
	else {
		if (!state->options.sort)
			print_answer(state, out);
		print_sums(state, run,
			   tp_table_show(&table_def, state, state->kernels->row, state->kernels->n_rows,
					 sizeof(*state->kernels->row), state->options.top, out),
			   out);
	}
	if (state->copies)
		tp_view_copies(state->copies, out);
	if (state->launch_times)
		tp_view_launches(state->launch_times, out);
	if (state->kernels->is_incomplete || (state->copies && state->copies->is_incomplete) ||
	    (state->launch_times && state->launch_times->is_incomplete))
		tp_out_line(out, "red", "out of memory: some kernels are missing here");
	free(state);
}

const struct tp_view tp_view_kernel = {
	.name = "kernel",
	.help = "calls, times, occupancy and tensor cores of every GPU kernel; copies, launches",
	.tables = (const struct tp_table_def *const[]){&table_def, &tp_table_copies,
						       &tp_table_launches, NULL},
	.begin = begin_kernel,
	.print = print_kernel,
};
