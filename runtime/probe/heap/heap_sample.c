/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_sample.c - exponential gaps, and the table of chosen blocks that are alive
 *
 * The table is an array of buckets, one cache line each; an address belongs to one bucket and
 * takes any free place in it by one compare-and-swap. A place of an earlier window is free: each
 * entry has the number of its window beside the address. So a free that is not of a chosen
 * block, which nearly all are, costs one line.
 */
#include "runtime/probe/heap/heap_sample.h"

#include <string.h>
#include <sys/mman.h>

#include "runtime/base/arena.h"
#include "runtime/base/clock.h"

enum {
	BUCKET_BITS = 12,
	PLACES = TP_CACHE_LINE / sizeof(uint64_t),	/* 32 Ki in all, 256 KiB: it should stay in a cache */
	ADDRESS_BITS = 48,	/* of an address that are looked at */
};

static struct {
	uint64_t *place;	/* atomic; 0: free, else address << 16 | window. NULL: not open */
	uint64_t mean;
	uint64_t n_no_room;	/* atomic */
	uint16_t window;	/* atomic, never 0 */
} sample;

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t roll(uint64_t *dice)
{
	uint64_t x = *dice += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/*
 * Exponential without a logarithm (J. von Neumann: Various techniques used in connection with
 * random digits, 1951): how long a run of falling numbers is decides whether its first one is
 * taken; each time it is not, 1 is added.
 */
uint64_t tp_heap_sample_gap(uint64_t *dice, uint64_t mean_bytes)
{
	for (uint64_t whole = 0;; whole += mean_bytes) {
		uint64_t first = roll(dice), last = first, next;
		bool is_odd = true;

		while ((next = roll(dice)) < last) {
			last = next;
			is_odd = !is_odd;
		}
		if (is_odd)
			return whole + (uint64_t)((unsigned __int128)first * mean_bytes >> 64);
	}
}

bool tp_heap_sample_open(uint64_t mean_bytes)
{
	const size_t bytes = ((size_t)TP_CACHE_LINE << BUCKET_BITS);
	void *table;

	if (!sample.place) {
		table = tp_map_memory(bytes, MAP_NORESERVE);
		if (table == MAP_FAILED)
			return false;
		sample.place = table;
	}
	sample.mean = mean_bytes;
	tp_heap_sample_begin();
	return true;
}

uint64_t tp_heap_sample_mean(void)
{
	return sample.place ? sample.mean : 0;
}

uint64_t tp_heap_sample_no_room(void)
{
	return __atomic_load_n(&sample.n_no_room, __ATOMIC_RELAXED);
}

void tp_heap_sample_begin(void)
{
	uint16_t window = __atomic_load_n(&sample.window, __ATOMIC_RELAXED) + 1;

	if (!window) {	/* after 65,535 of them their numbers come again */
		madvise(sample.place, (size_t)TP_CACHE_LINE << BUCKET_BITS, MADV_DONTNEED);
		window = 1;
	}
	__atomic_store_n(&sample.window, window, __ATOMIC_RELAXED);
}

void tp_heap_sample_forked(void)
{
	/* Or parent and child would choose alike. */
	tp_heap_self.dice = 0;
	tp_heap_self.until_sample = 0;
	if (sample.place)
		tp_heap_sample_begin();
}

static uint64_t key_of(const void *block)
{
	return (uint64_t)(uintptr_t)block << (64 - ADDRESS_BITS) |
	       __atomic_load_n(&sample.window, __ATOMIC_RELAXED);
}

static uint64_t *bucket_of(const void *block)
{
	/* Blocks are 16 bytes apart at least. */
	uint64_t hash = ((uint64_t)(uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u;

	return &sample.place[(hash >> (64 - BUCKET_BITS)) * PLACES];
}

static bool take_place(const void *block)
{
	uint64_t *place = bucket_of(block), key = key_of(block);

	for (uint32_t i = 0; i < PLACES; i++) {
		uint64_t seen = __atomic_load_n(&place[i], __ATOMIC_RELAXED);

		while (!seen || (uint16_t)seen != (uint16_t)key)
			if (__atomic_compare_exchange_n(&place[i], &seen, key, true,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
				return true;
	}
	return false;
}

bool tp_heap_sample_keep_back(const void *block)
{
	if (take_place(block))
		return true;
	__atomic_fetch_add(&sample.n_no_room, 1, __ATOMIC_RELAXED);
	return false;
}

/* Whole bytes before the next point, and the byte that it falls into. */
static int64_t draw(struct tp_heap_self *self)
{
	return (int64_t)tp_heap_sample_gap(&self->dice, sample.mean) + 1;
}

bool tp_heap_sample_keep(const void *block)
{
	struct tp_heap_self *self = &tp_heap_self;
	bool is_first = !self->dice;

	if (is_first) {
		/* The thread's first block: it has no gap yet. Any moment and thread its own. */
		self->dice = tp_clock_now() ^ (uint64_t)(uintptr_t)self << 16;
		self->dice |= 1;
		/* What has been taken off already was this block's bytes. */
		self->until_sample += draw(self);
		if (self->until_sample > 0)
			return false;
	}
	/* The process has no memory: it goes on behind the block as if there had been no point. */
	self->until_sample = draw(self);
	return tp_heap_sample_keep_back(block);
}

bool tp_heap_sample_drop(const void *block)
{
	uint64_t *place = bucket_of(block), key = key_of(block);

	for (uint32_t i = 0; i < PLACES; i++)
		if (__atomic_load_n(&place[i], __ATOMIC_RELAXED) == key) {
			__atomic_store_n(&place[i], 0, __ATOMIC_RELAXED);
			return true;
		}
	return false;
}
