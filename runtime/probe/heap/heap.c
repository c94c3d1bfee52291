/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.c - the probe of host memory: modes, counters over time, totals for the trace
 */
#include "runtime/probe/heap/heap.h"

#include <errno.h>

#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/probe/heap/heap_count.h"
#include "runtime/probe/heap/heap_curve.h"
#include "runtime/probe/heap/heap_event.h"
#include "runtime/probe/heap/heap_sample.h"
#include "runtime/probe/python/pystack.h"
#include "runtime/probe/stack/stack.h"

enum {
	ARMED_MODES = TP_HEAP_EVENTS | TP_HEAP_CHOSEN | TP_HEAP_WITH_STACKS,
	MOST_THREADS = 16,	/* that a report lists */
	PAUSE_PERIODS = 10,	/* without a sample: what came before is no base for a rate */
};

static struct {
	const char *off;	/* why nothing is seen; NULL: counting */
	const char *live_off;	/* why bytes alive are not */
	const char *new_off;	/* why blocks of C++ are not */
	uint32_t armed_mode;	/* what is added to the mode in a window */
	uint32_t period_ms;	/* of the curve; 0: none */
} heap;

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

void tp_heap_set_new_off(const char *why)
{
	heap.new_off = why;
}

void tp_heap_stop_live(void)
{
	tp_heap_change_mode(0, TP_HEAP_LIVE);
}

/* ---- the probe ---- */

static void open_events(const struct tp_config *config)
{
	heap.armed_mode = TP_HEAP_EVENTS;
	if (config->heap == TP_HEAP_SAMPLE) {
		if (!tp_heap_sample_open(config->heap_sample)) {
			tp_probe_off("heap.events", "no memory for the table of chosen blocks");
			heap.armed_mode = 0;
			return;
		}
		heap.armed_mode |= TP_HEAP_CHOSEN;
	}
	if (config->stacks & TP_STACKS_HEAP) {
		tp_stack_open(config->stacks & TP_STACKS_NATIVE,
			      config->stacks & TP_STACKS_PYTHON ? &tp_pystack_frames : NULL);
		heap.armed_mode |= TP_HEAP_WITH_STACKS;
	}
}

static int open_heap(const struct tp_config *config)
{
	heap.armed_mode = 0;
	heap.period_ms = 0;
	if (heap.off) {
		tp_probe_off("heap", heap.off);
		return -ENOTSUP;
	}
	if (heap.live_off && config->heap >= TP_HEAP_COUNTERS)
		tp_probe_off("heap.live", heap.live_off);
	if (heap.new_off && config->heap >= TP_HEAP_COUNTERS)
		tp_probe_off("heap.new", heap.new_off);
	if (config->heap >= TP_HEAP_COUNTERS &&
	    config->record & (TP_RECORD_HOST | TP_RECORD_HEAP))
		heap.period_ms = (uint32_t)config->host_period_ms;
	if (config->heap >= TP_HEAP_SAMPLE && config->record & TP_RECORD_HEAP)
		open_events(config);
	return 0;
}

/* On the drain thread: what it allocates and maps is not the program's. */
static void warm_heap(void)
{
	tp_heap_self.is_quiet = true;
}

static void arm_heap(void)
{
	if (heap.armed_mode & TP_HEAP_CHOSEN)
		tp_heap_sample_begin();
	tp_heap_change_mode(heap.armed_mode, 0);
}

static void disarm_heap(void)
{
	tp_heap_change_mode(0, ARMED_MODES);
}

static uint64_t get_live(void)
{
	int64_t live = tp_heap_get_mode() & TP_HEAP_LIVE ? tp_heap_live() : 0;

	return live > 0 ? (uint64_t)live : 0;
}

static uint32_t get_period_ms(void)
{
	return heap.period_ms;
}

static void tick_heap(uint64_t now)
{
	tp_heap_curve_sample(now, PAUSE_PERIODS * heap.period_ms);
	if (heap.armed_mode & TP_HEAP_WITH_STACKS)
		tp_stack_tick();
}

static void report_live(struct tp_text *totals, const struct tp_heap_totals *sum)
{
	struct tp_heap_thread thread[MOST_THREADS];
	uint32_t n = tp_heap_threads(thread, MOST_THREADS);
	int64_t peak = tp_heap_peak();

	tp_text_fmt(totals, "heap.live=%ld\nheap.peak=%ld\nheap.peak_error=%lu\n",
		    (long)(sum->live > 0 ? sum->live : 0),
		    (long)(peak > sum->live ? peak : sum->live),
		    (unsigned long)sum->n_slots * TP_HEAP_TELL_BYTES);
	/* tid, allocations, frees, bytes alive, their peak */
	for (uint32_t i = 0; i < n; i++)
		tp_text_fmt(totals, "heap.thread.%u=%u,%lu,%lu,%ld,%ld\n", i, thread[i].tid,
			    (unsigned long)thread[i].allocs, (unsigned long)thread[i].frees,
			    (long)thread[i].live, (long)thread[i].peak);
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
	if (tp_heap_get_mode() & TP_HEAP_LIVE)
		report_live(totals, &sum);
	if (heap.armed_mode)
		tp_text_fmt(totals, "heap.nested=%lu\n", (unsigned long)tp_heap_nested());
	if (heap.armed_mode & TP_HEAP_CHOSEN)
		tp_text_fmt(totals, "heap.sample_bytes=%lu\nheap.sample_no_room=%lu\n",
			    (unsigned long)tp_heap_sample_mean(),
			    (unsigned long)tp_heap_sample_no_room());
	if (heap.armed_mode & TP_HEAP_WITH_STACKS)
		tp_stack_report(totals);
}

static void forget_parent(void)
{
	disarm_heap();
	tp_heap_self.is_quiet = false;
	tp_heap_sample_forked();
	tp_heap_curve_forked();
	tp_stack_forked();
}

const struct tp_probe tp_heap_probe = {
	.name = "heap",
	.open = open_heap,
	.warm = warm_heap,
	.arm = arm_heap,
	.disarm = disarm_heap,
	.live = get_live,
	.period_ms = get_period_ms,
	.tick = tick_heap,
	.report = report_heap,
	.forked = forget_parent,
	.close = disarm_heap,
};
