/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_user.c - a library that uses CUPTI itself, as torch.profiler and vendors' agents do
 *
 * Linked against CUPTI, opened apart from the program's scope. Each function is one use, and
 * says on standard output what it got:
 *	kineto		registers buffers without subscribing, and a clock (the processor's counter) that
 *			stays; enables kinds, disables them, flushes
 *	two_cycles	the first twice, with launches between, as a schedule of torch.profiler has it
 *	old_kineto	the first with a subscription that it never gives up
 *	subscriber	subscribes, hears launches, unsubscribes
 *	stays		subscribes, and leaves it at that
 *	finalizes	the first, and then finalises CUPTI
 *	unseen_subscriber	the third, likewise, as JAX's profiler does
 *	unseen		the first, by functions that it looks up in CUPTI itself, as Python's bindings do
 */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_LAUNCHES = 20, BYTES = 1 << 20 };

void kineto(void);
void two_cycles(void);
void old_kineto(void);
void subscriber(void);
void stays(void);
void finalizes(void);
void unseen(void);
void unseen_subscriber(void);

/* As linked, or as looked up. */
static struct {
	__typeof__(&cuptiActivityRegisterCallbacks) take;
	__typeof__(&cuptiActivityEnable) enable;
	__typeof__(&cuptiActivityDisable) disable;
	__typeof__(&cuptiActivityFlushAll) flush;
	__typeof__(&cuptiSubscribe) subscribe;
	__typeof__(&cuptiUnsubscribe) unsubscribe;
} cupti = {
	cuptiActivityRegisterCallbacks, cuptiActivityEnable, cuptiActivityDisable, cuptiActivityFlushAll,
	cuptiSubscribe, cuptiUnsubscribe,
};

static uint32_t n_kernels, n_calls, n_heard;
static CUpti_SubscriberHandle handle;

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = aligned_alloc(8, BYTES);
	*size = BYTES;
	*most = 0;
	/* Not zeroed: CUPTI is to do that, unless it was told otherwise and not told back. */
	for (size_t i = 0; i < BYTES; i++)
		(*buffer)[i] = 0xa5;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid)
{
	CUpti_Activity *record = NULL;

	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		n_kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
		n_calls += record->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
	}
	free(buffer);
}

static void CUPTIAPI hear(void *ctx, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			  const void *data)
{
	n_heard += ((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_ENTER;
}

static void kernel(void)
{
}

static void launch(void)
{
	for (int i = 0; i < N_LAUNCHES; i++)
		cudaLaunchKernel((const void *)kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, 0);
	cudaDeviceSynchronize();
}

static int failed;

static void must(CUptiResult result)
{
	if (result != CUPTI_SUCCESS)
		failed = (int)result;
}

static void profile(void)
{
	n_kernels = n_calls = 0;
	must(cupti.take(give_buffer, take_buffer));
	must(cupti.enable(CUPTI_ACTIVITY_KIND_RUNTIME));
	must(cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	launch();
	must(cupti.disable(CUPTI_ACTIVITY_KIND_RUNTIME));
	must(cupti.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	must(cupti.flush(1));
	printf("user: error %d, %u kernels, %s calls\n", failed, n_kernels,
	       n_calls >= N_LAUNCHES ? "all" : "few");
}

static uint64_t CUPTIAPI counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
#endif
}

void kineto(void)
{
	must(cuptiActivityRegisterTimestampCallback(counter));
	profile();
}

void two_cycles(void)
{
	kineto();
	launch();
	kineto();
}

void old_kineto(void)
{
	must(cuptiSubscribe(&handle, hear, NULL));
	profile();
	profile();
}

void subscriber(void)
{
	must(cupti.subscribe(&handle, hear, NULL));
	must(cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API,
				 CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000));
	launch();
	must(cupti.unsubscribe(handle));
	printf("user: error %d, heard %u\n", failed, n_heard);
}

void stays(void)
{
	must(cuptiSubscribe(&handle, hear, NULL));
	printf("user: error %d\n", failed);
}

void finalizes(void)
{
	profile();
	must(cuptiFinalize());
	printf("user: error %d\n", failed);
}

static void look_up(void)
{
	void *library = dlopen("libcupti.so.13", RTLD_LAZY | RTLD_NOLOAD);

	*(void **)&cupti.take = dlsym(library, "cuptiActivityRegisterCallbacks");
	*(void **)&cupti.enable = dlsym(library, "cuptiActivityEnable");
	*(void **)&cupti.disable = dlsym(library, "cuptiActivityDisable");
	*(void **)&cupti.flush = dlsym(library, "cuptiActivityFlushAll");
	*(void **)&cupti.subscribe = dlsym(library, "cuptiSubscribe");
	*(void **)&cupti.unsubscribe = dlsym(library, "cuptiUnsubscribe");
}

void unseen(void)
{
	look_up();
	profile();
}

void unseen_subscriber(void)
{
	look_up();
	subscriber();
}
