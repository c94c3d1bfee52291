/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_figures.c - matched collectives into figures of kinds, groups and ranks
 */
#include "merge/facts/comm/comm_in.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

enum {
	CELLS_MAX = 1 << 16,	/* more are not compared */
	SLOW_TIMES = 2,		/* transfers of a rank with a bad link, of what others take */
};

static struct tp_comm_row *find_row(struct tp_comm *comm, const struct tp_comm_row *key)
{
	uint32_t hash = tp_keyed_hash(key->bytes * 31 + ((uint64_t)key->kind << 48 |
							 (uint64_t)key->is_device << 44 |
							 (uint64_t)key->use << 40 |
							 (uint64_t)key->dtype << 32 | key->family));
	uint32_t at, row;

	for (row = tp_keyed_first(&comm->by_row, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&comm->by_row, hash, &at)) {
		const struct tp_comm_row *found = &comm->row[row];

		if (found->kind == key->kind && found->bytes == key->bytes &&
		    found->dtype == key->dtype && found->is_device == key->is_device &&
		    found->use == key->use && found->family == key->family)
			return &comm->row[row];
	}
	if (!tp_grow(&comm->row, &comm->cap_rows, (uint64_t)comm->n_rows + 1, sizeof(*comm->row)) ||
	    !tp_keyed_add(&comm->by_row, hash, comm->n_rows))
		return NULL;
	comm->row[comm->n_rows] = *key;
	return &comm->row[comm->n_rows++];
}

static bool is_same_cell(const struct tp_comm_cell *a, const struct tp_comm_cell *b)
{
	return a->bytes == b->bytes && a->group == b->group && a->from == b->from &&
	       a->to == b->to && a->n_ranks == b->n_ranks && a->kind == b->kind &&
	       a->dtype == b->dtype && a->is_device == b->is_device;
}

void tp_comm_account_transfer(struct tp_comm *comm, const struct tp_comm_cell *one)
{
	uint32_t hash = tp_keyed_hash(one->bytes * 31 + ((uint64_t)one->group << 32 | one->kind) * 17 +
				      ((uint64_t)one->from << 32 | one->to));
	struct tp_comm_cell *cell = NULL;
	uint32_t at, row;

	for (row = tp_keyed_first(&comm->by_cell, hash, &at); row != TP_NO_KEYED && !cell;
	     row = tp_keyed_next(&comm->by_cell, hash, &at))
		if (is_same_cell(&comm->cell[row], one))
			cell = &comm->cell[row];
	if (!cell) {
		if (comm->n_cells == CELLS_MAX ||
		    !tp_grow(&comm->cell, &comm->cap_cells, (uint64_t)comm->n_cells + 1,
			     sizeof(*comm->cell)) ||
		    !tp_keyed_add(&comm->by_cell, hash, comm->n_cells))
			return;
		cell = &comm->cell[comm->n_cells++];
		*cell = *one;
		cell->n = 0;
		cell->sum_ns = 0;
	}
	cell->n += one->n;
	cell->sum_ns = tp_add(cell->sum_ns, one->sum_ns);
	if (one->least_ns < cell->least_ns)
		cell->least_ns = one->least_ns;
}

/* The last one is charged with the time that it came behind the last but one. Returns how long. */
static int64_t note_last(struct tp_comm *comm, const struct tp_comm_call *call, int64_t before_ns)
{
	struct tp_comm_counted *rank = &comm->rank[call->rank];
	int64_t behind_ns = tp_comm_late_add(&rank->late, call->group, before_ns, call->begin_ns);

	rank->pub.n_last++;
	if (behind_ns < 0 || !tp_spread_add(&rank->pub.late, behind_ns))
		comm->is_incomplete = true;
	return behind_ns;
}

struct span {
	int64_t last_ns, before_ns, first_end_ns, end_ns;
	uint32_t last;
};

static struct span find_span(const struct tp_comm_call *call, uint32_t n)
{
	struct span span = {INT64_MIN, INT64_MIN, INT64_MAX, INT64_MIN, 0};

