/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_count.h - counters of the malloc family: calls, bytes asked for, bytes alive
 *
 * Each thread counts in a slot of its own with plain stores; the slots stand in one static
 * table, so that a count outlives its thread. A slot whose thread is dead is handed on with its
 * counts. When all slots are taken by living threads the newcomers share one, with locked
 * additions: n_sharing says how many do.
 *
 * Bytes alive are what malloc_usable_size says when a block is given out and when it is taken
 * back: nothing has to be remembered of a block. A thread's own bytes may be below nothing: it
 * gives back what others were given. A thread tells the process's sum of a change once that is
 * TP_HEAP_TELL_BYTES: so the peak of the process is wrong by at most that much a slot in use,
 * either way. Read at rest, the sum over the slots is exact.
 *
 * The inline functions run inside malloc and free: no lock, no allocation, errno kept. A signal
 * handler on the same thread may count at any point.
 */
#ifndef TP_PROBE_HEAP_COUNT_H
#define TP_PROBE_HEAP_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/sync.h"
#include "runtime/probe/heap/heap_last.h"

enum {
	TP_HEAP_SLOTS = 256,
	TP_HEAP_TELL_BYTES = 64 << 10,
};

/* What the hooks do besides counting calls: bits of tp_heap_mode. */
enum tp_heap_mode {
	TP_HEAP_LIVE = 1,	/* count bytes alive */
	TP_HEAP_EVENTS = 2,	/* a window is open: record */
	TP_HEAP_CHOSEN = 4,	/* with EVENTS: only blocks that are chosen, see heap_sample.h */
	TP_HEAP_WITH_STACKS = 8,
	TP_HEAP_SIZED = 16,	/* a block's size stands before it, see heap_size.h */

	/* Without these two, hooks count calls and do nothing else. */
	TP_HEAP_WATCHED = TP_HEAP_LIVE | TP_HEAP_EVENTS,
	/* What it is nearly always: hooks look for this first. */
	TP_HEAP_USUAL = TP_HEAP_LIVE | TP_HEAP_SIZED,
};

/* One word that every hook reads. From the start LIVE: what is given out before anything is
 * known of the process must be counted, too, or giving it back would count alone. */
extern uint32_t tp_heap_mode __attribute__((visibility("hidden")));
static inline uint32_t tp_heap_get_mode(void)
{
	return __atomic_load_n(&tp_heap_mode, __ATOMIC_RELAXED);
}
void tp_heap_change_mode(uint32_t add, uint32_t remove);

struct tp_heap_slot {			/* all atomic; the owner writes */
	uint32_t tid;			/* 0: never used */
	uint32_t is_shared;		/* by several threads */
	uint64_t allocs, frees, reallocs;
	uint64_t bytes;			/* asked for, by allocs and reallocs */
	int64_t live, peak;		/* bytes; peak: since the owner has it */
	int64_t told;			/* of `live`, what is in the process's sum */
	/* When the owner took it: */
	uint64_t begin_allocs, begin_frees;
	int64_t begin_live;
} __attribute__((aligned(2 * TP_CACHE_LINE)));	/* processors fetch lines in pairs */

struct tp_heap_totals {
	uint64_t allocs, frees, reallocs, bytes;
	int64_t live;
	uint32_t n_sharing;		/* threads that had to share a slot, so far */
	uint32_t n_slots;		/* that are or were in use */
};
void tp_heap_totals(struct tp_heap_totals *totals);

/* Of one slot's owner, since it has the slot. */
struct tp_heap_thread {
	uint32_t tid;
	uint64_t allocs, frees;
	int64_t live, peak;
};
/* Those with the highest peaks, highest first; how many there are of them. */
uint32_t tp_heap_threads(struct tp_heap_thread *thread, uint32_t most);

/* Bytes alive in the process, to TP_HEAP_TELL_BYTES for each thread: one load. */
int64_t tp_heap_live(void);
/* The process's peak, and the same since the last call of the second. */
int64_t tp_heap_peak(void);
int64_t tp_heap_take_recent_peak(void);

