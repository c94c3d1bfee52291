/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launches.c - which call started a device's work
 *
 * A ring of calls for each process, in the order they came, and chains by correlation id,
 * the newest call first: so the oldest call of the ring is the last of its chain.
 */
#include "merge/facts/time/launches.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/device.h"

enum {
	KEPT_FIRST = 1024, /* room at first; doubles */
	KEPT_ALWAYS = 8192, /* beyond it, age decides */
	HELD_MOST = 65536, /* pieces of work that wait for their calls; a power of two */
	NONE = 0xffffffff,
};

struct calls {			/* of a process */
	struct tp_launch_call *call;	/* by serial & (cap - 1) */
	uint32_t *note;		/* n_notes of each, likewise: which there are, then those */
	uint32_t *next;		/* in the chain, by index in `call` */
	uint32_t *first;	/* of the chain, by correlation id & (cap - 1) */
	uint32_t cap;		/* a power of two */
	uint32_t n;
	uint32_t serial;	/* of the newest */
};

struct reader {
	tp_launches_fn each;
	tp_launches_gone_fn gone;	/* may be NULL */
	void *ctx;
};

struct tp_launches {
	struct calls *calls;	/* by tp_proc.at */
	uint32_t n_procs;
	uint32_t kept;		/* of each, at most; a power of two */
	struct reader *reader;
	uint32_t n_readers, cap_readers;
	uint32_t n_notes;	/* of a call, and one for which there are */
	struct tp_event *held;	/* a ring, in the order they came */
	uint32_t n_held, oldest_held, cap_held;
};

static void init(struct tp_launches *launches, const struct tp_run *run)
{
	launches->n_procs = run->n_procs;
	launches->n_notes = 1;
	launches->kept = TP_LAUNCHES_KEPT;
	while (launches->kept > TP_LAUNCHES_LEAST &&
	       (uint64_t)launches->kept * run->n_procs * sizeof(struct tp_launch_call) >
		       TP_LAUNCHES_BYTES)
		launches->kept /= 2;
	launches->calls = tp_need(run->n_procs, sizeof(*launches->calls));
}

struct tp_launches *tp_launches_new(const struct tp_run *run)
{
	struct tp_launches *launches = tp_need(1, sizeof(*launches));

	init(launches, run);
	return launches;
}

static void release_all(void *state)
{
	struct tp_launches *launches = state;

	for (uint32_t i = 0; i < launches->n_procs; i++) {
		free(launches->calls[i].call);
		free(launches->calls[i].note);
		free(launches->calls[i].next);
		free(launches->calls[i].first);
	}
	free(launches->calls);
	free(launches->held);
	free(launches->reader);
}

void tp_launches_free(struct tp_launches *launches)
{
	if (launches)
		release_all(launches);
	free(launches);
}

void tp_launches_read(struct tp_launches *launches, tp_launches_fn each, tp_launches_gone_fn gone,
		      void *ctx)
{
	tp_need_room(&launches->reader, &launches->cap_readers, (uint64_t)launches->n_readers + 1,
		     sizeof(*launches->reader));
	launches->reader[launches->n_readers++] = (struct reader){each, gone, ctx};
}

/* Its serial. */
static uint32_t oldest_of(const struct calls *calls)
{
	return calls->serial - calls->n + 1;
}

static void chain(struct calls *calls, uint32_t at)
{
	uint32_t *first = &calls->first[calls->call[at].correlation & (calls->cap - 1)];

	calls->next[at] = *first;
	*first = at;
}

/* The notes of the call with that serial. */
static uint32_t *notes_of(const struct tp_launches *launches, const struct calls *calls,
			  uint32_t serial)
{
	return &calls->note[(size_t)(serial & (calls->cap - 1)) * launches->n_notes];
}

static void double_room(const struct tp_launches *launches, struct calls *calls)
{
	uint32_t cap = calls->cap ? calls->cap * 2 : KEPT_FIRST;
	struct calls bigger = {
		.call = tp_need(cap, sizeof(*bigger.call)),
		.note = tp_need((size_t)cap * launches->n_notes, sizeof(*bigger.note)),
		.next = tp_need(cap, sizeof(*bigger.next)),
		.first = tp_need(cap, sizeof(*bigger.first)),
		.cap = cap,
		.n = calls->n,
		.serial = calls->serial,
	};

	memset(bigger.first, 0xff, cap * sizeof(*bigger.first));
	/* Those that lie together still do, up to the end of the old ring. */
	for (uint32_t i = 0, n; i < calls->n; i += n) {
		const uint32_t serial = oldest_of(calls) + i, from = serial & (calls->cap - 1);

		n = calls->cap - from < calls->n - i ? calls->cap - from : calls->n - i;
		memcpy(&bigger.call[serial & (cap - 1)], &calls->call[from],
		       n * sizeof(*calls->call));
		memcpy(notes_of(launches, &bigger, serial), notes_of(launches, calls, serial),
		       (size_t)n * launches->n_notes * sizeof(*calls->note));
	}
	for (uint32_t i = 0; i < calls->n; i++)
		chain(&bigger, (oldest_of(calls) + i) & (cap - 1));
	free(calls->call);
	free(calls->note);
	free(calls->next);
	free(calls->first);
	*calls = bigger;
}

