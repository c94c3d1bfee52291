/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_match.h - one collective from many ranks' calls: queues that are taken from together
 *
 * Each rank has a queue for each kind. When every rank has a call waiting, those of the same
 * label are one collective; a label that others have passed has no partner. Memory: calls
 * that wait, at most TP_COMM_WAITING of a rank and kind: then, and at the end, those are
 * matched that are there.
 */
#ifndef TP_MERGE_COMM_MATCH_H
#define TP_MERGE_COMM_MATCH_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_COMM_WAITING = 1 << 14 };

struct tp_comm_call {
	uint64_t label;			/* step or window, and number of its kind in it: ascending */
	int64_t begin_ns, end_ns;
	uint32_t row, step;		/* the caller's */
};

/* rank[i] made call[i]; n of them, at least 2. */
typedef void (*tp_comm_matched_fn)(void *ctx, const uint32_t *rank,
				   const struct tp_comm_call *call, uint32_t n);

struct tp_comm_match;

struct tp_comm_match *tp_comm_match_new(uint32_t n_ranks, uint32_t n_kinds,
					tp_comm_matched_fn matched, void *ctx);
void tp_comm_match_free(struct tp_comm_match *match);
/* False: out of memory, the call is not kept. */
bool tp_comm_match_call(struct tp_comm_match *match, uint32_t rank, uint32_t kind,
			const struct tp_comm_call *call);
void tp_comm_match_end(struct tp_comm_match *match);
uint64_t tp_comm_match_alone(const struct tp_comm_match *match);	/* calls without a partner */

#endif
