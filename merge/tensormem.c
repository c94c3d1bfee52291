/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensormem.c - tensor memory of a run, in one pass
 */
#include "merge/tensormem.h"

#include <stdlib.h>

#include "merge/clip.h"
#include "merge/grow.h"

enum {
	PARTS = 480,		/* of the time in windows of a process: points of its curve */
	LARGEST_MAX = 1 << 17,
};

struct tp_tensormem {
	struct tp_clip clip;
	bool has_clip;
	struct tp_memcat *cat;
	struct tp_mempeak *by_step, *by_time;
	const struct tp_mempeak_track *step_track, *time_track;
	uint32_t n_step_tracks, n_time_tracks;
	struct tp_life *largest;	/* a heap, the least first; sorted in the end */
	uint32_t n_largest, cap_largest, most;
	bool is_incomplete;
};

/* ---- the largest blocks ---- */

/* Of equal ones the first stays. */
static bool is_less(const struct tp_life *a, const struct tp_life *b)
{
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes;
	return a->begin_ns > b->begin_ns;
}

static void sink_least(struct tp_life *heap, uint32_t n)
{
	uint32_t at = 0;

	for (;;) {
		uint32_t least = at, child = 2 * at + 1;
		struct tp_life swapped = heap[at];

		if (child < n && is_less(&heap[child], &heap[least]))
			least = child;
		if (child + 1 < n && is_less(&heap[child + 1], &heap[least]))
			least = child + 1;
		if (least == at)
			return;
		heap[at] = heap[least];
		heap[least] = swapped;
		at = least;
	}
}

static void keep_largest(struct tp_tensormem *mem, const struct tp_life *life)
{
	uint32_t at = mem->n_largest;

	if (life->is_sum)
		return;
	if (at == mem->most) {
		if (is_less(&mem->largest[0], life)) {
			mem->largest[0] = *life;
			sink_least(mem->largest, mem->n_largest);
		}
		return;
	}
	if (!tp_grow(&mem->largest, &mem->cap_largest, (uint64_t)at + 1, sizeof(*life))) {
		mem->is_incomplete = true;
		return;
	}
	mem->n_largest++;
	mem->largest[at] = *life;
	while (at && is_less(&mem->largest[at], &mem->largest[(at - 1) / 2])) {
		struct tp_life swapped = mem->largest[at];

		mem->largest[at] = mem->largest[(at - 1) / 2];
		mem->largest[(at - 1) / 2] = swapped;
		at = (at - 1) / 2;
	}
}

static int compare_largest(const void *a, const void *b)
{
	return is_less(a, b) ? 1 : is_less(b, a) ? -1 : 0;
}

/* ---- the pass ---- */

static void take_live(void *ctx, const struct tp_event *event, uint32_t device, int64_t bytes)
{
	struct tp_tensormem *mem = ctx;

	tp_mempeak_live(mem->by_step, event, device, bytes);
	tp_mempeak_live(mem->by_time, event, device, bytes);
}

static void take_life(void *ctx, const struct tp_life *life)
{
	struct tp_tensormem *mem = ctx;

	tp_mempeak_life(mem->by_step, life);
	tp_mempeak_life(mem->by_time, life);
	keep_largest(mem, life);
}

static void take_event(void *ctx, const struct tp_event *event)
{
	struct tp_tensormem *mem = ctx;

	/* The books of a window that is over are closed before the next one's first step. */
	tp_memcat_event(mem->cat, event);
	tp_mempeak_event(mem->by_step, event);
}

struct tp_tensormem *tp_tensormem_new(const struct tp_run *run, uint32_t n_largest)
{
	static const struct tp_memcat_calls calls = {.live = take_live, .life = take_life};
	struct tp_tensormem *mem = calloc(1, sizeof(*mem));

	if (!mem)
		return NULL;
	mem->most = n_largest && n_largest < LARGEST_MAX ? n_largest : LARGEST_MAX;
	mem->cat = tp_memcat_new(run, &calls, mem);
	mem->by_step = tp_mempeak_new(run, 0);
	mem->by_time = tp_mempeak_new(run, PARTS);
	if (!mem->cat || !mem->by_step || !mem->by_time) {
		tp_tensormem_free(mem);
		return NULL;
	}
	tp_clip_init(&mem->clip, run, take_event, mem);
	mem->has_clip = true;
	return mem;
}

void tp_tensormem_free(struct tp_tensormem *mem)
{
	if (!mem)
		return;
	if (mem->has_clip)
		tp_clip_end(&mem->clip);
	tp_memcat_free(mem->cat);
	tp_mempeak_free(mem->by_step);
	tp_mempeak_free(mem->by_time);
	free(mem->largest);
	free(mem);
}

void tp_tensormem_event(struct tp_tensormem *mem, const struct tp_event *event)
{
	switch (event->kind) {
	case TP_REC_OP:
	case TP_REC_RANGE:
	case TP_REC_STEP:
	case TP_REC_ALLOC:
	case TP_REC_FREE:
	case TP_REC_TOTALS:
	case TP_REC_CATEGORY:
	case TP_REC_SCAN:
		tp_clip_event(&mem->clip, event);
		break;
	default:
		break;
	}
}

void tp_tensormem_end(struct tp_tensormem *mem)
{
	tp_clip_end(&mem->clip);
	mem->has_clip = false;
	tp_memcat_end(mem->cat);
	mem->step_track = tp_mempeak_end(mem->by_step, &mem->n_step_tracks);
	mem->time_track = tp_mempeak_end(mem->by_time, &mem->n_time_tracks);
	if (mem->n_largest)
		qsort(mem->largest, mem->n_largest, sizeof(*mem->largest), compare_largest);
	mem->is_incomplete |= tp_mempeak_is_incomplete(mem->by_step) ||
			      tp_mempeak_is_incomplete(mem->by_time);
}

const struct tp_mempeak_track *tp_tensormem_by_step(const struct tp_tensormem *mem, uint32_t *n)
{
	*n = mem->n_step_tracks;
	return mem->step_track;
}

const struct tp_mempeak_track *tp_tensormem_by_time(const struct tp_tensormem *mem, uint32_t *n)
{
	*n = mem->n_time_tracks;
	return mem->time_track;
}

const struct tp_life *tp_tensormem_largest(const struct tp_tensormem *mem, uint32_t *n)
{
	*n = mem->n_largest;
	return mem->largest;
}

const struct tp_memcat *tp_tensormem_cat(const struct tp_tensormem *mem)
{
	return mem->cat;
}

bool tp_tensormem_is_incomplete(const struct tp_tensormem *mem)
{
	return mem->is_incomplete;
}
