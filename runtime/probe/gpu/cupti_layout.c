/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_layout.c - the two tables, of sizes and of offsets, and the reading by them
 *
 * The structures of NVIDIA's headers are not used: they are those of one version, and a record
 * may be shorter. A row is read when the record reaches so far; the rows that every version
 * has cost no comparison, since `least` is a constant.
 */
#include "runtime/probe/gpu/cupti_layout.h"

#include <string.h>

#include <cupti.h>

#include "runtime/base/text.h"

enum { N_KINDS = 64, N_SIZES = 6, OLDEST = 18, THREAD_ID_OFFSET = 16 };

struct size {
	uint32_t version, bytes;	/* from that version on */
};

/* Versions between the ones that tests compare are from NVIDIA's headers, too. */
#define KERNEL_SIZES                                                                       \
	{{OLDEST, 200}, {19, 208}, {130000, 216}, {130100, 224}, {130300, 232}, {130400, 248}}
static const struct size size_table[N_KINDS][N_SIZES] = {
	[CUPTI_ACTIVITY_KIND_MEMCPY] = {{OLDEST, 88}, {26, 96}, {130400, 112}},
	[CUPTI_ACTIVITY_KIND_MEMSET] = {{OLDEST, 88}, {130400, 104}},
	[CUPTI_ACTIVITY_KIND_KERNEL] = KERNEL_SIZES,
	[CUPTI_ACTIVITY_KIND_DRIVER] = {{OLDEST, 40}},
	[CUPTI_ACTIVITY_KIND_RUNTIME] = {{OLDEST, 40}},
	[CUPTI_ACTIVITY_KIND_DEVICE] = {{OLDEST, 176}, {20, 184}, {130200, 192}},
	[CUPTI_ACTIVITY_KIND_CONTEXT] = {{OLDEST, 16}, {22, 24}, {23, 32}, {130100, 40}},
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = KERNEL_SIZES,
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = {{OLDEST, 40}, {21, 48}, {22, 56}},
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = {{OLDEST, 96}},
	[CUPTI_ACTIVITY_KIND_CUDA_EVENT] = {{OLDEST, 24}, {26, 56}, {130500, 80}},
	[CUPTI_ACTIVITY_KIND_STREAM] = {{OLDEST, 24}},
	[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = {{OLDEST, 40}, {26, 56}},
	[CUPTI_ACTIVITY_KIND_MEMORY2] = {{OLDEST, 120}, {24, 128}},
	[CUPTI_ACTIVITY_KIND_MEMORY_POOL] = {{OLDEST, 72}, {130000, 80}},
	[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = {{OLDEST, 48}, {21, 56}},
};

/* _(member of struct tp_cupti_record or a variable, offset, type in the record) */
#define API_ROWS(_)                                                                        \
	_(record->cbid, 4, uint32_t)                                                       \
	_(record->start, 8, uint64_t)                                                      \
	_(record->end, 16, uint64_t)                                                       \
	_(record->tid, 28, uint32_t)                                                       \
	_(record->correlation, 32, uint32_t)                                               \
	_(record->returned, 36, uint32_t)

#define KERNEL_ROWS(_)                                                                     \
	_(record->launch.registers, 6, uint16_t)                                           \
	_(record->start, 16, uint64_t)                                                     \
	_(record->end, 24, uint64_t)                                                       \
	_(record->launch.place.device, 40, uint32_t)                                       \
	_(record->launch.place.context, 44, uint32_t)                                      \
	_(record->launch.place.stream, 48, uint32_t)                                       \
	_(record->launch.grid[0], 52, uint32_t)                                            \
	_(record->launch.grid[1], 56, uint32_t)                                            \
	_(record->launch.grid[2], 60, uint32_t)                                            \
	_(record->launch.block[0], 64, uint32_t)                                           \
	_(record->launch.block[1], 68, uint32_t)                                           \
	_(record->launch.block[2], 72, uint32_t)                                           \
	_(record->launch.shared_static, 76, uint32_t)                                      \
	_(record->launch.shared_dynamic, 80, uint32_t)                                     \
	_(record->launch.local_per_thread, 84, uint32_t)                                   \
	_(record->correlation, 92, uint32_t)                                               \
	_(record->name, 104, const char *)                                                 \
	_(record->launch.graph_node, 144, uint64_t)                                        \
	_(record->launch.graph, 156, uint32_t)                                             \
	_(record->launch.cluster[0], 176, uint32_t)                                        \
	_(record->launch.cluster[1], 180, uint32_t)                                        \
	_(record->launch.cluster[2], 184, uint32_t)

/* Copies begin alike, also those between devices. */
#define COPY_ROWS(_)                                                                       \
	_(record->transfer.copy_kind, 4, uint8_t)                                          \
	_(record->transfer.from_kind, 5, uint8_t)                                          \
	_(record->transfer.to_kind, 6, uint8_t)                                            \
	_(flags, 7, uint8_t)                                                               \
	_(record->bytes, 8, uint64_t)                                                      \
	_(record->start, 16, uint64_t)                                                     \
	_(record->end, 24, uint64_t)                                                       \
	_(record->transfer.place.device, 32, uint32_t)                                     \
	_(record->transfer.place.context, 36, uint32_t)                                    \
	_(record->transfer.place.stream, 40, uint32_t)

#define MEMCPY_ROWS(_)                                                                     \
	_(record->correlation, 44, uint32_t)                                               \
	_(record->transfer.graph_node, 64, uint64_t)                                       \
	_(record->transfer.graph, 72, uint32_t)

#define MEMCPY2_ROWS(_)                                                                    \
	_(record->transfer.from_device, 44, uint32_t)                                      \
	_(record->transfer.to_device, 52, uint32_t)                                        \
	_(record->correlation, 60, uint32_t)                                               \
	_(record->transfer.graph_node, 72, uint64_t)                                       \
	_(record->transfer.graph, 80, uint32_t)

#define MEMSET_ROWS(_)                                                                     \
	_(record->transfer.value, 4, uint32_t)                                             \
	_(record->bytes, 8, uint64_t)                                                      \
	_(record->start, 16, uint64_t)                                                     \
	_(record->end, 24, uint64_t)                                                       \
	_(record->transfer.place.device, 32, uint32_t)                                     \
	_(record->transfer.place.context, 36, uint32_t)                                    \
	_(record->transfer.place.stream, 40, uint32_t)                                     \
	_(record->correlation, 44, uint32_t)                                               \
	_(flags, 48, uint16_t)                                                             \
	_(record->transfer.to_kind, 50, uint16_t)                                          \
	_(record->transfer.graph_node, 64, uint64_t)                                       \
	_(record->transfer.graph, 72, uint32_t)

#define SYNC_ROWS(_)                                                                       \
	_(record->sync.kind, 4, uint32_t)                                                  \
	_(record->start, 8, uint64_t)                                                      \
	_(record->end, 16, uint64_t)                                                       \
	_(record->correlation, 24, uint32_t)                                               \
	_(record->sync.place.context, 28, uint32_t)                                        \
	_(record->sync.place.stream, 32, uint32_t)                                         \
	_(record->event, 36, uint32_t)                                                     \
	_(record->event_sync, 40, uint64_t)                                                \
	_(record->sync.returned, 48, uint32_t)

#define EVENT_ROWS(_)                                                                      \
	_(record->correlation, 4, uint32_t)                                                \
	_(record->place.context, 8, uint32_t)                                              \
	_(record->place.stream, 12, uint32_t)                                              \
	_(record->event, 16, uint32_t)                                                     \
	_(record->place.device, 24, uint32_t)                                              \
	_(record->event_sync, 48, uint64_t)

#define GRAPH_ROWS(_)                                                                      \
	_(record->correlation, 4, uint32_t)                                                \
	_(record->start, 8, uint64_t)                                                      \
	_(record->end, 16, uint64_t)                                                       \
	_(record->launch.place.device, 24, uint32_t)                                       \
	_(record->graph, 28, uint32_t)                                                     \
	_(record->launch.place.context, 32, uint32_t)                                      \
	_(record->launch.place.stream, 36, uint32_t)

#define OVERHEAD_ROWS(_)                                                                   \
	_(record->overhead_kind, 4, uint32_t)                                              \
	_(object_kind, 8, uint32_t)                                                        \
	_(record->tid, THREAD_ID_OFFSET, uint32_t)                                         \
	_(record->start, 24, uint64_t)                                                     \
	_(record->end, 32, uint64_t)

#define MEMORY2_ROWS(_)                                                                    \
	_(record->memory.operation, 4, uint32_t)                                           \
	_(record->memory.memory_kind, 8, uint32_t)                                         \
	_(record->correlation, 12, uint32_t)                                               \
	_(record->memory.address, 16, uint64_t)                                            \
	_(record->bytes, 24, uint64_t)                                                     \
	_(record->start, 32, uint64_t)                                                     \
	_(record->place.device, 52, uint32_t)                                              \
	_(record->place.context, 56, uint32_t)                                             \
	_(record->place.stream, 60, uint32_t)

#define MEMORY_POOL_ROWS(_)                                                                \
	_(record->correlation, 12, uint32_t)                                               \
	_(record->place.device, 20, uint32_t)                                              \
	_(record->start, 56, uint64_t)

#define CONTEXT_ROWS(_)                                                                    \
	_(record->place.context, 4, uint32_t)                                              \
	_(record->place.device, 8, uint32_t)

enum { DEVICE_ID = 112, DEVICE_WARPS_PER_SM = 52, DEVICE_WARP_THREADS = 32, DEVICE_NAME = 136 };
#define DEVICE_ROWS(_) _(record->place.device, DEVICE_ID, uint32_t)

/* Lines of a device, beside its id and name: _("key", offset, type in the record) */
#define DEVICE_LINES(_)                                                                    \
	_("major", 104, uint32_t)                                                          \
	_("minor", 108, uint32_t)                                                          \
	_("sms", 44, uint32_t)                                                             \
	_("warp_threads", 32, uint32_t)                                                    \
	_("sm_registers", 64, uint32_t)                                                    \
	_("sm_shared", 60, uint32_t)                                                       \
	_("block_threads", 76, uint32_t)                                                   \
	_("block_registers", 68, uint32_t)                                                 \
	_("block_shared", 72, uint32_t)                                                    \
	_("memory_bytes", 16, uint64_t)                                                    \
	_("clock_khz", 36, uint32_t)

uint32_t tp_cupti_record_bytes(uint32_t version, uint32_t kind)
{
	uint32_t bytes = 0;

	if (kind >= N_KINDS)
		return 0;
	for (int i = 0; i < N_SIZES && size_table[kind][i].bytes; i++) {
		if (version < size_table[kind][i].version)
			break;
		bytes = size_table[kind][i].bytes;
	}
	return bytes;
}

#define READ(member, at, type)                                                             \
	if (n >= (at) + sizeof(type)) {                                                    \
		type value_;                                                               \
		memcpy(&value_, bytes + (at), sizeof(value_));                             \
		member = value_;                                                           \
	}

/* No more than this version's record has. */
static uint32_t readable(uint32_t version, uint32_t kind, uint32_t n_bytes)
{
	uint32_t most = tp_cupti_record_bytes(version, kind);

	return n_bytes < most ? n_bytes : most;
}

/* A constant in each case: what lies below needs no comparison. */
#define NEED(least)                                                                        \
	if (n < (least))                                                                   \
		return false

static bool read_copy(uint32_t kind, const uint8_t *bytes, uint32_t n,
		      struct tp_cupti_record *record)
{
	uint32_t flags = 0;

	switch (kind) {
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		NEED(88);
		record->transfer.value = 0;
		COPY_ROWS(READ);
		MEMCPY_ROWS(READ);
		record->transfer.is_async = flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
		record->transfer.from_device = record->transfer.place.device;
		record->transfer.to_device = record->transfer.place.device;
		return true;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		NEED(96);
		record->transfer.value = 0;
		COPY_ROWS(READ);
		MEMCPY2_ROWS(READ);
		record->transfer.is_async = flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
		return true;
	default:	/* CUPTI_ACTIVITY_KIND_MEMSET */
		NEED(88);
		record->transfer.copy_kind = record->transfer.from_kind = 0;
		MEMSET_ROWS(READ);
		record->transfer.is_async = flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC;
		record->transfer.from_device = record->transfer.place.device;
		record->transfer.to_device = record->transfer.place.device;
		return true;
	}
}

/* What the host waited for, and what happened in streams: no more than this version's has. */
static bool read_sync(uint32_t version, uint32_t kind, const uint8_t *bytes, uint32_t n,
		      struct tp_cupti_record *record)
{
	if (kind == CUPTI_ACTIVITY_KIND_CUDA_EVENT) {
		NEED(24);
		n = readable(version, kind, n);
		record->place.device = 0;
		record->event_sync = 0;
		EVENT_ROWS(READ);
		return true;
	}
	NEED(40);
	n = readable(version, kind, n);
	record->sync = (struct tp_sync_what){.returned = 0};
	record->event_sync = 0;
	SYNC_ROWS(READ);
	if (record->event == CUPTI_SYNCHRONIZATION_INVALID_VALUE)
		record->event = 0;
	if (record->sync.returned == CUPTI_SYNCHRONIZATION_INVALID_VALUE)
		record->sync.returned = 0;
	return true;
}

static bool read_overhead(const uint8_t *bytes, uint32_t n, struct tp_cupti_record *record)
{
	uint32_t object_kind = 0;

	NEED(40);
	record->correlation = 0;
	OVERHEAD_ROWS(READ);
	if (object_kind != CUPTI_ACTIVITY_OBJECT_THREAD)
		record->tid = 0;
	return true;
}

/*
 * Of n readable bytes. Only where members of ours came later than a record's beginnings is it
 * asked which version this is. To clear all of *record would take longer than the rest: each kind
 * clears what it may not set.
 */
static bool read_rows(uint32_t version, uint32_t kind, const uint8_t *bytes, uint32_t n,
		      struct tp_cupti_record *record)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_DRIVER:
		NEED(40);
		API_ROWS(READ);
		return true;
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		NEED(200);
		record->launch.reserved = 0;
		KERNEL_ROWS(READ);
		return true;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return read_copy(kind, bytes, n, record);
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
	case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
		return read_sync(version, kind, bytes, n, record);
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		NEED(48);
		record->launch = (struct tp_launch){.graph = 0};
		GRAPH_ROWS(READ);
		record->launch.graph = record->graph;
		return true;
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		return read_overhead(bytes, n, record);
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		NEED(120);
		MEMORY2_ROWS(READ);
		return true;
	case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
		NEED(72);
		MEMORY_POOL_ROWS(READ);
		return true;
	case CUPTI_ACTIVITY_KIND_CONTEXT:
		NEED(16);
		record->place.stream = 0;
		CONTEXT_ROWS(READ);
		return true;
	case CUPTI_ACTIVITY_KIND_STREAM:
		NEED(24);
		return true;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		NEED(176);
		DEVICE_ROWS(READ);
		return true;
	default:
		return false;
	}
}

