/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_match.h - one collective from many ranks' calls: queues that are taken from together
 *
 * A channel is what calls are counted in: a kind of collective in a process group, or messages from
 * one rank to another with one tag. Each of its members has a queue. When every member has a call
 * waiting, those of the same label are one collective; a label that others have passed has no
 * partner. Memory: channels and members; calls that wait, at most TP_COMM_WAITING of a member:
 * then, and at the end, those are matched that are there.
 */
#ifndef TP_MERGE_COMM_MATCH_H
#define TP_MERGE_COMM_MATCH_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_COMM_WAITING = 1 << 14 };

struct tp_comm_call {
	uint64_t label;			/* step or window, and number in it: ascending */
	int64_t begin_ns, end_ns;	/* of the call, and of its collective */
	uint64_t bytes;
	uint32_t rank, step;		/* the caller's, as what follows */
	uint32_t group, from;		/* messages: who of the group sent */
	uint8_t kind, dtype, use;
	bool is_device;
};

/* They are one collective; n is at least 1: a call alone has no partner. */
typedef void (*tp_comm_matched_fn)(void *ctx, const struct tp_comm_call *call, uint32_t n);

struct tp_comm_match;

struct tp_comm_match *tp_comm_match_new(tp_comm_matched_fn matched, void *ctx);
void tp_comm_match_free(struct tp_comm_match *match);

/* The channel of these four numbers, made when it is new. UINT32_MAX: out of memory. */
uint32_t tp_comm_match_channel(struct tp_comm_match *match, const uint32_t key[4],
			       uint32_t n_members);
/* The next label of a member in a step (or window) `of`, which ascends. */
uint64_t tp_comm_match_label(struct tp_comm_match *match, uint32_t channel, uint32_t member,
			     uint64_t of);
/* False: out of memory, the call is not kept. */
bool tp_comm_match_call(struct tp_comm_match *match, uint32_t channel, uint32_t member,
			const struct tp_comm_call *call);
void tp_comm_match_end(struct tp_comm_match *match);

#endif
