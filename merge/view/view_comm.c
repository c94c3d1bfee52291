/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_comm.c - communication: what the ranks exchanged, how long they waited, and for whom
 *
 * Who keeps the others waiting comes first; then the collectives by kind and size, the ranks,
 * and which rank was late in which step.
 */
#include "merge/model/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/comm/comm.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/model/ranks.h"
#include "merge/model/shapes.h"

enum {
	HEAT_COLUMNS = 60,	/* of the picture of ranks and steps */
	HEAT_ROWS = 64,		/* ranks in it; of more only the late ones */
	TOLD_MAX = 16,		/* ranks that are missing, each a line */
};

struct state {
	struct tp_view_options options;
	const struct tp_comm *comm;
};

static void *begin(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->comm = tp_facts_want(facts, &tp_fact_comm, NULL);
	return state;
}

/* ---- collectives ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct tp_comm_row *const *x = a, *const *y = b;

	if ((*x)->time_ns != (*y)->time_ns)
		return (*x)->time_ns < (*y)->time_ns ? 1 : -1;
	return (*x > *y) - (*x < *y);
}

static void add_row(struct tp_old_table *table, const struct tp_comm *comm,
		    const struct tp_comm_row *row)
{
	int64_t move_ns = tp_spread_mean(&row->move);
	double factor = tp_comm_bus_factor(row->kind, row->n_ranks);
	char other[12];

	tp_table_cell(table, "%s%s", row->is_device ? "nccl " : "", tp_comm_name(row->kind));
	if (row->bytes) {
		tp_cell_bytes(table, (int64_t)row->bytes);
		tp_table_cell(table, "%s", tp_show_dtype(row->dtype, other));
	} else {
		tp_table_cell(table, "?");
		tp_table_cell(table, "?");
	}
	tp_table_cell(table, "%s", tp_comm_group(comm, row->family)->label);
	tp_table_cell(table, "%s", tp_comm_use_name(row->use));
	tp_table_cell(table, "%u", row->n_ranks ? row->n_ranks : 1);
	tp_cell_count(table, row->n_calls);
	tp_cell_count(table, row->n_matched);
	tp_cell_ns(table, row->time_ns / (int64_t)row->n_calls);
	if (row->n_matched) {
		tp_cell_ns(table, row->wait_ns / (int64_t)(row->n_matched * row->n_ranks));
		tp_cell_ns(table, move_ns);
		tp_cell_ns(table, tp_spread_percentile(&row->move, 99));
	} else {
		for (int i = 0; i < 3; i++)
			tp_table_cell(table, "-");
	}
	if (row->bytes && row->n_matched && move_ns > 0 && factor > 0)
		tp_table_cell(table, "%.3f", (double)row->bytes * factor / (double)move_ns);
	else
		tp_table_cell(table, "-");
}

static void print_rows(const struct state *state, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
	    {.title = "collective", .field = "collective"},
	    {.title = "bytes", .align = TP_RIGHT, .field = "bytes"},
	    {.title = "type", .is_extra = 2, .field = "dtype"},
	    {.title = "group", .field = "group"},
	    {.title = "for", .is_extra = 1, .field = "for"},
	    {.title = "ranks", .align = TP_RIGHT, .field = "ranks"},
	    {.title = "calls", .align = TP_RIGHT, .field = "calls"},
	    {.title = "matched", .align = TP_RIGHT, .is_extra = 3, .field = "matched"},
	    {.title = "mean", .align = TP_RIGHT, .field = "mean_ns"},
	    {.title = "waiting", .align = TP_RIGHT, .field = "wait_ns"},
	    {.title = "moving", .align = TP_RIGHT, .field = "move_ns"},
	    {.title = "p99", .align = TP_RIGHT, .is_extra = 4, .field = "move_p99_ns"},
	    {.title = "GB/s bus", .align = TP_RIGHT, .field = "bus_gb_per_s"},
	};
	uint32_t n, shown;
	const struct tp_comm_row *row = tp_comm_rows(state->comm, &n);
	const struct tp_comm_row **sorted = malloc((n + 1) * sizeof(*sorted));
	struct tp_old_table *table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	bool has_unknown = false;

	tp_table_name(table, "collectives");
	for (uint32_t i = 0; sorted && i < n; i++) {
		sorted[i] = &row[i];
		has_unknown |= !row[i].bytes && row[i].kind != TP_COMM_BARRIER;
	}
	if (sorted)
		qsort(sorted, n, sizeof(*sorted), compare_rows);
	shown = state->options.top && state->options.top < n ? state->options.top : n;
	for (uint32_t i = 0; sorted && i < shown; i++)
		add_row(table, state->comm, sorted[i]);
	free(sorted);
	tp_table_print(table, out);
	if (shown < n)
		tp_out_line(out, "dim", "%u more kinds and sizes; --top 0 shows all", n - shown);
	if (has_unknown)
		tp_out_line(out, "dim", "bytes of NCCL's kernels are known where TRAINPROF_RECORD had 'comm' "
			    "or 'shapes'");
}

/* ---- groups ---- */

