/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensormem.c - tensor memory of a run, in one pass
 */
#include "merge/facts/tensor/tensormem.h"

#include <stdlib.h>

#include "merge/kit/grow.h"
#include "merge/kit/need.h"

enum {
	PARTS = 480,		/* of the time in windows of a process: points of its curve */
	LARGEST_LEAST = 1 << 12,	/* of which many are alike */
	LARGEST_MAX = 1 << 17,
};

struct tp_tensormem {
	struct tp_memcat *cat;
	struct tp_allocator *allocator;
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

static void take_oom(struct tp_tensormem *mem, const struct tp_event *event)
{
	struct tp_allocator_oom *oom = tp_allocator_oom(mem->allocator, event);
	uint32_t n = 0, n_all;
	uint64_t all;
	const struct tp_allocator_oom *before = tp_allocator_ooms(mem->allocator, &n_all, &all);

	if (!oom)
		return;
	oom->name = tp_memcat_where(mem->cat, event, &oom->origin);
	for (uint32_t i = 0; i + 1 < n_all; i++)
		n += before[i].proc == event->proc && before[i].device == event->link;
	if (tp_mempeak_pin(mem->by_step, event, event->link))
		oom->pin = n;
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_tensormem *mem = state;
	uint32_t device;
	int64_t bytes;

	tp_mempeak_event(mem->by_step, event);
	tp_mempeak_event(mem->by_time, event);
	tp_allocator_event(mem->allocator, event);
	if (event->kind == TP_REC_TOTALS && event->arg) {
		bytes = (int64_t)(event->arg > TP_LEN_MAX ? TP_LEN_MAX : event->arg);
		tp_mempeak_reserved(mem->by_step, event, event->link, bytes);
		tp_mempeak_reserved(mem->by_time, event, event->link, bytes);
	} else if (tp_allocator_others(mem->allocator, event, &device, &bytes)) {
		tp_mempeak_others(mem->by_step, event, device, bytes);
		tp_mempeak_others(mem->by_time, event, device, bytes);
	} else if (tp_allocator_is_oom(event)) {
		take_oom(mem, event);
	}
}

static void begin_memory(void *state, struct tp_facts *facts, const void *params)
{
	static const struct tp_memcat_calls calls = {.live = take_live, .life = take_life};
	const struct tp_run *run = tp_facts_run(facts);
	struct tp_tensormem *mem = state;
	uint32_t n_largest = *(const uint32_t *)params;

	mem->most = !n_largest || n_largest > LARGEST_MAX ? LARGEST_MAX
		    : n_largest < LARGEST_LEAST	  ? LARGEST_LEAST
						  : n_largest;
	/* The ledger of a window that is over is closed before the next one's first step. */
	mem->cat = tp_facts_want(facts, &tp_fact_memcat, NULL);
	mem->allocator = tp_allocator_new(run);
	mem->by_step = tp_mempeak_new(run, 0);
	mem->by_time = tp_mempeak_new(run, PARTS);
	if (!mem->allocator || !mem->by_step || !mem->by_time)
		tp_need_failed();
	tp_memcat_read(mem->cat, &calls, mem);
}

static void free_memory(void *state)
{
	struct tp_tensormem *mem = state;

	tp_allocator_free(mem->allocator);
	tp_mempeak_free(mem->by_step);
	tp_mempeak_free(mem->by_time);
	free(mem->largest);
}

/* Names of those stacks that a reader may see. */
static void read_names(struct tp_tensormem *mem)
{
	struct tp_stacks *stacks = tp_origins_stacks(tp_memcat_origins(mem->cat));
	uint8_t *wanted = calloc(tp_stacks_count(stacks) + 1, 1);
	const struct tp_allocator_oom *oom;
	uint64_t n_all;
	uint32_t n;

	if (!wanted) {
		mem->is_incomplete = true;
		return;
	}
	oom = tp_allocator_ooms(mem->allocator, &n, &n_all);
	for (uint32_t i = 0; i < n; i++)
		wanted[oom[i].origin.stack] = 1;
	for (uint32_t i = 0; i < mem->n_largest; i++)
		wanted[mem->largest[i].origin.stack] = 1;
	for (uint32_t i = 0; i < mem->n_step_tracks; i++) {
		const struct tp_mempeak_track *track = &mem->step_track[i];

		for (uint32_t k = 0; k < track->n_holders; k++)
			wanted[track->holder[k].origin.stack] = 1;
		for (uint32_t p = 0; p < track->n_pins; p++)
			for (uint32_t k = 0; k < track->pin[p].n_holders; k++)
				wanted[track->pin[p].holder[k].origin.stack] = 1;
	}
	mem->is_incomplete |= tp_stacks_resolve(stacks, wanted) != 0;
	free(wanted);
}

static void end_memory(void *state)
{
	struct tp_tensormem *mem = state;

	mem->step_track = tp_mempeak_end(mem->by_step, &mem->n_step_tracks);
	mem->time_track = tp_mempeak_end(mem->by_time, &mem->n_time_tracks);
	if (mem->n_largest)
		qsort(mem->largest, mem->n_largest, sizeof(*mem->largest), compare_largest);
	mem->is_incomplete |= tp_mempeak_is_incomplete(mem->by_step) ||
			      tp_mempeak_is_incomplete(mem->by_time) ||
			      tp_allocator_is_incomplete(mem->allocator);
	if (tp_origins_has_any(tp_memcat_origins(mem->cat)))
		read_names(mem);
}

static const struct tp_fact fact_tensormem = {
	.name = "tensor memory",
	.bytes = sizeof(struct tp_tensormem),
	.params_bytes = sizeof(uint32_t),
	.kinds = TP_MEMCAT_KINDS,
	.is_cut = true,
	.begin = begin_memory,
	.event = take_event,
	.end = end_memory,
	.free = free_memory,
};

struct tp_tensormem *tp_tensormem_want(struct tp_facts *facts, uint32_t n_largest)
{
	return tp_facts_want(facts, &fact_tensormem, &n_largest);
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

const struct tp_life *tp_tensormem_largest(const struct tp_tensormem *mem, uint32_t *n,
					  bool *is_all)
{
	*is_all = mem->n_largest < mem->most;
	*n = mem->n_largest;
	return mem->largest;
}

const struct tp_allocator *tp_tensormem_allocator(const struct tp_tensormem *mem)
{
	return mem->allocator;
}

const struct tp_memcat *tp_tensormem_cat(const struct tp_tensormem *mem)
{
	return mem->cat;
}

bool tp_tensormem_is_incomplete(const struct tp_tensormem *mem)
{
	return mem->is_incomplete;
}
