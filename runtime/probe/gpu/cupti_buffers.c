/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_buffers.c - one mapping, two stacks of free buffers and one of full ones
 *
 * The stacks are lists of buffer numbers behind one word that is changed by compare-and-swap: a
 * thread that is put to sleep in the middle keeps nobody waiting. A count in the upper half of
 * the word tells a head that went and came back from one that stayed. The drain takes all full
 * buffers at once and turns them round, the oldest first.
 *
 * Trash is a range of addresses far larger than its part of the memory. The same few buffers
 * come and go as long as CUPTI gives them back; were it to keep more, that memory is taken, too.
 *
 * CUPTI is told that buffers are zeroed (it would do that itself, in the middle of a call of the
 * program), so what it wrote is cleared before a buffer is free again.
 */
#include "runtime/probe/gpu/cupti_buffers.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/base/sync.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	SIZE_LEAST = 256 << 10,	/* what TRAINPROF_CUPTI_BUFFER=1M is cut into */
	SIZE_MOST = 4 << 20,	/* NVIDIA advises 1 to 10 MB */
	N_WANTED = 16,
	TRASH_SIZE = 64 << 10,
	TRASH_PART = 8,		/* of the memory, where there is trash at all */
	N_TRASH = 1024,		/* as many as there may be: who gets none dies of it */
	N_MOST = 1024 + N_TRASH,
	REFUSES_FROM = 27,	/* CUPTI_API_VERSION of 12.9 */
	NONE = 0,		/* in lists buffers count from 1 */
};

enum state { FREE, HELD, FULL };

struct stack {
	uint64_t head;		/* atomic: count << 32 | buffer */
} __attribute__((aligned(TP_CACHE_LINE)));

static struct {
	uint8_t *base;		/* buffers, then trash; NULL: not open */
	size_t bytes, size;
	uint32_t n, n_trash;
	bool is_warm;

	struct stack free, trash, full;
	uint32_t next[N_MOST + 1];	/* atomic: the buffer below in its stack */
	uint32_t state[N_MOST + 1];	/* atomic: enum state */
	uint64_t asked[N_MOST + 1];	/* atomic: ticks, when CUPTI got it */
	size_t valid[N_MOST + 1];	/* of full ones */
	uint32_t oldest;	/* drain thread: full ones taken over, the oldest first */

	uint32_t n_held, n_full;	/* atomic */
	uint64_t n_refused, trashed_bytes;	/* atomic */
} buffers;

/* ---- stacks ---- */

