/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_times.c - calls that gave work to devices, by their name
 */
#include "merge/facts/time/launch_times.h"

#include "merge/kit/need.h"
#include "merge/kit/sum.h"

struct tp_launch_times_row {
	uint32_t name;		/* of names */
	struct tp_spread call_ns;
	struct tp_spread wait_ns; /* from the end of a call to the begin of its first work */
	uint64_t n_work, n_shorter; /* pieces; those that ran for less than their call */
	int64_t work_ns;
};

static void take_launched(void *state, const struct tp_event *work, struct tp_launch_call *call)
{
	struct tp_launch_times *times = state;
	int64_t ns = tp_sub(work->end_ns, work->begin_ns);
	struct tp_launch_times_row *row;
	int64_t call_ns;
	uint32_t name;

	if (!call)
		return;
	call_ns = tp_sub(call->end_ns, call->begin_ns);
	name = tp_names_row(times->names, &(struct tp_event){.name = call->name});
	if (name == TP_NO_NAME)
		tp_need_failed();
	tp_need_room(&times->row, &times->cap_rows, (uint64_t)name + 1, sizeof(*times->row));
	row = &times->row[name];
	row->name = name;
	row->n_work++;
	row->n_shorter += ns < call_ns;
	row->work_ns = tp_add(row->work_ns, ns);
	if (call->n_work > 1)
		return;
	/* Work that begins inside of its call waits for nothing. */
	if (!tp_spread_add(&row->call_ns, call_ns) ||
	    !tp_spread_add(&row->wait_ns, tp_sub(work->begin_ns, call->end_ns)))
		times->is_incomplete = true;
}

static int compare_total(const void *a, const void *b)
{
	const struct tp_launch_times_row *x = a, *y = b;

	if (x->call_ns.sum != y->call_ns.sum)
		return x->call_ns.sum < y->call_ns.sum ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

static void add_row(struct tp_table *table, const struct tp_launch_times *times,
		    const struct tp_launch_times_row *row)
{
	const struct tp_name *name = tp_names_at(times->names, row->name);

	tp_table_cell(table, "%.*s", (int)name->n_bytes, name->bytes);
	tp_cell_count(table, row->call_ns.n);
	tp_cell_ns(table, row->call_ns.sum);
	tp_cell_ns(table, tp_spread_mean(&row->call_ns));
	tp_cell_ns(table, tp_spread_percentile(&row->call_ns, 99));
	tp_cell_ns(table, tp_spread_mean(&row->wait_ns));
	tp_cell_ns(table, tp_spread_percentile(&row->wait_ns, 50));
	tp_cell_ns(table, tp_spread_percentile(&row->wait_ns, 99));
	tp_cell_ns(table, row->wait_ns.most);
	tp_cell_count(table, row->n_work);
	tp_cell_ns(table, row->work_ns);
	tp_cell_count(table, row->n_shorter);
}

void tp_launch_times_print(struct tp_launch_times *times, struct tp_out *out)
{
	static const struct tp_column column[] = {
	    {.title = "call", .may_cut = true, .field = "call"},
	    {.title = "calls", .align = TP_RIGHT, .field = "calls"},
	    {.title = "on the host", .align = TP_RIGHT, .field = "call_ns"},
	    {.title = "mean", .align = TP_RIGHT, .field = "call_mean_ns"},
	    {.title = "p99", .align = TP_RIGHT, .is_extra = 2, .field = "call_p99_ns"},
	    {.title = "then waiting", .align = TP_RIGHT, .field = "wait_mean_ns"},
	    {.title = "p50", .align = TP_RIGHT, .is_extra = 1, .field = "wait_p50_ns"},
	    {.title = "p99", .align = TP_RIGHT, .is_extra = 3, .field = "wait_p99_ns"},
	    {.title = "max", .align = TP_RIGHT, .is_extra = 4, .field = "wait_max_ns"},
	    {.title = "work", .align = TP_RIGHT, .is_extra = 5, .field = "work"},
	    {.title = "on devices", .align = TP_RIGHT, .field = "work_ns"},
	    {.title = "shorter", .align = TP_RIGHT, .field = "shorter"},
	};
	uint32_t n = tp_names_count(times->names);
	struct tp_table *table;

	if (n > times->cap_rows)
		n = times->cap_rows;
	if (n)
		qsort(times->row, n, sizeof(*times->row), compare_total);
	if (!n || !times->row[0].n_work)
		return;
	tp_out_title(out, "Launches by time on the host");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, "launches");
	for (uint32_t i = 0; i < n; i++)
		if (times->row[i].n_work)
			add_row(table, times, &times->row[i]);
	tp_table_print(table, out);
}

static void free_times(void *state)
{
	struct tp_launch_times *times = state;

	for (uint32_t i = 0; i < times->cap_rows; i++) {
		tp_spread_free(&times->row[i].call_ns);
		tp_spread_free(&times->row[i].wait_ns);
	}
	free(times->row);
	tp_names_free(times->names);
}

static void begin_times(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_launch_times *times = state;

	times->names = tp_names_new();
	tp_launches_read(tp_facts_want(facts, &tp_fact_launches_cut, NULL), take_launched, NULL, times);
}

const struct tp_fact tp_fact_launch_times = {
	.name = "launch times",
	.bytes = sizeof(struct tp_launch_times),
	.is_cut = true,
	.begin = begin_times,
	.free = free_times,
};
