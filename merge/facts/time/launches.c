/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launches.c - which call started a device's work
 *
 * A ring of calls for each process, in the order they came, and chains by correlation id,
 * the newest call first: so the oldest call of the ring is the last of its chain.
 */
#include "merge/facts/time/launches.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"

enum {
	KEPT_FIRST = 1024, /* room at first; doubles */
	KEPT_ALWAYS = 8192, /* beyond it, age decides */
	HELD_MOST = 65536, /* pieces of work that wait for their calls; a power of two */
	NONE = 0xffffffff,
};

struct calls {			/* of a process */
	struct tp_launch_call *call;
	uint32_t *next;		/* in the chain, by index in `call` */
	uint32_t *first;	/* of the chain, by correlation id & (cap - 1) */
	uint32_t cap;		/* a power of two */
	uint32_t n, oldest;	/* `oldest`: index of it in the ring */
};

struct tp_launches {
	struct calls *calls;	/* by tp_proc.at */
	uint32_t n_procs;
	uint32_t kept;		/* of each, at most; a power of two */
	tp_launches_fn each;
	tp_launches_gone_fn gone;
	void *ctx;
	struct tp_event *held;	/* a ring, in the order they came */
	uint32_t n_held, oldest_held, cap_held;
};

struct tp_launches *tp_launches_new(const struct tp_run *run)
{
	struct tp_launches *launches = calloc(1, sizeof(*launches));

	if (!launches)
		return NULL;
	launches->n_procs = run->n_procs;
	launches->kept = TP_LAUNCHES_KEPT;
	while (launches->kept > TP_LAUNCHES_LEAST &&
	       (uint64_t)launches->kept * run->n_procs * sizeof(struct tp_launch_call) >
		       TP_LAUNCHES_BYTES)
		launches->kept /= 2;
	launches->calls = calloc(run->n_procs + 1, sizeof(*launches->calls));
	if (!launches->calls) {
		free(launches);
		return NULL;
	}
	return launches;
}

void tp_launches_free(struct tp_launches *launches)
{
	if (!launches)
		return;
	for (uint32_t i = 0; i < launches->n_procs; i++) {
		free(launches->calls[i].call);
		free(launches->calls[i].next);
		free(launches->calls[i].first);
	}
	free(launches->calls);
	free(launches->held);
	free(launches);
}

void tp_launches_each(struct tp_launches *launches, tp_launches_fn each, void *ctx)
{
	launches->each = each;
	launches->ctx = ctx;
}

void tp_launches_gone(struct tp_launches *launches, tp_launches_gone_fn gone)
{
	launches->gone = gone;
}

static void chain(struct calls *calls, uint32_t at)
{
	uint32_t *first = &calls->first[calls->call[at].correlation & (calls->cap - 1)];

	calls->next[at] = *first;
	*first = at;
}

static bool double_room(struct calls *calls)
{
	uint32_t cap = calls->cap ? calls->cap * 2 : KEPT_FIRST;
	struct calls bigger = {
	    .call = malloc(cap * sizeof(*bigger.call)),
	    .next = malloc(cap * sizeof(*bigger.next)),
	    .first = malloc(cap * sizeof(*bigger.first)),
	    .cap = cap,
	    .n = calls->n,
	};

	if (!bigger.call || !bigger.next || !bigger.first) {
		free(bigger.call);
		free(bigger.next);
		free(bigger.first);
		return false;
	}
	memset(bigger.first, 0xff, cap * sizeof(*bigger.first));
	for (uint32_t i = 0; i < calls->n; i++) {
		bigger.call[i] = calls->call[(calls->oldest + i) & (calls->cap - 1)];
		chain(&bigger, i);
	}
	free(calls->call);
	free(calls->next);
	free(calls->first);
	*calls = bigger;
	return true;
}

static void forget_oldest(struct tp_launches *launches, struct calls *calls)
{
	struct tp_launch_call *call = &calls->call[calls->oldest];
	uint32_t *at = &calls->first[call->correlation & (calls->cap - 1)];

	while (*at != calls->oldest)
		at = &calls->next[*at];
	*at = calls->next[*at];
	if (launches->gone)
		launches->gone(launches->ctx, call);
	calls->oldest = (calls->oldest + 1) & (calls->cap - 1);
	calls->n--;
}

