/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synth_cuda.h - records of a launch-bound training on a GPU, from a seed, in CUPTI's order
 *
 * Two threads (forward, autograd) launch kernels and copies on four streams, nearly all on one,
 * every step the same program with the times of a device that follows close behind. Runtime
 * calls come in buffers by thread, ordered by their ends; work of the device comes in other
 * buffers, in runs by stream. All of it goes through the drain thread, so through one slot.
 * The clock runs at 2.1 ticks a nanosecond; a device's times come in steps of 32 ns.
 */
#ifndef TP_TESTS_SYNTH_CUDA_H
#define TP_TESTS_SYNTH_CUDA_H

#include <stdlib.h>

#include "tests/unit/synth_events.h"

enum {
	SYNTH_CUDA_STREAMS = 4,
	SYNTH_CUDA_LAUNCHES = 640,	/* of a step */
	SYNTH_CUDA_BUFFER = 1500,	/* launches whose records come together */
	SYNTH_CUDA_KERNELS = 90,	/* names */
	SYNTH_CUDA_MORE = 16,		/* launch configurations of each */
};

struct synth_cuda {
	struct synth synth;
	double now;			/* ns: the host's present */
	double free_at[SYNTH_CUDA_STREAMS];
	uint32_t correlation;
	struct tp_rec call[2][2 * SYNTH_CUDA_BUFFER], work[SYNTH_CUDA_STREAMS][2 * SYNTH_CUDA_BUFFER];
	uint32_t n_call[2], n_work[SYNTH_CUDA_STREAMS];
};

static inline struct tp_rec synth_cuda_span(uint8_t kind, double begin_ns, double len_ns)
{
	struct tp_rec rec = {.time = (uint64_t)(begin_ns * 2.1), .kind = kind};

	tp_rec_set_len(&rec, (uint64_t)((begin_ns + len_ns) * 2.1) - rec.time);
	return rec;
}

static inline double synth_cuda_quantum(double ns)
{
	return (double)((uint64_t)ns / 32 * 32);
}

/* Launch `i` of a step: a call, and what it starts. */
static inline void synth_cuda_launch(struct synth_cuda *cuda, uint32_t i)
{
	struct synth *synth = &cuda->synth;
	uint32_t what = synth_trait(i, 20) % SYNTH_CUDA_KERNELS, thread = i >= SYNTH_CUDA_LAUNCHES / 3;
	uint32_t stream = synth_trait(i, 21) % 40 < 37 ? 0 : synth_trait(i, 21) % 4;
	bool is_copy = synth_trait(i, 22) % 24 == 0, is_sync = synth_trait(i, 23) % 80 == 0;
	double call_ns = (is_copy ? 3500 : 2100) * exp(0.12 * synth_normal(synth));
	double mean = 1200 * exp(0.8 * (synth_trait(what, 24) % 1000) / 250.0);
	struct tp_rec call = synth_cuda_span(TP_REC_CALL, cuda->now, call_ns), work;
	double begin = cuda->now + call_ns + 900 + 300 * synth_uniform(synth);
	uint32_t detail = 1000 + what * SYNTH_CUDA_MORE + synth_trait(i, 25) % SYNTH_CUDA_MORE;

	call.name = is_copy ? 1 : 2;
	call.link = ++cuda->correlation;
	call.arg = TP_ARG_CALL(4711 + thread, 0);
	cuda->call[thread][cuda->n_call[thread]++] = call;
	if (begin < cuda->free_at[stream] + 1000)
		begin = cuda->free_at[stream] + 1000 + 200 * synth_uniform(synth);
	begin = synth_cuda_quantum(begin);
	mean = synth_cuda_quantum(mean * exp(0.03 * synth_normal(synth)));
	work = synth_cuda_span(is_copy ? TP_REC_MEMCPY : TP_REC_KERNEL, begin, mean);
	work.name = is_copy ? 3 + stream : 100 + what;
	work.link = cuda->correlation;
	work.arg = is_copy ? 4096ull << (what % 12) : detail;
	cuda->work[stream][cuda->n_work[stream]++] = work;
	cuda->free_at[stream] = begin + mean;
	cuda->now += call_ns + 900 * exp(0.5 * synth_normal(synth));
	if (is_sync) {
		double end = cuda->free_at[stream] > cuda->now ? cuda->free_at[stream] : cuda->now;

		call = synth_cuda_span(TP_REC_CALL, cuda->now, end + 5000 - cuda->now);
		call.name = 10;
		call.link = ++cuda->correlation;
		call.arg = TP_ARG_CALL(4711 + thread, 0);
		cuda->call[thread][cuda->n_call[thread]++] = call;
		work = synth_cuda_span(TP_REC_SYNC, cuda->now + 500, end + 4000 - cuda->now);
		work.name = 11;
		work.link = cuda->correlation;
		cuda->work[stream][cuda->n_work[stream]++] = work;
		cuda->now = end + 6000;
	}
}

static inline uint32_t synth_cuda_deliver(struct synth_cuda *cuda, struct tp_rec *out)
{
	uint32_t at[SYNTH_CUDA_STREAMS] = {0}, n = 0;
	bool is_more = true;

	for (int t = 0; t < 2; t++) {
		memcpy(out + n, cuda->call[t], cuda->n_call[t] * sizeof(*out));
		n += cuda->n_call[t];
		cuda->n_call[t] = 0;
	}
	/* Runs of a few dozens by stream. */
	while (is_more) {
		is_more = false;
		for (int s = 0; s < SYNTH_CUDA_STREAMS; s++) {
			uint32_t run = cuda->n_work[s] - at[s];

			if (run > 40)
				run = 40;
			memcpy(out + n, cuda->work[s] + at[s], run * sizeof(*out));
			n += run;
			at[s] += run;
			is_more |= at[s] < cuda->n_work[s];
		}
	}
	memset(cuda->n_work, 0, sizeof(cuda->n_work));
	return n;
}

/* About `n` records into out, which has room for n + 4 * SYNTH_CUDA_BUFFER. How many. */
static inline uint32_t synth_cuda(struct tp_rec *out, uint32_t n, uint64_t seed)
{
	struct synth_cuda *cuda = calloc(1, sizeof(*cuda));
	uint32_t made = 0;

	if (!cuda)
		return 0;
	synth_init(&cuda->synth, seed);
	cuda->now = 1e9;
	for (uint32_t i = 0; made < n; i++) {
		synth_cuda_launch(cuda, i % SYNTH_CUDA_LAUNCHES);
		if (i % SYNTH_CUDA_LAUNCHES == 0)
			cuda->now += 400000;
		if (i % SYNTH_CUDA_BUFFER == SYNTH_CUDA_BUFFER - 1)
			made += synth_cuda_deliver(cuda, out + made);
	}
	free(cuda);
	return made;
}

#endif