static bool has_member(const struct tp_comm_group *group, uint32_t rank)
{
	for (uint32_t i = 0; i < group->n_members; i++)
		if (group->member[i].rank == rank)
			return true;
	return false;
}

/* "0-3,8": the job's ranks, of which there may be many. */
static const char *show_ranks(char buf[64], const struct tp_comm_group *group,
			      const struct tp_comm_rank *rank, uint32_t n_ranks)
{
	uint32_t n = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < n_ranks && n < 48; i++) {
		uint32_t end = i;

		while (end < n_ranks && has_member(group, end) &&
		       (end == i || rank[end].proc->rank == rank[end - 1].proc->rank + 1))
			end++;
		if (end == i)
			continue;
		n += (uint32_t)snprintf(buf + n, 64 - n, "%s%d", n ? "," : "", rank[i].proc->rank);
		if (end > i + 1)
			n += (uint32_t)snprintf(buf + n, 64 - n, "-%d", rank[end - 1].proc->rank);
		i = end - 1;
	}
	if (n >= 48)
		snprintf(buf + n, 64 - n, ",...");
	return buf;
}

static void print_groups(const struct state *state, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
	    {.title = "group", .field = "group"},
	    {.title = "ranks", .field = "members"},
	    {.title = "missing", .align = TP_RIGHT, .field = "missing"},
	    {.title = "calls", .align = TP_RIGHT, .field = "calls"},
	    {.title = "matched", .align = TP_RIGHT, .field = "matched"},
	    {.title = "bytes", .align = TP_RIGHT, .field = "bytes"},
	    {.title = "waiting", .align = TP_RIGHT, .field = "wait_ns"},
	    {.title = "moving", .align = TP_RIGHT, .field = "move_ns"},
	    {.title = "GB/s bus", .align = TP_RIGHT, .field = "bus_gb_per_s"},
	};
	uint32_t n = tp_comm_n_groups(state->comm), n_ranks, shown = 0;
	const struct tp_comm_rank *rank = tp_comm_ranks(state->comm, &n_ranks);
	struct tp_old_table *table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	char buf[64];

	tp_table_name(table, "comm_groups");
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_comm_group *group = tp_comm_group(state->comm, i);

		if (!group->n_calls || (state->options.top && shown++ >= state->options.top))
			continue;
		tp_table_cell(table, "%s%s", group->is_nccl ? "nccl " : "", group->label);
		tp_table_cell(table, "%s", show_ranks(buf, group, rank, n_ranks));
		tp_cell_count(table, group->size - group->n_members);
		tp_cell_count(table, group->n_calls);
		tp_cell_count(table, group->n_matched);
		tp_cell_bytes(table, (int64_t)group->bytes);
		tp_cell_ns(table, group->wait_ns);
		tp_cell_ns(table, group->move_ns);
		if (group->bus_ns > 0)
			tp_table_cell(table, "%.3f", group->bus_bytes / (double)group->bus_ns);
		else
			tp_table_cell(table, "-");
	}
	tp_table_print(table, out);
	if (state->options.top && shown > state->options.top)
		tp_out_line(out, "dim", "%u more groups; --top 0 shows all", shown - state->options.top);
}

/* Ranks that a group lacks, and members that took part less often than others. */
static void print_missing(const struct state *state, const struct tp_run *run, struct tp_out *out)
{
	uint32_t n_ranks, n_told = 0, n_groups = tp_comm_n_groups(state->comm);
	const struct tp_comm_rank *rank = tp_comm_ranks(state->comm, &n_ranks);
	struct tp_ranks_missing missing;
	char who[64], a[32], b[32];

	tp_ranks_missing(run, &missing);
	if (missing.here[0])
		tp_out_line(out, "yellow", "no trace of %s: what they took part in was matched without "
			    "them", missing.here);
	for (uint32_t g = 0; g < n_groups; g++) {
		const struct tp_comm_group *group = tp_comm_group(state->comm, g);
		uint64_t most = 0;

		for (uint32_t i = 0; i < group->n_members; i++)
			if (group->member[i].n_calls > most)
				most = group->member[i].n_calls;
		/* Messages differ from rank to rank. */
		for (uint32_t i = 0; i < group->n_members && n_told < TOLD_MAX; i++) {
			const struct tp_proc *proc = rank[group->member[i].rank].proc;

			if (!proc->is_dead || group->member[i].n_calls == most)
				continue;
			n_told++;
			tp_out_line(out, "yellow", "%s died: it took part in %s of %s calls of group %s",
				    tp_label_proc(who, run, proc),
				    tp_show_count(a, group->member[i].n_calls), tp_show_count(b, most),
				    group->label);
		}
	}
}

