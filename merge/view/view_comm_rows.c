/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_comm_rows.c - part of the view of communication: collectives by kind and size, groups
 */
#include "merge/view/view_comm.h"

#include <stdlib.h>

#include "merge/model/scalar.h"
#include "runtime/base/text.h"

/* ---- collectives ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct tp_comm_row *const *x = a, *const *y = b;

	if ((*x)->time_ns != (*y)->time_ns)
		return (*x)->time_ns < (*y)->time_ns ? 1 : -1;
	return (*x > *y) - (*x < *y);
}

/* NCCL's bytes are not always known. */
static void put_bytes(struct tp_row *r, const struct tp_comm_row *row)
{
	if (row->bytes)
		tp_row_integer(r, (int64_t)row->bytes);
	else
		tp_row_text(r, "?");
}

/* Of matched ones only. */
static void put_time(struct tp_row *r, const struct tp_comm_row *row, int64_t ns)
{
	if (row->n_matched)
		tp_row_integer(r, ns);
	else
		tp_row_text(r, "-");
}

static int64_t wait_of(const struct tp_comm_row *row)
{
	return row->n_matched ? row->wait_ns / (int64_t)(row->n_matched * row->n_ranks) : 0;
}

static void put_bus(struct tp_row *r, const struct tp_comm_row *row)
{
	const int64_t move_ns = tp_spread_mean(&row->move);
	const double factor = tp_comm_bus_factor(row->kind, row->n_ranks);

	if (row->bytes && row->n_matched && move_ns > 0 && factor > 0)
		tp_row_real(r, (double)row->bytes * factor / (double)move_ns, 3);
	else
		tp_row_text(r, "-");
}

static void put_collective(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_comm_shown *shown = ctx;
	const struct tp_comm_row *row = of;
	char dtype[12];

	TP_TEXT(r, "collective", "collective", 0, "kind of collective", "%s%s", row->is_device ? "nccl " : "",
		tp_comm_name(row->kind));
	TP_CELL(r, "bytes", "bytes", TP_UNIT_BYTES, 0, "bytes per rank and call", put_bytes(r, row));
	TP_TEXT(r, "dtype", "type", TP_LESS(2), "element type", "%s",
		row->bytes ? tp_scalar_name(row->dtype, dtype) : "?");
	TP_TEXT(r, "group", "group", 0, "process group", "%s",
		tp_comm_group(shown->comm, row->family)->label);
	TP_TEXT(r, "for", "for", TP_LESS(1), "purpose of the group", "%s", tp_comm_use_name(row->use));
	TP_NUMBER(r, "ranks", "ranks", 0, "number of ranks", row->n_ranks ? row->n_ranks : 1);
	TP_COUNT(r, "calls", "calls", 0, "number of calls on all ranks", row->n_calls);
	TP_COUNT(r, "matched", "matched", TP_LESS(3), "collectives matched on all ranks", row->n_matched);
	TP_NS(r, "mean_ns", "mean", 0, "mean time per call", row->time_ns / (int64_t)row->n_calls);
	TP_CELL(r, "wait_ns", "wait", TP_UNIT_NS, 0, "wait: time until the last rank arrived",
		put_time(r, row, wait_of(row)));
	TP_CELL(r, "move_ns", "transfer", TP_UNIT_NS, 0, "transfer: time after the last rank arrived",
		put_time(r, row, tp_spread_mean(&row->move)));
	TP_CELL(r, "move_p99_ns", "p99", TP_UNIT_NS, TP_LESS(4), "99th percentile of the transfer time",
		put_time(r, row, tp_spread_percentile(&row->move, 99)));
	TP_CELL(r, "bus_gb_per_s", "GB/s bus", TP_UNIT_REAL, 0, "bus bandwidth, as defined by nccl-tests",
		put_bus(r, row));
}

const struct tp_table_def tp_table_collectives = {
	.name = "collectives", .columns = put_collective,
	.help = "collectives by kind, size and group",
};

