/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_in.h - what the files of the collectives share: comm.c, comm_asked.c, comm_nccl.c,
 * comm_call.c (events into calls) and comm_figures.c (calls into figures)
 */
#ifndef TP_MERGE_COMM_IN_H
#define TP_MERGE_COMM_IN_H

#include "merge/facts/comm/comm.h"
#include "merge/facts/comm/comm_late.h"
#include "merge/facts/comm/comm_match.h"
#include "merge/facts/time/launches.h"
#include "merge/kit/keyed.h"

/* What is known of a collective before it runs: from the operator or range that it was called in,
 * or from NCCL's plugin. */
struct tp_comm_asked {
	int64_t begin_ns, end_ns;
	uint64_t bytes, sequence;	/* sequence: of the plugin, with has_sequence */
	uint32_t group;			/* TP_COMM_NO_GROUP: not known */
	int32_t at, peer;		/* our rank in the group, the other one's; -1 */
	uint32_t tag;
	uint8_t kind, dtype, use;
	bool has_sequence, is_taken, is_set;
};

enum {
	TP_COMM_ASKED = 64,
	TP_COMM_OWNERS = 1 << 16,	/* launches whose kernels have not begun; older ones are forgotten */
	TP_COMM_NO_GROUP = 0xffffffff,
	TP_COMM_NO_STEP = 0xffffffff,
};

struct tp_comm_thread {
	struct tp_comm_asked size;	/* of NCCL's range or record that is open on it */
	int64_t use_end_ns[TP_COMM_USES]; /* what asks for collectives, and is open */
};

/* Where the time of a rank's steps went: what lies before `now_ns` is counted. */
struct tp_comm_sweep {
	int64_t now_ns, step_end_ns, compute_ns, comm_ns;
	struct tp_comm_share share;
};

/* A rank: what is counted while events come. */
struct tp_comm_counted {
	struct tp_comm_rank pub;
	const struct tp_breakdown *breakdown;
	int64_t *step_late;
	uint32_t cap_late;
	struct tp_comm_thread *thread;
	uint32_t cap_threads;
	struct tp_comm_asked asked[TP_COMM_ASKED]; /* operators; the oldest is at n_asked */
	uint32_t n_asked;
	uint32_t window;
	uint64_t n_ledger;		/* steps of the whole run */
	uint64_t step;			/* plus one; 0: before the first */
	/* Whether it has devices is only known of a run of ours before their first work. */
	struct tp_comm_sweep on_host, on_device;
	bool has_work;			/* of devices */
	struct tp_comm_late late;
};

/* Transfers of one kind, size and group, or between two ranks of it. */
struct tp_comm_cell {
	uint64_t bytes;
	uint32_t group, from, to;	/* from == to: the whole group */
	uint32_t n_ranks;
	uint8_t kind, dtype;
	bool is_device;
	uint64_t n;
	int64_t sum_ns, least_ns;
};

struct tp_comm {
	struct tp_comm_counted *rank;
	uint32_t n_ranks;
	uint32_t *rank_of;		/* by tp_proc.at, plus one; 0: takes no part */
	uint32_t n_procs;
	struct tp_comm_rank *pub;	/* the answer */
	struct tp_comm_row *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed by_row;
	struct tp_comm_cell *cell;
	uint32_t n_cells, cap_cells;
	struct tp_keyed by_cell;
	struct tp_comm_groups *groups;
	struct tp_comm_match *match;
	const struct tp_step_times *times;
	struct tp_launches *launches;
	struct tp_launch_notes asked_of; /* of calls: how many were asked by then, that one included */
	struct tp_comm_asked *asked;	/* a ring, by number */
	uint32_t n_asked;
	bool has_other_steps;		/* ranks do not step together: steps say nothing */
	uint64_t n_violations, n_alone;
	bool is_incomplete;
	struct tp_comm_reader {
		tp_comm_met_fn met;
		void *ctx;
	} *reader;
	uint32_t n_readers, cap_readers;
};

/* ---- comm.c ---- */

/* NULL: it takes no part. */
struct tp_comm_counted *tp_comm_find_rank(struct tp_comm *comm, const struct tp_event *event);
/* Computation or communication goes on until the event's end: one of the sweep's two. */
void tp_comm_reach(struct tp_comm_sweep *sweep, int64_t *until, const struct tp_event *event);

/* ---- comm_asked.c ---- */

/* NULL: out of memory, or nobody's. */
struct tp_comm_thread *tp_comm_find_thread(struct tp_comm *comm, struct tp_comm_counted *rank,
					   const struct tp_thread *thread);
/* An OP or RANGE. */
void tp_comm_take_span(struct tp_comm *comm, struct tp_comm_counted *rank,
		       const struct tp_event *event);

/* ---- comm_nccl.c ---- */

/* A COLL of the plugin: which collective the kernel is that is launched next on its thread. */
void tp_comm_take_coll(struct tp_comm *comm, struct tp_comm_counted *rank,
		       const struct tp_event *event);
/* A XFER: what a proxy moved to or from another node, only the network's part of its time. */
void tp_comm_take_transfer(struct tp_comm *comm, struct tp_comm_counted *rank,
			   const struct tp_event *event);
/* A CALL: notes what it was asked with. */
void tp_comm_take_launch(struct tp_comm *comm, struct tp_comm_counted *rank,
			 const struct tp_event *event);
/* A tp_launches_fn; ctx is the tp_comm. */
void tp_comm_take_work(void *comm, const struct tp_event *event, struct tp_launch_call *call);

/* ---- comm_call.c ---- */

/* A collective of this kind, which the event was, or of which it is a kernel. */
void tp_comm_take_call(struct tp_comm *comm, struct tp_comm_counted *rank, enum tp_comm_kind kind,
		       const struct tp_event *event, bool is_device,
		       const struct tp_comm_asked *asked);

/* ---- comm_figures.c ---- */

/* A tp_comm_matched_fn; ctx is the tp_comm. */
void tp_comm_account(void *comm, const struct tp_comm_call *call, uint32_t n);
/* What NCCL's proxy moved between two ranks of a group. */
void tp_comm_account_transfer(struct tp_comm *comm, const struct tp_comm_cell *one);
/* After the last one: whose transfers are slow. */
void tp_comm_find_slow(struct tp_comm *comm);

#endif
