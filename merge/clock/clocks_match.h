/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_match.h - collectives that several hosts took part in -> orders between them
 *
 * Nobody leaves a collective that synchronises before the last one has entered it. So of each
 * host only the last one to enter and the first one to leave count. What belongs together is
 * said by a key that is equal on all ranks, and hardly elsewhere.
 *
 * Memory: some thousands of keys a host; of more, those are kept whose key ends in enough
 * zeros, which are the same ones on all hosts.
 */
#ifndef TP_MERGE_CLOCKS_MATCH_H
#define TP_MERGE_CLOCKS_MATCH_H

#include "merge/clock/clocks.h"

struct tp_clocks_match;

struct tp_clocks_match *tp_clocks_match_new(uint32_t n_hosts);
void tp_clocks_match_free(struct tp_clocks_match *match);
/* A rank of this host took part, from begin to end on the host's clock. 0 or -ENOMEM. */
int tp_clocks_match_call(struct tp_clocks_match *match, uint32_t host, uint64_t key,
			 int64_t begin_ns, int64_t end_ns);
/* All orders, and how many collectives they come from. 0 or -ENOMEM. */
int tp_clocks_match_orders(struct tp_clocks_match *match, struct tp_clocks *clocks,
			   uint64_t *n_collectives);

/* Of what makes a collective one of its own. */
static inline uint64_t tp_clocks_key(uint64_t key, uint64_t more)
{
	key = (key ^ more) * 0x9e3779b97f4a7c15ull;
	key = (key ^ key >> 32) * 0xd6e8feb86659fd93ull;
	return key ^ key >> 29;
}

#endif
