/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapcurve.c - host memory of a process over time, as counters that a viewer can draw
 */
#include "merge/facts/heap/heapcurve.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/model/counter.h"

enum { MS_NS = 1000000, SHOWN_PART = 200 };

static const struct tp_string live_name =
    TP_COUNTER_NAME("host memory (heap)\0B\0memory", TP_COUNTER_HEAP);
static const struct tp_string rate_name =
    TP_COUNTER_NAME("host allocations\0/ms\0memory", TP_COUNTER_HEAP_RATE);

void tp_heapcurve_init(struct tp_heapcurve *curve, const struct tp_run *run, struct tp_hostmem *mem,
		       tp_heapcurve_fn *each, void *ctx)
{
	*curve = (struct tp_heapcurve){.run = run, .mem = mem, .each = each, .ctx = ctx};
}

void tp_heapcurve_fini(struct tp_heapcurve *curve)
{
	free(curve->proc);
	memset(curve, 0, sizeof(*curve));
}

static void give(struct tp_heapcurve *curve, uint32_t proc, const struct tp_string *name,
		 int64_t ns, int64_t value)
{
	struct tp_event counter =
	    tp_counter_at(curve->run->proc[proc], name, 0, ns, (uint64_t)value);

	curve->each(curve->ctx, &counter);
}

static void give_live(struct tp_heapcurve *curve, uint32_t at,
		      const struct tp_heapcurve_value *value)
{
	give(curve, at, &live_name, value->ns, value->bytes);
	curve->proc[at].shown = value->bytes;
}

static bool is_far(int64_t bytes, int64_t from)
{
	int64_t distance = bytes > from ? bytes - from : from - bytes;

	return distance > from / SHOWN_PART;
}

/* The millisecond is over: next_ms is the one that something happened in again. */
static void close_ms(struct tp_heapcurve *curve, uint32_t at, int64_t next_ms)
{
	struct tp_heapcurve_proc *proc = &curve->proc[at];
	const struct tp_heapcurve_value *first = &proc->least, *second = &proc->most;
	uint64_t n_allocs;

	n_allocs = proc->n_now - proc->n_allocs;
	proc->n_allocs = proc->n_now;
	if (n_allocs || proc->is_rate_shown)
		give(curve, at, &rate_name, proc->ms * MS_NS, (int64_t)n_allocs);
	proc->is_rate_shown = n_allocs != 0;
	if (proc->most.ns < proc->least.ns) {
		first = &proc->most;
		second = &proc->least;
	}
	if (is_far(first->bytes, proc->shown) && first->ns < proc->last.ns)
		give_live(curve, at, first);
	if (is_far(second->bytes, proc->shown) && second->ns < proc->last.ns)
		give_live(curve, at, second);
	if (proc->last.bytes != proc->shown)
		give_live(curve, at, &proc->last);
	if (next_ms > proc->ms + 1 && proc->is_rate_shown) {
		give(curve, at, &rate_name, (proc->ms + 1) * MS_NS, 0);
		proc->is_rate_shown = false;
	}
}

static int64_t floor_ms(int64_t ns)
{
	return ns / MS_NS - (ns % MS_NS < 0);
}

void tp_heapcurve_event(struct tp_heapcurve *curve, const struct tp_event *event)
{
	struct tp_heapcurve_proc *proc;
	struct tp_heapcurve_value value = {.ns = event->begin_ns};
	int64_t ms = floor_ms(event->begin_ns);

	if (event->kind != TP_REC_HEAPALLOC && event->kind != TP_REC_HEAPFREE)
		return;
	if (!curve->proc)
		curve->proc = tp_need(curve->run->n_procs, sizeof(curve->proc[0]));
	proc = &curve->proc[event->proc->at];
	if (proc->has_any && ms != proc->ms)
		close_ms(curve, event->proc->at, ms);
	value.bytes = tp_hostmem_live_now(curve->mem, event->proc);
	proc->n_now = tp_hostmem_allocs_now(curve->mem, event->proc);
	if (!proc->has_any || ms != proc->ms) {
		proc->ms = ms;
		proc->least = proc->most = value;
	}
	proc->has_any = true;
	proc->last = value;
	if (value.bytes < proc->least.bytes)
		proc->least = value;
	if (value.bytes > proc->most.bytes)
		proc->most = value;
}

const struct tp_hostmem_proc *tp_heapcurve_end(struct tp_heapcurve *curve, uint32_t *n)
{
	*n = 0;
	if (!curve->proc)
		return NULL;
	for (uint32_t i = 0; i < curve->run->n_procs; i++) {
		if (curve->proc[i].has_any)
			close_ms(curve, i, INT64_MAX);
	}
	return tp_hostmem_procs(curve->mem, n);
}