bool tp_cupti_read(uint32_t version, const void *bytes, uint32_t n_bytes,
		   struct tp_cupti_record *record)
{
	if (version < OLDEST || n_bytes < sizeof(record->kind))
		return false;
	memcpy(&record->kind, bytes, sizeof(record->kind));
	return read_rows(version, record->kind, bytes, n_bytes, record);
}

static void add_line(struct tp_text *text, const char *key, uint64_t value)
{
	if (value)
		tp_text_fmt(text, "%s=%lu\n", key, (unsigned long)value);
}

uint32_t tp_cupti_read_device(uint32_t version, const void *record, uint32_t n_bytes, uint32_t *id,
			      char *out, uint32_t cap)
{
	const uint8_t *bytes = record;
	uint32_t kind, warps = 0, threads = 0, n;
	const char *name = NULL;
	struct tp_text text;

	if (n_bytes < sizeof(kind))
		return 0;
	memcpy(&kind, bytes, sizeof(kind));
	n = readable(version, kind, n_bytes);
	if (kind != CUPTI_ACTIVITY_KIND_DEVICE || n < size_table[kind][0].bytes)
		return 0;
	tp_text_init(&text, out, cap);
#define LINE(key, at, type)                                                                \
	{                                                                                  \
		type value = 0;                                                            \
		READ(value, at, type)                                                      \
		add_line(&text, key, value);                                               \
	}
	*id = 0;
	READ(*id, DEVICE_ID, uint32_t)
	tp_text_fmt(&text, "id=%u\n", *id);
	DEVICE_LINES(LINE)
	READ(warps, DEVICE_WARPS_PER_SM, uint32_t)
	READ(threads, DEVICE_WARP_THREADS, uint32_t)
	READ(name, DEVICE_NAME, const char *)
	add_line(&text, "sm_threads", (uint64_t)warps * threads);
	if (name && !strpbrk(name, "\n"))
		tp_text_fmt(&text, "name=%s\n", name);
	return (uint32_t)text.len;
}
