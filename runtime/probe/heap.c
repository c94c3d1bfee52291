/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.c - the probe of host memory: modes, counters over time, totals for the trace
 */
#include "runtime/probe/heap.h"

#include <errno.h>

#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/config.h"
#include "runtime/probe/heap_count.h"

static struct {
	const char *off;	/* why nothing is seen; NULL: counting */
	const char *live_off;	/* why bytes alive are not */
	uint32_t armed_mode;	/* what is added to the mode in a window */
} heap;

static void set_mode(uint32_t add, uint32_t remove)
{
	/* The few who write it: constructor, step boundaries. Never two at once. */
	__atomic_store_n(&tp_heap_mode, (tp_heap_get_mode() & ~remove) | add, __ATOMIC_RELEASE);
}

void tp_heap_set_off(const char *why)
{
	heap.off = why;
	tp_heap_stop_live();
}

void tp_heap_set_live_off(const char *why)
{
	heap.live_off = why;
	tp_heap_stop_live();
}

void tp_heap_stop_live(void)
{
	set_mode(0, TP_HEAP_LIVE);
}

/* ---- the probe ---- */

static int open_heap(const struct tp_config *config)
{
	heap.armed_mode = 0;
	if (heap.off) {
		tp_probe_off("heap", heap.off);
		return -ENOTSUP;
	}
	if (heap.live_off && config->heap >= TP_HEAP_COUNTERS)
		tp_probe_off("heap.live", heap.live_off);
	if (config->record & TP_RECORD_HEAP && config->heap >= TP_HEAP_SAMPLE)
		heap.armed_mode = TP_HEAP_EVENTS;
	return 0;
}

/* On the drain thread: what it allocates and maps is not the program's. */
static void warm_heap(void)
{
	tp_heap_self.is_profiler = true;
}

static void arm_heap(void)
{
	set_mode(heap.armed_mode, 0);
}

static void disarm_heap(void)
{
	set_mode(0, heap.armed_mode);
}

static void report_heap(struct tp_text *totals)
{
	struct tp_heap_totals sum;

	tp_heap_totals(&sum);
	tp_text_fmt(totals,
		    "heap.allocs=%lu\nheap.frees=%lu\nheap.reallocs=%lu\nheap.bytes=%lu\n"
		    "heap.threads_sharing=%u\n",
		    (unsigned long)sum.allocs, (unsigned long)sum.frees, (unsigned long)sum.reallocs,
		    (unsigned long)sum.bytes, sum.n_sharing);
}

const struct tp_probe tp_heap_probe = {
	.name = "heap",
	.open = open_heap,
	.warm = warm_heap,
	.arm = arm_heap,
	.disarm = disarm_heap,
	.report = report_heap,
	.forked = disarm_heap,
	.close = disarm_heap,
};
