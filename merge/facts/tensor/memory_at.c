/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_at.c - moments at the starts and ends of ranges
 *
 * Moments have to come in order of time, before blocks that die later are told: an end is taken when
 * the first event behind it comes, whichever reader gets that first.
 */
#include "merge/facts/tensor/memory_at.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/model/label.h"
#include "runtime/trace/counter_names.h"

struct open_call {
	uint32_t call;		/* in calls */
	int64_t end_ns;
};

/* What a device's allocator said last. */
struct device {
	uint32_t device;
	uint64_t allocated, reserved;
};

struct proc {
	struct tp_moments moments;
	struct device *device;
	uint32_t n_devices, cap_devices;
	struct open_call *open;		/* by end, the last one first */
	uint32_t n_open, cap_open;
	uint64_t *n_calls;		/* by name */
	uint32_t cap_names;
	struct tp_memory_at_process now;
	int64_t last_ns;		/* of the last event */
};

/* What becomes a call's start and end. */
struct kept {
	struct tp_memory_at_call call;
	uint32_t start, end;		/* moments */
};

struct tp_memory_at {
	const struct tp_run *run;
	const char *asked;		/* NULL: all ranges */
	char recorded[400 + 1];		/* what the run itself asks for */
	struct tp_names *names;
	struct proc *proc;		/* by tp_proc.at */
	struct kept *kept;
	uint32_t n_kept, cap_kept;
	struct tp_memory_at_call *call;	/* after the end */
	bool has_tensors;
};

/* ---- moments ---- */

/* Ends that lie before `now`, or at it. */
static void take_ends(struct tp_memory_at *at, struct proc *proc, int64_t now)
{
	while (proc->n_open && proc->open[proc->n_open - 1].end_ns <= now) {
		const struct open_call *open = &proc->open[--proc->n_open];
		struct kept *kept = &at->kept[open->call];

		/* Blocks that outlive the window are told up to its end: one that ends there has them. */
		kept->end = tp_moments_add(&proc->moments,
					   now == INT64_MAX ? proc->last_ns : open->end_ns);
		kept->call.end.process = proc->now;
		kept->call.end.ns = open->end_ns;
	}
}

static void take_live(void *ctx, const struct tp_event *event, uint32_t device, int64_t bytes)
{
	struct tp_memory_at *at = ctx;

	at->has_tensors = true;
	take_ends(at, &at->proc[event->proc->at], event->begin_ns);
}

static void take_life(void *ctx, const struct tp_life *life)
{
	struct tp_memory_at *at = ctx;
	struct proc *proc = &at->proc[life->proc->at];

	take_ends(at, proc, life->end_ns);
	tp_moments_life(&proc->moments, life);
}

/* Nothing comes behind the last ones' ends. */
static void end_of_window(void *ctx, uint32_t of_proc)
{
	struct tp_memory_at *at = ctx;

	take_ends(at, &at->proc[of_proc], INT64_MAX);
}

/* ---- ranges ---- */

static bool has_part(const char *text, const char *part, size_t n)
{
	for (; *text; text++)
		if (!strncasecmp(text, part, n))
			return true;
	return false;
}

static bool is_asked(const struct tp_memory_at *at, const char *name)
{
	const char *part = at->asked;
	size_t n;

	if (!part)
		return true;
	for (;; part += n + 1) {
		n = strcspn(part, ",");
		if (n && has_part(name, part, n))
			return true;
		if (!part[n])
			return false;
	}
}

static void add_open(struct proc *proc, struct open_call open)
{
	uint32_t i = proc->n_open++;

	for (; i && proc->open[i - 1].end_ns < open.end_ns; i--)
		proc->open[i] = proc->open[i - 1];
	proc->open[i] = open;
}

static void take_range(struct tp_memory_at *at, struct proc *proc, const struct tp_event *event)
{
	const uint32_t row = tp_names_row(at->names, event);
	struct kept *kept;

	/* A worker's are not its rank's. */
	if (event->proc->worker || row == TP_NO_NAME || event->flags & (TP_F_EARLY | TP_F_OPEN) ||
	    !is_asked(at, tp_names_at(at->names, row)->bytes))
		return;
	if (!tp_grow(&at->kept, &at->cap_kept, (uint64_t)at->n_kept + 1, sizeof(*at->kept)) ||
	    !tp_grow(&proc->open, &proc->cap_open, (uint64_t)proc->n_open + 1, sizeof(*proc->open)) ||
	    !tp_grow(&proc->n_calls, &proc->cap_names, (uint64_t)row + 1, sizeof(*proc->n_calls)))
		tp_need_failed();
	kept = &at->kept[at->n_kept];
	*kept = (struct kept){
		.call = {.proc = event->proc, .name = row, .number = ++proc->n_calls[row],
			 .start = {.ns = event->begin_ns, .process = proc->now}},
		.start = tp_moments_add(&proc->moments, event->begin_ns),
	};
	add_open(proc, (struct open_call){.call = at->n_kept++, .end_ns = event->end_ns});
}

/* ---- what the kernel says ---- */

static uint64_t counted(const struct tp_event *event)
{
	double value;

	if (!(event->flags & TP_F_DOUBLE))
		return event->arg;
	memcpy(&value, &event->arg, sizeof(value));
	return value > 0 ? (uint64_t)value : 0;
}

