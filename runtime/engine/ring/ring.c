/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - what guest threads do for their first record, and whenever a chunk is full
 *
 * A few atomic operations, so that no thread ever waits for another. The lowest free chunk is
 * taken first: a drain that keeps up then leaves the same few chunks in use, and they stay in
 * the cache.
 */
#include "runtime/engine/ring/ring.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/engine/ring/ring_pool.h"

__thread struct tp_ring_self tp_ring_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
uint32_t tp_ring_bell;

void tp_ring_ring_bell(void)
{
	int saved_errno = errno;

	__atomic_fetch_add(&tp_ring_bell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &tp_ring_bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	errno = saved_errno;
}

static void raise_top(uint32_t *top, uint32_t n)
{
	uint32_t seen = __atomic_load_n(top, __ATOMIC_RELAXED);

	while (seen < n && !__atomic_compare_exchange_n(top, &seen, n, true, __ATOMIC_RELEASE,
							__ATOMIC_RELAXED))
		;
}

/* TP_NO_CHUNK: none is free. */
static uint32_t take_free_chunk(void)
{
	if (__atomic_load_n(&tp_ring_pool.n_free, __ATOMIC_RELAXED) == 0)
		return TP_NO_CHUNK;
	for (uint32_t i = 0; i < tp_ring_pool.n_words; i++) {
		uint64_t bits = __atomic_load_n(&tp_ring_pool.free[i], __ATOMIC_RELAXED);

		while (bits) {
			/* Acquire: whatever the drain did to the chunk is done. */
			if (__atomic_compare_exchange_n(&tp_ring_pool.free[i], &bits, bits & (bits - 1),
							true, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED)) {
				uint32_t at = i * 64 + (uint32_t)__builtin_ctzll(bits);

				__atomic_fetch_sub(&tp_ring_pool.n_free, 1, __ATOMIC_RELAXED);
				raise_top(&tp_ring_pool.chunk_top, at + 1);
				return at;
			}
		}
	}
	return TP_NO_CHUNK;
}

/* Counts chunks and slots as they are taken, from 1. */
static uint64_t next_sequence(void)
{
	return __atomic_add_fetch(&tp_ring.head->chunk_sequence, 1, __ATOMIC_ACQ_REL);
}

/* A slot for this thread: its number, TP_RING_LAST_SLOT when all are in use. */
static uint32_t take_slot(uint32_t tid)
{
	struct tp_ring_slot *slot;

	for (uint32_t i = 0; i < TP_RING_LAST_SLOT; i++) {
		uint32_t none = 0;

		slot = &tp_ring.slots[i];
		if (__atomic_load_n(&slot->tid, __ATOMIC_RELAXED) == 0 &&
		    __atomic_compare_exchange_n(&slot->tid, &none, tid, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			prctl(PR_GET_NAME, slot->name);
			__atomic_store_n(&slot->sequence, next_sequence(), __ATOMIC_RELEASE);
			__atomic_store_n(&slot->flags, tid == tp_ring.head->pid, __ATOMIC_RELEASE);
			raise_top(&tp_ring_pool.slot_top, i + 1);
			return i;
		}
	}
	slot = &tp_ring.slots[TP_RING_LAST_SLOT];
	__atomic_store_n(&slot->tid, TP_TID_MANY, __ATOMIC_RELEASE);
	raise_top(&tp_ring_pool.slot_top, TP_RING_SLOTS);
	return TP_RING_LAST_SLOT;
}

/* Makes this thread's view one of the present ring, with a slot. False: no ring. */
static bool prepare_self(struct tp_ring_self *self)
{
	if (!__atomic_load_n(&tp_ring_pool.is_open, __ATOMIC_ACQUIRE) || !tp_own_words.ring)
		return false;
	if (self->generation != tp_ring.generation) {
		tp_ring_self_clear(self);
		self->slot_at = take_slot((uint32_t)syscall(SYS_gettid));
		/* Open spans of several threads cannot share a stack. */
		if (self->slot_at != TP_RING_LAST_SLOT)
			self->slot = &tp_ring.slots[self->slot_at];
		self->generation = tp_ring.generation;
	}
	return true;
}

struct tp_ring_slot *tp_ring_slot_slow(void)
{
	return prepare_self(&tp_ring_self) ? tp_ring_self.slot : NULL;
}

static void start_chunk(struct tp_ring_self *self, uint32_t at)
{
	struct tp_ring_head *head = tp_ring.head;
	struct tp_chunk *chunk = &tp_ring.chunks[at];

	chunk->slot = self->slot_at;
	chunk->tid = self->slot ? __atomic_load_n(&self->slot->tid, __ATOMIC_RELAXED)
				: (uint32_t)syscall(SYS_gettid);
	chunk->window = __atomic_load_n(&head->windows_begun, __ATOMIC_RELAXED);
	chunk->sequence = next_sequence();
	__atomic_store_n(&chunk->published, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->drained, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->taken, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->pass, 0, __ATOMIC_RELAXED);
	/* Release: who sees it owned, also after our death, sees it empty and ours. */
	__atomic_store_n(&chunk->state, TP_CHUNK_OWNED, __ATOMIC_RELEASE);
	if (self->slot)
		__atomic_store_n(&self->slot->chunk, at, __ATOMIC_RELAXED);
	self->chunk = chunk;
	self->next = chunk->rec;
	self->end = chunk->rec + TP_CHUNK_RECORDS;
}

/* Half of the pool in use: the drain must not sleep on. Said once a pass. */
static void tell_half(void)
{
	uint32_t n_free = __atomic_load_n(&tp_ring_pool.n_free, __ATOMIC_RELAXED);

	if (n_free * 2 <= tp_ring.head->n_chunks &&
	    !__atomic_exchange_n(&tp_ring_pool.is_half_told, true, __ATOMIC_RELAXED))
		tp_ring_ring_bell();
}

struct tp_rec *tp_ring_reserve_slow(void)
{
	struct tp_ring_self *self = &tp_ring_self;
	struct tp_ring_head *head = __atomic_load_n(&tp_ring.head, __ATOMIC_ACQUIRE);
	uint32_t at;

	/* Of a stranger not even a drop is counted: that would be its parent's. */
	if (!head || !tp_own_words.ring)
		return NULL;
	if (prepare_self(self)) {
		if (self->chunk) {
			/* Release: the drain takes the published count to be final after this. */
			__atomic_store_n(&self->chunk->state, TP_CHUNK_FULL, __ATOMIC_RELEASE);
			self->chunk = NULL;
			self->next = self->end = NULL;
		}
		at = take_free_chunk();
		tell_half();
		if (at != TP_NO_CHUNK) {
			start_chunk(self, at);
			return self->next;
		}
		__atomic_fetch_add(&tp_ring.slots[self->slot_at].dropped, 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&head->dropped, 1, __ATOMIC_RELAXED);
	return NULL;
}

bool tp_ring_step(uint64_t index, struct tp_ring_step *step)
{
	const uint64_t *from = (const uint64_t *)&tp_ring.steps[index % TP_RING_STEPS];
	uint64_t *to = (uint64_t *)step;

	if (__atomic_load_n(&from[0], __ATOMIC_ACQUIRE) != index + 1)
		return false;
	/* Acquire: the second look at the index comes after all of them. */
	for (uint32_t i = 1; i < sizeof(*step) / 8; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
	return __atomic_load_n(&from[0], __ATOMIC_RELAXED) == index + 1;
}
