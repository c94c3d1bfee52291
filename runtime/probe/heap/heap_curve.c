/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_curve.c - host memory alive, its peak since the last sample, calls and bytes a second
 */
#include "runtime/probe/heap/heap_curve.h"

#include "runtime/base/clock.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/heap/heap_count.h"
#include "runtime/probe/host/host_counter.h"
#include "runtime/trace/counter_names.h"

enum value { LIVE, PEAK, ALLOCATIONS, FREES, BYTES, N_VALUES };

static const struct {
	const char *name, *unit, *group;
} value_text[N_VALUES] = {
	[LIVE] = { TP_COUNTER_HEAP_LIVE, "B", "memory" },
	[PEAK] = { "heap peak", "B", "memory" },
	[ALLOCATIONS] = { "heap allocations", "1/s", "heap" },
	[FREES] = { "heap frees", "1/s", "heap" },
	[BYTES] = { "heap allocated", "B/s", "heap" },
};

static struct {
	struct tp_host_counter value[N_VALUES];
	uint32_t generation;	/* of the ring that the names were interned in */
	uint64_t base_ns;	/* 0: none */
	struct tp_heap_totals base;
} curve;

static void record(uint64_t now, enum value which, int64_t value)
{
	struct tp_host_counter *counter = &curve.value[which];

	if (!counter->name)
		counter->name = tp_host_counter_name("", value_text[which].name,
						     value_text[which].unit,
						     value_text[which].group);
	tp_host_counter_record(counter, now, 0, value);
}

static int64_t rate(uint64_t before, uint64_t after, uint64_t ns)
{
	return (int64_t)((double)(after - before) * 1e9 / (double)ns);
}

void tp_heap_curve_sample(uint64_t now, uint32_t pause_ms)
{
	uint64_t now_ns = tp_clock_mono_ns(), ns = now_ns - curve.base_ns;
	struct tp_heap_totals sum;
	int64_t live, peak;

	if (!tp_ring.head)
		return;
	if (curve.generation != tp_ring.generation) {
		for (int i = 0; i < N_VALUES; i++)
			curve.value[i].name = 0;
		curve.generation = tp_ring.generation;
	}
	tp_heap_totals(&sum);
	peak = tp_heap_take_recent_peak();
	if (tp_heap_get_mode() & TP_HEAP_LIVE) {
		live = sum.live > 0 ? sum.live : 0;
		record(now, LIVE, live);
		record(now, PEAK, peak > live ? peak : live);
	}
	if (curve.base_ns && ns < pause_ms * 1000000ull && ns) {
		record(now, ALLOCATIONS, rate(curve.base.allocs, sum.allocs, ns));
		record(now, FREES, rate(curve.base.frees, sum.frees, ns));
		record(now, BYTES, rate(curve.base.bytes, sum.bytes, ns));
	}
	curve.base = sum;
	curve.base_ns = now_ns;
}

void tp_heap_curve_forked(void)
{
	curve.base_ns = 0;
}