static void take_counter(struct proc *proc, const struct tp_event *event)
{
	const char *name = event->name->bytes;
	uint64_t *of = !strcmp(name, TP_COUNTER_RSS)	   ? &proc->now.rss
		       : !strcmp(name, TP_COUNTER_VIRTUAL) ? &proc->now.vms
		       : !strcmp(name, TP_COUNTER_PSS)	   ? &proc->now.pss
							: NULL;

	if (!of)
		return;
	*of = counted(event);
	if (of == &proc->now.rss)
		proc->now.ns = event->begin_ns;
}

static struct device *device_of(struct proc *proc, uint32_t number)
{
	for (uint32_t i = 0; i < proc->n_devices; i++)
		if (proc->device[i].device == number)
			return &proc->device[i];
	if (!tp_grow(&proc->device, &proc->cap_devices, (uint64_t)proc->n_devices + 1, sizeof(*proc->device)))
		tp_need_failed();
	proc->device[proc->n_devices] = (struct device){.device = number};
	return &proc->device[proc->n_devices++];
}

static void take_totals(struct proc *proc, const struct tp_event *event)
{
	struct device *device;

	/* The host's allocator reserves nothing. */
	if (event->link == TP_DEVICE_CPU)
		return;
	device = device_of(proc, event->link);
	device->allocated = event->len;
	device->reserved = event->arg;
	proc->now.allocated = proc->now.reserved = 0;
	for (uint32_t i = 0; i < proc->n_devices; i++) {
		proc->now.allocated += proc->device[i].allocated;
		proc->now.reserved += proc->device[i].reserved;
	}
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_memory_at *at = state;
	struct proc *proc = &at->proc[event->proc->at];

	take_ends(at, proc, event->begin_ns);
	proc->last_ns = event->begin_ns;
	if (event->kind == TP_REC_COUNTER)
		take_counter(proc, event);
	else if (event->kind == TP_REC_TOTALS)
		take_totals(proc, event);
	else if (event->kind == TP_REC_RANGE)
		take_range(at, proc, event);
}

/* ---- begin and end ---- */

/* The first rank's that asks for any: a job's environment is one. */
static void find_asked(struct tp_memory_at *at, const struct tp_memory_at_params *params)
{
	at->asked = params->names;
	for (uint32_t i = 0; !at->asked && i < at->run->n_procs; i++)
		if (tp_fact(tp_label_meta(at->run, at->run->proc[i]), "MEMORY_AT", at->recorded,
			    sizeof(at->recorded)) && at->recorded[0])
			at->asked = at->recorded;
}

static void begin_at(void *state, struct tp_facts *facts, const void *params)
{
	static const struct tp_memcat_calls calls = {
		.live = take_live, .life = take_life, .window = end_of_window,
	};
	struct tp_memory_at *at = state;

	at->run = tp_facts_run(facts);
	find_asked(at, params);
	at->names = tp_facts_want(facts, &tp_fact_names, NULL);
	at->proc = tp_need(at->run->n_procs, sizeof(*at->proc));
	tp_memcat_read(tp_facts_want(facts, &tp_fact_memcat, NULL), &calls, at);
}

static void end_at(void *state)
{
	struct tp_memory_at *at = state;

	at->call = tp_need(at->n_kept + 1, sizeof(*at->call));
	for (uint32_t p = 0; p < at->run->n_procs; p++) {
		end_of_window(at, p);
		tp_moments_end(&at->proc[p].moments);
	}
	for (uint32_t i = 0; i < at->n_kept; i++) {
		struct kept *kept = &at->kept[i];
		const struct tp_moments *moments = &at->proc[kept->call.proc->at].moments;

		kept->call.start.tensors = tp_moments_get(moments, kept->start);
		kept->call.end.tensors = tp_moments_get(moments, kept->end);
		at->call[i] = kept->call;
	}
}

static void free_at(void *state)
{
	struct tp_memory_at *at = state;

	for (uint32_t p = 0; p < at->run->n_procs; p++) {
		tp_moments_free(&at->proc[p].moments);
		free(at->proc[p].device);
		free(at->proc[p].open);
		free(at->proc[p].n_calls);
	}
	free(at->proc);
	free(at->kept);
	free(at->call);
}

const struct tp_memory_at_call *tp_memory_at_calls(const struct tp_memory_at *at, uint32_t *n)
{
	*n = at->n_kept;
	return at->call;
}

const char *tp_memory_at_asked(const struct tp_memory_at *at)
{
	return at->asked;
}

const struct tp_names *tp_memory_at_names(const struct tp_memory_at *at)
{
	return at->names;
}

bool tp_memory_at_has_tensors(const struct tp_memory_at *at)
{
	return at->has_tensors;
}

const struct tp_fact tp_fact_memory_at = {
	.name = "memory at ranges",
	.bytes = sizeof(struct tp_memory_at),
	.params_bytes = sizeof(struct tp_memory_at_params),
	.kinds = TP_FACT_ALL_KINDS,
	.is_cut = true,
	.begin = begin_at,
	.event = take_event,
	.end = end_at,
	.free = free_at,
};
