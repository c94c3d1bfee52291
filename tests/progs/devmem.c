/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem.c - a program that takes and gives back device memory in every way, and keeps books
 *
 * usage: devmem kinds [LIBRARY]	each way once; LIBRARY's ask() takes 7 MiB more
 *	  devmem threads N ROUNDS	N threads, which free each other's blocks
 *	  devmem steps N		a block of 1 MiB stays from each step, one of 2 MiB goes
 *	  devmem reset			a context is destroyed with blocks in it
 *	  devmem devices		3 MiB stay on the second device, 1 MiB on the first
 *	  devmem fork			a child is made, with blocks alive, and ends
 * Prints what is alive at the end on the device: "live BYTES", and errors of CUDA.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "preload/trainprof.h"

cudaError_t cudaProfilerStart(void);	/* of <cuda_profiler_api.h>, which not all have */

enum { MIB = 1 << 20 };

static size_t live;

static void check(int result, const char *what)
{
	if (result)
		printf("%s: %d\n", what, result);
}
#define DO(call) check((int)(call), #call)

static void map_some(void)
{
	CUmemGenericAllocationHandle handle[2] = {0};	/* what a failing call leaves is the same each time */
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
	CUdeviceptr base = 0;

	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	DO(cuMemAddressReserve(&base, 64 * MIB, 0, 0, 0));
	for (int i = 0; i < 2; i++) {
		DO(cuMemCreate(&handle[i], 2 * MIB, &prop, 0));
		DO(cuMemMap(base + (size_t)i * 2 * MIB, 2 * MIB, 0, handle[i], 0));
	}
	DO(cuMemRelease(handle[0]));
	DO(cuMemRelease(handle[1]));
	DO(cuMemUnmap(base, 2 * MIB));
	live += 2 * MIB;
}

static void take_each_kind(const char *library)
{
	CUDA_ARRAY_DESCRIPTOR grid = {
		.Width = 512, .Height = 512, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1,
	};
	static char own[MIB];
	void *block[12];
	size_t pitch;
	CUarray array;

	DO(cudaMalloc(&block[0], MIB));
	DO(cudaMalloc(&block[1], 100 * MIB));
	DO(cudaFree(block[1]));
	DO(cudaFree(NULL));
	DO(cudaMallocPitch(&block[2], &pitch, 1000, 1000));
	DO(cudaMallocManaged(&block[3], 3 * MIB, cudaMemAttachGlobal));
	DO(cudaMallocHost(&block[4], 4 * MIB));
	DO(cudaHostAlloc(&block[5], MIB, 0));
	DO(cudaFreeHost(block[5]));
	DO(cudaHostRegister(own, sizeof(own), 0));
	DO(cudaMallocAsync(&block[6], 5 * MIB, NULL));
	DO(cudaMallocAsync(&block[7], 50 * MIB, NULL));
	DO(cudaFreeAsync(block[7], NULL));
	live += MIB + pitch * 1000 + 3 * MIB + 5 * MIB;
	map_some();
	DO(cuArrayCreate(&array, &grid));
	live += MIB;
	if (library) {
		void *asker = dlopen(library, RTLD_NOW | RTLD_LOCAL);
		void (*ask)(void) = asker ? (void (*)(void))dlsym(asker, "ask") : NULL;

		if (ask) {
			ask();
			live += 7 * MIB;
		} else {
			printf("%s\n", dlerror());
		}
	}
}

/* ---- threads ---- */

enum { SLOTS = 256 };

static struct {
	void *block;		/* atomic; handed from thread to thread */
	size_t bytes;
	int is_async;
} slot[SLOTS];
static pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;
static int n_rounds;

static void *churn(void *seed)
{
	unsigned state = (unsigned)(size_t)seed;

	for (int i = 0; i < n_rounds; i++) {
		size_t at = (size_t)rand_r(&state) % SLOTS, bytes = (size_t)rand_r(&state) % 4096 + 1;
		int is_async = rand_r(&state) & 1, old_async;
		void *block = NULL, *old;

		if (is_async)
			DO(cudaMallocAsync(&block, bytes, NULL));
		else
			DO(cudaMalloc(&block, bytes));
		__atomic_fetch_add(&live, bytes, __ATOMIC_RELAXED);
		pthread_mutex_lock(&slot_lock);
		old = slot[at].block;
		old_async = slot[at].is_async;
		if (old)
			__atomic_fetch_sub(&live, slot[at].bytes, __ATOMIC_RELAXED);
		slot[at].block = block;
		slot[at].bytes = bytes;
		slot[at].is_async = is_async;
		pthread_mutex_unlock(&slot_lock);
		if (old && old_async)
			DO(cudaFreeAsync(old, NULL));
		else if (old)
			DO(cudaFree(old));
	}
	return NULL;
}

static void run_threads(int n)
{
	pthread_t thread[256];

	DO(cudaFree(NULL));
	for (int i = 0; i < n && i < 256; i++)
		pthread_create(&thread[i], NULL, churn, (void *)(size_t)(i + 1));
	for (int i = 0; i < n && i < 256; i++)
		pthread_join(thread[i], NULL);
}

static void run_steps(int n)
{
	for (int i = 0; i < n; i++) {
		void *stays, *goes;

		DO(cudaProfilerStart());
		DO(cudaMalloc(&stays, MIB));
		DO(cudaMalloc(&goes, 2 * MIB));
		DO(cudaFree(goes));
		live += MIB;
		trainprof_step();
	}
}

static void reset_context(void)
{
	CUcontext context;
	CUdeviceptr block;
	void *kept;

	DO(cudaMalloc(&kept, MIB));
	DO(cuCtxCreate(&context, NULL, 0, 0));
	for (int i = 0; i < 10; i++)
		DO(cuMemAlloc(&block, MIB));
	DO(cuCtxDestroy(context));
	live += MIB;
}

static void use_devices(void)
{
	void *block;

	DO(cudaMalloc(&block, MIB));
	DO(cudaSetDevice(1));
	DO(cudaMalloc(&block, 2 * MIB));
	DO(cudaMallocAsync(&block, MIB, NULL));
	live += MIB;
}

static void make_child(void)
{
	void *block;
	pid_t child;

	DO(cudaMalloc(&block, MIB));
	live += MIB;
	child = fork();
	if (!child)
		exit(0);
	waitpid(child, NULL, 0);
	DO(cudaMalloc(&block, MIB));
	live += MIB;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "kinds";

	if (!strcmp(mode, "kinds")) {
		take_each_kind(argc > 2 ? argv[2] : NULL);
	} else if (!strcmp(mode, "threads") && argc > 3) {
		n_rounds = atoi(argv[3]);
		run_threads(atoi(argv[2]));
	} else if (!strcmp(mode, "steps") && argc > 2) {
		run_steps(atoi(argv[2]));
	} else if (!strcmp(mode, "reset")) {
		reset_context();
	} else if (!strcmp(mode, "devices")) {
		use_devices();
	} else if (!strcmp(mode, "fork")) {
		make_child();
	} else {
		return 2;
	}
	printf("live %zu\n", live);
	return 0;
}
