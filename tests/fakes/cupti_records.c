/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_records.c - activity records as each release lays them out
 *
 * They are filled as the newest structure of the headers; an older release's is its beginning, a
 * future one's has 64 bytes more, which are not zero.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fakes/cupti_state.h"

enum { FUTURE_BYTES = 64, RECORD_MAX = 512 };

/* As cuptiActivityGetNextRecord of the wheels of 11.8, 12.0, 12.4, 12.8 and 13.0 steps. */
static const struct { uint16_t kind, since, bytes; } sizes[] = {
	{ CUPTI_ACTIVITY_KIND_MEMCPY, 1108, 88 },
	{ CUPTI_ACTIVITY_KIND_MEMCPY, 1208, sizeof(CUpti_ActivityMemcpy6) },
	{ CUPTI_ACTIVITY_KIND_MEMSET, 1108, sizeof(CUpti_ActivityMemset4) },
	{ CUPTI_ACTIVITY_KIND_KERNEL, 1108, 200 },
	{ CUPTI_ACTIVITY_KIND_KERNEL, 1200, 208 },
	{ CUPTI_ACTIVITY_KIND_KERNEL, 1300, sizeof(CUpti_ActivityKernel10) },
	{ CUPTI_ACTIVITY_KIND_DRIVER, 1108, sizeof(CUpti_ActivityAPI) },
	{ CUPTI_ACTIVITY_KIND_RUNTIME, 1108, sizeof(CUpti_ActivityAPI) },
	{ CUPTI_ACTIVITY_KIND_DEVICE, 1108, 176 },
	{ CUPTI_ACTIVITY_KIND_DEVICE, 1204, sizeof(CUpti_ActivityDevice5) },
	{ CUPTI_ACTIVITY_KIND_CONTEXT, 1108, 16 },
	{ CUPTI_ACTIVITY_KIND_CONTEXT, 1204, 24 },
	{ CUPTI_ACTIVITY_KIND_CONTEXT, 1205, sizeof(CUpti_ActivityContext3) },
	{ CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1108, 200 },
	{ CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1200, 208 },
	{ CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1300, sizeof(CUpti_ActivityKernel10) },
	{ CUPTI_ACTIVITY_KIND_NAME, 1108, sizeof(CUpti_ActivityName) },
	{ CUPTI_ACTIVITY_KIND_MARKER, 1108, sizeof(CUpti_ActivityMarker2) },
	{ CUPTI_ACTIVITY_KIND_MARKER_DATA, 1108, 32 },
	{ CUPTI_ACTIVITY_KIND_MARKER_DATA, 1300, 40 },
	{ CUPTI_ACTIVITY_KIND_OVERHEAD, 1108, 40 },
	{ CUPTI_ACTIVITY_KIND_OVERHEAD, 1202, 48 },
	{ CUPTI_ACTIVITY_KIND_OVERHEAD, 1204, sizeof(CUpti_ActivityOverhead3) },
	{ CUPTI_ACTIVITY_KIND_ENVIRONMENT, 1108, sizeof(CUpti_ActivityEnvironment) },
	{ CUPTI_ACTIVITY_KIND_MEMCPY2, 1108, sizeof(CUpti_ActivityMemcpyPtoP4) },
	{ CUPTI_ACTIVITY_KIND_CUDA_EVENT, 1108, 24 },
	{ CUPTI_ACTIVITY_KIND_CUDA_EVENT, 1208, sizeof(CUpti_ActivityCudaEvent2) },
	{ CUPTI_ACTIVITY_KIND_STREAM, 1108, sizeof(CUpti_ActivityStream) },
	{ CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 1108, 40 },
	{ CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 1208, sizeof(CUpti_ActivitySynchronization2) },
	{ CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 1108, sizeof(CUpti_ActivityExternalCorrelation) },
	{ CUPTI_ACTIVITY_KIND_MEMORY2, 1108, 120 },
	{ CUPTI_ACTIVITY_KIND_MEMORY2, 1206, sizeof(CUpti_ActivityMemory4) },
	{ CUPTI_ACTIVITY_KIND_MEMORY_POOL, 1108, 72 },
	{ CUPTI_ACTIVITY_KIND_MEMORY_POOL, 1300, sizeof(CUpti_ActivityMemoryPool3) },
	{ CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 1108, 48 },
	{ CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 1203, sizeof(CUpti_ActivityGraphTrace2) },
	{ CUPTI_ACTIVITY_KIND_JIT, 1108, 64 },
	{ CUPTI_ACTIVITY_KIND_JIT, 1204, 72 },
};