	for (uint32_t i = 0; i < n; i++) {
		if (call[i].begin_ns > span.last_ns) {
			span.before_ns = span.last_ns;
			span.last_ns = call[i].begin_ns;
			span.last = i;
		} else if (call[i].begin_ns > span.before_ns) {
			span.before_ns = call[i].begin_ns;
		}
		if (call[i].end_ns > span.end_ns)
			span.end_ns = call[i].end_ns;
		if (call[i].end_ns < span.first_end_ns)
			span.first_end_ns = call[i].end_ns;
	}
	return span;
}

static void account_waits(struct tp_comm *comm, struct tp_comm_row *row, const struct tp_comm_met *met,
		       bool is_message)
{
	struct tp_comm_group *group = tp_comm_groups_at(comm->groups, met->call[0].group);

	for (uint32_t i = 0; i < met->n; i++) {
		const struct tp_comm_call *call = &met->call[i];
		struct tp_comm_counted *of = &comm->rank[call->rank];
		int64_t wait_ns = tp_comm_wait_ns(met, i);

		of->pub.n_matched += !is_message;
		of->pub.wait_ns = tp_add(of->pub.wait_ns, wait_ns);
		tp_comm_late_wait(&of->late, call->group, call->begin_ns, call->begin_ns + wait_ns,
				  call->end_ns);
		row->wait_ns = tp_add(row->wait_ns, wait_ns);
		group->wait_ns = tp_add(group->wait_ns, wait_ns);
	}
}

static void account_matched(struct tp_comm *comm, struct tp_comm_row *row, struct tp_comm_met *met)
{
	const struct tp_comm_call *call = met->call;
	struct tp_comm_group *group = tp_comm_groups_at(comm->groups, call[0].group);
	bool is_message = row->kind == TP_COMM_SEND_RECV && call[0].from != UINT32_MAX;
	struct span span = find_span(call, met->n);
	int64_t move_ns = tp_sub(span.end_ns, span.last_ns);
	double factor = tp_comm_bus_factor(row->kind, met->n);
	struct tp_comm_cell cell = {
	    .bytes = row->bytes, .group = call[0].group, .n_ranks = met->n, .kind = row->kind,
	    .dtype = row->dtype, .is_device = row->is_device, .n = 1, .sum_ns = move_ns,
	    .least_ns = move_ns,
	};

	met->last = span.last;
	met->last_ns = span.last_ns;
	met->end_ns = span.end_ns;
	comm->n_violations += tp_comm_is_synchronising(row->kind) && span.first_end_ns < span.last_ns;
	if (!is_message)
		met->behind_ns = note_last(comm, &call[span.last], span.before_ns);
	account_waits(comm, row, met, is_message);
	row->n_matched++;
	if (met->n > row->n_ranks)
		row->n_ranks = met->n;
	if (!tp_spread_add(&row->move, move_ns))
		comm->is_incomplete = true;
	group->n_matched++;
	group->bytes += row->bytes;
	group->move_ns = tp_add(group->move_ns, move_ns);
	if (row->bytes && factor > 0) {
		group->bus_bytes += (double)row->bytes * factor;
		group->bus_ns = tp_add(group->bus_ns, move_ns);
	}
	if (is_message) {
		cell.from = call[0].rank;
		cell.to = call[1].rank;
	}
	if (group->is_known)
		tp_comm_account_transfer(comm, &cell);
}

