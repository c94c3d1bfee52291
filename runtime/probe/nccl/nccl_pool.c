/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_pool.c - entries and handles of events of NCCL: see nccl_pool.h
 *
 * Free entries are a stack, so that few are used again and again and whoever walks over all of
 * them looks at few. Its head carries a count besides the place, against a thread that read it
 * long ago; entries behind `n_used` were never on it.
 */
#include "runtime/probe/nccl/nccl_pool.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "runtime/base/arena.h"
#include "runtime/base/sync.h"

enum {
	STATE_FREE = 0,
	STATE_LIVE = 1,
	STATE_CLAIMED = 2,	/* somebody has it alone */
	STATE_SHIFT = 24,
	INSIDE_MASK = (1 << STATE_SHIFT) - 1,
	HANDLE_TAG = 3,		/* low bits of a handle: nccl_events.c has others */
	HANDLE_SHIFT = 3,
};

static struct {
	struct tp_nccl_entry *entry;
	uint64_t head;		/* atomic: count << 32 | 1 + place of the first one */
	uint32_t n_used;	/* atomic */
} pool;

_Static_assert(sizeof(struct tp_nccl_entry) == 128, "two cache lines");

static uint64_t life_of(uint64_t use, uint32_t state)
{
	return use << 32 | (uint64_t)state << STATE_SHIFT;
}

static uint64_t use_of(uint64_t life)
{
	return life >> 32;
}

static uint32_t state_of(uint64_t life)
{
	return (uint32_t)life >> STATE_SHIFT;
}

