/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_match.c - calls that wait for those of other ranks, by kind
 */
#include "merge/comm_match.h"

#include <stdlib.h>

#include "merge/grow.h"

struct queue {
	struct tp_comm_call *call;	/* [first, n) wait */
	uint32_t first, n, cap;
};

struct tp_comm_match {
	uint32_t n_ranks, n_kinds;
	tp_comm_matched_fn matched;
	void *ctx;
	struct queue *queue;		/* n_kinds rows of n_ranks */
	uint32_t *n_waiting;		/* by kind: ranks with a call that waits */
	uint32_t *rank;			/* of one collective */
	struct tp_comm_call *call;
	uint64_t n_alone;
};

struct tp_comm_match *tp_comm_match_new(uint32_t n_ranks, uint32_t n_kinds,
					tp_comm_matched_fn matched, void *ctx)
{
	struct tp_comm_match *match = calloc(1, sizeof(*match));

	if (!match)
		return NULL;
	*match = (struct tp_comm_match){.n_ranks = n_ranks, .n_kinds = n_kinds,
					.matched = matched, .ctx = ctx};
	match->queue = calloc((size_t)n_ranks * n_kinds + 1, sizeof(*match->queue));
	match->n_waiting = calloc(n_kinds + 1, sizeof(*match->n_waiting));
	match->rank = calloc(n_ranks + 1, sizeof(*match->rank));
	match->call = calloc(n_ranks + 1, sizeof(*match->call));
	if (!match->queue || !match->n_waiting || !match->rank || !match->call) {
		tp_comm_match_free(match);
		return NULL;
	}
	return match;
}

void tp_comm_match_free(struct tp_comm_match *match)
{
	if (!match)
		return;
	for (size_t i = 0; match->queue && i < (size_t)match->n_ranks * match->n_kinds; i++)
		free(match->queue[i].call);
	free(match->queue);
	free(match->n_waiting);
	free(match->rank);
	free(match->call);
	free(match);
}

static struct queue *queue_of(struct tp_comm_match *match, uint32_t kind, uint32_t rank)
{
	return &match->queue[(size_t)kind * match->n_ranks + rank];
}

static bool is_empty(const struct queue *queue)
{
	return queue->first == queue->n;
}

/* Takes the calls with the least label that waits: labels of a rank ascend, so once all ranks
 * have a call there, nobody can come with less. */
static void take_least(struct tp_comm_match *match, uint32_t kind)
{
	uint64_t least = UINT64_MAX;
	uint32_t n = 0;

	for (uint32_t r = 0; r < match->n_ranks; r++) {
		const struct queue *queue = queue_of(match, kind, r);

		if (!is_empty(queue) && queue->call[queue->first].label < least)
			least = queue->call[queue->first].label;
	}
	for (uint32_t r = 0; r < match->n_ranks; r++) {
		struct queue *queue = queue_of(match, kind, r);

		if (is_empty(queue) || queue->call[queue->first].label != least)
			continue;
		match->rank[n] = r;
		match->call[n++] = queue->call[queue->first++];
		match->n_waiting[kind] -= is_empty(queue);
	}
	if (n > 1)
		match->matched(match->ctx, match->rank, match->call, n);
	else
		match->n_alone += n;
}

bool tp_comm_match_call(struct tp_comm_match *match, uint32_t rank, uint32_t kind,
			const struct tp_comm_call *call)
{
	struct queue *queue = queue_of(match, kind, rank);

	/* Half of it has been taken: the rest moves to the front. */
	if (queue->first > queue->n / 2) {
		memmove(queue->call, queue->call + queue->first,
			(queue->n - queue->first) * sizeof(*queue->call));
		queue->n -= queue->first;
		queue->first = 0;
	}
	if (!tp_grow(&queue->call, &queue->cap, (uint64_t)queue->n + 1, sizeof(*queue->call)))
		return false;
	match->n_waiting[kind] += is_empty(queue);
	queue->call[queue->n++] = *call;
	while (match->n_waiting[kind] == match->n_ranks ||
	       queue->n - queue->first > TP_COMM_WAITING)
		take_least(match, kind);
	return true;
}

void tp_comm_match_end(struct tp_comm_match *match)
{
	for (uint32_t kind = 0; kind < match->n_kinds; kind++)
		while (match->n_waiting[kind])
			take_least(match, kind);
}

uint64_t tp_comm_match_alone(const struct tp_comm_match *match)
{
	return match->n_alone;
}
