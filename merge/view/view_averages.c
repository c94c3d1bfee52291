/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_averages.c - the four tables that torch's key_averages() is printed as when a run ends: operators by
 * host time, by host memory, by device time, by device memory
 *
 * One function has the columns of all four, those of torch's table; operators.h says what figures are.
 */
#include "merge/model/view.h"

#include <stdlib.h>

#include "merge/facts/program/operators.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

struct state {
	const struct tp_operator_rows *all;
	uint32_t top;
	int64_t all_self_ns;
};

static void *begin(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->top = options->top;
	state->all = tp_operators_want(facts, false, false);
	return state;
}

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct state *state = ctx;
	const struct tp_operator_row *row = of;

	TP_TEXT(r, "operator", "operator", TP_CUT, "name of the operator, autograd node or range", "%s",
		tp_names_at(state->all->names, row->name)->bytes);
	TP_NS(r, "self_ns", "self", 0, "self CPU time", row->self_ns);
	TP_PERCENT(r, "self_percent", "self %", TP_LESS(2), "share of all self CPU time", row->self_ns,
		   state->all_self_ns);
	TP_NS(r, "total_ns", "total", 0, "total CPU time", row->total_ns);
	TP_PERCENT(r, "total_percent", "total %", TP_LESS(4), "total CPU time as a share of all self CPU time",
		   row->total_ns, state->all_self_ns);
	TP_NS(r, "average_ns", "average", TP_LESS(3), "mean total CPU time per call",
	      row->total_ns / (int64_t)row->calls);
	TP_WHEN(r, state->all->has_device) {
		TP_NS(r, "device_self_ns", "GPU self", 0, "device time of work that they launched themselves",
		      row->device_self_ns);
		TP_PERCENT(r, "device_self_percent", "GPU %", TP_LESS(2), "share of all device time",
			   row->device_self_ns, state->all->device_ns);
		TP_NS(r, "device_total_ns", "GPU total", 0, "device time of all work launched inside them",
		      row->device_total_ns);
		TP_NS(r, "device_average_ns", "GPU avg", TP_LESS(5), "mean total device time per call",
		      row->device_total_ns / (int64_t)row->calls);
	}
	TP_WHEN(r, state->all->has_memory) {
		TP_BYTES(r, "self_host_bytes", "self host mem", 0, "host tensor memory allocated minus freed, self",
			 row->self_bytes - row->self_device_bytes);
		TP_BYTES(r, "total_host_bytes", "host mem", TP_LESS(1), "the same, total",
			 row->total_bytes - row->total_device_bytes);
	}
	TP_WHEN(r, state->all->has_device_memory) {
		TP_BYTES(r, "self_device_bytes", "self GPU mem", 0,
			 "device tensor memory allocated minus freed, self", row->self_device_bytes);
		TP_BYTES(r, "total_device_bytes", "GPU mem", TP_LESS(1), "the same, total",
			 row->total_device_bytes);
	}
	TP_COUNT(r, "calls", "calls", 0, "number of calls", row->calls);
}

#define BY(of, field, what) \
	static const struct tp_table_def by_##of = {.name = "averages_" #of, .columns = put_columns, \
						    .order = field, .help = "operators by " what}
BY(host_time, "total_ns", "total CPU time");
BY(host_memory, "self_host_bytes", "tensor memory of the host");
BY(device_time, "device_total_ns", "device time of what they launched");
BY(device_memory, "self_device_bytes", "tensor memory of devices");

static void print_table(const struct state *state, const struct tp_table_def *def, struct tp_out *out)
{
	struct tp_table *table;

	tp_out_title(out, "Operators by %s", tp_table_order(def, state, out));
	table = tp_table_begin(def, state, state->top, out);
	for (uint32_t i = 0; i < state->all->n_rows; i++)
		if (state->all->row[i].calls)
			tp_table_add(table, &state->all->row[i]);
	tp_out_left(out, tp_table_end(table), "rows");
}

static void print(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	uint64_t n_calls = 0;
	char a[32], b[32];

	for (uint32_t i = 0; i < state->all->n_rows; i++) {
		state->all_self_ns = tp_add(state->all_self_ns, state->all->row[i].self_ns);
		n_calls += state->all->row[i].calls;
	}
	if (n_calls) {
		print_table(state, &by_host_time, out);
		if (state->all->has_memory)
			print_table(state, &by_host_memory, out);
		if (state->all->has_device)
			print_table(state, &by_device_time, out);
		if (state->all->has_device_memory)
			print_table(state, &by_device_memory, out);
		tp_out_line(out, "dim", "Self CPU time in all: %s%s.", tp_show_ns(a, state->all_self_ns),
			    run->n_procs > 1 ? ", all ranks and threads added" : "");
		if (state->all->has_device)
			tp_out_line(out, "dim", "Device time in all: %s.", tp_show_ns(b, state->all->device_ns));
	} else {
		tp_out_line(out, "", "no operator was recorded: no step lay inside a window, or "
				     "TRAINPROF_RECORD has no 'ops'");
	}
	free(state);
}

const struct tp_view tp_view_averages = {
	.name = "averages",
	.help = "operators by host time, host memory, device time and device memory, as key_averages() does",
	.tables = (const struct tp_table_def *const[]){&by_host_time, &by_host_memory, &by_device_time,
						       &by_device_memory, NULL},
	.begin = begin,
	.print = print,
};