/* By kind, of this release. */
static uint16_t bytes_of[FAKE_N_KINDS];

void fake_cupti_records_init(void)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (sizes[i].since <= fake_cupti.release)
			bytes_of[sizes[i].kind] = sizes[i].bytes;
	for (uint32_t kind = 0; fake_cupti.release == 9999 && kind < FAKE_N_KINDS; kind++)
		bytes_of[kind] += bytes_of[kind] ? FUTURE_BYTES : 0;
}

uint32_t fake_cupti_record_bytes(uint32_t kind)
{
	return kind < FAKE_N_KINDS ? bytes_of[kind] : 0;
}

void fake_cupti_time_offsets(uint32_t kind, uint32_t *start, uint32_t *end, uint32_t *completed)
{
	*completed = 0;
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		*completed = offsetof(CUpti_ActivityKernel10, completed);
		*start = offsetof(CUpti_ActivityKernel10, start);
		break;
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		*start = offsetof(CUpti_ActivitySynchronization2, start);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		*start = offsetof(CUpti_ActivityGraphTrace2, start);
		break;
	default:
		*start = offsetof(CUpti_ActivityMemcpy6, start);	/* and sets, and MEMCPY2 */
	}
	*end = *start + sizeof(uint64_t);
}
_Static_assert(offsetof(CUpti_ActivityMemcpy6, start) == offsetof(CUpti_ActivityMemset4, start) &&
	       offsetof(CUpti_ActivityMemcpy6, start) == offsetof(CUpti_ActivityMemcpyPtoP4, start),
	       "one place for the times of copies and sets");

/* `record` is the newest structure, whole; what goes out is as long as this release's. */
static void put(void *record, uint32_t kind, uint32_t n_newest, uint64_t complete_at)
{
	uint32_t n = fake_cupti_record_bytes(kind);
	uint8_t longer[RECORD_MAX];

	if (n > n_newest) {
		memset(longer, 0xa5, n);
		memcpy(longer, record, n_newest);
		record = longer;
	}
	fake_cupti_put(record, n, complete_at);
}

void fake_cupti_put_call(const struct fake_api *api, uint64_t end, uint32_t returned)
{
	static __thread uint32_t process __attribute__((tls_model("initial-exec")));

	if (!process)
		process = (uint32_t)getpid();
	CUpti_ActivityAPI record = {
		.kind = api->domain == FAKE_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME :
							  CUPTI_ACTIVITY_KIND_DRIVER,
		.cbid = api->cbid, .start = api->start_ns, .end = end, .processId = process,
		.threadId = fake_cupti_thread(), .correlationId = api->correlation,
		.returnValue = returned,
	};

	put(&record, record.kind, sizeof(record), 0);
}

/* ---- device work ---- */

static void put_kernel(const struct fake_work *work, uint32_t module)
{
	CUpti_ActivityKernel10 record = {
		.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		.registersPerThread = (uint16_t)work->registers,
		.start = work->start_ns, .end = work->end_ns,
		.completed = work->end_ns, .deviceId = work->device, .contextId = work->context,
		.streamId = work->stream,
		.gridX = (int32_t)work->grid[0], .gridY = (int32_t)work->grid[1],
		.gridZ = (int32_t)work->grid[2], .blockX = (int32_t)work->block[0],
		.blockY = (int32_t)work->block[1], .blockZ = (int32_t)work->block[2],
		.staticSharedMemory = (int32_t)work->shared_static,
		.dynamicSharedMemory = (int32_t)work->shared_dynamic,
		.localMemoryPerThread = work->local_per_thread, .correlationId = work->correlation,
		.gridId = work->correlation, .name = fake_cupti_name(work->name, module),
		.queued = work->queued_ns, .submitted = work->submitted_ns,
		.sharedMemoryExecuted = work->shared_static + work->shared_dynamic,
		.graphNodeId = work->graph_node, .graphId = work->graph, .clusterX = work->cluster[0],
		.clusterY = work->cluster[1], .clusterZ = work->cluster[2],
	};

	put(&record, record.kind, sizeof(record), work->end_ns);
}

