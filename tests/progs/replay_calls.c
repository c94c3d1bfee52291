/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_calls.c - what each line of a replay file does when its time has come
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "preload/trainprof.h"
#include "tests/progs/replay_play.h"

#ifdef WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

uint64_t replay_time(const struct replay_moved *moved, uint64_t ns)
{
	if (moved->speed == 1)
		return moved->zero_ns + ns;
	return moved->zero_ns + (uint64_t)((double)ns / moved->speed);
}

static struct fake_work move(const struct fake_work *given, const struct replay_moved *moved)
{
	struct fake_work work = *given;

	work.start_ns = replay_time(moved, work.start_ns);
	work.end_ns = replay_time(moved, work.end_ns);
	work.queued_ns = work.queued_ns ? replay_time(moved, work.queued_ns) : 0;
	work.submitted_ns = work.submitted_ns ? replay_time(moved, work.submitted_ns) : 0;
	work.correlation += work.correlation ? moved->correlation : 0;
	work.event_correlation += work.event_correlation ? moved->correlation : 0;
	return work;
}

/* ---- memory ---- */

struct device {		/* c10::Device */
	int8_t type, index;
};
/* c10::reportMemoryUsageToProfiler, which libtrainprof.so has when it is loaded. */
extern void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *, int64_t, size_t, size_t,
								  struct device)
	__attribute__((weak));

static void report(const struct replay_item *item)
{
	bool is_device = item->mem.kind != REPLAY_HOST;
	struct device device = {is_device, (int8_t)(is_device ? item->mem.device : -1)};
	int64_t bytes = (int64_t)item->mem.bytes;

	if (_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE)
		_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(
			(void *)(uintptr_t)item->mem.address,
			item->mem.op == REPLAY_FREE ? -bytes : bytes, item->mem.allocated,
			item->mem.reserved, device);
}

static void allocate(const struct replay_item *item)
{
	CUDA_ARRAY_DESCRIPTOR array = {.Width = item->mem.bytes / 4, .NumChannels = 1};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;
	CUarray made;
	void *host;

	switch (item->mem.kind) {
	case REPLAY_DEVICE:
		cuMemAlloc_v2(&address, item->mem.bytes);
		break;
	case REPLAY_HOST:
	case REPLAY_PINNED:
		cuMemHostAlloc(&host, item->mem.bytes, 0);
		break;
	case REPLAY_MANAGED:
		cuMemAllocManaged(&address, item->mem.bytes, CU_MEM_ATTACH_GLOBAL);
		break;
	case REPLAY_POOL:
		cuMemAllocFromPoolAsync(&address, item->mem.bytes,
					(CUmemoryPool)(uintptr_t)item->mem.pool, NULL);
		break;
	case REPLAY_VMM:
		cuMemCreate(&handle, item->mem.bytes, NULL, 0);
		break;
	case REPLAY_ARRAY:
		cuArrayCreate_v2(&made, &array);
		break;
	case REPLAY_REGISTERED:
		cuMemHostRegister_v2((void *)(uintptr_t)item->mem.address, item->mem.bytes, 0);
		break;
	}
}

static void give_back(const struct replay_item *item)
{
	void *host = (void *)(uintptr_t)item->mem.address;

	switch (item->mem.kind) {
	case REPLAY_DEVICE:
	case REPLAY_MANAGED:
		cuMemFree_v2(item->mem.address);
		break;
	case REPLAY_HOST:
	case REPLAY_PINNED:
		cuMemFreeHost(host);
		break;
	case REPLAY_POOL:
		cuMemFreeAsync(item->mem.address, NULL);
		break;
	case REPLAY_VMM:
		cuMemRelease(item->mem.address);
		break;
	case REPLAY_ARRAY:
		cuArrayDestroy(host);
		break;
	case REPLAY_REGISTERED:
		cuMemHostUnregister(host);
		break;
	}
}

/* Of the driver; `correlation` 0: inside a call that has one. */
static void change_memory(const struct replay_item *item, uint32_t correlation)
{
	struct fake_call call = {.correlation = correlation, .address = item->mem.address};

	fake_gpu_next(&call);
	switch (item->mem.op) {
	case REPLAY_ALLOC:
		allocate(item);
		break;
	case REPLAY_FREE:
		give_back(item);
		break;
	case REPLAY_MAP:
		cuMemMap(item->mem.address, item->mem.bytes, 0, item->mem.pool, 0);
		break;
	case REPLAY_UNMAP:
		cuMemUnmap(item->mem.address, item->mem.bytes);
		break;
	}
}

