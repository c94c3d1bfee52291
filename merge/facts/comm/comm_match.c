/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_match.c - calls that wait for those of other ranks, by channel
 */
#include "merge/facts/comm/comm_match.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"

enum { LABEL_BITS = 24 };	/* of a label: number in its step or window */

struct queue {
	struct tp_comm_call *call;	/* [first, n) wait */
	uint32_t first, n, cap;
	uint64_t of;			/* labels: the newest step, and how many it has */
	uint32_t n_of;
};

struct channel {
	uint32_t key[4];
	struct queue *queue;
	uint32_t n_members;
	uint32_t n_waiting;		/* members with a call that waits */
};

struct tp_comm_match {
	tp_comm_matched_fn matched;
	void *ctx;
	struct channel *channel;
	uint32_t n_channels, cap_channels;
	struct tp_keyed by_key;
	struct tp_comm_call *call;	/* of one collective */
	uint32_t cap_calls;
};

struct tp_comm_match *tp_comm_match_new(tp_comm_matched_fn matched, void *ctx)
{
	struct tp_comm_match *match = calloc(1, sizeof(*match));

	if (!match)
		return NULL;
	*match = (struct tp_comm_match){.matched = matched, .ctx = ctx};
	return match;
}

void tp_comm_match_free(struct tp_comm_match *match)
{
	if (!match)
		return;
	for (uint32_t i = 0; i < match->n_channels; i++) {
		for (uint32_t m = 0; m < match->channel[i].n_members; m++)
			free(match->channel[i].queue[m].call);
		free(match->channel[i].queue);
	}
	free(match->channel);
	tp_keyed_free(&match->by_key);
	free(match->call);
	free(match);
}

uint32_t tp_comm_match_channel(struct tp_comm_match *match, const uint32_t key[4],
			       uint32_t n_members)
{
	uint32_t hash = tp_keyed_hash(((uint64_t)key[0] << 32 | key[1]) * 31 +
				      ((uint64_t)key[2] << 32 | key[3]));
	struct channel *channel;
	uint32_t at, row;

	for (row = tp_keyed_first(&match->by_key, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&match->by_key, hash, &at))
		if (!memcmp(match->channel[row].key, key, sizeof(match->channel[row].key)))
			return row;
	if (!tp_grow(&match->channel, &match->cap_channels, (uint64_t)match->n_channels + 1,
		     sizeof(*match->channel)) ||
	    !tp_grow(&match->call, &match->cap_calls, n_members, sizeof(*match->call)))
		return UINT32_MAX;
	channel = &match->channel[match->n_channels];
	*channel = (struct channel){.n_members = n_members};
	memcpy(channel->key, key, sizeof(channel->key));
	channel->queue = calloc(n_members + 1, sizeof(*channel->queue));
	if (!channel->queue || !tp_keyed_add(&match->by_key, hash, match->n_channels)) {
		free(channel->queue);
		return UINT32_MAX;
	}
	return match->n_channels++;
}

static bool is_empty(const struct queue *queue)
{
	return queue->first == queue->n;
}

/* Takes the calls with the least label that waits: labels of a member ascend, so once all have a
 * call there, nobody can come with less. */
static void take_least(struct tp_comm_match *match, struct channel *channel)
{
	uint64_t least = UINT64_MAX;
	uint32_t n = 0;

	for (uint32_t m = 0; m < channel->n_members; m++) {
		const struct queue *queue = &channel->queue[m];

		if (!is_empty(queue) && queue->call[queue->first].label < least)
			least = queue->call[queue->first].label;
	}
	for (uint32_t m = 0; m < channel->n_members; m++) {
		struct queue *queue = &channel->queue[m];

		if (is_empty(queue) || queue->call[queue->first].label != least)
			continue;
		match->call[n++] = queue->call[queue->first++];
		channel->n_waiting -= is_empty(queue);
	}
	match->matched(match->ctx, match->call, n);
}

uint64_t tp_comm_match_label(struct tp_comm_match *match, uint32_t channel, uint32_t member,
			     uint64_t of)
{
	struct queue *queue = &match->channel[channel].queue[member];

	if (queue->of != of) {
		queue->of = of;
		queue->n_of = 0;
	}
	return of << LABEL_BITS | queue->n_of++;
}

bool tp_comm_match_call(struct tp_comm_match *match, uint32_t at, uint32_t member,
			const struct tp_comm_call *call)
{
	struct channel *channel = &match->channel[at];
	struct queue *queue = &channel->queue[member];

	/* Half of it has been taken: the rest moves to the front. */
	if (queue->first > queue->n / 2) {
		memmove(queue->call, queue->call + queue->first,
			(queue->n - queue->first) * sizeof(*queue->call));
		queue->n -= queue->first;
		queue->first = 0;
	}
	if (!tp_grow(&queue->call, &queue->cap, (uint64_t)queue->n + 1, sizeof(*queue->call)))
		return false;
	channel->n_waiting += is_empty(queue);
	queue->call[queue->n++] = *call;
	while (channel->n_waiting == channel->n_members ||
	       queue->n - queue->first > TP_COMM_WAITING)
		take_least(match, channel);
	return true;
}

void tp_comm_match_end(struct tp_comm_match *match)
{
	for (uint32_t i = 0; i < match->n_channels; i++)
		while (match->channel[i].n_waiting)
			take_least(match, &match->channel[i]);
}
