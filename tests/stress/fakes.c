/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakes.c - the stand-ins for CUDA and CUPTI under many threads: nothing lost, nothing twice, no
 * race of theirs that a test of ours would be blamed for
 *
 * usage: fakes [THREADS [LAUNCHES]]; the stand-ins are in $FAKES, else it passes.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cupti.h>

#include "tests/fakes/fake.h"

enum { BUFFER_BYTES = 8192 };

static struct {
	__typeof__(&cuptiActivityRegisterCallbacks) register_callbacks;
	__typeof__(&cuptiActivityEnable) enable;
	__typeof__(&cuptiActivityDisable) disable;
	__typeof__(&cuptiActivityFlushAll) flush;
	__typeof__(&cuptiActivityGetNextRecord) next;
	__typeof__(&cuptiActivityGetNumDroppedRecords) dropped;
	__typeof__(&cuptiSubscribe) subscribe;
	__typeof__(&cuptiEnableCallback) callback;
	__typeof__(&cuInit) init;
	__typeof__(&cuMemAlloc_v2) alloc;
	__typeof__(&cuMemFree_v2) free;
	__typeof__(&fake_gpu_call) call;
	__typeof__(&fake_gpu_next) say;
	__typeof__(&fake_gpu_finish) finish;
} f;

static uint64_t n_records, n_heard, n_asked, n_refused;	/* atomic */
static uint32_t n_launches = 2000;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint64_t n = __atomic_add_fetch(&n_asked, 1, __ATOMIC_RELAXED);

	*buffer = NULL;
	if (n % 16 == 0)
		__atomic_add_fetch(&n_refused, 1, __ATOMIC_RELAXED);
	else
		*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *record = NULL;

	while (!f.next(buffer, valid, &record))
		__atomic_add_fetch(&n_records, 1, __ATOMIC_RELAXED);
	free(buffer);
}

static void CUPTIAPI hear(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			  const void *data)
{
	__atomic_add_fetch(&n_heard, 1, __ATOMIC_RELAXED);
}

static void *launch(void *unused)
{
	struct fake_work work = {.kind = FAKE_KERNEL, .name = "a kernel"};
	struct fake_call call = {.work = &work, .n_work = 1};
	CUdeviceptr address;

	for (uint32_t i = 0; i < n_launches; i++) {
		f.say(&call);
		f.call(2, "cudaLaunchKernel");
		if (i % 16)
			continue;
		f.alloc(&address, 512);
		f.free(address);
	}
	return NULL;
}

static bool load(const char *folder)
{
	char path[512];
	void *cupti, *cuda;

	snprintf(path, sizeof(path), "%s/libcupti.so.13", folder);
	cupti = dlopen(path, RTLD_NOW);
	snprintf(path, sizeof(path), "%s/libcuda.so.1", folder);
	cuda = dlopen(path, RTLD_NOW);
	if (!cupti || !cuda)
		return false;
#define FIND(lib, field, name) *(void **)&f.field = dlsym(lib, name)
	FIND(cupti, register_callbacks, "cuptiActivityRegisterCallbacks");
	FIND(cupti, enable, "cuptiActivityEnable");
	FIND(cupti, disable, "cuptiActivityDisable");
	FIND(cupti, flush, "cuptiActivityFlushAll");
	FIND(cupti, next, "cuptiActivityGetNextRecord");
	FIND(cupti, dropped, "cuptiActivityGetNumDroppedRecords");
	FIND(cupti, subscribe, "cuptiSubscribe");
	FIND(cupti, callback, "cuptiEnableCallback");
	FIND(cuda, init, "cuInit");
	FIND(cuda, alloc, "cuMemAlloc_v2");
	FIND(cuda, free, "cuMemFree_v2");
	FIND(cuda, call, "fake_gpu_call");
	FIND(cuda, say, "fake_gpu_next");
	FIND(cuda, finish, "fake_gpu_finish");
#undef FIND
	return true;
}

int main(int argc, char **argv)
{
	uint32_t n_threads = argc > 1 ? (uint32_t)atoi(argv[1]) : 8;
	pthread_t *threads = calloc(n_threads, sizeof(*threads));
	CUpti_SubscriberHandle subscriber;
	uint64_t wanted;
	size_t dropped = 0;

	if (argc > 2)
		n_launches = (uint32_t)atoi(argv[2]);
	if (!getenv("FAKES") || !load(getenv("FAKES"))) {
		printf("no stand-ins in FAKES\n");
		return 0;
	}
	f.init(0);
	f.register_callbacks(requested, completed);
	f.subscribe(&subscriber, hear, NULL);
	f.callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
	f.enable(CUPTI_ACTIVITY_KIND_RUNTIME);
	f.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	for (uint32_t i = 0; i < n_threads; i++)
		pthread_create(&threads[i], NULL, launch, NULL);
	for (uint32_t i = 0; i < 200; i++) {
		f.flush(i % 2);
		usleep(500);
	}
	for (uint32_t i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	f.finish();
	f.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	f.dropped(NULL, 0, &dropped);
	wanted = 2ull * n_threads * n_launches;
	printf("%lu records, %zu dropped, of %lu; %lu callbacks\n", n_records, dropped, wanted, n_heard);
	free(threads);
	return n_records + dropped != wanted || !dropped ||
	       n_heard != 2ull * n_threads * ((n_launches + 15) / 16);
}