static void put_copy(const struct fake_work *work)
{
	CUpti_ActivityMemcpy6 record = {
		.kind = CUPTI_ACTIVITY_KIND_MEMCPY, .copyKind = work->copy_kind,
		.srcKind = work->from_kind, .dstKind = work->to_kind,
		.flags = work->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0, .bytes = work->bytes,
		.start = work->start_ns, .end = work->end_ns, .deviceId = work->device,
		.contextId = work->context, .streamId = work->stream,
		.correlationId = work->correlation, .graphNodeId = work->graph_node,
		.graphId = work->graph, .copyCount = 1,
	};

	put(&record, record.kind, sizeof(record), work->end_ns);
}

static void put_peer_copy(const struct fake_work *work)
{
	CUpti_ActivityMemcpyPtoP4 record = {
		.kind = CUPTI_ACTIVITY_KIND_MEMCPY2, .copyKind = work->copy_kind,
		.srcKind = work->from_kind, .dstKind = work->to_kind,
		.flags = work->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0, .bytes = work->bytes,
		.start = work->start_ns, .end = work->end_ns, .deviceId = work->device,
		.contextId = work->context, .streamId = work->stream,
		.srcDeviceId = work->from_device, .srcContextId = work->from_device + 1,
		.dstDeviceId = work->to_device, .dstContextId = work->to_device + 1,
		.correlationId = work->correlation, .graphNodeId = work->graph_node,
		.graphId = work->graph,
	};

	put(&record, record.kind, sizeof(record), work->end_ns);
}

static void put_set(const struct fake_work *work)
{
	CUpti_ActivityMemset4 record = {
		.kind = CUPTI_ACTIVITY_KIND_MEMSET, .value = work->value, .bytes = work->bytes,
		.start = work->start_ns, .end = work->end_ns, .deviceId = work->device,
		.contextId = work->context, .streamId = work->stream,
		.correlationId = work->correlation,
		.flags = work->is_async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0,
		.memoryKind = work->to_kind, .graphNodeId = work->graph_node,
		.graphId = work->graph,
	};

	put(&record, record.kind, sizeof(record), work->end_ns);
}

static void put_sync(const struct fake_work *work)
{
	bool waits = work->sync_kind == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
	CUpti_ActivitySynchronization2 record = {
		.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
		.type = (CUpti_ActivitySynchronizationType)work->sync_kind,
		.start = work->start_ns, .end = work->end_ns, .correlationId = work->correlation,
		.contextId = work->context,
		.streamId = waits && work->wait_stream ? work->wait_stream : work->stream,
		.cudaEventId = work->event,
		/* The number of the recording of the event: here its correlation id. */
		.cudaEventSyncId = work->event_correlation,
	};

	put(&record, record.kind, sizeof(record), work->end_ns);
}

static void put_graph(const struct fake_work *work)
{
	CUpti_ActivityGraphTrace2 record = {
		.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE, .correlationId = work->correlation,
		.start = work->start_ns, .end = work->end_ns, .deviceId = work->device,
		.graphId = work->graph, .contextId = work->context, .streamId = work->stream,
		.endDeviceId = work->device, .endContextId = work->context,
	};

	put(&record, record.kind, sizeof(record), work->end_ns);
}

static void put_overhead(const struct fake_work *work)
{
	CUpti_ActivityOverhead3 record = {
		.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
		.overheadKind = (CUpti_ActivityOverheadKind)work->overhead_kind,
		.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
		.objectId = {.pt = {.processId = (uint32_t)getpid(),
				    .threadId = work->thread ? work->thread : fake_cupti_thread()}},
		.start = work->start_ns, .end = work->end_ns, .correlationId = work->correlation,
	};

	put(&record, record.kind, sizeof(record), 0);
}

