/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_pipeline.c - advice of the overview on ranks that work one after the other: stages of a pipeline,
 * which wait for each other's messages
 */
#include "merge/view/overview/overview_comm_in.h"

#include <stdio.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"

enum {
	MESSAGES_PERCENT = 60,	/* of waiting: for messages, it is a pipeline */
	MORE_PERCENT = 150,	/* of what the others compute: one stage has more */
};

static int64_t weigh_message(const struct tp_comm_row *row, uint64_t n_steps)
{
	return row->kind == TP_COMM_SEND_RECV || row->kind == TP_COMM_SEND || row->kind == TP_COMM_RECV
		       ? row->wait_ns : -1;
}

static int64_t compute_of(const struct tp_comm_rank *rank)
{
	const int64_t n = rank->n_steps ? rank->n_steps : 1;

	return tp_add(rank->share.compute_ns, rank->share.both_ns) / n;
}

/* With the stage that computes most, if it is by much. */
bool tp_advice_comm_pipeline(const struct tp_advice_facts *facts, const struct tp_comm_rank *rank,
			     uint32_t n_ranks, struct tp_text *evidence, struct tp_advice *advice)
{
	const struct tp_comm_row *row, *most = tp_advice_comm_most(facts, weigh_message);
	const struct tp_comm_rank *slowest = rank;
	int64_t all_ns = 0, messages_ns = 0, others_ns = 0;
	char who[64], a[32], b[32];
	uint32_t n;

	row = tp_advice_comm_rows(facts, &n);
	for (uint32_t i = 0; i < n; i++) {
		all_ns = tp_add(all_ns, row[i].wait_ns);
		messages_ns = tp_add(messages_ns, weigh_message(&row[i], 0) > 0 ? row[i].wait_ns : 0);
	}
	if (n_ranks < 2 || !messages_ns || tp_advice_percent(messages_ns, all_ns) < MESSAGES_PERCENT)
		return false;
	for (uint32_t i = 0; i < n_ranks; i++) {
		slowest = compute_of(&rank[i]) > compute_of(slowest) ? &rank[i] : slowest;
		others_ns = tp_add(others_ns, compute_of(&rank[i]));
	}
	others_ns = tp_sub(others_ns, compute_of(slowest)) / (n_ranks - 1);
	tp_text_fmt(evidence, ", most of it waiting for messages: ranks work one after the other");
	if (compute_of(slowest) / MORE_PERCENT >= others_ns / 100)
		tp_text_fmt(evidence, "; %s computes %s of a step, %s %s",
			    tp_label_proc(who, facts->run, slowest->proc), tp_show_ns(a, compute_of(slowest)),
			    n_ranks > 2 ? "the others on average" : "the other one", tp_show_ns(b, others_ns));
	snprintf(advice->todo, sizeof(advice->todo), "more and smaller micro-batches, so that the stages of the "
		 "pipeline work at the same time; layers so divided that all take equally long");
	tp_advice_comm_caller(facts, most, advice);
	return true;
}
