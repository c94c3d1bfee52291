/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_heap.c - whether the heap of a worker process grows for as long as it is seen
 */
#include "merge/facts/heap/worker_heap.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "runtime/trace/counter_names.h"

enum {
	POINTS = 16,		/* of a window that are kept; where there are more each stands for several */
	POINTS_LEAST = 4,	/* a window with fewer tells no pace of its own; */
	LONG_LEAST = 2,		/* so many of those that do have to be there, */
	SHORT_LEAST = 6,	/* or so many of any */
	PACE = 3,		/* so many times as fast, or slow, is about the same */
};

struct point {
	int64_t ns;
	uint64_t bytes;
};

/* What a worker had alive in one window: the least of each `each` values that came one after another. */
struct seen {
	uint32_t window;
	uint32_t n, each, n_in;	/* points; values of each but the last one; of that one */
	struct point point[POINTS];
};

struct worker {
	struct seen *seen;	/* in the order in which windows began */
	uint32_t n, cap;
};

struct tp_worker_heap {
	const struct tp_run *run;
	struct worker *worker;	/* by tp_proc.at; ranks have none seen */
};

static void begin_heap(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_worker_heap *heap = state;

	heap->run = tp_facts_run(facts);
	heap->worker = tp_need(heap->run->n_procs, sizeof(*heap->worker));
}

static void free_heap(void *state)
{
	struct tp_worker_heap *heap = state;

	for (uint32_t i = 0; i < heap->run->n_procs; i++)
		free(heap->worker[i].seen);
	free(heap->worker);
}

static const struct point *least_of(const struct point *point, uint32_t n)
{
	const struct point *least = point;

	for (uint32_t i = 1; i < n; i++)
		if (point[i].bytes < least->bytes)
			least = &point[i];
	return least;
}

/* Each point is two of those before. */
static void halve(struct seen *seen)
{
	for (uint32_t i = 0; i < POINTS / 2; i++)
		seen->point[i] = *least_of(&seen->point[2 * i], 2);
	seen->n = POINTS / 2;
	seen->each *= 2;
}

static void add_point(struct seen *seen, struct point point)
{
	if (seen->n && seen->n_in < seen->each) {
		const struct point both[2] = {seen->point[seen->n - 1], point};

		seen->point[seen->n - 1] = *least_of(both, 2);
		seen->n_in++;
		return;
	}
	if (seen->n == POINTS)
		halve(seen);
	seen->point[seen->n++] = point;
	seen->n_in = 1;
}

static struct seen *seen_of(struct worker *worker, uint32_t window)
{
	for (uint32_t i = worker->n; i-- > 0;)
		if (worker->seen[i].window == window)
			return &worker->seen[i];
	tp_need_room(&worker->seen, &worker->cap, (uint64_t)worker->n + 1, sizeof(*worker->seen));
	worker->seen[worker->n] = (struct seen){.window = window, .each = 1};
	return &worker->seen[worker->n++];
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_worker_heap *heap = state;

	if (!event->proc->worker || event->name->kind != TP_STRING_COUNTER ||
	    strcmp(event->name->bytes, TP_COUNTER_HEAP_LIVE) != 0 || event->flags & TP_F_DOUBLE ||
	    (int64_t)event->arg < 0)
		return;
	add_point(seen_of(&heap->worker[event->proc->at], event->window),
		  (struct point){event->begin_ns, event->arg});
}

/* Bytes a second between the least of both; 0: it does not grow. */
static double pace(const struct point *from, const struct point *to)
{
	if (to->ns <= from->ns || to->bytes <= from->bytes)
		return 0;
	return 1e9 * (double)(to->bytes - from->bytes) / (double)(to->ns - from->ns);
}

static bool is_about(double pace_of_part, double pace_of_all)
{
	return pace_of_part >= pace_of_all / PACE && pace_of_part <= pace_of_all * PACE;
}

/* Within the window, or, where it has few values, since the one before, whose least that is. NULL: there is
 * none. */
static bool is_at_pace(const struct seen *seen, const struct point *before, double expected)
{
	const uint32_t half = seen->n / 2;

	if (seen->n < POINTS_LEAST)
		return !before || is_about(pace(before, least_of(seen->point, seen->n)), expected);
	return is_about(pace(least_of(seen->point, half), least_of(seen->point + half, seen->n - half)),
			expected);
}

/* False: a window stands no higher than the one before, or too little is known. */
static bool is_rising(const struct worker *worker)
{
	uint32_t n_long = 0;

	for (uint32_t i = 0; i < worker->n; i++) {
		const struct seen *seen = &worker->seen[i];

		if (i && least_of(seen->point, seen->n)->bytes <= least_of(seen[-1].point, seen[-1].n)->bytes)
			return false;
		n_long += seen->n >= POINTS_LEAST;
	}
	return n_long >= LONG_LEAST || worker->n >= SHORT_LEAST;
}

static bool find_growth(const struct worker *worker, struct tp_worker_growth *growth)
{
	const struct point *from, *to, *before = NULL;
	uint32_t n_at_pace = 0;

	if (!is_rising(worker))
		return false;
	from = least_of(worker->seen[0].point, worker->seen[0].n);
	to = least_of(worker->seen[worker->n - 1].point, worker->seen[worker->n - 1].n);
	for (uint32_t i = 0; i < worker->n; i++) {
		n_at_pace += is_at_pace(&worker->seen[i], before, pace(from, to));
		before = least_of(worker->seen[i].point, worker->seen[i].n);
	}
	*growth = (struct tp_worker_growth){
		.first_ns = from->ns, .last_ns = to->ns, .first = from->bytes, .last = to->bytes,
	};
	return 4 * n_at_pace >= 3 * worker->n;
}

bool tp_worker_heap_worst(const struct tp_worker_heap *heap, struct tp_worker_growth *growth)
{
	struct tp_worker_growth one;
	double most = 0;

	for (uint32_t i = 0; i < heap->run->n_procs; i++) {
		if (!find_growth(&heap->worker[i], &one) || tp_worker_growth_rate(&one) <= most)
			continue;
		most = tp_worker_growth_rate(&one);
		*growth = one;
		growth->proc = heap->run->proc[i];
	}
	return most > 0;
}

const struct tp_fact tp_fact_worker_heap = {
	.name = "workers' heap",
	.bytes = sizeof(struct tp_worker_heap),
	.kinds = TP_FACT_KIND(TP_REC_COUNTER),
	.begin = begin_heap,
	.event = take_event,
	.free = free_heap,
};