/* ---- calls and ranges ---- */

static void begin_call(const struct replay_file *file, const struct replay_item *item,
		       const struct replay_moved *moved)
{
	struct fake_work *work = calloc(item->api.n_work + 1, sizeof(*work));
	struct fake_call call = {
		.correlation = item->correlation ? item->correlation + moved->correlation : 0,
		.work = work, .n_work = item->api.n_work, .returned = item->api.returned,
		.event = item->api.event, .stream = item->api.stream,
	};

	for (uint32_t i = 0; i < item->api.n_work; i++) {
		work[i] = move(&file->works[item->api.first_work + i], moved);
		work[i].correlation = 0;	/* the call's, whatever that is */
	}
	fake_gpu_begin(item->api.domain, item->name, &call);
	if (item->api.memory != UINT32_MAX)
		change_memory(&file->items[item->api.memory], 0);
	free(work);
}

void replay_begin(const struct replay_file *file, const struct replay_item *item,
		  const struct replay_moved *moved)
{
	if (item->kind == REPLAY_API)
		begin_call(file, item, moved);
	else
		trainprof_begin(item->name, item->range.category);
}

void replay_end(const struct replay_item *item)
{
	if (item->kind == REPLAY_API) {
		fake_gpu_end();
		return;
	}
	trainprof_end();
	if (item->range.is_step)
		trainprof_step();
}

/* ---- what has no length ---- */

#ifdef WITH_NVTX
enum { N_NVTX_IDS = 1024 };

static nvtxDomainHandle_t domain_of(const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct { const char *name; nvtxDomainHandle_t handle; } known[64];
	nvtxDomainHandle_t handle = NULL;

	if (!name || !*name)
		return NULL;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 64; i++) {
		if (!known[i].name) {
			known[i].name = name;
			known[i].handle = nvtxDomainCreateA(name);
		}
		if (!strcmp(known[i].name, name)) {
			handle = known[i].handle;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return handle;
}

static void call_nvtx(const struct replay_item *item)
{
	static nvtxRangeId_t started[N_NVTX_IDS];	/* atomic; by the file's id */
	nvtxRangeId_t *id = &started[item->nvtx.id % N_NVTX_IDS];
	nvtxDomainHandle_t domain = domain_of(item->nvtx.domain);
	nvtxEventAttributes_t what = {
		.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_ASCII, .message.ascii = item->name,
	};

	switch (item->nvtx.op) {
	case REPLAY_PUSH:
		nvtxDomainRangePushEx(domain, &what);
		break;
	case REPLAY_POP:
		nvtxDomainRangePop(domain);
		break;
	case REPLAY_NVTX_MARK:
		nvtxDomainMarkEx(domain, &what);
		break;
	case REPLAY_START:
		__atomic_store_n(id, nvtxDomainRangeStartEx(domain, &what), __ATOMIC_RELAXED);
		break;
	case REPLAY_END:
		nvtxDomainRangeEnd(domain, __atomic_load_n(id, __ATOMIC_RELAXED));
		break;
	}
}
#else
static void call_nvtx(const struct replay_item *item)
{
	static uint32_t is_said;

	if (!__atomic_exchange_n(&is_said, 1, __ATOMIC_RELAXED))
		fprintf(stderr, "replay: built without NVTX: 'nvtx' lines are ignored\n");
}
#endif

void replay_at_once(const struct replay_item *item, const struct replay_moved *moved)
{
	struct fake_work work;

	if (item->kind == REPLAY_NVTX) {
		call_nvtx(item);
	} else if (item->kind == REPLAY_MEM && !item->mem.is_driver) {
		report(item);
	} else if (item->kind == REPLAY_MEM) {
		if (!item->mem.is_inside)
			change_memory(item, item->correlation ?
						    item->correlation + moved->correlation : 0);
	} else {
		work = move(&item->work, moved);
		fake_gpu_work(&work);
	}
}
