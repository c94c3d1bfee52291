/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - strings of device records -> structures
 */
#include "merge/model/device.h"

#include <stddef.h>
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/trace/reader.h"

/* The string's structure; what it lacks stays zero. */
static void take(const struct tp_string *s, uint32_t kind, void *to, size_t n)
{
	memset(to, 0, n);
	if (s->kind == kind)
		memcpy(to, s->bytes, s->n_bytes < n ? s->n_bytes : n);
}

struct tp_launch tp_device_launch(const struct tp_event *event)
{
	struct tp_launch launch;

	take(event->detail, TP_STRING_LAUNCH, &launch, sizeof(launch));
	return launch;
}

struct tp_launch_estimate tp_device_estimate(const struct tp_event *event)
{
	struct {
		struct tp_launch launch;
		struct tp_launch_estimate estimate;
	} all;

	take(event->detail, TP_STRING_LAUNCH, &all, sizeof(all));
	return all.estimate;
}

struct tp_transfer tp_device_transfer(const struct tp_event *event)
{
	struct tp_transfer transfer;

	take(event->detail, TP_STRING_TRANSFER, &transfer, sizeof(transfer));
	return transfer;
}

struct tp_sync_what tp_device_sync(const struct tp_event *event)
{
	struct tp_sync_what sync;

	take(event->detail, TP_STRING_SYNC, &sync, sizeof(sync));
	return sync;
}

struct tp_devmem_what tp_device_memory(const struct tp_event *event, const char **owner)
{
	struct tp_devmem_what memory;

	take(event->detail, TP_STRING_DEVMEM, &memory, sizeof(memory));
	*owner = event->detail->kind == TP_STRING_DEVMEM &&
				 event->detail->n_bytes > sizeof(memory)
			 ? event->detail->bytes + sizeof(memory)
			 : "";
	return memory;
}

const struct tp_device *tp_device_of(const struct tp_proc *proc, uint32_t id)
{
	for (uint32_t i = 0; i < proc->n_devices; i++) {
		if (proc->device[i].id == id)
			return &proc->device[i];
	}
	return NULL;
}

/* ---- facts about a device ---- */

static bool take_number(const char *bytes, uint32_t n_bytes, const char *key, uint64_t most,
			uint64_t *value)
{
	char text[32];

	return tp_reader_text_value(bytes, n_bytes, key, text, sizeof(text)) &&
	       !tp_text_parse_u64(text, value) && *value <= most;
}

#define FACT(key, kineto, field)                                                           \
	{key, kineto, offsetof(struct tp_device, field), sizeof(((struct tp_device *)0)->field)}
const struct tp_device_fact tp_device_facts[] = {
	FACT("memory_bytes", "totalGlobalMem", memory_bytes),
	FACT("major", "computeMajor", major),
	FACT("minor", "computeMinor", minor),
	FACT("block_threads", "maxThreadsPerBlock", block_threads),
	FACT("sm_threads", "maxThreadsPerMultiprocessor", sm_threads),
	FACT("block_registers", "regsPerBlock", block_registers),
	FACT("sm_registers", "regsPerMultiprocessor", sm_registers),
	FACT("warp_threads", "warpSize", warp_threads),
	FACT("block_shared", "sharedMemPerBlock", block_shared),
	FACT("sm_shared", "sharedMemPerMultiprocessor", sm_shared),
	FACT("sms", "numSms", n_sms),
	FACT("block_shared_optin", "sharedMemPerBlockOptin", block_shared_optin),
	FACT("clock_khz", NULL, clock_khz),
	{NULL, NULL, 0, 0},
};

uint64_t tp_device_fact_value(const struct tp_device *device, const struct tp_device_fact *fact)
{
	const char *at = (const char *)device + fact->at;

	return fact->bytes == sizeof(uint64_t) ? *(const uint64_t *)(const void *)at
					       : *(const uint32_t *)(const void *)at;
}

static void set_fact(struct tp_device *device, const struct tp_device_fact *fact, uint64_t value)
{
	char *at = (char *)device + fact->at;

	if (fact->bytes == sizeof(uint64_t))
		*(uint64_t *)(void *)at = value;
	else
		*(uint32_t *)(void *)at = (uint32_t)value;
}

bool tp_device_parse(struct tp_device *device, const char *bytes, uint32_t n_bytes)
{
	uint64_t value;

	memset(device, 0, sizeof(*device));
	if (!take_number(bytes, n_bytes, "id", UINT32_MAX, &value))
		return false;
	device->id = (uint32_t)value;
	tp_reader_text_value(bytes, n_bytes, "name", device->name, sizeof(device->name));
	for (const struct tp_device_fact *fact = tp_device_facts; fact->key; fact++) {
		if (take_number(bytes, n_bytes, fact->key,
				fact->bytes == sizeof(uint64_t) ? UINT64_MAX : UINT32_MAX, &value))
			set_fact(device, fact, value);
	}
	return true;
}
