/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.h - collectives: found in each rank, matched across ranks, and who kept whom waiting
 *
 * A collective of a rank is one of gloo's ranges ("gloo:all_reduce": from the call to its
 * completion), one of NCCL's kernels, or, where there is none, what NCCL's profiler plugin tells
 * (COLL). Its group, bytes and type are those that the range or the plugin's record has; of older
 * traces, those of the operator ("c10d::allreduce_") that it was called in.
 *
 * Matching: the n-th of a kind in a group and step of one rank is the n-th of that kind in that
 * group and step of its other members; of what the plugin numbered, the one of the same number;
 * of other kernels of NCCL, and where ranks do not step together, the n-th in a window. A
 * message is matched with the one that was sent from that rank with that tag. Of one that was
 * matched, each rank first waits for the last one to come, then bytes are moved.
 *
 * Memory: collectives that some ranks have done and others not, up to a limit; kinds, sizes and
 * groups; pairs of ranks that exchange messages; steps.
 */
#ifndef TP_MERGE_COMM_H
#define TP_MERGE_COMM_H

#include "merge/facts/comm/comm_group.h"
#include "merge/facts/comm/comm_match.h"
#include "merge/facts/time/step_times.h"
#include "merge/kit/spread.h"
#include "merge/model/comm_kind.h"
#include "merge/model/model.h"

/* All collectives of a kind and size in groups of one name. Times are sums and spreads over
 * matched ones, of ranks together. */
struct tp_comm_row {
	enum tp_comm_kind kind;
	bool is_device;
	enum tp_comm_use use;
	uint32_t family;		/* of its groups: the number of the first */
	uint8_t dtype;			/* torch's ScalarType; means nothing without bytes */
	uint64_t bytes;			/* 0: not known */
	uint64_t n_calls;		/* of all ranks */
	uint64_t n_matched;		/* collectives */
	uint32_t n_ranks;		/* that took part, at most */
	int64_t time_ns;		/* sum over calls */
	int64_t wait_ns;		/* of that, for the last rank; matched ones */
	struct tp_spread move;		/* from the last rank's start to the last end */
};

/* What a rank's time in steps was: of its devices where it has any, else of its threads; gloo's
 * collectives are communication of both. */
struct tp_comm_share {
	int64_t compute_ns;		/* without communication at the same time */
	int64_t both_ns;
	int64_t comm_ns;		/* without computation */
	int64_t other_ns;
};

struct tp_comm_rank {
	const struct tp_proc *proc;
	uint64_t n_calls, n_matched, n_last;
	int64_t wait_ns;		/* for others, sum over collectives */
	int64_t held_ns;		/* the same, where they overlap once */
	int64_t late_ns;		/* others waited for it alone; in steps, where there are any */
	struct tp_spread late;
	int64_t link_ns;		/* so much longer transfers took that it has a part in than the
					 * same ones without it, all of them: sum; 0: they did not */
	uint32_t n_steps;
	struct tp_comm_share share;	/* sums over steps */
	const struct tp_step_time *step; /* n_steps: by categories */
	const int64_t *step_late;	/* n_steps: late_ns in each */
};

/* Who keeps the others waiting. */
struct tp_comm_verdict {
	const struct tp_comm_rank *rank;	/* NULL: nobody more than others */
	int64_t late_step_ns;		/* a step, on average */
	enum tp_category cause;		/* what it spends more time on than the others' median */
	bool is_network;		/* instead: its transfers take longer */
	int64_t excess_ns;		/* so much more, a step, */
	int64_t usual_ns;		/* than this median; not of a network */
};

struct tp_comm;

extern const struct tp_fact tp_fact_comm;

/* A collective or a message, when it is known who took part in it. */
struct tp_comm_met {
	const struct tp_comm_row *row;	/* of its kind and size */
	const struct tp_comm_call *call; /* a rank each; one alone was matched on no other */
	uint32_t n;
	uint32_t last;			/* the call that came last */
	int64_t last_ns, end_ns;	/* when that was, and the last end */
	int64_t behind_ns;		/* so long others waited for it and nobody else; messages: 0 */
};
typedef void (*tp_comm_met_fn)(void *ctx, const struct tp_comm *comm, const struct tp_comm_met *met);
/* One more reader, any number. */
void tp_comm_read(struct tp_comm *comm, tp_comm_met_fn met, void *ctx);
/* From its begin to the last one's, its end at most. */
static inline int64_t tp_comm_wait_ns(const struct tp_comm_met *met, uint32_t i)
{
	int64_t end_ns = met->call[i].end_ns;

	return (met->last_ns < end_ns ? met->last_ns : end_ns) - met->call[i].begin_ns;
}
const struct tp_proc *tp_comm_call_proc(const struct tp_comm *comm, const struct tp_comm_call *call);
/* Number of its step in the run; -1: none. */
int64_t tp_comm_call_step(const struct tp_comm *comm, const struct tp_comm_call *call);

const struct tp_comm_row *tp_comm_rows(const struct tp_comm *comm, uint32_t *n);
const struct tp_comm_rank *tp_comm_ranks(const struct tp_comm *comm, uint32_t *n);
const struct tp_comm_group *tp_comm_group(const struct tp_comm *comm, uint32_t group);
uint32_t tp_comm_n_groups(const struct tp_comm *comm);
/* Calls that were matched on no other rank. */
uint64_t tp_comm_unmatched(const struct tp_comm *comm);
/* Matched ones that ended on one rank before another began: not one collective, or clocks. */
uint64_t tp_comm_violations(const struct tp_comm *comm);
bool tp_comm_is_incomplete(const struct tp_comm *comm);	/* out of memory */

/* ---- comm_judge.c ---- */

/* "loading data" */
const char *tp_comm_cause_text(const struct tp_comm_verdict *verdict);

void tp_comm_judge(const struct tp_comm_rank *rank, uint32_t n_ranks,
		   struct tp_comm_verdict *verdict);

#endif
