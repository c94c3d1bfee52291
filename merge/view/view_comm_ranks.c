/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_comm_ranks.c - part of the view of communication: the ranks, who was late in which step
 */
#include "merge/view/view_comm.h"

#include "merge/kit/sum.h"
#include "merge/model/label.h"

enum {
	HEAT_COLUMNS = 60,	/* of the picture of ranks and steps */
	HEAT_ROWS = 64,		/* ranks in it; of more only the late ones */
};

static int64_t steps_of(const struct tp_comm_rank *rank)
{
	return rank->n_steps ? rank->n_steps : 1;
}

static void put_rank(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_comm_shown *shown = ctx;
	const struct tp_comm_rank *rank = of;
	char buf[64];

	TP_TEXT(r, "rank", "rank", 0, "rank", "%s", tp_label_proc(buf, shown->run, rank->proc));
	TP_COUNT(r, "steps", "steps", 0, "recorded steps", rank->n_steps);
	TP_NS(r, "compute_ns", "compute per step", 0, "mean per step: only computing",
	      rank->share.compute_ns / steps_of(rank));
	TP_NS(r, "overlapped_ns", "overlapped", 0, "computing and communication",
	      rank->share.both_ns / steps_of(rank));
	TP_NS(r, "communication_ns", "communication", 0, "only communication",
	      rank->share.comm_ns / steps_of(rank));
	TP_NS(r, "other_ns", "other", 0, "neither", rank->share.other_ns / steps_of(rank));
	TP_NS(r, "waited_ns", "wait", 0,
	      "wait for other ranks, summed over collectives even where they overlap",
	      rank->wait_ns / steps_of(rank));
	TP_PERCENT(r, "last_percent", "came last", 0, "share of collectives at which it arrived last", rank->n_last,
		   rank->n_matched);
	TP_NS(r, "late_p50_ns", "late p50", TP_LESS(2), "median arrival skew",
	      tp_spread_percentile(&rank->late, 50));
	TP_NS(r, "late_max_ns", "max", TP_LESS(1), "largest arrival skew",
	      rank->late.n ? rank->late.most : 0);
	TP_NS(r, "late_ns", "late per step", 0, "time per step that others waited for it",
	      rank->late_ns / steps_of(rank));
	TP_STYLE(r, shown->verdict->rank == rank ? "red" : NULL);
}

const struct tp_table_def tp_table_comm_ranks = {
	.name = "comm_ranks", .columns = put_rank, .help = "steps and arrival skew of each rank",
};

void tp_view_comm_ranks(const struct tp_comm_shown *shown)
{
	tp_table_show(&tp_table_comm_ranks, shown, shown->rank, shown->n_ranks, sizeof(*shown->rank),
		      TP_TOP_ASKED, shown->out);
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
void tp_view_comm_heat(const struct tp_comm_shown *shown)
{
	const struct tp_comm_rank *rank = shown->rank;
	uint32_t n = shown->n_ranks, n_steps = 0, per, n_rows = 0;
	char line[HEAT_COLUMNS + 1], buf[64];

	for (uint32_t i = 0; i < n; i++)
		if (rank[i].n_steps > n_steps)
			n_steps = rank[i].n_steps;
	if (n < 2 || n_steps < 2 || !tp_out_is_terminal(shown->out))
		return;
	per = (n_steps + HEAT_COLUMNS - 1) / HEAT_COLUMNS;
	tp_out_line(shown->out, "", "how late each rank reached the collectives of a step (0 to 9: tenths of the step; a dot: "
		    "less than one), %u step%s per column:", per, per > 1 ? "s" : "");
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
		if (n_rows++ < HEAT_ROWS)
			tp_out_item(shown->out, "", 12, tp_label_proc(buf, shown->run, rank[i].proc), "%s", line);
	}
}

/* The same for programs and for the page's map: every step of every rank. */
struct rank_step {
	const struct tp_comm_rank *rank;
	uint32_t at;
};

static void put_step(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_comm_shown *shown = ctx;
	const struct rank_step *row = of;
	char buf[64];

	TP_TEXT(r, "process", "process", 0, "rank", "%s",
		tp_label_proc(buf, shown->run, row->rank->proc));
	TP_COUNT(r, "step", "step", 0, "number of the step", row->rank->step[row->at].index);
	TP_NS(r, "time_ns", "time", 0, "duration",
	      tp_sub(row->rank->step[row->at].end_ns, row->rank->step[row->at].begin_ns));
	TP_NS(r, "late_ns", "late", 0, "time that others waited for it", row->rank->step_late[row->at]);
}

const struct tp_table_def tp_table_comm_steps = {
	.name = "comm_steps", .columns = put_step, .row_bytes = sizeof(struct rank_step),
	.help = "arrival skew of each rank in each step",
};

void tp_view_comm_steps(const struct tp_comm_shown *shown)
{
	struct tp_table *table;

	if (!tp_out_is_full(shown->out) || shown->n_ranks < 2)
		return;
	tp_out_title(shown->out, "How late each rank is in each step");
	table = tp_table_begin(&tp_table_comm_steps, shown, TP_TOP_ASKED, shown->out);
	for (uint32_t i = 0; i < shown->n_ranks; i++)
		for (uint32_t s = 0; s < shown->rank[i].n_steps; s++)
			tp_table_add(table, &(struct rank_step){&shown->rank[i], s});
	tp_table_end(table);
}
