/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copies.c - copies and sets of devices, by kind
 */
#include "merge/facts/time/copies.h"

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

struct tp_copies_row {
	uint32_t name;		/* of names */
	int64_t bytes;
	int64_t timed_bytes, timed_ns; /* of those whose time is known, and not 0 */
	struct tp_spread ns;
	struct tp_spread rate;	/* bytes a second of each */
};

/* Bytes and times come from files: no speed is beyond that. */
#define RATE_MOST 1e18

static void take_copy(void *state, const struct tp_event *event)
{
	struct tp_copies *copies = state;
	uint32_t name = tp_names_row(copies->names, event);
	int64_t ns = tp_sub(event->end_ns, event->begin_ns);
	int64_t bytes = event->arg < INT64_MAX ? (int64_t)event->arg : INT64_MAX;
	struct tp_copies_row *row;
	double rate;

	if (name == TP_NO_NAME || !tp_grow(&copies->row, &copies->cap_rows, (uint64_t)name + 1,
					   sizeof(*copies->row))) {
		copies->is_incomplete = true;
		return;
	}
	row = &copies->row[name];
	row->name = name;
	row->bytes = tp_add(row->bytes, bytes);
	if (!tp_spread_add(&row->ns, ns))
		copies->is_incomplete = true;
	if (ns <= 0 || event->flags & TP_F_PARTIAL)
		return;
	row->timed_bytes = tp_add(row->timed_bytes, bytes);
	row->timed_ns = tp_add(row->timed_ns, ns);
	rate = (double)bytes * 1e9 / (double)ns;
	if (!tp_spread_add(&row->rate, (int64_t)(rate < RATE_MOST ? rate : RATE_MOST)))
		copies->is_incomplete = true;
}

static int compare_total(const void *a, const void *b)
{
	const struct tp_copies_row *x = a, *y = b;

	if (x->ns.sum != y->ns.sum)
		return x->ns.sum < y->ns.sum ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

static void add_rate(struct tp_table *table, const struct tp_copies_row *row,
		     double bytes_a_second, bool is_whole)
{
	if (row->rate.n)
		tp_table_cell(table, "%.*f", is_whole ? 6 : 2, bytes_a_second / 1e9);
	else
		tp_table_cell(table, "?");
}

static void add_row(struct tp_table *table, const struct tp_copies *copies,
		    const struct tp_copies_row *row, bool is_whole)
{
	const struct tp_name *name = tp_names_at(copies->names, row->name);

	tp_table_cell(table, "%.*s", (int)name->n_bytes, name->bytes);
	tp_cell_count(table, row->ns.n);
	tp_cell_bytes(table, row->bytes);
	tp_cell_ns(table, row->ns.sum);
	tp_cell_ns(table, tp_spread_mean(&row->ns));
	tp_cell_ns(table, row->ns.most);
	add_rate(table, row, (double)row->timed_bytes * 1e9 / (double)row->timed_ns,
		 is_whole);
	add_rate(table, row, (double)row->rate.least, is_whole);
	add_rate(table, row, (double)tp_spread_percentile(&row->rate, 50), is_whole);
	add_rate(table, row, (double)row->rate.most, is_whole);
}

void tp_copies_print(struct tp_copies *copies, struct tp_out *out)
{
	static const struct tp_column column[] = {
	    {.title = "copy", .may_cut = true, .field = "copy"},
	    {.title = "calls", .align = TP_RIGHT, .field = "calls"},
	    {.title = "bytes", .align = TP_RIGHT, .field = "bytes"},
	    {.title = "total", .align = TP_RIGHT, .field = "total_ns"},
	    {.title = "mean", .align = TP_RIGHT, .is_extra = 2, .field = "mean_ns"},
	    {.title = "max", .align = TP_RIGHT, .is_extra = 1, .field = "max_ns"},
	    {.title = "GB/s", .align = TP_RIGHT, .field = "gb_per_s"},
	    {.title = "min", .align = TP_RIGHT, .field = "min_gb_per_s"},
	    {.title = "p50", .align = TP_RIGHT, .field = "p50_gb_per_s"},
	    {.title = "max", .align = TP_RIGHT, .field = "max_gb_per_s"},
	};
	uint32_t n = copies->names ? tp_names_count(copies->names) : 0;
	struct tp_table *table;

	if (n > copies->cap_rows)
		n = copies->cap_rows;
	if (!n)
		return;
	qsort(copies->row, n, sizeof(*copies->row), compare_total);
	tp_out_title(out, "Copies and sets by total time");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, "copies");
	for (uint32_t i = 0; i < n && copies->row[i].ns.n; i++)
		add_row(table, copies, &copies->row[i], out->rows != TP_ROWS_NONE);
	tp_table_print(table, out);
}

static void free_copies(void *state)
{
	struct tp_copies *copies = state;

	for (uint32_t i = 0; i < copies->cap_rows; i++) {
		tp_spread_free(&copies->row[i].ns);
		tp_spread_free(&copies->row[i].rate);
	}
	free(copies->row);
	tp_names_free(copies->names);
}

static void begin_copies(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_copies *copies = state;

	copies->names = tp_names_new();
}

const struct tp_fact tp_fact_copies = {
	.name = "copies",
	.bytes = sizeof(struct tp_copies),
	.kinds = TP_FACT_KIND(TP_REC_MEMCPY) | TP_FACT_KIND(TP_REC_MEMSET),
	.begin = begin_copies,
	.event = take_copy,
	.free = free_copies,
};