/* ---- ranks ---- */

static void print_ranks(const struct state *state, const struct tp_run *run,
			const struct tp_comm_verdict *verdict, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
	    {.title = "rank", .field = "rank"},
	    {.title = "steps", .align = TP_RIGHT, .field = "steps"},
	    {.title = "a step: compute", .align = TP_RIGHT, .field = "compute_ns"},
	    {.title = "overlapped", .align = TP_RIGHT, .field = "overlapped_ns"},
	    {.title = "communication", .align = TP_RIGHT, .field = "communication_ns"},
	    {.title = "other", .align = TP_RIGHT, .field = "other_ns"},
	    {.title = "waited", .align = TP_RIGHT, .field = "waited_ns"},
	    {.title = "came last", .align = TP_RIGHT, .field = "last_percent"},
	    {.title = "late p50", .align = TP_RIGHT, .is_extra = 2, .field = "late_p50_ns"},
	    {.title = "max", .align = TP_RIGHT, .is_extra = 1, .field = "late_max_ns"},
	    {.title = "late a step", .align = TP_RIGHT, .field = "late_ns"},
	};
	struct tp_old_table *table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	uint32_t n;
	const struct tp_comm_rank *rank = tp_comm_ranks(state->comm, &n);
	char buf[64];

	tp_table_name(table, "comm_ranks");
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_comm_share *share = &rank[i].share;
		int64_t steps = rank[i].n_steps ? rank[i].n_steps : 1;

		tp_table_cell(table, "%s", tp_label_proc(buf, run, rank[i].proc));
		tp_cell_count(table, rank[i].n_steps);
		tp_cell_ns(table, share->compute_ns / steps);
		tp_cell_ns(table, share->both_ns / steps);
		tp_cell_ns(table, share->comm_ns / steps);
		tp_cell_ns(table, share->other_ns / steps);
		tp_cell_ns(table, rank[i].wait_ns / steps);
		tp_cell_percent(table, (double)rank[i].n_last, (double)rank[i].n_matched);
		tp_cell_ns(table, tp_spread_percentile(&rank[i].late, 50));
		tp_cell_ns(table, rank[i].late.n ? rank[i].late.most : 0);
		tp_cell_ns(table, rank[i].late_ns / steps);
		if (verdict->rank == &rank[i])
			tp_table_style(table, "red");
	}
	tp_table_print(table, out);
}

/* How late, in one character: a dot is nothing, a digit tenths of the step. */
static char heat(int64_t late_ns, int64_t step_ns)
{
	int64_t tenths = step_ns > 0 ? late_ns / (step_ns / 10 + 1) : 0;

	if (late_ns <= 0 || tenths <= 0)
		return '.';
	return (char)(tenths > 9 ? '9' : '0' + tenths);
}

/* A row per rank, a column per step, or per few of them: then the latest of these. */
static void print_heat(const struct state *state, const struct tp_run *run, struct tp_out *out)
{
	uint32_t n, n_steps = 0, per, shown = 0;
	const struct tp_comm_rank *rank = tp_comm_ranks(state->comm, &n);
	char line[HEAT_COLUMNS + 1], buf[64];

	for (uint32_t i = 0; i < n; i++)
		if (rank[i].n_steps > n_steps)
			n_steps = rank[i].n_steps;
	if (n < 2 || n_steps < 2)
		return;
	per = (n_steps + HEAT_COLUMNS - 1) / HEAT_COLUMNS;
	tp_out_line(out, "", "late in step (tenths of the step; a dot: less than one), %u step%s a "
		    "column:", per, per > 1 ? "s" : "");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t columns = (rank[i].n_steps + per - 1) / per;
		bool is_late = false;

		for (uint32_t c = 0; c < columns; c++) {
			line[c] = '.';
			for (uint32_t s = c * per; s < (c + 1) * per && s < rank[i].n_steps; s++) {
				char one = heat(rank[i].step_late[s],
						tp_sub(rank[i].step[s].end_ns,
						       rank[i].step[s].begin_ns));

				if (one > line[c])
					line[c] = one;
			}
			is_late |= line[c] != '.';
		}
		line[columns] = 0;
		if (n > HEAT_ROWS && !is_late)
			continue;
		if (shown++ < HEAT_ROWS)
			tp_out_item(out, "", 12, tp_label_proc(buf, run, rank[i].proc), "%s", line);
	}
}

