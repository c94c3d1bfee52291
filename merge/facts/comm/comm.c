/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.c - events of all ranks, and shares of time
 *
 * comm_asked.c and comm_nccl.c find collectives in them, comm_call.c brings each to those of the
 * other ranks.
 */
#include "merge/facts/comm/comm_in.h"

#include <stdlib.h>

#include "merge/facts/time/gpu_time.h"
#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

enum {
	/* Steps that one rank may have more than another, and of so many one. */
	STEPS_APART = 3,
	STEPS_SHARE = 10,
};

/* ---- shares of a step ---- */

/* Counts the time up to `to`, of which it is known what ran. */
static void sweep_to(struct tp_comm_sweep *sweep, int64_t to)
{
	struct tp_comm_share *share = &sweep->share;

	if (to > sweep->step_end_ns)
		to = sweep->step_end_ns;
	while (sweep->now_ns < to) {
		bool is_compute = sweep->compute_ns > sweep->now_ns;
		bool is_comm = sweep->comm_ns > sweep->now_ns;
		int64_t end = to, *of = &share->other_ns;

		if (is_compute && sweep->compute_ns < end)
			end = sweep->compute_ns;
		if (is_comm && sweep->comm_ns < end)
			end = sweep->comm_ns;
		if (is_compute)
			of = is_comm ? &share->both_ns : &share->compute_ns;
		else if (is_comm)
			of = &share->comm_ns;
		*of = tp_add(*of, tp_sub(end, sweep->now_ns));
		sweep->now_ns = end;
	}
}

static void begin_step(struct tp_comm_sweep *sweep, const struct tp_event *step)
{
	sweep_to(sweep, INT64_MAX);
	sweep->now_ns = step->begin_ns;
	sweep->step_end_ns = step->end_ns;
}

void tp_comm_reach(struct tp_comm_sweep *sweep, int64_t *until, const struct tp_event *event)
{
	sweep_to(sweep, event->begin_ns);
	if (event->end_ns > *until)
		*until = event->end_ns;
}

static void take_step(struct tp_comm *comm, struct tp_comm_counted *rank,
		      const struct tp_event *event)
{
	begin_step(&rank->on_host, event);
	begin_step(&rank->on_device, event);
	rank->step = (uint64_t)event->link + 1;
	/* What was not met by now never will be, and would be taken for another's. */
	for (uint32_t i = 0; i < TP_COMM_ASKED; i++)
		rank->asked[i].is_taken = true;
	if (!rank->breakdown->n_steps || !tp_grow(&rank->step_late, &rank->cap_late,
						  rank->breakdown->n_steps, sizeof(*rank->step_late)))
		comm->is_incomplete = true;
}

/* ---- events ---- */

struct tp_comm_counted *tp_comm_find_rank(struct tp_comm *comm, const struct tp_event *event)
{
	uint32_t at = event->proc->at < comm->n_procs ? comm->rank_of[event->proc->at] : 0;

	return at ? &comm->rank[at - 1] : NULL;
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_comm *comm = state;
	struct tp_comm_counted *rank = tp_comm_find_rank(comm, event);

	if (!rank)
		return;
	switch (event->kind) {
	case TP_REC_STEP:
		take_step(comm, rank, event);
		break;
	case TP_REC_OP:
	case TP_REC_RANGE:
		tp_comm_take_span(comm, rank, event);
		break;
	case TP_REC_CALL:
		tp_comm_take_launch(comm, rank, event);
		break;
	case TP_REC_COLL:
		tp_comm_take_coll(comm, rank, event);
		break;
	case TP_REC_XFER:
		tp_comm_take_transfer(comm, rank, event);
		break;
	case TP_REC_MEMCPY:
	case TP_REC_MEMSET:
		rank->has_work = true;
		break;
	case TP_REC_KERNEL:
		rank->has_work = true;
		tp_comm_reach(&rank->on_device,
			      tp_gpu_is_communication(event) ? &rank->on_device.comm_ns
							     : &rank->on_device.compute_ns, event);
		break;
	default:
		break;
	}
}

/* Whether some ranks make far more steps than others do: one that also trains alone. */
static bool has_other_steps(struct tp_comm *comm, const struct tp_run *run)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 0; i < run->n_steps; i++) {
		uint32_t at = comm->rank_of[run->step[i].proc->at];

		if (at)
			comm->rank[at - 1].n_ledger++;
	}
	for (uint32_t r = 0; r < comm->n_ranks; r++) {
		uint64_t n = comm->rank[r].n_ledger;

		/* Who died made fewer, and the same until then. */
		if (comm->rank[r].pub.proc->is_dead)
			return false;
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	return comm->n_ranks > 1 && most - least > STEPS_APART &&
	       most - least > most / STEPS_SHARE;
}