/* Place for one more call; false: out of memory, with none at all. */
static bool make_room(struct tp_launches *launches, struct calls *calls, int64_t now)
{
	if (calls->n < calls->cap)
		return true;
	if (!calls->cap)
		return double_room(calls);
	if (calls->cap < launches->kept &&
	    (calls->cap < KEPT_ALWAYS ||
	     tp_sub(now, calls->call[calls->oldest].begin_ns) < TP_LAUNCHES_KEPT_NS))
		if (double_room(calls))
			return true;
	forget_oldest(launches, calls);
	return true;
}

struct tp_launch_call *tp_launches_find(struct tp_launches *launches, const struct tp_event *event)
{
	struct tp_launch_call *late = NULL;
	int64_t latest = tp_add(event->begin_ns, TP_LAUNCHES_LATE_NS);
	struct calls *calls;

	if (event->proc->at >= launches->n_procs || !event->link)
		return NULL;
	calls = &launches->calls[event->proc->at];
	if (!calls->n)
		return NULL;
	for (uint32_t at = calls->first[event->link & (calls->cap - 1)]; at != NONE;
	     at = calls->next[at]) {
		struct tp_launch_call *call = &calls->call[at];

		if (call->correlation != event->link || call->window != event->window)
			continue;
		if (call->begin_ns <= event->begin_ns)
			return call;
		if (call->begin_ns <= latest)
			late = call;
	}
	return late;
}

static void hand_on(struct tp_launches *launches)
{
	struct tp_event event = launches->held[launches->oldest_held];
	struct tp_launch_call *call = tp_launches_find(launches, &event);

	launches->oldest_held = (launches->oldest_held + 1) & (launches->cap_held - 1);
	launches->n_held--;
	if (call)
		call->n_work++;
	launches->each(launches->ctx, &event, call);
}

/* What has waited long enough. */
static void release(struct tp_launches *launches, int64_t now)
{
	while (launches->n_held &&
	       tp_sub(now, launches->held[launches->oldest_held].begin_ns) > TP_LAUNCHES_LATE_NS)
		hand_on(launches);
}

/* In order from index 0 on, so that the ring may grow behind its end. */
static bool double_held(struct tp_launches *launches)
{
	uint32_t cap = launches->cap_held ? launches->cap_held * 2 : 64;
	struct tp_event *held = malloc(cap * sizeof(*held));

	if (!held)
		return false;
	for (uint32_t i = 0; i < launches->n_held; i++)
		held[i] = launches->held[(launches->oldest_held + i) & (launches->cap_held - 1)];
	free(launches->held);
	launches->held = held;
	launches->oldest_held = 0;
	launches->cap_held = cap;
	return true;
}

bool tp_launches_call(struct tp_launches *launches, const struct tp_event *event, uint32_t owner)
{
	struct calls *calls;
	uint32_t at;

	if (event->proc->at >= launches->n_procs)
		return true;
	/* Before anything is forgotten: what waits may be of a call that is to go. */
	release(launches, event->begin_ns);
	calls = &launches->calls[event->proc->at];
	if (!make_room(launches, calls, event->begin_ns))
		return false;
	at = (calls->oldest + calls->n++) & (calls->cap - 1);
	calls->call[at] = (struct tp_launch_call){
	    .begin_ns = event->begin_ns,
	    .end_ns = event->end_ns,
	    .thread = event->thread,
	    .name = event->name,
	    .correlation = event->link,
	    .window = event->window,
	    .owner = owner,
	};
	chain(calls, at);
	return true;
}

void tp_launches_work(struct tp_launches *launches, const struct tp_event *event)
{
	release(launches, event->begin_ns);
	if (launches->n_held == launches->cap_held &&
	    (launches->cap_held == HELD_MOST || !double_held(launches))) {
		if (!launches->n_held) {
			launches->each(launches->ctx, event, tp_launches_find(launches, event));
			return;
		}
		hand_on(launches);
	}
	launches->held[(launches->oldest_held + launches->n_held++) & (launches->cap_held - 1)] =
	    *event;
}

void tp_launches_end(struct tp_launches *launches)
{
	while (launches->n_held)
		hand_on(launches);
	for (uint32_t i = 0; i < launches->n_procs; i++)
		while (launches->calls[i].n)
			forget_oldest(launches, &launches->calls[i]);
}
