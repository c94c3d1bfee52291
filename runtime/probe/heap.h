/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h - counters of the malloc family: calls and bytes asked for, always on
 *
 * Each thread counts in a slot of its own with plain (relaxed) stores; the slots stand in one
 * static table, so that a count outlives its thread. A slot whose thread is dead is handed on
 * with its counts. When all slots are taken by living threads the newcomers share one and
 * may lose counts to each other: n_sharing says so.
 *
 * The inline functions run inside malloc and free: no lock, no allocation, errno kept.
 */
#ifndef TP_PROBE_HEAP_H
#define TP_PROBE_HEAP_H

#include <stdint.h>

#include "runtime/base/sync.h"
#include "runtime/engine/probe.h"
#include "runtime/probe/heap_last.h"

enum { TP_HEAP_SLOTS = 256 };

struct tp_heap_slot {
	uint32_t tid;			/* atomic; 0: never used */
	uint32_t reserved;
	uint64_t allocs, frees, reallocs;
	uint64_t bytes;			/* asked for, by allocs and reallocs */
} __attribute__((aligned(TP_CACHE_LINE)));

struct tp_heap_totals {
	uint64_t allocs, frees, reallocs, bytes;
	uint32_t n_sharing;		/* threads that had to share a slot, so far */
};

extern const struct tp_probe tp_heap_probe;

/* The hooks see nothing (another malloc stands before ours): said when the session opens. */
void tp_heap_set_off(const char *why);
void tp_heap_totals(struct tp_heap_totals *totals);
/* In the child of fork: counts begin at 0. Async-signal-safe. */
void tp_heap_forked(void);

/* Cold side of the counters: takes a slot for this thread. Never NULL. */
struct tp_heap_slot *tp_heap_take_slot(void);

static inline struct tp_heap_slot *tp_heap_slot(void)
{
	struct tp_heap_slot *slot = tp_heap_self.slot;

	return tp_likely(slot != NULL) ? slot : tp_heap_take_slot();
}

/* One writer: a load and a store, not a locked instruction. */
static inline void tp_heap_add(uint64_t *count, uint64_t n)
{
	__atomic_store_n(count, __atomic_load_n(count, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

static inline void tp_heap_count_alloc(size_t bytes)
{
	struct tp_heap_slot *slot = tp_heap_slot();

	tp_heap_add(&slot->allocs, 1);
	tp_heap_add(&slot->bytes, bytes);
}

static inline void tp_heap_count_realloc(size_t bytes)
{
	struct tp_heap_slot *slot = tp_heap_slot();

	tp_heap_add(&slot->reallocs, 1);
	tp_heap_add(&slot->bytes, bytes);
}

static inline void tp_heap_count_free(const void *block)
{
	tp_heap_add(&tp_heap_slot()->frees, 1);
	if (tp_unlikely(tp_heap_self.last_block == block))
		tp_heap_self.last_block = NULL;
}

#endif
