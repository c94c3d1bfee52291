/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpumem.c - device memory over time: alive by device, kind and who asked for it; its peak
 *
 * The probe's counters say what is alive at the moment of their sample; records say what
 * changed in between. Until a window's first counter only changes are known: the curve is kept
 * relative, and lifted when the counter comes.
 */
#include "merge/facts/tensor/gpumem.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/device.h"
#include "runtime/trace/counter_names.h"
#include "runtime/trace/kinds.h"

struct high {		/* a highest point */
	int64_t bytes, ns;
	uint64_t step;
	bool is_in_step;
};

struct current {	/* the step that a process is in */
	int64_t begin_ns, end_ns;
	uint64_t step;
	bool is_there;
};

struct tp_gpumem {
	const struct tp_run *run;
	struct tp_gpumem_device *gpu;
	struct tp_gpumem_row *row;
	struct tp_gpumem_step *step;
	struct current *current;	/* by tp_proc.at */
	struct high *lift;		/* by gpu: while no counter came in this window */
	uint32_t n_gpus, cap_gpus, n_rows, cap_rows, n_steps, cap_steps, cap_current, cap_lift;
	bool is_incomplete;
};

static void begin_gpus(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_gpumem *mem = state;

	mem->run = tp_facts_run(facts);
	tp_need_room(&mem->current, &mem->cap_current, mem->run->n_procs, sizeof(*mem->current));
}

static void free_gpus(void *state)
{
	struct tp_gpumem *mem = state;

	free(mem->gpu);
	free(mem->row);
	free(mem->step);
	free(mem->current);
	free(mem->lift);
}

bool tp_gpumem_is_on_device(uint8_t kind)
{
	return kind == TP_DEVMEM_DEVICE || kind == TP_DEVMEM_POOL || kind == TP_DEVMEM_MANAGED ||
	       kind == TP_DEVMEM_PHYSICAL || kind == TP_DEVMEM_ARRAY || kind == TP_DEVMEM_GRAPH;
}

/* ---- finding ---- */

/* Index, or UINT32_MAX: out of memory. */
static uint32_t find_gpu(struct tp_gpumem *mem, const struct tp_event *event, uint32_t device)
{
	struct tp_gpumem_device *gpu;
	uint32_t i;

	for (i = 0; i < mem->n_gpus; i++)
		if (mem->gpu[i].proc == event->proc && mem->gpu[i].device == device)
			break;
	if (i == mem->n_gpus) {
		if (!tp_grow(&mem->gpu, &mem->cap_gpus, (uint64_t)i + 1,
			     sizeof(*mem->gpu)) ||
		    !tp_grow(&mem->lift, &mem->cap_lift, (uint64_t)i + 1,
			     sizeof(*mem->lift))) {
			mem->is_incomplete = true;
			return UINT32_MAX;
		}
		mem->n_gpus++;
		mem->gpu[i] = (struct tp_gpumem_device){
			.proc = event->proc, .device = device, .window = event->window,
			.total_bytes = -1, .used_bytes = -1, .own_bytes = -1,
			.unattributed_bytes = -1, .torch_allocated = -1, .torch_reserved = -1,
		};
		mem->lift[i] = (struct high){.ns = INT64_MIN};
	}
	gpu = &mem->gpu[i];
	if (gpu->window != event->window) {
		/* What happened since the last window is in the next counters. */
		gpu->window = event->window;
		gpu->has_base = false;
		gpu->live_bytes = 0;
		gpu->step_row = 0;
		mem->lift[i] = (struct high){.ns = INT64_MIN};
		for (uint32_t j = 0; j < mem->n_rows; j++) {
			if (mem->row[j].gpu != i)
				continue;
			mem->row[j].live_bytes = mem->row[j].at_lift = 0;
			mem->row[j].has_base = false;
		}
	}
	return i;
}

