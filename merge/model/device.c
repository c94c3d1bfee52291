/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - strings of device records -> structures and words
 *
 * Numbers are CUPTI's (enums CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind), words are
 * torch.profiler's: its readers tell copies apart by the first letters of their names.
 */
#include "merge/model/device.h"

#include <stddef.h>
#include <stdio.h>
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

/* ---- words ---- */

static const char *copy_word(uint8_t kind)
{
	static const char *const word[] = {
		NULL, "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP",
	};

	return kind && kind < sizeof(word) / sizeof(word[0]) ? word[kind] : "<unknown>";
}

static const char *memory_word(uint8_t kind)
{
	static const char *const word[] = {
		"Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static",
		"Managed Static",
	};

	return kind < sizeof(word) / sizeof(word[0]) ? word[kind] : "Unrecognized";
}

const char *tp_device_transfer_name(char buf[64], const struct tp_transfer *transfer)
{
	if (transfer->copy_kind)
		snprintf(buf, 64, "Memcpy %s (%s -> %s)", copy_word(transfer->copy_kind),
			 memory_word(transfer->from_kind), memory_word(transfer->to_kind));
	else
		snprintf(buf, 64, "Memset (%s)", memory_word(transfer->to_kind));
	return buf;
}

const char *tp_device_sync_name(uint32_t kind)
{
	switch (kind) {
	case TP_SYNC_EVENT:
		return "Event Sync";
	case TP_SYNC_STREAM_WAIT:
		return "Stream Wait Event";
	case TP_SYNC_STREAM:
		return "Stream Sync";
	case TP_SYNC_CONTEXT:
		return "Context Sync";
	default:
		return "Unknown Sync";
	}
}

const char *tp_device_memory_kind(uint32_t kind)
{
	static const char *const word[TP_DEVMEM_N] = {
		[TP_DEVMEM_DEVICE] = "device",	     [TP_DEVMEM_POOL] = "pool",
		[TP_DEVMEM_MANAGED] = "managed",     [TP_DEVMEM_PINNED] = "pinned",
		[TP_DEVMEM_REGISTERED] = "registered", [TP_DEVMEM_PHYSICAL] = "physical",
		[TP_DEVMEM_MAPPED] = "mapped",	     [TP_DEVMEM_RESERVED] = "reserved",
		[TP_DEVMEM_ARRAY] = "array",	     [TP_DEVMEM_IPC] = "ipc",
		[TP_DEVMEM_GRAPH] = "graph",
	};

	return kind && kind < TP_DEVMEM_N ? word[kind] : "unknown";
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