static void forget_oldest(struct tp_launches *launches, struct calls *calls)
{
	const uint32_t oldest = oldest_of(calls) & (calls->cap - 1);
	struct tp_launch_call *call = &calls->call[oldest];
	uint32_t *at = &calls->first[call->correlation & (calls->cap - 1)];

	while (*at != oldest)
		at = &calls->next[*at];
	*at = calls->next[*at];
	for (uint32_t i = 0; i < launches->n_readers; i++)
		if (launches->reader[i].gone)
			launches->reader[i].gone(launches->reader[i].ctx, call);
	calls->n--;
}

/* Place for one more call. */
static void make_room(struct tp_launches *launches, struct calls *calls, int64_t now)
{
	if (calls->n < calls->cap)
		return;
	if (calls->cap < launches->kept &&
	    (calls->cap < KEPT_ALWAYS ||
	     tp_sub(now, calls->call[oldest_of(calls) & (calls->cap - 1)].begin_ns) <
		     TP_LAUNCHES_KEPT_NS))
		double_room(launches, calls);
	else
		forget_oldest(launches, calls);
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
	for (uint32_t i = 0; i < launches->n_readers; i++)
		launches->reader[i].each(launches->reader[i].ctx, &event, call);
}

/* What has waited long enough. */
static void release(struct tp_launches *launches, int64_t now)
{
	while (launches->n_held &&
	       tp_sub(now, launches->held[launches->oldest_held].begin_ns) > TP_LAUNCHES_LATE_NS)
		hand_on(launches);
}

/* In order from index 0 on, so that the ring may grow behind its end. */
static void double_held(struct tp_launches *launches)
{
	uint32_t cap = launches->cap_held ? launches->cap_held * 2 : 64;
	struct tp_event *held = tp_need(cap, sizeof(*held));

	for (uint32_t i = 0; i < launches->n_held; i++)
		held[i] = launches->held[(launches->oldest_held + i) & (launches->cap_held - 1)];
	free(launches->held);
	launches->held = held;
	launches->oldest_held = 0;
	launches->cap_held = cap;
}

void tp_launches_call(struct tp_launches *launches, const struct tp_event *event)
{
	struct calls *calls;
	uint32_t at;

	if (event->proc->at >= launches->n_procs)
		return;
	/* Before anything is forgotten: what waits may be of a call that is to go. */
	release(launches, event->begin_ns);
	calls = &launches->calls[event->proc->at];
	make_room(launches, calls, event->begin_ns);
	calls->n++;
	at = ++calls->serial & (calls->cap - 1);
	calls->call[at] = (struct tp_launch_call){
		.begin_ns = event->begin_ns,
		.end_ns = event->end_ns,
		.proc = event->proc,
		.thread = event->thread,
		.name = event->name,
		.correlation = event->link,
		.window = event->window,
		.serial = calls->serial,
	};
	*notes_of(launches, calls, calls->serial) = 0;
	chain(calls, at);
}

void tp_launches_work(struct tp_launches *launches, const struct tp_event *event)
{
	release(launches, event->begin_ns);
	if (launches->n_held == HELD_MOST)
		hand_on(launches);
	if (launches->n_held == launches->cap_held)
		double_held(launches);
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

/* ---- notes ---- */

struct tp_launch_notes tp_launches_notes(struct tp_launches *launches)
{
	assert(launches->n_notes < 32);
	return (struct tp_launch_notes){launches, launches->n_notes++};
}

void tp_launch_note(const struct tp_launch_notes *notes, const struct tp_event *event, uint32_t note)
{
	const struct tp_launches *launches = notes->launches;
	const struct calls *calls;
	uint32_t *of;

	if (event->proc->at >= launches->n_procs)
		return;
	calls = &launches->calls[event->proc->at];
	of = notes_of(launches, calls, calls->serial);
	of[0] |= 1u << notes->at;
	of[notes->at] = note;
}

uint32_t tp_launch_noted(const struct tp_launch_notes *notes, const struct tp_launch_call *call)
{
	const struct tp_launches *launches = notes->launches;
	const uint32_t *of;

	if (!call)
		return 0;
	of = notes_of(launches, &launches->calls[call->proc->at], call->serial);
	return of[0] >> notes->at & 1 ? of[notes->at] : 0;
}

/* ---- the facts ---- */

static void begin_join(void *state, struct tp_facts *facts, const void *params)
{
	init(state, tp_facts_run(facts));
}

static void take_event(void *state, const struct tp_event *event)
{
	if (event->kind == TP_REC_CALL)
		tp_launches_call(state, event);
	else if (tp_device_is_work(event))
		tp_launches_work(state, event);
}

static void end_join(void *state)
{
	tp_launches_end(state);
}

#define JOIN(is_cut_too)                                                                       \
	{                                                                                      \
		.name = "launches", .bytes = sizeof(struct tp_launches),                       \
		.kinds = TP_FACT_KIND(TP_REC_CALL) | TP_FACT_WORK_KINDS, .is_cut = is_cut_too,  \
		.begin = begin_join, .event = take_event, .end = end_join, .free = release_all, \
	}

const struct tp_fact tp_fact_launches = JOIN(false);
const struct tp_fact tp_fact_launches_cut = JOIN(true);