/* `library`: n bytes, a path or a file's name. NULL: out of memory. */
static struct tp_gpumem_row *find_row(struct tp_gpumem *mem, uint32_t gpu, uint8_t kind,
				      const char *library, uint32_t n)
{
	struct tp_gpumem_row *row;
	char name[sizeof(row->library)];

	for (uint32_t i = n; i-- > 0;)
		if (library[i] == '/') {
			library += i + 1;
			n -= i + 1;
			break;
		}
	if (n >= sizeof(name))
		n = sizeof(name) - 1;
	memcpy(name, library, n);
	name[n] = '\0';
	for (uint32_t i = 0; i < mem->n_rows; i++)
		if (mem->row[i].gpu == gpu && mem->row[i].kind == kind &&
		    !strcmp(mem->row[i].library, name))
			return &mem->row[i];
	if (!tp_grow(&mem->row, &mem->cap_rows, (uint64_t)mem->n_rows + 1, sizeof(*row))) {
		mem->is_incomplete = true;
		return NULL;
	}
	row = &mem->row[mem->n_rows++];
	*row = (struct tp_gpumem_row){.gpu = gpu, .kind = kind};
	memcpy(row->library, name, n + 1);
	return row;
}

/* Of the step that the event lies in; NULL: in none, or out of memory. */
static struct tp_gpumem_step *find_step(struct tp_gpumem *mem, uint32_t at,
					const struct tp_event *event)
{
	const struct current *current = &mem->current[event->proc->at];
	struct tp_gpumem_device *gpu = &mem->gpu[at];
	struct tp_gpumem_step *step;

	if (!current->is_there || event->begin_ns < current->begin_ns ||
	    event->begin_ns >= current->end_ns)
		return NULL;
	if (gpu->step_row && mem->step[gpu->step_row - 1].step == current->step)
		return &mem->step[gpu->step_row - 1];
	if (!tp_grow(&mem->step, &mem->cap_steps, (uint64_t)mem->n_steps + 1,
		     sizeof(*step))) {
		mem->is_incomplete = true;
		return NULL;
	}
	step = &mem->step[mem->n_steps++];
	*step = (struct tp_gpumem_step){
		.gpu = at, .step = current->step, .window = event->window,
		.is_relative = !gpu->has_base,
	};
	gpu->step_row = mem->n_steps;
	return step;
}

/* ---- the curve ---- */

static struct high high_at(const struct tp_gpumem *mem, const struct tp_event *event, int64_t bytes)
{
	const struct current *current = &mem->current[event->proc->at];

	return (struct high){
		.bytes = bytes, .ns = event->begin_ns, .step = current->step,
		.is_in_step = current->is_there && event->begin_ns >= current->begin_ns &&
			      event->begin_ns < current->end_ns,
	};
}

/* False: there was a higher one. */
static bool note_peak(struct tp_gpumem_device *gpu, const struct high *high)
{
	if (gpu->has_peak && high->bytes <= gpu->peak_bytes)
		return false;
	gpu->has_peak = true;
	gpu->peak_bytes = high->bytes;
	gpu->peak_ns = high->ns;
	gpu->peak_step = high->step;
	gpu->is_peak_in_step = high->is_in_step;
	return true;
}

static void note_live(struct tp_gpumem *mem, uint32_t at, const struct tp_event *event)
{
	struct tp_gpumem_device *gpu = &mem->gpu[at];
	struct high high = high_at(mem, event, gpu->live_bytes);

	if (!gpu->has_base && mem->lift[at].ns != INT64_MIN && high.bytes <= mem->lift[at].bytes)
		return;
	if (!gpu->has_base)
		mem->lift[at] = high;
	else if (!note_peak(gpu, &high))
		return;
	for (uint32_t i = 0; i < mem->n_rows; i++)
		if (mem->row[i].gpu == at)
			*(gpu->has_base ? &mem->row[i].at_peak : &mem->row[i].at_lift) =
				mem->row[i].live_bytes;
}

/* The live bytes of the device are `bytes` now: all that came before lies that much higher. */
static void set_base(struct tp_gpumem *mem, uint32_t at, const struct tp_event *event,
		     int64_t bytes)
{
	struct tp_gpumem_device *gpu = &mem->gpu[at];
	int64_t base = tp_sub(bytes, gpu->live_bytes);

	if (!gpu->has_base) {
		for (uint32_t i = 0; i < mem->n_steps; i++) {
			struct tp_gpumem_step *step = &mem->step[i];

			if (step->gpu != at || !step->is_relative || step->window != event->window)
				continue;
			step->peak_bytes = tp_add(step->peak_bytes, base);
			step->is_relative = false;
		}
		mem->lift[at].bytes = tp_add(mem->lift[at].bytes, base);
		if (mem->lift[at].ns != INT64_MIN && note_peak(gpu, &mem->lift[at]))
			for (uint32_t i = 0; i < mem->n_rows; i++)
				if (mem->row[i].gpu == at)
					mem->row[i].at_peak = mem->row[i].at_lift;
	}
	gpu->has_base = true;
	gpu->live_bytes = bytes;
	note_live(mem, at, event);
}

