/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_decode.c - what a launch costs the drain thread before it is in the ring: its API record
 * and its kernel record, read, named, timed and stored; beside it the floor, a walk over the same
 * buffer that stores as many records with two members of each
 *
 * usage: cupti_decode
 *
 * A step as of a GPT: 1,200 launches of 60 kernels, each in some shapes. Passes over one buffer
 * are measured in turn with passes of the floor; medians, and the middle half of the passes.
 */
#include <stdlib.h>
#include <time.h>

#include "runtime/engine/intern.h"
#include "runtime/probe/gpu/cupti_clock.h"
#include "runtime/probe/gpu/cupti_decode.h"
#include "tests/unit/cupti_records.h"
#include "tests/unit/ring_rig.h"

enum { LAUNCHES = 9600, STEP = 1200, KERNELS = 60, PASSES = 400, GOAL_NS = 60 };

static char name[KERNELS][200];
static struct tp_arena arena;
static double ns_per_tick;

static void fill(void)
{
	uint64_t now = tp_clock_real_ns() - 90000000;	/* between two readings */

	for (int i = 0; i < KERNELS; i++)
		snprintf(name[i], sizeof(name[i]),
			 "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_add"
			 "IfEESt5arrayIPcLm3EEEEviT0_T1_%0*d", 40 + i, i);
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		uint32_t at = i % STEP * 7;
		CUpti_ActivityKernel10 *kernel;

		add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, i, now, now + 3000);
		kernel = add_kernel(name[at % KERNELS], i, now + 9000, now + 12345);
		kernel->gridX = (int32_t)(1 + at % 400);
		kernel->streamId = 7 + at % 3;
		now += 4000;
	}
}

static uint32_t take(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	return n;
}

static void drain(void)
{
	tp_ring_take(take, NULL);
	tp_ring_release(0, 0);
}

static double decode(uint64_t *made)
{
	static const struct tp_cupti_wanted wanted = {.begin = 1, .has_window = true};
	struct tp_cupti_batch batch = {records_buffer, records_bytes, 0};
	uint64_t begin = tp_clock_now(), end, before = tp_cupti_counts[TP_REC_KERNEL].emitted;

	while (!tp_cupti_decode(&batch, &wanted, UINT32_MAX))
		;
	end = tp_clock_now();
	*made = tp_cupti_counts[TP_REC_KERNEL].emitted - before;
	drain();
	return (double)(end - begin) * ns_per_tick / LAUNCHES;
}

/* The same steps, and as many records stored. */
static double walk(void)
{
	uint64_t begin = tp_clock_now(), end;
	CUpti_Activity *record = NULL;

	while (next_record(records_buffer, records_bytes, &record) == CUPTI_SUCCESS) {
		struct tp_rec *rec = tp_ring_reserve();

		memset(rec, 0, sizeof(*rec));
		memcpy(&rec->time, (uint8_t *)record + 16, 8);
		memcpy(&rec->arg, (uint8_t *)record + 32, 8);
		tp_ring_commit();
	}
	end = tp_clock_now();
	drain();
	return (double)(end - begin) * ns_per_tick / LAUNCHES;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void show(const char *what, double *ns)
{
	qsort(ns, PASSES, sizeof(ns[0]), compare);
	printf("%-30s %5.1f ns a launch [%.1f - %.1f]\n", what, ns[PASSES / 2], ns[PASSES / 4],
	       ns[PASSES / 4 * 3]);
}

int main(void)
{
	static double ours[PASSES], least[PASSES];
	struct tp_clock_anchor a, b;
	uint64_t made = 0;

	rig_make_dir();
	tp_clock_init(TP_CLOCK_AUTO);
	if (rig_open_ring(32 << 20) || tp_arena_init(&arena, 32 << 20) || tp_intern_init(&arena) ||
	    tp_cupti_decode_init(RECORDS_VERSION))
		return 1;
	tp_cupti.cuptiActivityGetNextRecord = next_record;
	tp_cupti.cuptiGetCallbackName = callback_name;
	tp_cupti_clock_read();
	tp_clock_take_anchor(&a);
	usleep(100000);
	tp_clock_take_anchor(&b);
	tp_cupti_clock_read();
	ns_per_tick = (double)(b.mono_ns - a.mono_ns) / (double)(b.ticks - a.ticks);
	fill();
	for (int i = 0; i < PASSES; i++) {
		ours[i] = decode(&made);
		least[i] = walk();
		if (made != LAUNCHES)
			return 1;
	}
	show("read, named, timed, stored", ours);
	show("floor: walked, stored", least);
	printf("%-30s %5.1f ns, goal %d%s\n", "ours", ours[PASSES / 2], GOAL_NS,
	       ours[PASSES / 2] <= GOAL_NS ? "" : "   MISSED");
	rig_remove_dir();
	return 0;
}