void tp_comm_account(void *ctx, const struct tp_comm_call *call, uint32_t n)
{
	struct tp_comm *comm = ctx;
	struct tp_comm_group *group = tp_comm_groups_at(comm->groups, call[0].group);
	struct tp_comm_row key = {.kind = call[0].kind, .is_device = call[0].is_device,
				  .use = call[0].use, .family = group->family};
	struct tp_comm_met met = {.call = call, .n = n, .last_ns = call[0].begin_ns,
				  .end_ns = call[0].end_ns};
	struct tp_comm_row *row;

	/* Who scatters has all of it, the others only a part. */
	for (uint32_t i = 0; i < n; i++) {
		if (call[i].bytes > key.bytes) {
			key.bytes = call[i].bytes;
			key.dtype = call[i].dtype;
		}
		if (call[i].use > key.use)
			key.use = call[i].use;
	}
	row = find_row(comm, &key);
	if (!row) {
		comm->is_incomplete = true;
		return;
	}
	row->n_calls += n;
	group->n_calls += n;
	for (uint32_t i = 0; i < n; i++)
		row->time_ns = tp_add(row->time_ns, tp_sub(call[i].end_ns, call[i].begin_ns));
	if (n > 1)
		account_matched(comm, row, &met);
	else
		comm->n_alone += group->size > 1;
	met.row = row;
	for (uint32_t i = 0; i < comm->n_readers; i++)
		comm->reader[i].met(comm->reader[i].ctx, comm, &met);
}

/* ---- transfers that are slow wherever a rank has a part in them ---- */

static int compare_cells(const void *a, const void *b)
{
	const struct tp_comm_cell *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->is_device != y->is_device)
		return x->is_device ? 1 : -1;
	if (x->dtype != y->dtype)
		return x->dtype < y->dtype ? -1 : 1;
	if (x->n_ranks != y->n_ranks)
		return x->n_ranks < y->n_ranks ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static bool has_part(const struct tp_comm *comm, const struct tp_comm_cell *cell, uint32_t rank)
{
	const struct tp_comm_group *group = tp_comm_groups_at(comm->groups, cell->group);

	if (cell->from != cell->to)
		return cell->from == rank || cell->to == rank;
	for (uint32_t i = 0; i < group->n_members; i++)
		if (group->member[i].rank == rank)
			return true;
	return false;
}

/* What transfers of one sort say of a rank: so much longer they take with it; 0: nothing; below
 * 0: some are slow, but not all of its own are. */
static int64_t compare_sort(const struct tp_comm *comm, const struct tp_comm_cell *cell, uint32_t n,
			    uint32_t rank)
{
	int64_t with = INT64_MAX, without = 0, least = INT64_MAX, most = 0, sum = 0, others_ns = 0;
	uint64_t n_with = 0, n_others = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t ns = cell[i].least_ns;

		if (ns < least)
			least = ns;
		if (ns > most)
			most = ns;
		if (has_part(comm, &cell[i], rank)) {
			with = ns < with ? ns : with;
			n_with += cell[i].n;
			sum = tp_add(sum, cell[i].sum_ns);
		} else {
			without = ns > without ? ns : without;
			n_others += cell[i].n;
			others_ns = tp_add(others_ns, cell[i].sum_ns);
		}
	}
	if (!n_with || !n_others)
		return 0;
	if (with / SLOW_TIMES < without)
		return most / SLOW_TIMES > least ? -1 : 0;
	sum = tp_sub(sum, (int64_t)((double)others_ns / (double)n_others * (double)n_with));
	return sum > 0 ? sum : 0;
}

void tp_comm_find_slow(struct tp_comm *comm)
{
	bool *is_cleared = calloc(comm->n_ranks + 1, sizeof(*is_cleared));
	uint32_t first = 0;

	if (!is_cleared)
		return;
	if (comm->n_cells)
		qsort(comm->cell, comm->n_cells, sizeof(*comm->cell), compare_cells);
	for (uint32_t end = 1; end <= comm->n_cells; end++) {
		if (end < comm->n_cells && !compare_cells(&comm->cell[first], &comm->cell[end]))
			continue;
		for (uint32_t r = 0; end - first > 1 && r < comm->n_ranks; r++) {
			int64_t more_ns = compare_sort(comm, &comm->cell[first], end - first, r);

			is_cleared[r] |= more_ns < 0;
			if (more_ns > 0)
				comm->rank[r].pub.link_ns = tp_add(comm->rank[r].pub.link_ns, more_ns);
		}
		first = end;
	}
	for (uint32_t r = 0; r < comm->n_ranks; r++)
		if (is_cleared[r])
			comm->rank[r].pub.link_ns = 0;
	free(is_cleared);
}
