/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator.c - what the caching allocator keeps of a device, and allocations that failed
 *
 * Of growth only what was seen counts: what is reserved when a window begins came before it.
 */
#include "merge/facts/tensor/allocator.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"
#include "runtime/trace/counter_names.h"

enum { OOMS_MAX = 64 };

struct device {
	struct tp_allocator_device pub;
	uint32_t window;
	bool is_in_window;
	int64_t allocated, reserved;	/* now; -1: not known */
	int64_t used_bytes, own_bytes;
};

struct step {	/* the one that a process is in */
	int64_t end_ns;
	uint64_t index;
	bool is_there;
};

struct tp_allocator {
	struct device *device;
	uint32_t n_devices, cap_devices;
	struct step *step;		/* by tp_proc.at */
	struct tp_allocator_device *result;
	uint32_t cap_results;
	struct tp_allocator_oom *oom;
	uint32_t n_ooms, cap_ooms;
	uint64_t n_all_ooms;
	bool is_incomplete;
};

struct tp_allocator *tp_allocator_new(const struct tp_run *run)
{
	struct tp_allocator *allocator = calloc(1, sizeof(*allocator));

	if (!allocator)
		return NULL;
	allocator->step = calloc(run->n_procs + 1, sizeof(*allocator->step));
	if (allocator->step)
		return allocator;
	free(allocator);
	return NULL;
}

void tp_allocator_free(struct tp_allocator *allocator)
{
	if (!allocator)
		return;
	free(allocator->device);
	free(allocator->step);
	free(allocator->result);
	free(allocator->oom);
	free(allocator);
}

/* ---- devices ---- */

static struct device *find_device(const struct tp_allocator *allocator, const struct tp_proc *proc,
				  uint32_t device)
{
	for (uint32_t i = 0; i < allocator->n_devices; i++)
		if (allocator->device[i].pub.proc == proc &&
		    allocator->device[i].pub.device == device)
			return &allocator->device[i];
	return NULL;
}

/* NULL: out of memory. */
static struct device *device_of(struct tp_allocator *allocator, const struct tp_event *event,
				uint32_t device)
{
	struct device *of = find_device(allocator, event->proc, device);

	if (of)
		return of;
	if (!tp_grow(&allocator->device, &allocator->cap_devices,
		     (uint64_t)allocator->n_devices + 1, sizeof(*of)) ||
	    !tp_grow(&allocator->result, &allocator->cap_results,
		     (uint64_t)allocator->n_devices + 1, sizeof(*allocator->result))) {
		allocator->is_incomplete = true;
		return NULL;
	}
	of = &allocator->device[allocator->n_devices++];
	*of = (struct device){
		.pub = {.proc = event->proc, .device = device, .others_bytes = -1,
			.total_bytes = -1},
		.allocated = -1, .reserved = -1, .used_bytes = -1, .own_bytes = -1,
	};
	return of;
}

static int64_t bytes_of(uint64_t bytes)
{
	return (int64_t)(bytes > TP_LEN_MAX ? TP_LEN_MAX : bytes);
}

static uint64_t step_of(const struct tp_allocator *allocator, const struct tp_event *event)
{
	const struct step *step = &allocator->step[event->proc->at];

	return step->is_there && event->begin_ns < step->end_ns ? step->index : TP_NO_STEP;
}

/* Others' part: what the driver says is in use, less what is this process's. */
static int64_t others_of(const struct device *of)
{
	const int64_t own = of->own_bytes >= 0 ? of->own_bytes : of->reserved;
	const int64_t bytes = tp_sub(of->used_bytes, own);

	if (of->used_bytes < 0 || own < 0)
		return -1;
	return bytes > 0 ? bytes : 0;
}

static void note_others(struct device *of, int64_t now)
{
	const int64_t bytes = others_of(of);

	if (bytes <= of->pub.others_bytes)
		return;
	of->pub.others_bytes = bytes;
	of->pub.others_ns = now;
	of->pub.is_exact = of->own_bytes >= 0;
}

static void take_totals(struct tp_allocator *allocator, const struct tp_event *event)
{
	struct tp_allocator_moment now = {
		.ns = event->begin_ns, .step = step_of(allocator, event),
		.allocated = bytes_of(event->len), .reserved = bytes_of(event->arg),
	};
	struct device *of = device_of(allocator, event, event->link);
	struct tp_allocator_device *pub;

	if (!of)
		return;
	pub = &of->pub;
	if (!of->is_in_window || of->window != event->window) {
		of->is_in_window = true;
		of->window = event->window;
	} else if (now.reserved > of->reserved) {
		pub->n_grown++;
		pub->grown_bytes = tp_add(pub->grown_bytes, tp_sub(now.reserved, of->reserved));
	} else if (now.reserved < of->reserved) {
		pub->n_shrunk++;
		pub->shrunk_bytes = tp_add(pub->shrunk_bytes, tp_sub(of->reserved, now.reserved));
	}
	of->allocated = now.allocated;
	of->reserved = now.reserved;
	if (now.allocated > pub->fullest.allocated)
		pub->fullest = now;
	if (now.reserved > pub->largest.reserved)
		pub->largest = now;
	if (now.reserved - now.allocated > pub->widest.reserved - pub->widest.allocated)
		pub->widest = now;
}

