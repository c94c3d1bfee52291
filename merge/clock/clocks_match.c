/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_match.c - by host and key: when the last rank came and when the first one left
 */
#include "merge/clock/clocks_match.h"

#include <errno.h>
#include <stdlib.h>

#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"

enum {
	ALL_KEYS = 1 << 20,	/* of all hosts together */
	LEAST_KEYS = 1 << 10,	/* of one */
	MOST_KEYS = 1 << 15,
	MOST_JOINS = 1 << 16,	/* of two hosts each */
	ALL_PAIRS = 8,		/* hosts; of more only host 0 with each, and who else is needed */
};

struct meeting {
	uint64_t key;
	int64_t begin_ns, end_ns;
};

struct host {
	struct meeting *meeting;
	uint32_t n, cap;
	struct tp_keyed by_key;
	uint64_t mask;		/* keys with any of these bits are left out */
	bool is_joined;
};

struct tp_clocks_match {
	struct host *host;
	uint32_t n_hosts, most;
};

struct tp_clocks_match *tp_clocks_match_new(uint32_t n_hosts)
{
	struct tp_clocks_match *match = calloc(1, sizeof(*match));

	if (!match)
		return NULL;
	match->n_hosts = n_hosts;
	match->most = ALL_KEYS / (n_hosts + 1);
	if (match->most < LEAST_KEYS)
		match->most = LEAST_KEYS;
	if (match->most > MOST_KEYS)
		match->most = MOST_KEYS;
	match->host = calloc(n_hosts + 1, sizeof(*match->host));
	if (!match->host) {
		free(match);
		return NULL;
	}
	return match;
}

void tp_clocks_match_free(struct tp_clocks_match *match)
{
	if (!match)
		return;
	for (uint32_t i = 0; i < match->n_hosts; i++) {
		free(match->host[i].meeting);
		tp_keyed_free(&match->host[i].by_key);
	}
	free(match->host);
	free(match);
}

static struct meeting *find(const struct host *host, uint64_t key)
{
	uint32_t hash = tp_keyed_hash(key), at, row;

	for (row = tp_keyed_first(&host->by_key, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&host->by_key, hash, &at)) {
		if (host->meeting[row].key == key)
			return &host->meeting[row];
	}
	return NULL;
}

/* Half of the keys go. */
static int thin_out(struct host *host)
{
	uint32_t kept = 0;

	host->mask = host->mask << 1 | 1;
	for (uint32_t i = 0; i < host->n; i++) {
		if (!(host->meeting[i].key & host->mask))
			host->meeting[kept++] = host->meeting[i];
	}
	host->n = kept;
	tp_keyed_free(&host->by_key);
	for (uint32_t i = 0; i < kept; i++) {
		if (!tp_keyed_add(&host->by_key, tp_keyed_hash(host->meeting[i].key), i))
			return -ENOMEM;
	}
	return 0;
}

int tp_clocks_match_call(struct tp_clocks_match *match, uint32_t at, uint64_t key,
			 int64_t begin_ns, int64_t end_ns)
{
	struct host *host = &match->host[at];
	struct meeting *meeting;

	if (key & host->mask)
		return 0;
	meeting = find(host, key);
	if (meeting) {
		if (begin_ns > meeting->begin_ns)
			meeting->begin_ns = begin_ns;
		if (end_ns < meeting->end_ns)
			meeting->end_ns = end_ns;
		return 0;
	}
	if (host->n >= match->most) {
		if (thin_out(host))
			return -ENOMEM;
		return tp_clocks_match_call(match, at, key, begin_ns, end_ns);
	}
	if (!tp_grow(&host->meeting, &host->cap, (uint64_t)host->n + 1, sizeof(*host->meeting)) ||
	    !tp_keyed_add(&host->by_key, tp_keyed_hash(key), host->n))
		return -ENOMEM;
	host->meeting[host->n++] = (struct meeting){key, begin_ns, end_ns};
	return 0;
}

/* What two hosts met in; *n: how often. */
static int join(struct tp_clocks_match *match, uint32_t a, uint32_t b, struct tp_clocks *clocks,
		uint64_t *n)
{
	const struct host *host = &match->host[a];

	*n = 0;
	for (uint32_t i = 0; i < host->n; i++) {
		const struct meeting *here = &host->meeting[i];
		const struct meeting *there = find(&match->host[b], here->key);

		if (!there)
			continue;
		if (tp_clocks_add(clocks, &(struct tp_clocks_order){a, b, here->begin_ns,
								    there->end_ns}) ||
		    tp_clocks_add(clocks, &(struct tp_clocks_order){b, a, there->begin_ns,
								    here->end_ns}))
			return -ENOMEM;
		++*n;
	}
	return 0;
}

/* Hosts that host 0 never met: through those that have been reached. */
static int join_rest(struct tp_clocks_match *match, struct tp_clocks *clocks, uint64_t *n_all)
{
	uint32_t n_joins = 0;
	bool is_more = true;

	while (is_more) {
		is_more = false;
		for (uint32_t b = 1; b < match->n_hosts; b++) {
			for (uint32_t a = 1; a < match->n_hosts && !match->host[b].is_joined; a++) {
				uint64_t n;

				if (!match->host[a].is_joined || n_joins++ >= MOST_JOINS)
					continue;
				if (join(match, a, b, clocks, &n))
					return -ENOMEM;
				match->host[b].is_joined = n > 0;
				is_more |= n > 0;
				*n_all += n;
			}
		}
	}
	return 0;
}

int tp_clocks_match_orders(struct tp_clocks_match *match, struct tp_clocks *clocks,
			   uint64_t *n_collectives)
{
	const bool is_few = match->n_hosts <= ALL_PAIRS;
	uint64_t n;

	*n_collectives = 0;
	for (uint32_t a = 0; a < (is_few ? match->n_hosts : 1); a++) {
		for (uint32_t b = a + 1; b < match->n_hosts; b++) {
			if (join(match, a, b, clocks, &n))
				return -ENOMEM;
			match->host[b].is_joined |= n > 0;
			/* Each two of them meet in the same ones. */
			if (n > *n_collectives)
				*n_collectives = n;
		}
	}
	return is_few ? 0 : join_rest(match, clocks, n_collectives);
}