static void push(struct stack *stack, uint32_t buffer)
{
	uint64_t head = __atomic_load_n(&stack->head, __ATOMIC_RELAXED);

	do {
		__atomic_store_n(&buffers.next[buffer], (uint32_t)head, __ATOMIC_RELAXED);
		/* Release: whoever pops it sees what was written to it. */
	} while (!__atomic_compare_exchange_n(&stack->head, &head,
					      ((head >> 32) + 1) << 32 | buffer, true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static uint32_t pop(struct stack *stack)
{
	uint64_t head = __atomic_load_n(&stack->head, __ATOMIC_ACQUIRE);
	uint64_t rest;

	do {
		if ((uint32_t)head == NONE)
			return NONE;
		rest = __atomic_load_n(&buffers.next[(uint32_t)head], __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&stack->head, &head, ((head >> 32) + 1) << 32 | rest,
					      true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
	return (uint32_t)head;
}

static bool is_trash(uint32_t buffer)
{
	return buffer > buffers.n;
}

static size_t size_of(uint32_t buffer)
{
	return is_trash(buffer) ? TRASH_SIZE : buffers.size;
}

static uint8_t *memory_of(uint32_t buffer)
{
	if (is_trash(buffer))
		return buffers.base + buffers.n * buffers.size +
		       (buffer - buffers.n - 1) * (size_t)TRASH_SIZE;
	return buffers.base + (buffer - 1) * buffers.size;
}

/* NONE: it is not ours, or not the beginning of one. */
static uint32_t buffer_at(const uint8_t *memory)
{
	size_t at = (size_t)((uintptr_t)memory - (uintptr_t)buffers.base);
	size_t n_own = buffers.n * buffers.size;

	if (!buffers.base || at >= buffers.bytes)
		return NONE;
	if (at < n_own)
		return at % buffers.size ? NONE : (uint32_t)(at / buffers.size) + 1;
	at -= n_own;
	if (at % TRASH_SIZE || at / TRASH_SIZE >= buffers.n_trash)
		return NONE;
	return (uint32_t)(at / TRASH_SIZE) + buffers.n + 1;
}

bool tp_cupti_buffers_are_open(void)
{
	return buffers.base != NULL;
}

bool tp_cupti_buffer_is_own(const uint8_t *memory)
{
	return buffer_at(memory) != NONE;
}

/* ---- CUPTI's side ---- */

void CUPTIAPI tp_cupti_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint32_t got = pop(&buffers.free);

	*max_records = 0;
	if (got == NONE)
		got = pop(&buffers.trash);
	if (got == NONE) {
		__atomic_fetch_add(&buffers.n_refused, 1, __ATOMIC_RELAXED);
		*buffer = NULL;
		*size = 0;
		return;
	}
	__atomic_store_n(&buffers.asked[got], tp_clock_now(), __ATOMIC_RELAXED);
	__atomic_fetch_add(&buffers.n_held, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&buffers.state[got], HELD, __ATOMIC_RELEASE);
	*buffer = memory_of(got);
	*size = size_of(got);
}

static void set_free(uint32_t buffer, size_t n_written)
{
	memset(memory_of(buffer), 0, n_written);
	__atomic_store_n(&buffers.state[buffer], FREE, __ATOMIC_RELAXED);
	push(is_trash(buffer) ? &buffers.trash : &buffers.free, buffer);
}

void CUPTIAPI tp_cupti_buffer_completed(CUcontext context, uint32_t stream, uint8_t *memory,
					size_t size, size_t valid)
{
	uint32_t buffer = buffer_at(memory), held = HELD;

	/* Another tool's, asked for before we registered; or one that came back already. */
	if (buffer == NONE ||
	    !__atomic_compare_exchange_n(&buffers.state[buffer], &held, FULL, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	if (valid > size_of(buffer))
		valid = size_of(buffer);
	if (is_trash(buffer))
		__atomic_fetch_add(&buffers.trashed_bytes, valid, __ATOMIC_RELAXED);
	if (is_trash(buffer) || !valid) {
		set_free(buffer, valid);
	} else {
		buffers.valid[buffer] = valid;
		__atomic_fetch_add(&buffers.n_full, 1, __ATOMIC_RELAXED);
		push(&buffers.full, buffer);
	}
	/* Last: who sees that nothing is held finds it among the full ones. */
	__atomic_fetch_sub(&buffers.n_held, 1, __ATOMIC_RELEASE);
}

/* ---- the drain's side ---- */

/* All that came since, turned round. */
static void take_over(void)
{
	uint64_t head = __atomic_load_n(&buffers.full.head, __ATOMIC_RELAXED);
	uint32_t at;

	while (!__atomic_compare_exchange_n(&buffers.full.head, &head, ((head >> 32) + 1) << 32,
					    true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		;
	for (at = (uint32_t)head; at != NONE;) {
		uint32_t below = __atomic_load_n(&buffers.next[at], __ATOMIC_RELAXED);

		__atomic_store_n(&buffers.next[at], buffers.oldest, __ATOMIC_RELAXED);
		buffers.oldest = at;
		at = below;
	}
}

uint8_t *tp_cupti_buffer_take(size_t *n_bytes)
{
	uint32_t buffer;

	if (buffers.oldest == NONE)
		take_over();
	buffer = buffers.oldest;
	if (buffer == NONE)
		return NULL;
	buffers.oldest = __atomic_load_n(&buffers.next[buffer], __ATOMIC_RELAXED);
	__atomic_fetch_sub(&buffers.n_full, 1, __ATOMIC_RELAXED);
	*n_bytes = buffers.valid[buffer];
	return memory_of(buffer);
}

void tp_cupti_buffer_give(uint8_t *memory)
{
	uint32_t buffer = buffer_at(memory);

	if (buffer != NONE)
		set_free(buffer, buffers.valid[buffer]);
}

/* ---- opening ---- */

int tp_cupti_buffers_open(uint64_t bytes, uint32_t version)
{
	uint8_t *base;

	if (buffers.base)
		return 0;
	buffers.n_trash = version < REFUSES_FROM ? N_TRASH : 0;
	buffers.size = bytes / N_WANTED & ~(size_t)(SIZE_LEAST - 1);
	if (buffers.size < SIZE_LEAST)
		buffers.size = SIZE_LEAST;
	if (buffers.size > SIZE_MOST)
		buffers.size = SIZE_MOST;
	if (buffers.n_trash)
		bytes -= bytes / TRASH_PART;
	buffers.n = (uint32_t)(bytes / buffers.size);
	buffers.bytes = buffers.n * buffers.size + buffers.n_trash * (size_t)TRASH_SIZE;
	base = tp_map_memory(buffers.bytes, MAP_NORESERVE);
	if (base == MAP_FAILED)
		return -ENOMEM;
	buffers.base = base;
	for (uint32_t i = buffers.n + buffers.n_trash; i; i--)
		push(is_trash(i) ? &buffers.trash : &buffers.free, i);
	return 0;
}

void tp_cupti_buffers_warm(void)
{
	size_t n_bytes = buffers.n * buffers.size, page = (size_t)sysconf(_SC_PAGESIZE);

	if (!buffers.base || buffers.is_warm)
		return;
	buffers.is_warm = true;
	if (!madvise(buffers.base, n_bytes, MADV_POPULATE_WRITE))
		return;
	/* Adds nothing, and so is right while CUPTI writes there. */
	for (size_t at = 0; at < n_bytes; at += page)
		__atomic_fetch_or(&buffers.base[at], 0, __ATOMIC_RELAXED);
}

/* ---- figures ---- */

uint32_t tp_cupti_buffers_held(void)
{
	return __atomic_load_n(&buffers.n_held, __ATOMIC_ACQUIRE);
}

uint32_t tp_cupti_buffers_held_since(uint64_t time)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i <= buffers.n + buffers.n_trash; i++)
		n += __atomic_load_n(&buffers.state[i], __ATOMIC_ACQUIRE) == HELD &&
		     __atomic_load_n(&buffers.asked[i], __ATOMIC_RELAXED) <= time;
	return n;
}

uint32_t tp_cupti_buffers_full(void)
{
	return __atomic_load_n(&buffers.n_full, __ATOMIC_ACQUIRE);
}

uint64_t tp_cupti_buffers_refused(void)
{
	return __atomic_load_n(&buffers.n_refused, __ATOMIC_RELAXED);
}

uint64_t tp_cupti_buffers_trashed_bytes(void)
{
	return __atomic_load_n(&buffers.trashed_bytes, __ATOMIC_RELAXED);
}

void tp_cupti_buffers_forked(void)
{
	/* The mapping stays: what the parent's CUPTI left behind may point into it. */
	memset(&buffers, 0, sizeof(buffers));
}
