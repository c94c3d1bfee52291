/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_heap.c - makes a trace of host memory for the merge's benchmarks: no profiler, no training
 *
 *	gen_heap FOLDER N_EVENTS N_FRAMES [SEED]
 *
 * Blocks of two threads, a hundred thousand alive; stacks some thirty frames deep that share their
 * outer ends, in 300 libraries; a part of them is new with each step, as in a program that
 * goes on to new code. The same arguments give the same bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/trace/writer.h"

enum {
	N_MODULES = 300,
	BATCH = 4096,
	ALIVE = 100000,
	PLACES = 200,		/* of a library */
	NEW_FRAMES = 4,		/* of a new stack, inside an old one */
	TICKS_A_STEP = 200000000,	/* of 1 ns */
};

static struct {
	uint64_t seed, now;
	struct tp_writer writer;
	struct tp_rec rec[2][BATCH];
	uint32_t n[2];
	uint64_t address[ALIVE];
} gen;

static uint32_t random_below(uint32_t n)
{
	gen.seed = gen.seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((gen.seed >> 33) % n);
}

static bool string_of(void *ctx, uint32_t id, uint32_t *kind, const char **bytes, uint32_t *n)
{
	static char text[sizeof(struct tp_module) + 20 + 32];
	struct tp_module module = {
		.bias = 0x7f0000000000ull + id * 0x1000000ull, .build_id_bytes = 20,
	};

	(void)ctx;
	if (!id || id > N_MODULES)
		return false;
	module.begin = module.bias;
	module.end = module.bias + 0x800000;
	memcpy(text, &module, sizeof(module));
	memset(text + sizeof(module), (int)(id & 0xff), 20);
	*n = (uint32_t)(sizeof(module) + 20) +
	     (uint32_t)snprintf(text + sizeof(module) + 20, 32, "/generated/lib%u.so", id);
	*kind = TP_STRING_MODULE;
	*bytes = text;
	return true;
}

static void take_anchor(void)
{
	gen.writer.anchor = (struct tp_clock_anchor){
		.ticks = gen.now, .mono_ns = gen.now,
		.real_ns = 1790000000000000000ull + gen.now, .bracket_ticks = 40,
	};
}

static void drain(uint32_t thread)
{
	take_anchor();
	tp_writer_events(&gen.writer, gen.rec[thread], gen.n[thread], (uint16_t)thread);
	gen.n[thread] = 0;
}

static void record(uint32_t thread, uint8_t kind, uint64_t address, uint64_t len, uint32_t link)
{
	struct tp_rec rec = {.time = gen.now, .kind = kind, .link = link, .arg = address};

	tp_rec_set_len(&rec, len);
	gen.rec[thread][gen.n[thread]++] = rec;
	if (gen.n[thread] == BATCH)
		drain(thread);
}

/* New frames inside a stack that is there already; the number of the innermost. */
static uint32_t new_stack(uint32_t thread, uint32_t *n_stacks)
{
	uint32_t outer = *n_stacks ? 1 + random_below(*n_stacks) : 0;

	for (uint32_t i = 0; i < NEW_FRAMES; i++) {
		uint64_t address = 0x7f0000000000ull + (1 + random_below(N_MODULES)) * 0x1000000ull +
				   random_below(PLACES) * 0x400;

		record(thread, TP_REC_FRAME, address, outer, ++*n_stacks);
		outer = *n_stacks;
	}
	return outer;
}

static void generate(uint64_t n_events, uint64_t n_frames)
{
	uint32_t n_stacks = 0, stack = 0;
	uint64_t step_at = 0, n_steps = 0;

	for (uint64_t i = 0; i < n_events; i++) {
		uint32_t thread = random_below(2), at = random_below(ALIVE);

		gen.now += 10 + random_below(100);
		if (gen.now >= step_at) {
			step_at = gen.now + TICKS_A_STEP;
			record(0, TP_REC_STEP, n_steps, TICKS_A_STEP, (uint32_t)n_steps);
			n_steps++;
		}
		if (gen.address[at]) {
			record(thread, TP_REC_HEAPFREE, gen.address[at], 0, 0);
			gen.address[at] = 0;
			continue;
		}
		if (!n_stacks || n_stacks < n_frames * (i + 1) / n_events)
			stack = new_stack(thread, &n_stacks);
		gen.address[at] = 0x10000 + (uint64_t)at * 4096;
		record(thread, TP_REC_HEAPALLOC, gen.address[at], 16ull << random_below(12),
		       random_below(2) ? stack
					: NEW_FRAMES * (1 + random_below(n_stacks / NEW_FRAMES)));
	}
	drain(0);
	drain(1);
}

int main(int argc, char **argv)
{
	static const char meta[] = "program=file:/generated/train.py\nhost=generated\n";
	struct tp_thread_entry thread[2] = {
		{.slot = 0, .tid = 5000, .flags = 1, .name = "python"},
		{.slot = 1, .tid = 5001, .name = "worker"},
	};
	struct tp_file_head head = {
		.boot_id = {0x1234, 0x5678}, .run_id = 0xabc0, .pid = 5000, .world_size = 1,
		.clock_source = TP_CLOCK_MONOTONIC,
	};
	struct tp_arena arena;
	char path[512];
	int err;

	if (argc < 4) {
		fprintf(stderr, "usage: gen_heap FOLDER N_EVENTS N_FRAMES [SEED]\n");
		return 2;
	}
	gen.seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
	gen.now = 1000000000;
	snprintf(path, sizeof(path), "%s/rank0.0.tpt", argv[1]);
	err = tp_file_make_dirs(argv[1], 0777);
	if (!err)
		err = tp_arena_init(&arena, 64 << 20);
	if (!err)
		err = tp_writer_init(&gen.writer, &arena, N_MODULES + 1, string_of, NULL);
	gen.writer.long_ticks = TP_LONG_NS;
	if (!err) {
		take_anchor();
		err = tp_writer_open(&gen.writer, path, &head, meta, sizeof(meta) - 1);
	}
	if (!err)
		err = tp_writer_threads(&gen.writer, thread, 2);
	for (uint32_t id = 1; id <= N_MODULES && !err; id++)
		err = tp_writer_string(&gen.writer, id);
	if (!err) {
		generate(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
		take_anchor();
		err = tp_writer_close(&gen.writer, "events=1\n", 9);
	}
	if (err)
		fprintf(stderr, "gen_heap: %s\n", strerror(-err));
	return err ? 1 : 0;
}