/* ---- the driver's counters ---- */

/* The device that a counter of the driver's is of; TP_NO_DEVICE: another counter. */
static uint32_t counted_device(const struct tp_event *event)
{
	static const char begin[] = TP_COUNTER_DEVICE;

	if (event->name->kind != TP_STRING_COUNTER || event->flags & TP_F_DOUBLE ||
	    !event->name->bytes || strncmp(event->name->bytes, begin, sizeof(begin) - 1))
		return TP_NO_DEVICE;
	return TP_DEVICE(1, event->link);
}

static void take_counter(struct tp_allocator *allocator, const struct tp_event *event)
{
	const uint32_t device = counted_device(event);
	const int64_t value = (int64_t)event->arg;
	struct device *of;

	if (device == TP_NO_DEVICE)
		return;
	of = device_of(allocator, event, device);
	if (!of)
		return;
	if (!strcmp(event->name->bytes, TP_COUNTER_DEVICE_USED))
		of->used_bytes = value;
	else if (!strcmp(event->name->bytes, TP_COUNTER_DEVICE_OWN))
		of->own_bytes = value;
	else if (!strcmp(event->name->bytes, TP_COUNTER_DEVICE_TOTAL))
		of->pub.total_bytes = value;
	else
		return;
	note_others(of, event->begin_ns);
}

bool tp_allocator_others(const struct tp_allocator *allocator, const struct tp_event *event,
			 uint32_t *device, int64_t *bytes)
{
	const struct device *of;

	*device = event->kind == TP_REC_COUNTER ? counted_device(event) : TP_NO_DEVICE;
	of = *device == TP_NO_DEVICE ? NULL : find_device(allocator, event->proc, *device);
	*bytes = of ? others_of(of) : -1;
	return *bytes >= 0;
}

/* ---- allocations that failed ---- */

bool tp_allocator_is_oom(const struct tp_event *event)
{
	static const char name[] = "out of memory";

	return event->kind == TP_REC_MARK && event->name->n_bytes == sizeof(name) - 1 &&
	       !memcmp(event->name->bytes, name, sizeof(name) - 1);
}

struct tp_allocator_oom *tp_allocator_oom(struct tp_allocator *allocator,
					  const struct tp_event *event)
{
	const struct device *of = find_device(allocator, event->proc, event->link);
	struct tp_allocator_oom *oom;

	allocator->n_all_ooms++;
	if (allocator->n_ooms == OOMS_MAX)
		return NULL;
	if (!tp_grow(&allocator->oom, &allocator->cap_ooms, (uint64_t)allocator->n_ooms + 1,
		     sizeof(*oom))) {
		allocator->is_incomplete = true;
		return NULL;
	}
	oom = &allocator->oom[allocator->n_ooms++];
	*oom = (struct tp_allocator_oom){
		.proc = event->proc, .device = event->link, .ns = event->begin_ns,
		.step = step_of(allocator, event), .asked_bytes = (int64_t)event->arg,
		.allocated = of ? of->allocated : -1, .reserved = of ? of->reserved : -1,
		.others_bytes = of ? others_of(of) : -1,
		.total_bytes = of ? of->pub.total_bytes : -1,
		.name = TP_NO_NAME, .pin = UINT32_MAX,
	};
	return oom;
}

/* ---- the pass ---- */

void tp_allocator_event(struct tp_allocator *allocator, const struct tp_event *event)
{
	switch (event->kind) {
	case TP_REC_STEP:
		allocator->step[event->proc->at] = (struct step){
			.end_ns = event->end_ns, .index = event->link, .is_there = true,
		};
		break;
	case TP_REC_TOTALS:
		/* The host's says what was alive, and reserves nothing. */
		if (event->link != TP_DEVICE_CPU)
			take_totals(allocator, event);
		break;
	case TP_REC_COUNTER:
		take_counter(allocator, event);
		break;
	default:
		break;
	}
}

const struct tp_allocator_device *tp_allocator_devices(const struct tp_allocator *allocator,
						       uint32_t *n)
{
	*n = 0;
	/* Counters alone make no allocator. */
	for (uint32_t i = 0; i < allocator->n_devices; i++)
		if (allocator->device[i].pub.largest.reserved > 0)
			allocator->result[(*n)++] = allocator->device[i].pub;
	return allocator->result;
}

const struct tp_allocator_oom *tp_allocator_ooms(const struct tp_allocator *allocator, uint32_t *n,
						 uint64_t *n_all)
{
	*n = allocator->n_ooms;
	*n_all = allocator->n_all_ooms;
	return allocator->oom;
}

bool tp_allocator_is_incomplete(const struct tp_allocator *allocator)
{
	return allocator->is_incomplete;
}