static void take_change(struct tp_gpumem *mem, const struct tp_event *event)
{
	const char *owner;
	struct tp_devmem_what what = tp_device_memory(event, &owner);
	bool is_alloc = event->kind == TP_REC_DEVALLOC;
	int64_t bytes = (int64_t)(event->len > TP_LEN_MAX ? TP_LEN_MAX : event->len);
	uint32_t at = find_gpu(mem, event, what.device);
	struct tp_gpumem_row *row;
	struct tp_gpumem_step *step;
	struct tp_gpumem_device *gpu;

	if (at == UINT32_MAX)
		return;
	row = find_row(mem, at, what.kind, owner, (uint32_t)strlen(owner));
	if (!row)
		return;
	gpu = &mem->gpu[at];
	row->live_bytes = is_alloc ? tp_add(row->live_bytes, bytes) : tp_sub(row->live_bytes, bytes);
	row->n_allocs += is_alloc;
	row->n_frees += !is_alloc;
	row->alloc_bytes += is_alloc ? (uint64_t)bytes : 0;
	gpu->n_allocs += is_alloc;
	gpu->n_frees += !is_alloc;
	gpu->n_unknown += !is_alloc && what.device == UINT32_MAX;
	if (tp_gpumem_is_on_device(what.kind)) {
		gpu->live_bytes = is_alloc ? tp_add(gpu->live_bytes, bytes)
					   : tp_sub(gpu->live_bytes, bytes);
		note_live(mem, at, event);
	}
	step = find_step(mem, at, event);
	if (!step)
		return;
	if (gpu->live_bytes > step->peak_bytes || step->n_allocs + step->n_frees == 0)
		step->peak_bytes = gpu->live_bytes;
	step->n_allocs += is_alloc;
	step->n_frees += !is_alloc;
	if (is_alloc)
		step->alloc_bytes += (uint64_t)bytes;
	else
		step->free_bytes += (uint64_t)bytes;
}

/* ---- counters ---- */

/* The next part of a COUNTER string: name, unit, group. */
static const char *next_part(const char **at, const char *end, uint32_t *n)
{
	const char *part = *at;
	const char *stop = part < end ? memchr(part, 0, (size_t)(end - part)) : NULL;

	*n = (uint32_t)((stop ? stop : end) - part);
	*at = stop ? stop + 1 : end;
	return part;
}

static bool is(const char *part, uint32_t n, const char *text)
{
	return n == strlen(text) && !memcmp(part, text, n);
}

/* "KIND LIBRARY" */
static void take_line(struct tp_gpumem *mem, const struct tp_event *event, const char *name,
		      uint32_t n, int64_t value)
{
	const char *blank = memchr(name, ' ', n);
	uint32_t n_kind = blank ? (uint32_t)(blank - name) : 0, at;
	struct tp_gpumem_row *row;

	for (uint8_t kind = 1; blank && kind < TP_DEVMEM_N; kind++) {
		const char *word = tp_devmem_kind_name(kind);

		if (strlen(word) != n_kind || memcmp(word, name, n_kind) != 0)
			continue;
		at = find_gpu(mem, event, event->link);
		if (at == UINT32_MAX)
			return;
		n -= n_kind + 1;
		row = is(blank + 1, n, "(unknown)") ? find_row(mem, at, kind, "", 0)
						    : find_row(mem, at, kind, blank + 1, n);
		if (!row)
			return;
		if (!row->has_base)
			row->at_lift = tp_add(row->at_lift, tp_sub(value, row->live_bytes));
		row->has_base = true;
		row->live_bytes = value;
		return;
	}
}

