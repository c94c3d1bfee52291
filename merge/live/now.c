/* SPDX-License-Identifier: Apache-2.0 */
/*
 * now.c - ranks of a running job, and groups of them
 */
#include "merge/live/now.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/model/label.h"

static int by_number(const void *a, const void *b)
{
	const struct tp_live_now *x = a, *y = b;

	return (x->rank->head.rank > y->rank->head.rank) - (x->rank->head.rank < y->rank->head.rank);
}

/* Where no step ended in the last seconds the last one counts. */
static struct tp_live_now look_at(const struct tp_follow *follow, const struct tp_follow_rank *rank,
				  uint32_t n_looks, double seconds)
{
	struct tp_follow_part part = tp_follow_recent(follow, rank, n_looks);
	struct tp_live_now now = {.rank = rank};

	now.steps_a_second = seconds > 0 ? (double)part.steps / seconds : 0;
	if (part.steps) {
		now.step_ns = (double)part.step_ns / (double)part.steps;
		now.data_wait_ns = (double)part.data_wait_ns / (double)part.steps;
		now.optimizer_ns = (double)part.optimizer_ns / (double)part.steps;
	} else if (rank->has_step) {
		now.step_ns = (double)rank->last.dur_ns;
		now.data_wait_ns = (double)rank->last.data_wait_ns;
		now.optimizer_ns = (double)rank->last.optimizer_ns;
		/* One step in many looks. */
		if (rank->is_alive && now.step_ns > seconds * 1e9)
			now.steps_a_second = 1e9 / now.step_ns;
	}
	return now;
}

/* ---- rows ---- */

static void start_row(struct tp_live_row *row, const struct tp_live_now *now)
{
	*row = (struct tp_live_row){
		.first = now->rank->head.rank, .host = now->rank->head.host, .n_hosts = 1,
		.step_low = UINT64_MAX, .steps_a_second = now->steps_a_second,
		.n_windows = UINT32_MAX, .phase = (uint8_t)now->rank->phase,
		.has_phase = now->rank->has_ring && now->rank->is_alive,
	};
}

static void raise(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
}

/* What holds the others up: in a step that all share it is the rank that waits for data itself. */
static double own_time(const struct tp_live_now *now)
{
	return now->step_ns + now->data_wait_ns;
}

static void add_to_row(struct tp_live_row *row, const struct tp_live_now *now)
{
	const struct tp_follow_rank *rank = now->rank;
	const struct tp_ledger_row *last = &rank->last;
	uint64_t n_steps = rank->has_step ? last->index + 1 : 0;

	row->last = rank->head.rank;
	row->n_hosts += row->n && strcmp(row->host, rank->head.host) != 0;
	row->n++;
	row->n_alive += rank->is_alive;
	row->n_ended += rank->has_ended;
	if (n_steps < row->step_low)
		row->step_low = n_steps;
	raise(&row->step_high, n_steps);
	if (rank->has_step && last->epoch > row->epoch)
		row->epoch = last->epoch;
	if (now->steps_a_second < row->steps_a_second)
		row->steps_a_second = now->steps_a_second;
	row->step_ns += now->step_ns;
	row->data_wait_ns += now->data_wait_ns;
	row->optimizer_ns += now->optimizer_ns;
	if (rank->has_step && (!row->slowest || own_time(now) > own_time(row->slowest)))
		row->slowest = now;
	raise(&row->live, last->live_bytes);
	raise(&row->peak, last->peak_bytes);
	raise(&row->device_live, last->device_live);
	raise(&row->device_peak, last->device_peak);
	row->dropped += rank->dropped;
	if (rank->n_traces < row->n_windows)
		row->n_windows = rank->n_traces;
}

static void finish_row(struct tp_live_row *row)
{
	row->step_ns /= row->n;
	row->data_wait_ns /= row->n;
	row->optimizer_ns /= row->n;
}

static void make_row(struct tp_live_row *row, const struct tp_live_now *now, uint32_t n)
{
	start_row(row, now);
	for (uint32_t i = 0; i < n; i++)
		add_to_row(row, &now[i]);
	finish_row(row);
}

/* Ranks of a row: a power of two, so that the rows are nodes, or parts or several of them. */
static uint32_t group_size(uint32_t n, uint32_t most)
{
	uint32_t size = 1;

	while (most && (n + size - 1) / size > most)
		size *= 2;
	return size;
}

/* Steps a second of all ranks together, look by look. */
static void take_rates(struct tp_live *live)
{
	const struct tp_follow *follow = live->follow;
	uint32_t n = follow->look < TP_FOLLOW_LOOKS ? follow->look : TP_FOLLOW_LOOKS;

	/* The first look reads the past. */
	n -= n && follow->look <= TP_FOLLOW_LOOKS;
	live->n_rates = n;
	memset(live->rate, 0, sizeof(live->rate));
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < live->n; i++)
			live->rate[k] += (int64_t)live->now[i].rank
				->part[(follow->look - (n - 1 - k)) % TP_FOLLOW_LOOKS].steps;
}

