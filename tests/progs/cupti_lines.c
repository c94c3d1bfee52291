/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_lines.c - a plain client of CUPTI's, for CUDA_INJECTION64_PATH: each record a line
 *
 * Into the file that CUPTI_LINES names, at exit: kind, start, end, corr, device, context, stream, and
 * what else the kind has. It stands where the product stands, and shares nothing with it.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 65536 };

#define CALLS(_)                                                                              \
	_(cuptiActivityRegisterCallbacks) _(cuptiActivityEnable) _(cuptiActivityFlushAll)      \
	_(cuptiActivityGetNextRecord) _(cuptiGetCallbackName) _(cuptiSetThreadIdType)
static struct {
#define _(function) __typeof__(&function) function;
	CALLS(_)
#undef _
} f;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *out;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void print_call(const CUpti_ActivityAPI *call)
{
	const char *name = "";

	f.cuptiGetCallbackName(call->kind == CUPTI_ACTIVITY_KIND_RUNTIME ?
				       CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API,
			       call->cbid, &name);
	fprintf(out, "api %" PRIu64 " %" PRIu64 " %u %s %u %u\n", call->start, call->end,
		call->correlationId, name, call->threadId, call->returnValue);
}

static void print_kernel(const CUpti_ActivityKernel9 *kernel)
{
	fprintf(out, "kernel %" PRIu64 " %" PRIu64 " %u %u %u %d %s %d,%d,%d %d,%d,%d %u %d %d %u %"
		PRIu64 "\n", kernel->start, kernel->end, kernel->correlationId, kernel->deviceId,
		kernel->contextId, (int)kernel->streamId, kernel->name, kernel->gridX, kernel->gridY,
		kernel->gridZ, kernel->blockX, kernel->blockY, kernel->blockZ,
		kernel->registersPerThread, kernel->staticSharedMemory, kernel->dynamicSharedMemory,
		kernel->graphId, kernel->graphNodeId);
}

static void print_copy(const CUpti_ActivityMemcpy5 *copy)
{
	fprintf(out, "memcpy %" PRIu64 " %" PRIu64 " %u %u %u %d %" PRIu64 " %u %u %u %u\n",
		copy->start, copy->end, copy->correlationId, copy->deviceId, copy->contextId,
		(int)copy->streamId, copy->bytes, copy->copyKind, copy->srcKind, copy->dstKind,
		copy->flags);
}

static void print_peer_copy(const CUpti_ActivityMemcpyPtoP4 *copy)
{
	fprintf(out, "memcpy %" PRIu64 " %" PRIu64 " %u %u %u %d %" PRIu64 " %u %u %u %u\n",
		copy->start, copy->end, copy->correlationId, copy->deviceId, copy->contextId,
		(int)copy->streamId, copy->bytes, copy->copyKind, copy->srcKind, copy->dstKind,
		copy->flags);
}

static void print_set(const CUpti_ActivityMemset4 *set)
{
	fprintf(out, "memset %" PRIu64 " %" PRIu64 " %u %u %u %d %" PRIu64 " %u\n", set->start,
		set->end, set->correlationId, set->deviceId, set->contextId, (int)set->streamId,
		set->bytes, set->value);
}

static void print_sync(const CUpti_ActivitySynchronization *sync)
{
	fprintf(out, "sync %" PRIu64 " %" PRIu64 " %u %d %u %d\n", sync->start, sync->end,
		sync->correlationId, sync->type, sync->contextId, (int)sync->streamId);
}

static void print_memory(const CUpti_ActivityMemory3 *memory)
{
	fprintf(out, "memory %u %u %u %#" PRIx64 " %" PRIu64 "\n", memory->memoryOperationType,
		memory->memoryKind, memory->correlationId, memory->address, memory->bytes);
}

static void print_overhead(const CUpti_ActivityOverhead *overhead)
{
	fprintf(out, "overhead %" PRIu64 " %" PRIu64 " %d\n", overhead->start, overhead->end,
		overhead->overheadKind);
}

static void print(const CUpti_Activity *record)
{
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_DRIVER:
		print_call((const void *)record);
		break;
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		print_kernel((const void *)record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		print_copy((const void *)record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		print_peer_copy((const void *)record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		print_set((const void *)record);
		break;
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		print_sync((const void *)record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		print_memory((const void *)record);
		break;
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		print_overhead((const void *)record);
		break;
	default:
		fprintf(out, "kind %d\n", record->kind);
	}
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *record = NULL;

	pthread_mutex_lock(&lock);
	while (!f.cuptiActivityGetNextRecord(buffer, valid, &record))
		print(record);
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static void finish(void)
{
	f.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	fclose(out);
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	static const CUpti_ActivityKind kinds[] = {
		CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
		CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
		CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
		CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_OVERHEAD,
	};
	const char *path = getenv("CUPTI_LINES"), *file = getenv("CUPTI_FILE");
	void *lib = file ? dlopen(file, RTLD_NOW) : NULL;

	out = path ? fopen(path, "w") : NULL;
	if (!lib || !out) {
		fprintf(stderr, "cupti_lines: CUPTI_FILE or CUPTI_LINES cannot be used\n");
		return 0;
	}
#define _(function) f.function = (__typeof__(&function))dlsym(lib, #function);
	CALLS(_)
#undef _
	f.cuptiActivityRegisterCallbacks(requested, completed);
	f.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		f.cuptiActivityEnable(kinds[i]);
	if (getenv("CUPTI_GRAPHS"))
		f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	atexit(finish);
	return 1;
}
