/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_kernel_copies.c - part of the view of kernels: copies and sets, and the calls that gave work
 * to devices
 */
#include "merge/view/view_kernel.h"

/* ---- copies ---- */

static void put_rate(struct tp_row *r, const struct tp_copies_row *row, double bytes_a_second)
{
	if (row->rate.n)
		tp_row_real(r, bytes_a_second / 1e9, tp_row_is_for_programs(r) ? 6 : 2);
	else
		tp_row_text(r, "?");
}

static void put_bytes(struct tp_row *r, const struct tp_copies_row *row)
{
	if (row->bytes)
		tp_row_integer(r, row->bytes);
	else
		tp_row_text(r, "?");
}

static void put_copies(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_copies *copies = ctx;
	const struct tp_copies_row *row = of;

	TP_TEXT(r, "copy", "copy", TP_CUT, "direction and kinds of memory", "%s",
		tp_names_at(copies->names, row->name)->bytes);
	TP_COUNT(r, "calls", "calls", 0, "number of calls", row->ns.n);
	TP_CELL(r, "bytes", "bytes", TP_UNIT_BYTES, 0, "sum of bytes", put_bytes(r, row));
	TP_NS(r, "total_ns", "total", 0, "total time", row->ns.sum);
	TP_NS(r, "mean_ns", "mean", TP_LESS(2), "mean duration", tp_spread_mean(&row->ns));
	TP_NS(r, "max_ns", "max", TP_LESS(1), "longest duration", row->ns.most);
	TP_CELL(r, "gb_per_s", "GB/s", TP_UNIT_REAL, 0, "bandwidth: sum of bytes by total time, 10^9 bytes per second",
		put_rate(r, row, (double)row->timed_bytes * 1e9 / (double)row->timed_ns));
	TP_CELL(r, "min_gb_per_s", "min", TP_UNIT_REAL, 0, "lowest bandwidth",
		put_rate(r, row, (double)row->rate.least));
	TP_CELL(r, "p50_gb_per_s", "p50", TP_UNIT_REAL, 0, "median bandwidth",
		put_rate(r, row, (double)tp_spread_percentile(&row->rate, 50)));
	TP_CELL(r, "max_gb_per_s", "max", TP_UNIT_REAL, 0, "highest bandwidth",
		put_rate(r, row, (double)row->rate.most));
}

const struct tp_table_def tp_table_copies = {
	.name = "copies", .columns = put_copies, .order = "total_ns",
	.help = "copies and memsets on devices, by kind",
};

void tp_view_copies(const struct tp_copies *copies, struct tp_out *out)
{
	uint32_t n = copies->names ? tp_names_count(copies->names) : 0;
	struct tp_table *table;

	n = n < copies->cap_rows ? n : copies->cap_rows;
	if (!n)
		return;
	tp_out_title(out, "Which copies and sets take most, by %s", tp_table_order(&tp_table_copies, copies, out));
	table = tp_table_begin(&tp_table_copies, copies, TP_TOP_ASKED, out);
	for (uint32_t i = 0; i < n; i++)
		if (copies->row[i].ns.n)
			tp_table_add(table, &copies->row[i]);
	tp_table_end(table);
}

/* ---- launches ---- */

static void put_launches(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_launch_times *times = ctx;
	const struct tp_launch_times_row *row = of;

	TP_TEXT(r, "call", "call", TP_CUT, "name of the call", "%s",
		tp_names_at(times->names, row->name)->bytes);
	TP_COUNT(r, "calls", "calls", 0, "number of calls whose work was recorded", row->call_ns.n);
	TP_NS(r, "call_ns", "on the host", 0, "time of the calls on the host", row->call_ns.sum);
	TP_NS(r, "call_mean_ns", "mean", 0, "mean time per call", tp_spread_mean(&row->call_ns));
	TP_NS(r, "call_p99_ns", "p99", TP_LESS(2), "99th percentile of the time per call",
	      tp_spread_percentile(&row->call_ns, 99));
	TP_NS(r, "wait_mean_ns", "then waiting", 0, "mean time from the end of a call to the start of its work",
	      tp_spread_mean(&row->wait_ns));
	TP_NS(r, "wait_p50_ns", "p50", TP_LESS(1), "median of that time",
	      tp_spread_percentile(&row->wait_ns, 50));
	TP_NS(r, "wait_p99_ns", "p99", TP_LESS(3), "99th percentile of that time",
	      tp_spread_percentile(&row->wait_ns, 99));
	TP_NS(r, "wait_max_ns", "max", TP_LESS(4), "longest such time", row->wait_ns.most);
	TP_COUNT(r, "work", "work", TP_LESS(5), "operations launched on devices", row->n_work);
	TP_NS(r, "work_ns", "on devices", 0, "device time of these operations", row->work_ns);
	TP_COUNT(r, "shorter", "shorter", 0, "operations that took less time than their call",
		 row->n_shorter);
}

const struct tp_table_def tp_table_launches = {
	.name = "launches", .columns = put_launches, .order = "call_ns",
	.help = "calls that launched work on devices, by name",
};

void tp_view_launches(const struct tp_launch_times *times, struct tp_out *out)
{
	uint32_t n = times->names ? tp_names_count(times->names) : 0, n_known = 0;
	struct tp_table *table;

	n = n < times->cap_rows ? n : times->cap_rows;
	for (uint32_t i = 0; i < n; i++)
		n_known += times->row[i].n_work != 0;
	if (!n_known)
		return;
	tp_out_title(out, "Which launches take most, by %s", tp_table_order(&tp_table_launches, times, out));
	table = tp_table_begin(&tp_table_launches, times, TP_TOP_ASKED, out);
	for (uint32_t i = 0; i < n; i++)
		if (times->row[i].n_work)
			tp_table_add(table, &times->row[i]);
	tp_table_end(table);
}
