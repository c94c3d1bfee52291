/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_heap.c - whether the heap of a worker process grows for as long as it is seen
 */
#include "merge/facts/heap/worker_heap.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"

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
	const struct tp_proc *proc;
	uint32_t window;
	bool is_first;		/* of its worker */
	uint32_t n, each, n_in;	/* points; values of each but the last one; of that one */
	struct point point[POINTS];
};

struct tp_worker_heap {
	struct seen *seen;	/* in the order in which windows began, of each worker */
	uint32_t n, cap;
};

static void free_heap(void *state)
{
	free(((struct tp_worker_heap *)state)->seen);
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

static struct seen *seen_of(struct tp_worker_heap *heap, const struct tp_proc *proc, uint32_t window)
{
	bool is_first = true;

	for (uint32_t i = heap->n; i-- > 0;) {
		if (heap->seen[i].proc != proc)
			continue;
		if (heap->seen[i].window == window)
			return &heap->seen[i];
		is_first = false;
	}
	tp_need_room(&heap->seen, &heap->cap, (uint64_t)heap->n + 1, sizeof(*heap->seen));
	heap->seen[heap->n] = (struct seen){.proc = proc, .window = window, .is_first = is_first, .each = 1};
	return &heap->seen[heap->n++];
}

static void take_event(void *state, const struct tp_event *event)
{
	if (!event->proc->worker || event->name->kind != TP_STRING_COUNTER ||
	    strcmp(event->name->bytes, "heap live") != 0 || event->flags & TP_F_DOUBLE ||
	    (int64_t)event->arg < 0)
		return;
	add_point(seen_of(state, event->proc, event->window), (struct point){event->begin_ns, event->arg});
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

/* The least of the worker's first window and of its last one. False: one stands no higher than the one
 * before, or too little is known. */
static bool find_ends(const struct tp_worker_heap *heap, uint32_t first, const struct point **from,
		      const struct point **to)
{
	uint32_t n = 0, n_long = 0;

	for (uint32_t i = first; i < heap->n; i++) {
		const struct seen *seen = &heap->seen[i];
		const struct point *least = least_of(seen->point, seen->n);

		if (seen->proc != heap->seen[first].proc)
			continue;
		if (n++ && least->bytes <= (*to)->bytes)
			return false;
		n_long += seen->n >= POINTS_LEAST;
		*from = n == 1 ? least : *from;
		*to = least;
	}
	return n_long >= LONG_LEAST || n >= SHORT_LEAST;
}

/* Of all windows of the worker that `first` is the first one of. */
static bool find_growth(const struct tp_worker_heap *heap, uint32_t first, struct tp_worker_growth *growth)
{
	const struct point *from = NULL, *to = NULL, *before = NULL;
	uint32_t n = 0, n_at_pace = 0;
	double expected;

	if (!find_ends(heap, first, &from, &to))
		return false;
	expected = pace(from, to);
	for (uint32_t i = first; i < heap->n; i++) {
		if (heap->seen[i].proc != heap->seen[first].proc)
			continue;
		n++;
		n_at_pace += is_at_pace(&heap->seen[i], before, expected);
		before = least_of(heap->seen[i].point, heap->seen[i].n);
	}
	*growth = (struct tp_worker_growth){
		.proc = heap->seen[first].proc, .first_ns = from->ns, .last_ns = to->ns, .first = from->bytes,
		.last = to->bytes,
	};
	return 4 * n_at_pace >= 3 * n;
}

bool tp_worker_heap_worst(const struct tp_worker_heap *heap, struct tp_worker_growth *growth)
{
	struct tp_worker_growth one;
	double most = 0;

	for (uint32_t i = 0; i < heap->n; i++) {
		if (!heap->seen[i].is_first || !find_growth(heap, i, &one) ||
		    tp_worker_growth_rate(&one) <= most)
			continue;
		most = tp_worker_growth_rate(&one);
		*growth = one;
	}
	return most > 0;
}

const struct tp_fact tp_fact_worker_heap = {
	.name = "workers' heap",
	.bytes = sizeof(struct tp_worker_heap),
	.kinds = TP_FACT_KIND(TP_REC_COUNTER),
	.event = take_event,
	.free = free_heap,
};
