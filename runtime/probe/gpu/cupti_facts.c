/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_facts.c - direct-mapped tables of contexts and events, sums of memory by device
 */
#include "runtime/probe/gpu/cupti_facts.h"

#include <string.h>

#include <cuda.h>
#include <cupti.h>

#include "runtime/probe/gpu/cupti_lib.h"

enum {
	N_CONTEXTS = 256,
	N_EVENTS = 4096,	/* a training uses some hundreds again and again */
	N_DEVICES = 32,
};

static struct {
	struct {
		uint32_t context, device;
	} context[N_CONTEXTS];
	struct tp_cupti_event event[N_EVENTS];
	struct {
		uint64_t alloc_bytes, free_bytes;
	} memory[N_DEVICES];
	uint32_t block_shared_optin[N_DEVICES];	/* 0: not asked, or not told */
} facts;

void tp_cupti_facts_reset(void)
{
	memset(&facts, 0, sizeof(facts));
}

void tp_cupti_note_context(uint32_t context, uint32_t device)
{
	facts.context[context % N_CONTEXTS].context = context;
	facts.context[context % N_CONTEXTS].device = device;
}

uint32_t tp_cupti_device_of(uint32_t context)
{
	uint32_t at = context % N_CONTEXTS;

	return facts.context[at].context == context ? facts.context[at].device : 0;
}

static struct tp_cupti_event *event_at(uint32_t context, uint32_t event)
{
	return &facts.event[(event + 31 * context) % N_EVENTS];
}

void tp_cupti_note_event(const struct tp_cupti_record *record)
{
	*event_at(record->place.context, record->event) = (struct tp_cupti_event){
		.context = record->place.context, .event = record->event,
		.correlation = record->correlation, .stream = record->place.stream,
		.sync = record->event_sync,
	};
}

const struct tp_cupti_event *tp_cupti_find_event(const struct tp_cupti_record *record)
{
	uint32_t context = record->sync.place.context;
	const struct tp_cupti_event *event = event_at(context, record->event);

	if (!record->event || event->event != record->event || event->context != context)
		return NULL;
	/* Recorded again since, where CUPTI tells. */
	if (record->event_sync && event->sync && record->event_sync != event->sync)
		return NULL;
	return event;
}

void tp_cupti_note_memory(const struct tp_cupti_record *record)
{
	uint32_t device = record->place.device, kind = record->memory.memory_kind;

	if (device >= N_DEVICES || (kind != CUPTI_ACTIVITY_MEMORY_KIND_DEVICE &&
				    kind != CUPTI_ACTIVITY_MEMORY_KIND_ARRAY &&
				    kind != CUPTI_ACTIVITY_MEMORY_KIND_MANAGED))
		return;
	if (record->memory.operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION)
		facts.memory[device].alloc_bytes += record->bytes;
	else if (record->memory.operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE)
		facts.memory[device].free_bytes += record->bytes;
}

uint32_t tp_cupti_block_shared_optin(uint32_t device)
{
	__typeof__(&cuDeviceGet) get;
	__typeof__(&cuDeviceGetAttribute) get_attribute;
	CUdevice handle;
	int value = 0;

	if (device >= N_DEVICES || facts.block_shared_optin[device])
		return device < N_DEVICES ? facts.block_shared_optin[device] : 0;
	*(void **)&get = tp_cupti_driver("cuDeviceGet");
	*(void **)&get_attribute = tp_cupti_driver("cuDeviceGetAttribute");
	if (get && get_attribute && get(&handle, (int)device) == CUDA_SUCCESS &&
	    get_attribute(&value, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, handle) ==
		    CUDA_SUCCESS && value > 0)
		facts.block_shared_optin[device] = (uint32_t)value;
	return facts.block_shared_optin[device];
}

void tp_cupti_report_memory(struct tp_text *totals)
{
	for (uint32_t i = 0; i < N_DEVICES; i++)
		if (facts.memory[i].alloc_bytes || facts.memory[i].free_bytes)
			tp_text_fmt(totals,
				    "cupti.memory2.%u.alloc_bytes=%lu\n"
				    "cupti.memory2.%u.free_bytes=%lu\n",
				    i, (unsigned long)facts.memory[i].alloc_bytes, i,
				    (unsigned long)facts.memory[i].free_bytes);
}