void fake_cupti_work(const struct fake_work *given, uint32_t module)
{
	struct fake_work work = *given;

	if (work.has_no_time)
		work.start_ns = work.end_ns = 0;
	work.start_ns = fake_cupti_in_clock(work.start_ns);
	work.end_ns = fake_cupti_in_clock(work.end_ns);
	/* A graph's work is told as the graph's, or piece by piece. */
	if (work.graph && work.kind != FAKE_GRAPH &&
	    fake_wants(fake_cupti.driver, CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
		return;
	switch (work.kind) {
	case FAKE_KERNEL:
		put_kernel(&work, module);
		break;
	case FAKE_MEMCPY:
		if (work.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP)
			put_peer_copy(&work);
		else
			put_copy(&work);
		break;
	case FAKE_MEMSET:
		put_set(&work);
		break;
	case FAKE_SYNC:
		put_sync(&work);
		break;
	case FAKE_GRAPH:
		put_graph(&work);
		break;
	case FAKE_OVERHEAD:
		put_overhead(&work);
		break;
	}
}

/* ---- what else there is ---- */

static void put_pool(const struct fake_memory *memory, uint32_t correlation)
{
	CUpti_ActivityMemoryPool3 record = {
		.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
		.memoryPoolOperationType = (CUpti_ActivityMemoryPoolOperationType)memory->kind,
		.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL, .correlationId = correlation,
		.processId = (uint32_t)getpid(), .deviceId = memory->device,
		.address = memory->pool, .size = memory->bytes, .timestamp = fake_cupti_now(),
	};

	put(&record, record.kind, sizeof(record), 0);
}

void fake_cupti_memory(const struct fake_memory *memory, uint32_t correlation)
{
	CUpti_ActivityMemory4 record = {
		.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
		.memoryOperationType = memory->is_release ?
			CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE :
			CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
		.memoryKind = (CUpti_ActivityMemoryKind)memory->kind, .correlationId = correlation,
		.address = memory->address, .bytes = memory->bytes, .timestamp = fake_cupti_now(),
		.processId = (uint32_t)getpid(), .deviceId = memory->device,
		.contextId = memory->device + 1, .streamId = memory->stream,
		.isAsync = memory->is_async,
		.memoryPoolConfig = {
			.memoryPoolType = memory->pool ? CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL :
							 CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID,
			.address = memory->pool,
		},
	};

	if (memory->is_pool)
		put_pool(memory, correlation);
	else
		put(&record, record.kind, sizeof(record), 0);
}

void fake_cupti_event(uint32_t correlation, uint32_t context, uint32_t stream, uint32_t event)
{
	CUpti_ActivityCudaEvent2 record = {
		.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT, .correlationId = correlation,
		.contextId = context, .streamId = stream, .eventId = event, .deviceId = context - 1,
		.cudaEventSyncId = correlation,
	};

	put(&record, record.kind, sizeof(record), 0);
}

void fake_cupti_put_context(const struct CUctx_st *context)
{
	CUpti_ActivityContext3 record = {
		.kind = CUPTI_ACTIVITY_KIND_CONTEXT, .contextId = context->number,
		.deviceId = context->device, .computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA,
		.nullStreamId = FAKE_DEFAULT_STREAM,
	};

	put(&record, record.kind, sizeof(record), 0);
}

void fake_cupti_put_stream(uint32_t context, uint32_t stream)
{
	CUpti_ActivityStream record = {
		.kind = CUPTI_ACTIVITY_KIND_STREAM, .contextId = context, .streamId = stream,
	};

	put(&record, record.kind, sizeof(record), 0);
}

static uint32_t value(uint32_t device, const char *key)
{
	return (uint32_t)strtoul(fake_cupti.driver->device_value(device, key), NULL, 10);
}

void fake_cupti_put_device(uint32_t device)
{
	const char *capability = fake_cupti.driver->device_value(device, "cc");
	const char *minor = strchr(capability, '.');
	uint32_t warp = value(device, "warp");
	CUpti_ActivityDevice5 record = {
		.kind = CUPTI_ACTIVITY_KIND_DEVICE, .id = device,
		.globalMemorySize = strtoull(fake_cupti.driver->device_value(device, "mem"), NULL, 10),
		.numThreadsPerWarp = warp, .coreClockRate = value(device, "clock_khz"),
		.numMultiprocessors = value(device, "sms"),
		.maxWarpsPerMultiprocessor = warp ? value(device, "max_threads_sm") / warp : 0,
		.maxBlocksPerMultiprocessor = 32,
		.maxSharedMemoryPerMultiprocessor = value(device, "max_smem_sm"),
		.maxRegistersPerMultiprocessor = value(device, "max_regs_sm"),
		.maxRegistersPerBlock = value(device, "max_regs_block"),
		.maxSharedMemoryPerBlock = value(device, "max_smem_block"),
		.maxThreadsPerBlock = value(device, "max_threads_block"),
		.maxBlockDimX = 1024, .maxBlockDimY = 1024, .maxBlockDimZ = 64,
		.computeCapabilityMajor = (uint32_t)atoi(capability),
		.computeCapabilityMinor = minor ? (uint32_t)atoi(minor + 1) : 0,
		.isCudaVisible = 1,
		.name = fake_cupti.driver->device_value(device, "name"),
	};

	memcpy(record.uuid.bytes, "fake-gpu-uuid-00", 16);
	record.uuid.bytes[15] = (char)('0' + device);
	put(&record, record.kind, sizeof(record), 0);
}
