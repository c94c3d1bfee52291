/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synth_events.h - events as a training makes them, from a seed: for tests and benchmarks
 *
 * Every step repeats one program of nested operators with log-normal times around a mean
 * for each operator, memory is allocated inside leaves and freed a little or much later,
 * and addresses are used again as an allocator would. Shaped after traces of a small GPT on
 * a CPU: about 4,900 operators nested 1 to 4 deep and 3,400 memory events a step.
 */
#ifndef TP_TESTS_SYNTH_EVENTS_H
#define TP_TESTS_SYNTH_EVENTS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/trace/trainprof_trace.h"

enum { SYNTH_OPS = 120, SYNTH_TOP_OPS = 640, SYNTH_LIVE = 4096, SYNTH_STEP_MAX = 16384 };

struct synth {
	uint64_t random;
	uint64_t now;
	uint64_t step;
	uint64_t heap_end;
	uint32_t sequence;
	uint32_t n_live, n_freed;
	uint32_t keep; /* blocks that stay live: more up to half of the step, then fewer */
	struct synth_block {
		uint64_t address;
		uint32_t bytes;
	} live[SYNTH_LIVE], freed[SYNTH_LIVE];
	struct tp_rec *rec; /* where the next one goes */
	uint32_t n, cap;
};

static inline uint64_t synth_random(struct synth *synth)
{
	synth->random ^= synth->random << 13;
	synth->random ^= synth->random >> 7;
	synth->random ^= synth->random << 17;
	return synth->random;
}

static inline double synth_uniform(struct synth *synth)
{
	return (double)(synth_random(synth) >> 11) * 0x1p-53;
}

static inline double synth_normal(struct synth *synth)
{
	return sqrt(-2 * log(synth_uniform(synth) + 1e-300)) *
	       cos(6.283185307179586 * synth_uniform(synth));
}

/* The same for the same operator in every step and run: what the program is. */
static inline uint32_t synth_trait(uint32_t op, uint32_t trait)
{
	uint64_t h = (op * 64ull + trait + 1) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)((h ^ h >> 29) * 0xbf58476d1ce4e5b9ull >> 33);
}

static inline void synth_init(struct synth *synth, uint64_t seed)
{
	memset(synth, 0, sizeof(*synth));
	synth->random = 88172645463325252ull + seed * 7919;
	synth->now = 1000000000ull + seed * 12345;
	synth->heap_end = 0x7f0000000000ull;
}

static inline struct tp_rec *synth_next(struct synth *synth)
{
	static struct tp_rec nowhere;
	struct tp_rec *rec = synth->n < synth->cap ? &synth->rec[synth->n++] : &nowhere;

	memset(rec, 0, sizeof(*rec));
	return rec;
}

static inline void synth_alloc(struct synth *synth, uint32_t bytes)
{
	struct synth_block block = {.bytes = bytes};
	struct tp_rec *rec;

	if (synth->n_live == SYNTH_LIVE)
		return;
	/* The newest block of this size that was freed, within reason. */
	for (uint32_t i = 0; i < synth->n_freed && i < 256 && !block.address; i++) {
		struct synth_block *old = &synth->freed[synth->n_freed - 1 - i];

		if (old->bytes == bytes && synth_random(synth) % 4) {
			block = *old;
			memmove(old, old + 1, i * sizeof(*old));
			synth->n_freed--;
		}
	}
	if (!block.address) {
		block.address = synth->heap_end;
		synth->heap_end += (bytes + 127) & ~63u;
	}
	synth->live[synth->n_live++] = block;
	rec = synth_next(synth);
	*rec = (struct tp_rec){.time = synth->now,
			       .kind = TP_REC_ALLOC,
			       .link = TP_DEVICE_CPU,
			       .arg = block.address};
	tp_rec_set_len(rec, bytes);
}

static inline void synth_free(struct synth *synth, uint32_t age)
{
	struct synth_block *block;
	struct tp_rec *rec;

	if (age >= synth->n_live)
		return;
	block = &synth->live[synth->n_live - 1 - age];
	rec = synth_next(synth);
	*rec = (struct tp_rec){.time = synth->now,
			       .kind = TP_REC_FREE,
			       .link = TP_DEVICE_CPU,
			       .arg = block->address};
	tp_rec_set_len(rec, block->bytes);
	if (synth->n_freed == SYNTH_LIVE) {
		memmove(synth->freed, synth->freed + SYNTH_LIVE / 2,
			sizeof(synth->freed) / 2);
		synth->n_freed /= 2;
	}
	synth->freed[synth->n_freed++] = *block;
	memmove(block, block + 1, age * sizeof(*block));
	synth->n_live--;
}

static inline void synth_op(struct synth *synth, uint32_t op, uint32_t depth)
{
	double mean =
	    2000 * exp(0.9 * ((double)(synth_trait(op, 0) % 2000) / 1000 - 1) * 1.7);
	uint32_t inner =
	    depth < 4 ? (synth_trait(op, 1) % 7) * (synth_trait(op, 1) % 7) / 8 : 0;
	bool is_grad = synth_trait(op, 2) % 3 == 0;
	uint64_t begin = synth->now;
	struct tp_rec *rec;

	synth->now += 150 + synth_random(synth) % 64;
	synth->sequence += is_grad && depth == 1;
	for (uint32_t i = 0; i < inner; i++)
		synth_op(synth, synth_trait(op, 8 + i) % SYNTH_OPS, depth + 1);
	if (!inner && synth_trait(op, 3) % 5 < 2)
		synth_alloc(synth, 4u << (synth_trait(op, 4) % 18));
	synth->now += (uint64_t)(mean * exp(0.15 * synth_normal(synth)));
	for (uint32_t i = 0; i < 2 && synth->n_live > synth->keep; i++)
		synth_free(synth, synth_trait(op, 6) % 4 * i);
	rec = synth_next(synth);
	*rec = (struct tp_rec){
	    .time = begin,
	    .kind = TP_REC_OP,
	    .name = 1 + op,
	    .link = is_grad ? synth->sequence : TP_NO_SEQ,
	    .arg = TP_ARG_OP(0, 0, synth_trait(op, 7) % 2),
	};
	tp_rec_set_len(rec, synth->now - begin);
	synth->now += 100 + synth_random(synth) % 200;
}

/* One step's records of one thread, in the order of recording. Returns how many. */
static inline uint32_t synth_step(struct synth *synth, struct tp_rec *out, uint32_t cap)
{
	uint64_t begin = synth->now;
	struct tp_rec *rec;

	synth->rec = out;
	synth->n = 0;
	synth->cap = cap - 1;
	for (uint32_t i = 0; i < SYNTH_TOP_OPS; i++) {
		synth->keep = (i < SYNTH_TOP_OPS / 2 ? i : SYNTH_TOP_OPS - i) / 2;
		synth_op(synth, synth_trait(i % 97, 60) % SYNTH_OPS, 1);
	}
	synth->cap++;
	rec = synth_next(synth);
	*rec = (struct tp_rec){
	    .time = begin,
	    .kind = TP_REC_STEP,
	    .name = SYNTH_OPS + 1,
	    .link = (uint32_t)synth->step,
	    .arg = synth->step,
	};
	tp_rec_set_len(rec, synth->now - begin);
	synth->step++;
	synth->now += 200000 + synth_random(synth) % 65536;
	return synth->n;
}

#endif
