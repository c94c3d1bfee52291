/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_comm.c - communication: what the ranks exchanged, how long they waited, and for whom
 *
 * Who keeps the others waiting comes first; then the collectives by kind and size, the ranks,
 * and which rank was late in which step.
 */
#include "merge/view/view_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/model/ranks.h"

enum {
	TOLD_MAX = 16,		/* ranks that are missing, each a line */
};

struct state {
	struct tp_view_options options;
	const struct tp_comm *comm;
};

static void *begin_comm(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->comm = tp_facts_want(facts, &tp_fact_comm, NULL);
	return state;
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

static void print_verdict(const struct tp_run *run, const struct tp_comm_verdict *verdict,
			  struct tp_out *out)
{
	const struct tp_comm_rank *rank = verdict->rank;
	const char *cause = tp_comm_cause_text(verdict);
	char who[64], a[32], b[32], c[32], d[32];

	if (!rank) {
		tp_out_line(out, "", "no rank is a straggler");
		return;
	}
	if (verdict->is_network)
		tp_out_line(out, "bold", "%s is the straggler: transfers with it take longer, "
			    "%s per step", tp_label_proc(who, run, rank->proc),
			    tp_show_ns(c, verdict->late_step_ns));
	else
		tp_out_line(out, "bold", "%s is the straggler: last in %s of %s collectives, "
			    "%s late per step", tp_label_proc(who, run, rank->proc),
			    tp_show_count(a, rank->n_last), tp_show_count(b, rank->n_matched),
			    tp_show_ns(c, verdict->late_step_ns));
	tp_out_line(out, "bold", "  cause: %s, %s per step more than %s", cause,
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

static void print_comm(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	struct tp_comm_verdict verdict;
	struct tp_comm_shown shown;
	uint32_t n_rows, n_ranks;
	const struct tp_comm_rank *rank;
	char a[32];

	tp_out_title(out, "Which rank is the straggler");
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
	if (tp_comm_violations(state->comm))
		tp_out_line(out, "yellow", "%s collectives ended on one rank before another began: "
			    "clocks, or groups that are not known",
			    tp_show_count(a, tp_comm_violations(state->comm)));
	if (n_ranks > 1)
		print_missing(state, run, out);
	shown = (struct tp_comm_shown){
		.run = run, .options = &state->options, .comm = state->comm, .out = out,
		.rank = rank, .n_ranks = n_ranks, .verdict = &verdict,
	};
	tp_out_title(out, "Which collectives take the time");
	tp_view_comm_collectives(&shown);
	tp_out_title(out, "Which groups communicate, and how much");
	tp_view_comm_groups(&shown);
	tp_out_title(out, "Which rank computes, which waits");
	tp_view_comm_ranks(&shown);
	tp_view_comm_heat(&shown);
	tp_view_comm_steps(&shown);
out:
	if (tp_comm_is_incomplete(state->comm))
		tp_out_line(out, "red", "out of memory: figures are too small");
	free(state);
}

const struct tp_view tp_view_comm = {
	.name = "comm",
	.help = "collectives, which rank is the straggler and why",
	.begin = begin_comm,
	.tables = (const struct tp_table_def *const[]){&tp_table_collectives, &tp_table_comm_groups,
						       &tp_table_comm_ranks, &tp_table_comm_steps,
						       NULL},
	.print = print_comm,
};