/* The same for programs and for the page's map: every step of every rank. */
static void print_steps(const struct state *state, const struct tp_run *run, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
	    {.title = "process", .field = "process"},
	    {.title = "step", .align = TP_RIGHT, .field = "step"},
	    {.title = "time", .align = TP_RIGHT, .field = "time_ns"},
	    {.title = "late", .align = TP_RIGHT, .field = "late_ns"},
	};
	uint32_t n;
	const struct tp_comm_rank *rank = tp_comm_ranks(state->comm, &n);
	struct tp_old_table *table;
	char buf[64];

	if (!tp_out_is_full(out) || n < 2)
		return;
	tp_out_title(out, "Late in each step");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, "comm_steps");
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t s = 0; s < rank[i].n_steps; s++) {
			tp_table_cell(table, "%s", tp_label_proc(buf, run, rank[i].proc));
			tp_cell_count(table, rank[i].step[s].index);
			tp_cell_ns(table, tp_sub(rank[i].step[s].end_ns, rank[i].step[s].begin_ns));
			tp_cell_ns(table, rank[i].step_late[s]);
		}
	tp_table_print(table, out);
}

static void print_verdict(const struct tp_run *run, const struct tp_comm_verdict *verdict,
			  struct tp_out *out)
{
	const struct tp_comm_rank *rank = verdict->rank;
	const char *cause = tp_comm_cause_text(verdict);
	char who[64], a[32], b[32], c[32], d[32];

	if (!rank) {
		tp_out_line(out, "", "no rank keeps the others waiting more than the rest do");
		return;
	}
	if (verdict->is_network)
		tp_out_line(out, "bold", "%s keeps the others waiting: transfers with it take longer, "
			    "%s a step", tp_label_proc(who, run, rank->proc),
			    tp_show_ns(c, verdict->late_step_ns));
	else
		tp_out_line(out, "bold", "%s keeps the others waiting: last in %s of %s collectives, "
			    "%s a step", tp_label_proc(who, run, rank->proc),
			    tp_show_count(a, rank->n_last), tp_show_count(b, rank->n_matched),
			    tp_show_ns(c, verdict->late_step_ns));
	tp_out_line(out, "bold", "  cause: %s, %s a step more than %s", cause,
		    tp_show_ns(d, verdict->excess_ns),
		    verdict->is_network ? "where it has no part" : "on the other ranks");
}

static void print_clock(const struct tp_run *run, struct tp_out *out)
{
	int64_t worst = 0;
	char a[32];

	for (uint32_t i = 0; i < run->n_windows; i++) {
		if (run->window[i].clock_error_ns < 0)
			worst = INT64_MAX;
		else if (run->window[i].clock_error_ns > worst)
			worst = run->window[i].clock_error_ns;
	}
	if (worst == INT64_MAX)
		tp_out_line(out, "yellow", "times of different ranks: no bound on their error is known");
	else
		tp_out_line(out, "dim", "times of different ranks: +- %s", tp_show_ns(a, worst));
}

static void print(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	struct tp_comm_verdict verdict;
	uint32_t n_rows, n_ranks;
	const struct tp_comm_rank *rank;
	char a[32];

	tp_out_title(out, "Communication");
	tp_comm_rows(state->comm, &n_rows);
	rank = tp_comm_ranks(state->comm, &n_ranks);
	if (!n_rows) {
		tp_out_line(out, "", "no collective was recorded: one process, none in a window, or "
			    "TRAINPROF_RECORD has neither 'ops' nor 'cuda'");
		goto out;
	}
	tp_comm_judge(rank, n_ranks, &verdict);
	if (n_ranks > 1) {
		print_verdict(run, &verdict, out);
		print_clock(run, out);
	}
	if (n_ranks > 1 && tp_comm_unmatched(state->comm))
		tp_out_line(out, "yellow", "calls without a partner on another rank: %s",
			    tp_show_count(a, tp_comm_unmatched(state->comm)));
	if (tp_comm_impossible(state->comm))
		tp_out_line(out, "yellow", "%s collectives ended on one rank before another began: "
			    "clocks, or groups that are not known",
			    tp_show_count(a, tp_comm_impossible(state->comm)));
	if (n_ranks > 1)
		print_missing(state, run, out);
	print_rows(state, out);
	print_groups(state, out);
	print_ranks(state, run, &verdict, out);
	print_heat(state, run, out);
	print_steps(state, run, out);
out:
	if (tp_comm_is_incomplete(state->comm))
		tp_out_line(out, "red", "memory ran out: figures are too small");
	free(state);
}

const struct tp_view tp_view_comm = {
	.name = "comm",
	.help = "collectives, who waits for whom and why",
	.begin = begin,
	.print = print,
};
