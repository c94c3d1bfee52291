/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakes_rig.h - a client of the stand-ins for libcuda and libcupti
 *
 * Each test is a process of its own, which loads one release of the stand-in, from $FAKES.
 */
#ifndef TP_TESTS_FAKES_RIG_H
#define TP_TESTS_FAKES_RIG_H

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cupti.h>

#include "tests/fakes/fake.h"

enum { BUFFER_BYTES = 4096, N_BUFFERS = 256, N_RECORDS = 4096 };
#define UNFINISHED_NS 1000000000000u	/* as long as the test runs */

#define CALLS(_)                                                                              \
	_(cuptiGetVersion) _(cuptiGetCallbackName) _(cuptiSubscribe) _(cuptiUnsubscribe)       \
	_(cuptiEnableCallback) _(cuptiActivityRegisterCallbacks) _(cuptiActivityEnable)        \
	_(cuptiActivityEnableAndDump) _(cuptiActivityDisable) _(cuptiActivityFlushAll)         \
	_(cuptiActivityGetNextRecord) _(cuptiActivityGetNumDroppedRecords)                     \
	_(cuptiActivitySetAttribute) _(cuptiActivityEnableRuntimeApi) _(cuptiSubscribe_v2)     \
	_(cuptiSetThreadIdType) _(cuptiFinalize) _(cuptiGetTimestamp)
#define CUDA_CALLS(_)                                                                         \
	_(cuInit) _(cuMemAlloc_v2) _(cuMemFree_v2) _(cuModuleLoadData) _(cuModuleUnload)       \
	_(cuModuleGetFunction) _(cuLaunchKernel) _(cuCtxSynchronize)                           \
	_(cuDevicePrimaryCtxRetain) _(cuCtxSetCurrent)                                         \
	_(fake_gpu_next) _(fake_gpu_begin) _(fake_gpu_end) _(fake_gpu_call) _(fake_gpu_work)   \
	_(fake_gpu_unload) _(fake_gpu_fatal) _(fake_gpu_finish)

static struct {
#define _(function) __typeof__(&function) function;
	CALLS(_) CUDA_CALLS(_)
#undef _
} f;

/* ---- a client of CUPTI's ---- */

static struct {
	uint8_t *buffer[N_BUFFERS];
	size_t valid[N_BUFFERS];
	uint32_t n_asked, n_came;	/* atomic */
	bool refuses, is_dirty;
	pthread_t asked_by, came_by;
	const char *names[N_RECORDS];	/* of kernels */
	uint64_t ends[N_RECORDS];
	uint32_t correlations[N_RECORDS];
	uint32_t n_kernels, n_calls, n_driver_calls, n_other;
} client;

static inline void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	client.asked_by = pthread_self();
	__atomic_add_fetch(&client.n_asked, 1, __ATOMIC_RELAXED);
	*buffer = client.refuses ? NULL : aligned_alloc(8, BUFFER_BYTES);
	if (client.is_dirty)
		memset(*buffer, 0xa5, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static inline void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				      size_t valid)
{
	uint32_t i = __atomic_fetch_add(&client.n_came, 1, __ATOMIC_ACQ_REL);

	client.came_by = pthread_self();
	cr_assert_lt(i, N_BUFFERS);
	client.buffer[i] = buffer;
	client.valid[i] = valid;
}

static inline void read_buffers(void)
{
	client.n_kernels = client.n_calls = client.n_driver_calls = client.n_other = 0;
	for (uint32_t i = 0; i < client.n_came; i++) {
		CUpti_Activity *record = NULL;
		CUptiResult result;

		while (!(result = f.cuptiActivityGetNextRecord(client.buffer[i], client.valid[i],
							       &record))) {
			const CUpti_ActivityKernel4 *kernel = (void *)record;

			client.n_calls += record->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
			client.n_driver_calls += record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
			if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
				continue;
			client.names[client.n_kernels] = kernel->name;
			client.correlations[client.n_kernels] = kernel->correlationId;
			client.ends[client.n_kernels++] = kernel->end;
		}
		cr_assert_eq(result, CUPTI_ERROR_MAX_LIMIT_REACHED);
	}
}

static inline void load(const char *cupti)
{
	const char *fakes = getenv("FAKES");
	char path[512];
	void *cuda, *lib;

	if (!fakes)
		cr_skip_test("FAKES is not set (make check-unit sets it)");
	snprintf(path, sizeof(path), "%s/%s", fakes, cupti);
	if (access(path, R_OK))
		cr_skip_test("the stand-ins are not built: there are no headers of CUDA");
	lib = dlopen(path, RTLD_NOW);
	cr_assert_not_null(lib, "%s", dlerror());
	snprintf(path, sizeof(path), "%s/libcuda.so.1", fakes);
	cuda = dlopen(path, RTLD_NOW);
	cr_assert_not_null(cuda, "%s", dlerror());
#define _(function) f.function = (__typeof__(&function))dlsym(lib, #function);
	CALLS(_)
#undef _
#define _(function) f.function = (__typeof__(&function))dlsym(cuda, #function);
	CUDA_CALLS(_)
#undef _
}

static inline void start(const char *cupti)
{
	CUcontext context;

	load(cupti);
	cr_assert_eq(f.cuInit(0), 0);
	cr_assert_eq(f.cuDevicePrimaryCtxRetain(&context, 0), 0);
	f.cuCtxSetCurrent(context);
	f.cuptiActivityRegisterCallbacks(requested, completed);
}

static inline void record_launches(void)
{
	cr_assert_eq(f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), 0);
	cr_assert_eq(f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
}

/* A launch whose kernel ends `ends_in` ns from now. */
static inline void launch(const char *name, uint64_t ends_in)
{
	struct fake_work work = {.kind = FAKE_KERNEL, .name = name, .grid = { 1, 1, 1 }};
	struct fake_call call = {.work = &work, .n_work = 1};
	uint64_t now = 0;

	f.cuptiGetTimestamp(&now);
	work.start_ns = now;
	work.end_ns = now + ends_in;
	f.fake_gpu_next(&call);
	f.fake_gpu_call(2, "cudaLaunchKernel");
}

#endif