static void begin_comm(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct tp_comm *comm = state;

	comm->times = tp_facts_want(facts, &tp_fact_step_times, NULL);
	comm->launches = tp_facts_want(facts, &tp_fact_launches_cut, NULL);
	comm->asked_of = tp_launches_notes(comm->launches);
	comm->n_procs = run->n_procs;
	comm->rank_of = tp_need(run->n_procs, sizeof(*comm->rank_of));
	comm->rank = tp_need(run->n_procs, sizeof(*comm->rank));
	comm->pub = tp_need(run->n_procs, sizeof(*comm->pub));
	for (uint32_t i = 0; i < run->n_procs; i++) {
		const struct tp_proc *proc = run->proc[i];
		struct tp_comm_counted *rank = &comm->rank[comm->n_ranks];

		if (proc->rank < 0 || proc->worker || proc->is_past)
			continue;
		rank->pub.proc = proc;
		rank->on_host.step_end_ns = rank->on_device.step_end_ns = INT64_MIN;
		rank->breakdown = tp_step_times_of(comm->times, proc);
		comm->rank_of[proc->at] = ++comm->n_ranks;
	}
	comm->has_other_steps = has_other_steps(comm, run);
	comm->groups = tp_comm_groups_new();
	comm->match = tp_comm_match_new(tp_comm_account, comm);
	if (!comm->groups || !comm->match)
		tp_need_failed();
	comm->asked = tp_need(TP_COMM_OWNERS, sizeof(*comm->asked));
	tp_launches_read(comm->launches, tp_comm_take_work, NULL, comm);
}

static void free_comm(void *state)
{
	struct tp_comm *comm = state;

	for (uint32_t i = 0; i < comm->n_ranks; i++) {
		tp_spread_free(&comm->rank[i].pub.late);
		free(comm->rank[i].step_late);
		tp_comm_late_free(&comm->rank[i].late);
		free(comm->rank[i].thread);
	}
	for (uint32_t i = 0; i < comm->n_rows; i++)
		tp_spread_free(&comm->row[i].move);
	tp_comm_match_free(comm->match);
	tp_comm_groups_free(comm->groups);
	tp_keyed_free(&comm->by_row);
	tp_keyed_free(&comm->by_cell);
	free(comm->asked);
	free(comm->cell);
	free(comm->rank_of);
	free(comm->rank);
	free(comm->pub);
	free(comm->row);
	free(comm->reader);
}

static void end_comm(void *state)
{
	struct tp_comm *comm = state;

	tp_comm_match_end(comm->match);
	tp_comm_find_slow(comm);
	for (uint32_t i = 0; i < comm->n_ranks; i++) {
		struct tp_comm_counted *rank = &comm->rank[i];

		sweep_to(&rank->on_host, INT64_MAX);
		sweep_to(&rank->on_device, INT64_MAX);
		rank->pub.share = rank->has_work || rank->pub.proc->n_devices ? rank->on_device.share
									      : rank->on_host.share;
		rank->pub.step = rank->breakdown->step;
		rank->pub.n_steps = rank->breakdown->n_steps < rank->cap_late ?
					rank->breakdown->n_steps : rank->cap_late;
		rank->pub.step_late = rank->step_late;
		rank->pub.late_ns = tp_comm_late_sum(&rank->late, rank->pub.step, rank->pub.n_steps,
						     rank->step_late);
		rank->pub.held_ns = rank->late.wait_ns;
		comm->pub[i] = rank->pub;
	}
}

const struct tp_fact tp_fact_comm = {
	.name = "collectives",
	.bytes = sizeof(struct tp_comm),
	.kinds = TP_FACT_KIND(TP_REC_STEP) | TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) |
		 TP_FACT_KIND(TP_REC_CALL) | TP_FACT_KIND(TP_REC_COLL) | TP_FACT_KIND(TP_REC_XFER) |
		 TP_FACT_KIND(TP_REC_MEMCPY) | TP_FACT_KIND(TP_REC_MEMSET) |
		 TP_FACT_KIND(TP_REC_KERNEL),
	.is_cut = true,
	.begin = begin_comm,
	.event = take_event,
	.end = end_comm,
	.free = free_comm,
};

void tp_comm_read(struct tp_comm *comm, tp_comm_met_fn met, void *ctx)
{
	tp_need_room(&comm->reader, &comm->cap_readers, (uint64_t)comm->n_readers + 1,
		     sizeof(*comm->reader));
	comm->reader[comm->n_readers++] = (struct tp_comm_reader){met, ctx};
}

const struct tp_proc *tp_comm_call_proc(const struct tp_comm *comm, const struct tp_comm_call *call)
{
	return comm->rank[call->rank].pub.proc;
}

int64_t tp_comm_call_step(const struct tp_comm *comm, const struct tp_comm_call *call)
{
	const struct tp_breakdown *breakdown = comm->rank[call->rank].breakdown;

	return call->step < breakdown->n_steps ? (int64_t)breakdown->step[call->step].index : -1;
}

const struct tp_comm_row *tp_comm_rows(const struct tp_comm *comm, uint32_t *n)
{
	*n = comm->n_rows;
	return comm->row;
}

const struct tp_comm_rank *tp_comm_ranks(const struct tp_comm *comm, uint32_t *n)
{
	*n = comm->n_ranks;
	return comm->pub;
}

const struct tp_comm_group *tp_comm_group(const struct tp_comm *comm, uint32_t group)
{
	return tp_comm_groups_at(comm->groups, group);
}

uint32_t tp_comm_n_groups(const struct tp_comm *comm)
{
	return tp_comm_groups_count(comm->groups);
}

uint64_t tp_comm_unmatched(const struct tp_comm *comm)
{
	return comm->n_alone;
}

uint64_t tp_comm_violations(const struct tp_comm *comm)
{
	return comm->n_violations;
}

bool tp_comm_is_incomplete(const struct tp_comm *comm)
{
	return comm->is_incomplete || tp_step_times_is_incomplete(comm->times);
}
