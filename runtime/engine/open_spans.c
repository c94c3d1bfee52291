/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_spans.c - the spans that had not ended when the window did
 *
 * They are read while their threads go on: nothing is locked, and an entry that changed
 * meanwhile is left out, since its own record is on its way.
 */
#include "runtime/engine/open_spans.h"

#include <errno.h>
#include <stdbool.h>

#include "runtime/engine/ring/ring.h"

enum { MOST = 1024 };	/* kept of a window */

struct open_span {
	struct tp_open_span span;
	uint16_t slot;
	bool is_known;		/* its own record came meanwhile */
};

static struct {
	struct open_span *at;
	uint32_t n;
} open_spans;

int tp_open_spans_init(struct tp_arena *arena)
{
	open_spans.n = 0;
	open_spans.at = tp_arena_alloc(arena, MOST * sizeof(open_spans.at[0]));
	return open_spans.at ? 0 : -ENOMEM;
}

void tp_open_spans_take(uint64_t end)
{
	open_spans.n = 0;
	for (uint32_t i = 0; i < TP_RING_SLOTS - 1; i++) {
		const struct tp_ring_slot *slot = &tp_ring.slots[i];
		uint32_t depth = __atomic_load_n(&slot->depth, __ATOMIC_ACQUIRE);

		if (!__atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE) ||
		    __atomic_load_n(&slot->is_dead, __ATOMIC_ACQUIRE))
			continue;
		for (uint32_t d = 0; d < depth && d < TP_OPEN_SPANS && open_spans.n < MOST; d++) {
			struct open_span *open = &open_spans.at[open_spans.n];

			open->slot = (uint16_t)i;
			open->is_known = false;
			open->span.time = __atomic_load_n(&slot->open[d].time, __ATOMIC_ACQUIRE);
			open->span.name = __atomic_load_n(&slot->open[d].name, __ATOMIC_ACQUIRE);
			open->span.kind = __atomic_load_n(&slot->open[d].kind, __ATOMIC_ACQUIRE);
			/* The thread goes on meanwhile: only an entry that stood still counts. */
			if (open->span.time && open->span.time < end &&
			    open->span.time == __atomic_load_n(&slot->open[d].time, __ATOMIC_RELAXED))
				open_spans.n++;
		}
	}
}

void tp_open_spans_mark_known(uint16_t slot, const struct tp_rec *rec)
{
	for (uint32_t i = 0; i < open_spans.n; i++) {
		struct open_span *open = &open_spans.at[i];

		if (open->slot == slot && open->span.time == rec->time &&
		    open->span.name == rec->name)
			open->is_known = true;
	}
}

const struct tp_open_span *tp_open_spans_next(uint32_t *at, uint16_t *slot)
{
	while (*at < open_spans.n) {
		const struct open_span *open = &open_spans.at[(*at)++];

		if (open->is_known)
			continue;
		*slot = open->slot;
		return &open->span;
	}
	return NULL;
}