static void take_counter(struct tp_gpumem *mem, const struct tp_event *event)
{
	const char *at = event->name->bytes, *end = at + event->name->n_bytes, *name, *group;
	uint32_t n_name, n_unit, n_group, gpu;
	int64_t value = (int64_t)event->arg;

	if (event->name->kind != TP_STRING_COUNTER || (event->flags & TP_F_DOUBLE))
		return;
	name = next_part(&at, end, &n_name);
	next_part(&at, end, &n_unit);
	group = next_part(&at, end, &n_group);
	if (is(group, n_group, "device memory")) {
		take_line(mem, event, name, n_name, value);
		return;
	}
	if (!is(group, n_group, "device"))
		return;
	gpu = find_gpu(mem, event, event->link);
	if (gpu == UINT32_MAX)
		return;
	if (is(name, n_name, TP_COUNTER_DEVICE_KNOWN))
		set_base(mem, gpu, event, value);
	else if (is(name, n_name, TP_COUNTER_DEVICE_UNATTRIBUTED))
		mem->gpu[gpu].unattributed_bytes = value;
	else if (is(name, n_name, TP_COUNTER_DEVICE_USED))
		mem->gpu[gpu].used_bytes = value;
	else if (is(name, n_name, TP_COUNTER_DEVICE_TOTAL))
		mem->gpu[gpu].total_bytes = value;
	else if (is(name, n_name, TP_COUNTER_DEVICE_OWN))
		mem->gpu[gpu].own_bytes = value;
}

/* What PyTorch's allocator says of a CUDA device. */
static void take_totals(struct tp_gpumem *mem, const struct tp_event *event)
{
	uint32_t at;

	if (event->link >> 8 != 1)
		return;
	at = find_gpu(mem, event, event->link & 0xff);
	if (at == UINT32_MAX)
		return;
	mem->gpu[at].torch_allocated =
		(int64_t)(event->len > TP_LEN_MAX ? TP_LEN_MAX : event->len);
	mem->gpu[at].torch_reserved =
		(int64_t)(event->arg > TP_LEN_MAX ? TP_LEN_MAX : event->arg);
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_gpumem *mem = state;

	switch (event->kind) {
	case TP_REC_STEP:
		mem->current[event->proc->at] = (struct current){
			.begin_ns = event->begin_ns, .end_ns = event->end_ns,
			.step = event->link, .is_there = true,
		};
		break;
	case TP_REC_DEVALLOC:
	case TP_REC_DEVFREE:
		take_change(mem, event);
		break;
	case TP_REC_COUNTER:
		take_counter(mem, event);
		break;
	case TP_REC_TOTALS:
		take_totals(mem, event);
		break;
	default:
		break;
	}
}

/* ---- results ---- */

static void end_gpus(void *state)
{
	struct tp_gpumem *mem = state;

	/* No counter came: the changes alone, as if nothing had been alive before. */
	for (uint32_t i = 0; i < mem->n_gpus; i++) {
		struct tp_gpumem_device *gpu = &mem->gpu[i];

		if (gpu->has_peak || mem->lift[i].bytes <= 0)
			continue;
		gpu->peak_bytes = mem->lift[i].bytes;
		for (uint32_t j = 0; j < mem->n_rows; j++)
			if (mem->row[j].gpu == i)
				mem->row[j].at_peak = mem->row[j].at_lift;
	}
}

const struct tp_gpumem_device *tp_gpumem_devices(const struct tp_gpumem *mem, uint32_t *n)
{
	*n = mem->n_gpus;
	return mem->gpu;
}

const struct tp_gpumem_row *tp_gpumem_rows(const struct tp_gpumem *mem, uint32_t *n)
{
	*n = mem->n_rows;
	return mem->row;
}

const struct tp_gpumem_step *tp_gpumem_steps(const struct tp_gpumem *mem, uint32_t *n)
{
	*n = mem->n_steps;
	return mem->step;
}

bool tp_gpumem_is_incomplete(const struct tp_gpumem *mem)
{
	return mem->is_incomplete;
}

const struct tp_fact tp_fact_gpumem = {
	.name = "device memory",
	.bytes = sizeof(struct tp_gpumem),
	.kinds = TP_FACT_KIND(TP_REC_STEP) | TP_FACT_KIND(TP_REC_DEVALLOC) |
		 TP_FACT_KIND(TP_REC_DEVFREE) | TP_FACT_KIND(TP_REC_COUNTER) |
		 TP_FACT_KIND(TP_REC_TOTALS),
	.begin = begin_gpus,
	.event = take_event,
	.end = end_gpus,
	.free = free_gpus,
};