bool tp_live_update(struct tp_live *live, const struct tp_follow *follow, uint32_t most)
{
	uint32_t n = 0, size = group_size(follow->n_shown, most);
	/* The first look reads what was before. */
	uint32_t n_looks = follow->look - 1 < TP_LIVE_LOOKS ? follow->look - 1 : TP_LIVE_LOOKS;
	double seconds = (double)(follow->look_ns - follow->before_ns) / 1e9 * n_looks;

	if (!tp_grow(&live->now, &live->cap, follow->n_shown, sizeof(*live->now)) ||
	    !tp_grow(&live->row, &live->cap_rows, follow->n_shown / size + 1ull, sizeof(*live->row)))
		return false;
	live->follow = follow;
	for (uint32_t i = 0; i < follow->n_ranks && n < follow->n_shown; i++)
		if (follow->rank[i].is_shown)
			live->now[n++] = look_at(follow, &follow->rank[i], n_looks, seconds);
	live->n = n;
	live->n_rows = 0;
	live->all = (struct tp_live_row){0};
	if (!n)
		return true;
	qsort(live->now, n, sizeof(*live->now), by_number);
	for (uint32_t i = 0; i < n; i += size)
		make_row(&live->row[live->n_rows++], &live->now[i], n - i < size ? n - i : size);
	make_row(&live->all, live->now, n);
	live->has_device = live->all.device_peak != 0;
	take_rates(live);
	return true;
}

void tp_live_free(struct tp_live *live)
{
	free(live->now);
	free(live->row);
	*live = (struct tp_live){0};
}

/* ---- the table ---- */

const char *tp_live_name(char buf[32], const struct tp_live_row *row)
{
	if (row->n == 1)
		snprintf(buf, 32, "%d", row->first < 0 ? 0 : row->first);
	else
		snprintf(buf, 32, "%d-%d", row->first, row->last);
	return buf;
}

static const char *state_of(const struct tp_live_row *row, char buf[48])
{
	if (row->n_alive + row->n_ended < row->n)
		snprintf(buf, 48, row->n == 1 ? "dead" : "%u dead", row->n - row->n_alive - row->n_ended);
	else if (!row->n_alive)
		snprintf(buf, 48, "ended");
	else if (row->n_ended)
		snprintf(buf, 48, "%u ended", row->n_ended);
	else
		snprintf(buf, 48, "%s", row->has_phase ? tp_label_phase(row->phase) : "runs");
	return buf;
}

static void put_steps(struct tp_row *r, const struct tp_live_row *row)
{
	char low[32], high[32];

	if (row->step_low == row->step_high)
		tp_row_text(r, "%s", tp_show_count(low, row->step_low));
	else
		tp_row_text(r, "%s-%s", tp_show_count(low, row->step_low),
			    tp_show_count(high, row->step_high));
}

static void put_hosts(struct tp_row *r, const struct tp_live_row *row)
{
	if (row->n_hosts > 1)
		tp_row_text(r, "%s and %u others", row->host, row->n_hosts - 1);
	else
		tp_row_text(r, "%s", row->host);
}

static void put_live(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_live *live = ctx;
	const struct tp_live_row *row = of;
	char buf[48];

	TP_CELL(r, NULL, "rank", TP_UNIT_NUMBER, 0, "", tp_row_text(r, "%s", tp_live_name(buf, row)));
	TP_CELL(r, NULL, "host", TP_UNIT_TEXT, TP_CUT | TP_LESS(8), "", put_hosts(r, row));
	TP_CELL(r, NULL, "state", TP_UNIT_TEXT, 0, "", tp_row_text(r, "%s", state_of(row, buf)));
	TP_CELL(r, NULL, "steps", TP_UNIT_COUNT, 0, "", put_steps(r, row));
	TP_REAL(r, NULL, "steps/s", 0, "", row->steps_a_second, 2);
	TP_NS(r, NULL, "time", 0, "", (int64_t)row->step_ns);
	TP_WHEN(r, live->n_rows < live->n)
		TP_CELL(r, NULL, "slowest", TP_UNIT_NUMBER, TP_LESS(6), "", row->slowest
			? tp_row_integer(r, row->slowest->rank->head.rank) : (void)0);
	TP_PERCENT(r, NULL, "data wait", 0, "", row->data_wait_ns, row->step_ns);
	TP_PERCENT(r, NULL, "optimizer", TP_LESS(7), "", row->optimizer_ns, row->step_ns);
	TP_BYTES(r, NULL, "tensors", TP_LESS(4), "", row->live);
	TP_BYTES(r, NULL, "peak", TP_LESS(2), "", row->peak);
	TP_WHEN(r, live->has_device) {
		TP_BYTES(r, NULL, "GPU", TP_LESS(3), "", row->device_live);
		TP_BYTES(r, NULL, "GPU peak", TP_LESS(1), "", row->device_peak);
	}
	TP_COUNT(r, NULL, "lost", TP_LESS(5), "", row->dropped);
	TP_COUNT(r, NULL, "traces", TP_LESS(9), "", row->n_windows);
	TP_STYLE(r, row->n_alive + row->n_ended < row->n ? "red" : row->dropped ? "yellow" : NULL);
}

const struct tp_table_def tp_table_live = {.columns = put_live};
