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

bool tp_device_parse(struct tp_device *device, const char *bytes, uint32_t n_bytes)
{
	static const struct {
		const char *key;
		size_t at;
	} number[] = {
		{"major", offsetof(struct tp_device, major)},
		{"minor", offsetof(struct tp_device, minor)},
		{"sms", offsetof(struct tp_device, n_sms)},
		{"warp_threads", offsetof(struct tp_device, warp_threads)},
		{"sm_threads", offsetof(struct tp_device, sm_threads)},
		{"sm_registers", offsetof(struct tp_device, sm_registers)},
		{"sm_shared", offsetof(struct tp_device, sm_shared)},
		{"block_threads", offsetof(struct tp_device, block_threads)},
		{"block_registers", offsetof(struct tp_device, block_registers)},
		{"block_shared", offsetof(struct tp_device, block_shared)},
		{"block_shared_optin", offsetof(struct tp_device, block_shared_optin)},
		{"clock_khz", offsetof(struct tp_device, clock_khz)},
	};
	uint64_t value;

	memset(device, 0, sizeof(*device));
	if (!take_number(bytes, n_bytes, "id", UINT32_MAX, &value))
		return false;
	device->id = (uint32_t)value;
	tp_reader_text_value(bytes, n_bytes, "name", device->name, sizeof(device->name));
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
		if (take_number(bytes, n_bytes, number[i].key, UINT32_MAX, &value))
			*(uint32_t *)((char *)device + number[i].at) = (uint32_t)value;
	}
	if (take_number(bytes, n_bytes, "memory_bytes", UINT64_MAX, &value))
		device->memory_bytes = value;
	return true;
}