void tp_view_comm_collectives(const struct tp_comm_shown *shown)
{
	uint32_t n, n_left;
	const struct tp_comm_row *row = tp_comm_rows(shown->comm, &n);
	const struct tp_comm_row **sorted = malloc((n + 1) * sizeof(*sorted));
	struct tp_table *table =
		tp_table_begin(&tp_table_collectives, shown, shown->options->top, shown->out);
	bool has_unknown = false;

	for (uint32_t i = 0; sorted && i < n; i++) {
		sorted[i] = &row[i];
		has_unknown |= !row[i].bytes && row[i].kind != TP_COMM_BARRIER;
	}
	if (sorted)
		qsort(sorted, n, sizeof(*sorted), compare_rows);
	for (uint32_t i = 0; sorted && i < n; i++)
		tp_table_add(table, sorted[i]);
	n_left = tp_table_end(table);
	free(sorted);
	tp_out_left(shown->out, n_left, "kinds and sizes");
	if (has_unknown)
		tp_out_line(shown->out, "dim", "bytes of NCCL's kernels are known where TRAINPROF_RECORD "
			    "had 'comm' or 'shapes'");
}

/* ---- groups ---- */

static bool has_member(const struct tp_comm_group *group, uint32_t rank)
{
	for (uint32_t i = 0; i < group->n_members; i++)
		if (group->member[i].rank == rank)
			return true;
	return false;
}

enum {
	RANKS_TEXT = 78,
	RANKS_ROOM = 30,	/* of "-2147483648--2147483648,..." */
};

/* "0-3,8": the job's ranks, of which there may be many. */
static const char *show_ranks(char buf[RANKS_TEXT], const struct tp_comm_group *group,
			      const struct tp_comm_rank *rank, uint32_t n_ranks)
{
	struct tp_text text;

	tp_text_init(&text, buf, RANKS_TEXT);
	for (uint32_t i = 0; i < n_ranks && text.len < RANKS_TEXT - RANKS_ROOM; i++) {
		uint32_t end = i;

		while (end < n_ranks && has_member(group, end) &&
		       (end == i || (int64_t)rank[end].proc->rank == (int64_t)rank[end - 1].proc->rank + 1))
			end++;
		if (end == i)
			continue;
		tp_text_fmt(&text, "%s%d", text.len ? "," : "", rank[i].proc->rank);
		if (end > i + 1)
			tp_text_fmt(&text, "-%d", rank[end - 1].proc->rank);
		i = end - 1;
	}
	if (text.len >= RANKS_TEXT - RANKS_ROOM)
		tp_text_str(&text, ",...");
	return buf;
}

static void put_group(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_comm_shown *shown = ctx;
	const struct tp_comm_group *group = of;
	char buf[RANKS_TEXT];

	TP_TEXT(r, "group", "group", 0, "process group", "%s%s", group->is_nccl ? "nccl " : "",
		group->label);
	TP_TEXT(r, "members", "ranks", 0, "ranks of the group", "%s",
		show_ranks(buf, group, shown->rank, shown->n_ranks));
	TP_COUNT(r, "missing", "missing", 0, "members without a trace",
		 group->size - group->n_members);
	TP_COUNT(r, "calls", "calls", 0, "number of calls on all ranks", group->n_calls);
	TP_COUNT(r, "matched", "matched", 0, "collectives matched on all ranks", group->n_matched);
	TP_BYTES(r, "bytes", "bytes", 0, "bytes of all calls", group->bytes);
	TP_NS(r, "wait_ns", "wait", 0, "wait: sum of the times until the last rank arrived", group->wait_ns);
	TP_NS(r, "move_ns", "transfer", 0, "transfer: sum of the times after that", group->move_ns);
	TP_CELL(r, "bus_gb_per_s", "GB/s bus", TP_UNIT_REAL, 0, "bus bandwidth",
		group->bus_ns > 0 ? tp_row_real(r, group->bus_bytes / (double)group->bus_ns, 3)
				  : tp_row_text(r, "-"));
}

const struct tp_table_def tp_table_comm_groups = {
	.name = "comm_groups", .columns = put_group, .help = "process groups",
};

void tp_view_comm_groups(const struct tp_comm_shown *shown)
{
	struct tp_table *table =
		tp_table_begin(&tp_table_comm_groups, shown, shown->options->top, shown->out);
	uint32_t n_left;

	for (uint32_t i = 0; i < tp_comm_n_groups(shown->comm); i++)
		if (tp_comm_group(shown->comm, i)->n_calls)
			tp_table_add(table, tp_comm_group(shown->comm, i));
	n_left = tp_table_end(table);
	tp_out_left(shown->out, n_left, "groups");
}