/* In the child of fork, which has one thread, of this number: calls begin at 0, bytes alive are
 * inherited. Async-signal-safe. */
void tp_heap_forked(uint32_t tid);
/* Nobody will read the counts of this process: from now on taking a slot needs no system call, and two
 * threads may have the same. Any thread. */
void tp_heap_forget_owners(void);

/* Cold sides: a slot for this thread, which may be the one that many share, never NULL; tells the
 * process's sum. */
struct tp_heap_slot *tp_heap_take_slot(void);
void tp_heap_tell(struct tp_heap_slot *slot);

static inline struct tp_heap_slot *tp_heap_slot(void)
{
	struct tp_heap_slot *slot = tp_heap_self.slot;

	return tp_likely(slot != NULL) ? slot : tp_heap_take_slot();
}

static inline void tp_heap_add(struct tp_heap_slot *slot, uint64_t *count, uint64_t n)
{
	if (tp_unlikely(slot->is_shared))
		__atomic_fetch_add(count, n, __ATOMIC_RELAXED);
	else
		tp_add_own(count, n);
}

/* Bytes alive, after some were added. */
static inline int64_t tp_heap_raise_peak(struct tp_heap_slot *slot)
{
	const int64_t live = __atomic_load_n(&slot->live, __ATOMIC_RELAXED);

	if (tp_unlikely(live > __atomic_load_n(&slot->peak, __ATOMIC_RELAXED)))
		__atomic_store_n(&slot->peak, live, __ATOMIC_RELAXED);
	return live;
}

static inline void tp_heap_add_live(struct tp_heap_slot *slot, int64_t change)
{
	int64_t live;

	tp_heap_add(slot, (uint64_t *)&slot->live, (uint64_t)change);
	live = tp_heap_raise_peak(slot);
	live -= __atomic_load_n(&slot->told, __ATOMIC_RELAXED);
	if (tp_unlikely((uint64_t)(live + TP_HEAP_TELL_BYTES - 1) >= 2 * TP_HEAP_TELL_BYTES - 1))
		tp_heap_tell(slot);
}

/*
 * The same for a thread that has a slot of its own (tp_heap_self.slot), of a block of `size` bytes that
 * malloc has just returned, or that free is about to give back. True: the sum has to be told.
 */
static inline bool tp_heap_own_gave(struct tp_heap_slot *slot, size_t bytes, size_t size)
{
	tp_add_own(&slot->allocs, 1);
	tp_add_own(&slot->bytes, bytes);
	tp_add_own((uint64_t *)&slot->live, size);
	return tp_heap_raise_peak(slot) - __atomic_load_n(&slot->told, __ATOMIC_RELAXED) >=
	       TP_HEAP_TELL_BYTES;
}

static inline bool tp_heap_own_takes(struct tp_heap_slot *slot, const void *block, size_t size)
{
	tp_add_own(&slot->frees, 1);
	tp_heap_forget_block(block);
	tp_add_own((uint64_t *)&slot->live, -(uint64_t)size);
	return __atomic_load_n(&slot->told, __ATOMIC_RELAXED) -
		       __atomic_load_n(&slot->live, __ATOMIC_RELAXED) >= TP_HEAP_TELL_BYTES;
}

/* Each returns the slot that it counted in. */
static inline struct tp_heap_slot *tp_heap_count_alloc(size_t bytes)
{
	struct tp_heap_slot *slot = tp_heap_slot();

	tp_heap_add(slot, &slot->allocs, 1);
	tp_heap_add(slot, &slot->bytes, bytes);
	return slot;
}

static inline struct tp_heap_slot *tp_heap_count_realloc(size_t bytes)
{
	struct tp_heap_slot *slot = tp_heap_slot();

	tp_heap_add(slot, &slot->reallocs, 1);
	tp_heap_add(slot, &slot->bytes, bytes);
	return slot;
}

static inline struct tp_heap_slot *tp_heap_count_free(const void *block)
{
	struct tp_heap_slot *slot = tp_heap_slot();

	tp_heap_add(slot, &slot->frees, 1);
	tp_heap_forget_block(block);
	return slot;
}

#endif