int tp_nccl_pool_init(void)
{
	struct tp_nccl_entry *none = NULL;
	void *memory;

	if (__atomic_load_n(&pool.entry, __ATOMIC_ACQUIRE))
		return 0;
	memory = tp_map_memory(TP_NCCL_ENTRIES * sizeof(*pool.entry), 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	/* Another thread may have been quicker. */
	if (!__atomic_compare_exchange_n(&pool.entry, &none, (struct tp_nccl_entry *)memory, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		tp_unmap(memory, TP_NCCL_ENTRIES * sizeof(*pool.entry));
	return 0;
}

static struct tp_nccl_entry *pop(struct tp_nccl_entry *entries)
{
	uint64_t head = __atomic_load_n(&pool.head, __ATOMIC_ACQUIRE);
	struct tp_nccl_entry *entry;
	uint64_t next;

	do {
		if (!(uint32_t)head)
			return NULL;
		entry = &entries[(uint32_t)head - 1];
		next = ((head >> 32) + 1) << 32 | __atomic_load_n(&entry->next, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&pool.head, &head, next, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return entry;
}

static struct tp_nccl_entry *take_fresh(struct tp_nccl_entry *entries)
{
	uint32_t at = __atomic_load_n(&pool.n_used, __ATOMIC_RELAXED);

	do {
		if (at == TP_NCCL_ENTRIES)
			return NULL;
	} while (!__atomic_compare_exchange_n(&pool.n_used, &at, at + 1, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	return &entries[at];
}

struct tp_nccl_entry *tp_nccl_pool_take(enum tp_nccl_kind kind)
{
	struct tp_nccl_entry *entries = __atomic_load_n(&pool.entry, __ATOMIC_ACQUIRE), *entry;
	uint64_t life;

	if (tp_unlikely(!entries))
		return NULL;
	entry = pop(entries);
	if (!entry)
		entry = take_fresh(entries);
	if (tp_unlikely(!entry))
		return NULL;
	life = __atomic_load_n(&entry->life, __ATOMIC_RELAXED);
	/* Never 0, in 32 bits: no handle is. */
	__atomic_store_n(&entry->life, life_of((use_of(life) + 1) & 0xffffffff, STATE_CLAIMED),
			 __ATOMIC_RELAXED);
	entry->kind = (uint8_t)kind;
	memset((char *)entry + offsetof(struct tp_nccl_entry, flags), 0,
	       sizeof(*entry) - offsetof(struct tp_nccl_entry, flags));
	return entry;
}

static uint64_t handle_of(const struct tp_nccl_entry *entry, uint64_t life)
{
	return use_of(life) << 32 | (uint64_t)(entry - pool.entry) << HANDLE_SHIFT | HANDLE_TAG;
}

uint64_t tp_nccl_pool_publish(struct tp_nccl_entry *entry)
{
	uint64_t life = __atomic_load_n(&entry->life, __ATOMIC_RELAXED);

	/* Release: who enters sees all of it. */
	__atomic_store_n(&entry->life, life_of(use_of(life), STATE_LIVE), __ATOMIC_RELEASE);
	return handle_of(entry, life);
}

/* Where the handle says; NULL: it is not one of ours. */
static struct tp_nccl_entry *find(uint64_t handle)
{
	uint32_t at = (uint32_t)handle >> HANDLE_SHIFT;
	struct tp_nccl_entry *entries = __atomic_load_n(&pool.entry, __ATOMIC_ACQUIRE);

	if ((handle & ((1 << HANDLE_SHIFT) - 1)) != HANDLE_TAG || at >= TP_NCCL_ENTRIES || !entries)
		return NULL;
	return &entries[at];
}

/*
 * Its life, once nobody has it alone and at most `inside` are at work on it: who has it is the
 * drain, having a look, or somebody who is about to give it back. 0: the handle is over.
 */
static uint64_t wait_for(const struct tp_nccl_entry *entry, uint64_t handle, uint32_t inside)
{
	for (unsigned spins = 0;; spins++) {
		uint64_t life = __atomic_load_n(&entry->life, __ATOMIC_RELAXED);

		if (use_of(life) != handle >> 32 || state_of(life) == STATE_FREE)
			return 0;
		if (state_of(life) == STATE_LIVE && (life & INSIDE_MASK) <= inside)
			return life;
		if (spins > 100)
			tp_spin_pause(spins);
	}
}

struct tp_nccl_entry *tp_nccl_pool_enter(uint64_t handle, enum tp_nccl_kind kind)
{
	struct tp_nccl_entry *entry = find(handle);
	uint64_t life;

	if (!entry)
		return NULL;
	do {
		life = wait_for(entry, handle, INSIDE_MASK);
		if (!life)
			return NULL;
	} while (!__atomic_compare_exchange_n(&entry->life, &life, life + 1, true,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	if (tp_likely(entry->kind == kind))
		return entry;
	tp_nccl_pool_leave(entry);
	return NULL;
}

void tp_nccl_pool_leave(struct tp_nccl_entry *entry)
{
	__atomic_fetch_sub(&entry->life, 1, __ATOMIC_RELEASE);
}

struct tp_nccl_entry *tp_nccl_pool_claim(uint64_t handle)
{
	struct tp_nccl_entry *entry = find(handle);
	uint64_t life;

	if (!entry)
		return NULL;
	do {
		life = wait_for(entry, handle, 0);
		if (!life)
			return NULL;
	} while (!__atomic_compare_exchange_n(&entry->life, &life,
					      life_of(use_of(life), STATE_CLAIMED), true,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	return entry;
}

struct tp_nccl_entry *tp_nccl_pool_claim_at(uint32_t at)
{
	struct tp_nccl_entry *entry = &pool.entry[at];
	uint64_t life = __atomic_load_n(&entry->life, __ATOMIC_RELAXED);

	if (state_of(life) != STATE_LIVE || life & INSIDE_MASK ||
	    !__atomic_compare_exchange_n(&entry->life, &life,
					 life_of(use_of(life), STATE_CLAIMED), false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return NULL;
	return entry;
}

void tp_nccl_pool_put_back(struct tp_nccl_entry *entry)
{
	uint64_t life = __atomic_load_n(&entry->life, __ATOMIC_RELAXED);

	__atomic_store_n(&entry->life, life_of(use_of(life), STATE_LIVE), __ATOMIC_RELEASE);
}

void tp_nccl_pool_give_back(struct tp_nccl_entry *entry)
{
	uint64_t life = __atomic_load_n(&entry->life, __ATOMIC_RELAXED);
	uint64_t head = __atomic_load_n(&pool.head, __ATOMIC_RELAXED), mine;

	__atomic_store_n(&entry->life, life_of(use_of(life), STATE_FREE), __ATOMIC_RELEASE);
	do {
		__atomic_store_n(&entry->next, (uint32_t)head, __ATOMIC_RELAXED);
		mine = ((head >> 32) + 1) << 32 | (uint32_t)(entry - pool.entry + 1);
	} while (!__atomic_compare_exchange_n(&pool.head, &head, mine, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
}

uint32_t tp_nccl_pool_used(void)
{
	return __atomic_load_n(&pool.n_used, __ATOMIC_ACQUIRE);
}

bool tp_nccl_pool_is_live(uint32_t at)
{
	return state_of(__atomic_load_n(&pool.entry[at].life, __ATOMIC_RELAXED)) == STATE_LIVE;
}

void tp_nccl_pool_forked(void)
{
	/* What was used keeps its number, so that the next use has another one. */
	for (uint32_t at = 0; pool.entry && at < pool.n_used; at++)
		pool.entry[at].life = life_of(use_of(pool.entry[at].life), STATE_FREE);
	pool.head = 0;
	pool.n_used = 0;
}
