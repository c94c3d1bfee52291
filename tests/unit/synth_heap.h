/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synth_heap.h - records of host memory as a training makes them, from a seed: for tests and
 * benchmarks
 *
 * A program goes through a loop of call sites, each with its stack and its size; now and then
 * a site is new, and its frames come first, native ones, Python's, and both joined. A block of a size
 * is given out again that was freed last; most blocks live for a few events, some for long. Shaped
 * after a small transformer on a CPU: about 0.13 frames an event, 1 event in 4 not like the last
 * time its site was met.
 */
#ifndef TP_TESTS_SYNTH_HEAP_H
#define TP_TESTS_SYNTH_HEAP_H

#include "tests/unit/synth_events.h"

enum {
	SYNTH_HEAP_SITES = 900,
	SYNTH_HEAP_LIVE = 20000,
	SYNTH_HEAP_SIZES = 96,
	SYNTH_HEAP_FREED = 64,
};

struct synth_heap {
	struct synth synth;	/* its source of random numbers, and where records go */
	uint32_t next_stack, at;
	uint32_t frame_share;	/* of 1000 events, how many are at a new site */
	uint64_t end;
	struct {
		uint32_t stack, size;
	} site[SYNTH_HEAP_SITES];
	uint32_t n_live;
	struct {
		uint64_t address;
		uint32_t size;
	} live[SYNTH_HEAP_LIVE];
	uint64_t freed[SYNTH_HEAP_SIZES][SYNTH_HEAP_FREED];
	uint32_t n_freed[SYNTH_HEAP_SIZES];
};

static inline uint32_t synth_heap_bytes(uint32_t size)
{
	return 24 + size * size * 8;
}

static inline struct tp_rec *synth_heap_next(struct synth_heap *heap, uint8_t kind)
{
	struct tp_rec *rec = synth_next(&heap->synth);

	rec->time = heap->synth.now;
	rec->kind = kind;
	return rec;
}

static inline void synth_heap_frame(struct synth_heap *heap, uint32_t outer, uint8_t flags,
				    uint32_t name, uint64_t arg)
{
	struct tp_rec *rec = synth_heap_next(heap, TP_REC_FRAME);

	rec->flags = flags;
	rec->name = name;
	rec->link = heap->next_stack++;
	rec->arg = arg;
	tp_rec_set_len(rec, outer);
}

/* A stack that shares its outer frames with an older one. */
static inline void synth_heap_site(struct synth_heap *heap, uint32_t i)
{
	uint64_t r = synth_random(&heap->synth);
	uint32_t outer = heap->next_stack > 40 ? heap->next_stack - 1 - (uint32_t)(r % 40) : 0;
	uint32_t n = 1 + (uint32_t)(r >> 8) % 8, python, native;

	for (uint32_t k = 0; k < n; k++, outer = heap->next_stack - 1)
		synth_heap_frame(heap, outer, 0, 0,
				 0x7f0000400000 + synth_trait((uint32_t)(r >> 16) % 300, k) % 9000 * 5);
	native = heap->next_stack - 1;
	if (r % 5 == 0) {
		synth_heap_frame(heap, 0, TP_FRAME_PYTHON | TP_FRAME_ENTRY,
				 1 + (uint32_t)(r >> 30) % 50, (r >> 36) % 900);
		python = heap->next_stack - 1;
		synth_heap_frame(heap, native, TP_FRAME_JOINED, 0, python);
	}
	heap->site[i].stack = heap->next_stack - 1;
	heap->site[i].size = (uint32_t)((r >> 44) % SYNTH_HEAP_SIZES * ((r >> 52) % SYNTH_HEAP_SIZES)) /
			     SYNTH_HEAP_SIZES;
}

static inline void synth_heap_init(struct synth_heap *heap, uint64_t seed)
{
	memset(heap, 0, sizeof(*heap));
	synth_init(&heap->synth, seed);
	heap->next_stack = 1;
	heap->frame_share = 30;
	heap->end = 0x5581c0000000;
}

static inline void synth_heap_alloc(struct synth_heap *heap, uint8_t flags)
{
	uint64_t r = synth_random(&heap->synth);
	uint32_t i, size;
	struct tp_rec *rec;
	uint64_t address;

	/* On to the next site, mostly. */
	heap->at = r % 8 ? (heap->at + 1) % SYNTH_HEAP_SITES : (r >> 4) % SYNTH_HEAP_SITES;
	i = heap->at;
	if (!heap->site[i].stack || (r >> 20) % 1000 < heap->frame_share)
		synth_heap_site(heap, i);
	size = (r >> 30) % 12 ? heap->site[i].size : (r >> 34) % SYNTH_HEAP_SIZES;
	if (heap->n_freed[size]) {
		address = heap->freed[size][--heap->n_freed[size]];
	} else {
		address = heap->end;
		heap->end += (synth_heap_bytes(size) + 8 + 15) & ~15u;
	}
	rec = synth_heap_next(heap, TP_REC_HEAPALLOC);
	rec->flags = flags;
	rec->link = heap->site[i].stack;
	rec->arg = address;
	tp_rec_set_len(rec, synth_heap_bytes(size));
	heap->live[heap->n_live].address = address;
	heap->live[heap->n_live++].size = size;
}

static inline void synth_heap_free(struct synth_heap *heap, uint8_t flags)
{
	uint64_t r = synth_random(&heap->synth);
	/* The newest ones, and one in twenty whichever. */
	uint32_t age = (uint32_t)((r >> 8) % 20 ? (r >> 16) % 6 * ((r >> 20) % 6) : r >> 40);
	uint32_t i = heap->n_live - 1 - age % heap->n_live, size = heap->live[i].size;
	struct tp_rec *rec = synth_heap_next(heap, TP_REC_HEAPFREE);

	rec->flags = flags;
	rec->arg = heap->live[i].address;
	if (heap->n_freed[size] < SYNTH_HEAP_FREED)
		heap->freed[size][heap->n_freed[size]++] = heap->live[i].address;
	memmove(&heap->live[i], &heap->live[i + 1], (heap->n_live - 1 - i) * sizeof(heap->live[0]));
	heap->n_live--;
}

/* n records. */
static inline void synth_heap_make(struct synth_heap *heap, struct tp_rec *rec, uint32_t n)
{
	heap->synth.rec = rec;
	heap->synth.n = 0;
	heap->synth.cap = n;
	while (heap->synth.n < n) {
		uint64_t r = synth_random(&heap->synth);

		heap->synth.now += (uint64_t)(90 * exp(0.9 * synth_normal(&heap->synth)));
		if (heap->n_live == SYNTH_HEAP_LIVE || (heap->n_live && r % 100 < 48)) {
			synth_heap_free(heap, 0);
		} else if (r % 5000 == 0) {
			struct tp_rec *map = synth_heap_next(heap, (r >> 20) % 2 ? TP_REC_MAP : TP_REC_UNMAP);

			map->name = map->kind == TP_REC_MAP ? 51 : 0;
			map->link = heap->site[heap->at].stack;
			map->arg = 0x7f2000000000 + ((r >> 24) % 4096 << 12);
			tp_rec_set_len(map, 1 << 20);
		} else if (heap->n_live && r % 60 == 0) {
			synth_heap_free(heap, TP_F_MOVED);
			synth_heap_alloc(heap, TP_F_MOVED);
		} else {
			synth_heap_alloc(heap, 0);
		}
	}
}

#endif
