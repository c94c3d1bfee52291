/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_rounds.c - forward passes of DistributedDataParallel and what is reduced behind them
 */
#include "merge/facts/comm/comm_rounds.h"

#include <stdlib.h>

#include "merge/kit/need.h"
#include "merge/model/comm_kind.h"
#include "merge/model/shapes.h"
#include "runtime/base/begins.h"

enum { GRADIENTS_LEAST = 1024 };	/* bytes: less is a loss, or a flag */

static const char ddp_forward[] = "DistributedDataParallel.forward";

struct state {
	struct tp_comm_rounds rounds;	/* first: what readers see */
	struct process {
		int64_t step_end_ns;
		bool is_forward;	/* one has begun, and nothing was reduced since */
	} *proc;			/* by tp_proc.at */
};

static void begin_rounds(void *opaque, struct tp_facts *facts, const void *params)
{
	struct state *state = opaque;

	state->proc = tp_need(tp_facts_run(facts)->n_procs, sizeof(*state->proc));
}

static void free_state(void *opaque)
{
	struct state *state = opaque;

	free(state->proc);
}

static bool is_reduction(const struct tp_event *event)
{
	enum tp_comm_kind kind = tp_comm_kind_of(event->name->bytes, event->name->n_bytes);
	uint8_t dtype;

	return (kind == TP_COMM_ALL_REDUCE || kind == TP_COMM_REDUCE_SCATTER) &&
	       tp_shapes_bytes(event->shapes->bytes, event->shapes->n_bytes, &dtype) >= GRADIENTS_LEAST;
}

static void take_event(void *opaque, const struct tp_event *event)
{
	struct state *state = opaque;
	struct process *proc = &state->proc[event->proc->at];

	if (event->kind == TP_REC_STEP) {
		state->rounds.n_steps++;
		proc->step_end_ns = event->end_ns;
		proc->is_forward = false;
		return;
	}
	if (event->begin_ns >= proc->step_end_ns)
		return;
	if (tp_begins(event->name->bytes, event->name->n_bytes, ddp_forward)) {
		state->rounds.n_forwards++;
		proc->is_forward = true;
	} else if (proc->is_forward && is_reduction(event)) {
		state->rounds.n_reduced++;
		proc->is_forward = false;
	}
}

static const struct tp_fact fact = {
	.name = "rounds of gradients",
	.bytes = sizeof(struct state),
	.kinds = TP_FACT_KIND(TP_REC_STEP) | TP_FACT_KIND(TP_REC_RANGE),
	.begin = begin_rounds,
	.event = take_event,
	.free = free_state,
};

const struct tp_comm_rounds *tp_comm_rounds_want(struct tp_facts *facts)
{
	struct state *state = tp_facts_want(facts, &fact, NULL);

	return &state->rounds;
}
