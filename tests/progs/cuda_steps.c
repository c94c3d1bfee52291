/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_steps.c - a small CUDA program with steps, in the ways in which programs use CUDA
 *
 * usage: cuda_steps MODE [STEPS]
 *
 * A step is 20 launches, a copy, a set, an allocation given back, and a wait for the device.
 *	run	that, STEPS times (12)
 *	many	two devices, 64 streams, 128 threads
 *	fork	children are forked amidst the steps, which make steps of their own
 *	exit, _exit, return	leaves in the middle of a step, with work under way
 *	context	a context is destroyed with records of its work not yet delivered
 *	graph	each step launches a graph of three kernels, too
 *	driver	each step launches three kernels by the driver's API, too, as cuBLAS and Triton do
 *	ahead	steps of 1 ms, of 20 launches each, that do not wait for the device
 *	back	times of the device's work go back, and some are not there
 *	user WAY LIBRARY	tests/progs/cupti_user.c's function of that name is called in step 4
 *
 * Without the profiler it prints the same.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/trainprof.h"
#include "tests/fakes/fake.h"

enum { N_LAUNCHES = 20, N_THREADS = 128, N_STREAMS = 64 };

static uint64_t n_kernels;
static cudaStream_t stream[N_STREAMS];

static void kernel(void)
{
}

static void check(cudaError_t error)
{
	if (error != cudaSuccess)
		fprintf(stderr, "error %d\n", error);
}

static void launch(cudaStream_t on)
{
	check(cudaLaunchKernel((const void *)kernel, (dim3){4, 1, 1}, (dim3){128, 1, 1}, NULL, 256,
			       on));
	__atomic_fetch_add(&n_kernels, 1, __ATOMIC_RELAXED);
}

static void work(void)
{
	static char host[4096];
	void *block = NULL;
	int device;

	check(cudaMalloc(&block, sizeof(host)));
	check(cudaGetDevice(&device));
	check(cudaGetLastError());
	for (int i = 0; i < N_LAUNCHES; i++)
		launch(0);
	check(cudaMemcpyAsync(block, host, sizeof(host), cudaMemcpyHostToDevice, 0));
	check(cudaMemsetAsync(block, 0, sizeof(host), 0));
	check(cudaDeviceSynchronize());
	check(cudaFree(block));
}

static void step(void)
{
	const struct timespec pause = {.tv_nsec = 5000000};

	work();
	nanosleep(&pause, NULL);
	trainprof_step();
}

static void *launch_on_many(void *arg)
{
	uintptr_t at = (uintptr_t)arg;

	check(cudaSetDevice((int)(at % 2)));
	for (int i = 0; i < N_LAUNCHES; i++)
		launch(stream[(at + (uintptr_t)i * 2) % N_STREAMS]);
	return NULL;
}

static void run_many(int n_steps)
{
	pthread_t thread[N_THREADS];

	for (int i = 0; i < N_STREAMS; i++) {
		check(cudaSetDevice(i % 2));
		check(cudaStreamCreate(&stream[i]));
	}
	for (int s = 0; s < n_steps; s++) {
		for (uintptr_t i = 0; i < N_THREADS; i++)
			pthread_create(&thread[i], NULL, launch_on_many, (void *)i);
		for (int i = 0; i < N_THREADS; i++)
			pthread_join(thread[i], NULL);
		check(cudaDeviceSynchronize());
		trainprof_step();
	}
}

/* A child of fork: steps without CUDA, and each of the ways out. */
static void fork_one(int number)
{
	pid_t child = fork();
	int status;

	if (!child) {
		for (int i = 0; i < 8; i++)
			trainprof_step();
		if (number % 2)
			_exit(7);
		exit(7);
	}
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		printf("child ended with status %x\n", status);
}

static void run_back(void (*next)(const struct fake_call *call), int n_steps)
{
	for (int s = 0; s < n_steps; s++) {
		for (int i = 0; i < N_LAUNCHES; i++) {
			struct timespec now;
			struct fake_work work = {
				.kind = FAKE_KERNEL, .name = "_Z4backv", .grid = {1, 1, 1},
				.block = {32, 1, 1}, .has_no_time = i % 4 == 3,
			};
			struct fake_call call = {.work = &work, .n_work = 1};

			clock_gettime(CLOCK_REALTIME, &now);
			work.start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
			work.end_ns = work.start_ns + 2000;
			if (i % 4 == 1)
				work.start_ns = work.end_ns + 500;	/* ends before it begins */
			if (i % 4 == 2)
				work.start_ns -= 100000, work.end_ns -= 100000;
			next(&call);
			launch(0);
		}
		step();
	}
}

static void run_graph(void (*next)(const struct fake_call *call), int n_steps)
{
	for (int s = 0; s < n_steps; s++) {
		struct fake_work work[4];
		struct fake_call call = {.work = work, .n_work = 4};

		for (uint32_t i = 0; i < 4; i++)
			work[i] = (struct fake_work){
				.kind = i ? FAKE_KERNEL : FAKE_GRAPH, .name = "_Z4nodev",
				.graph = 5, .graph_node = i, .grid = {1, 1, 1}, .block = {32, 1, 1},
			};
		next(&call);
		check(cudaGraphLaunch((cudaGraphExec_t)5, 0));
		step();
	}
}

static void run_driver(int n_steps)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	__typeof__(&cuModuleLoadData) load = (__typeof__(load))dlsym(driver, "cuModuleLoadData");
	__typeof__(&cuModuleGetFunction) get = (__typeof__(get))dlsym(driver, "cuModuleGetFunction");
	__typeof__(&cuLaunchKernel) start = (__typeof__(start))dlsym(driver, "cuLaunchKernel");
	CUmodule module = NULL;
	CUfunction function = NULL;

	if (load(&module, "") != CUDA_SUCCESS || get(&function, module, "by_the_driver") != CUDA_SUCCESS)
		printf("no function\n");
	for (int s = 0; s < n_steps; s++) {
		for (int i = 0; i < 3; i++)
			if (start(function, 4, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS)
				printf("no launch\n");
		step();
	}
}

static void run_ahead(int n_steps)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int s = 0; s < n_steps; s++) {
		for (int i = 0; i < N_LAUNCHES; i++)
			launch(0);
		nanosleep(&pause, NULL);
		trainprof_step();
	}
	check(cudaDeviceSynchronize());
}

static void run_context(int n_steps)
{
	CUresult (*destroy)(CUcontext) = NULL;
	CUresult (*create)(CUcontext *, CUctxCreateParams *, unsigned, CUdevice) = NULL;
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	destroy = (__typeof__(destroy))dlsym(driver, "cuCtxDestroy_v2");
	create = (__typeof__(create))dlsym(driver, "cuCtxCreate_v4");
	for (int s = 0; s < n_steps; s++) {
		CUcontext context = NULL;

		if (create(&context, NULL, 0, 0) != CUDA_SUCCESS)
			printf("no context\n");
		for (int i = 0; i < N_LAUNCHES; i++)
			launch(0);
		if (destroy(context) != CUDA_SUCCESS)
			printf("context stays\n");
		step();
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "run";
	int n_steps = argc > 2 && strcmp(mode, "user") ? atoi(argv[2]) : 12;
	void (*use)(void) = NULL;
	void *driver;

	if (!strcmp(mode, "user")) {
		void *library = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);

		use = library ? (__typeof__(use))dlsym(library, argv[2]) : NULL;
		if (!use)
			printf("no %s: %s\n", argv[2], dlerror());
	}
	check(cudaSetDevice(0));
	work();
	driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!strcmp(mode, "many")) {
		run_many(n_steps);
	} else if (!strcmp(mode, "back")) {
		run_back((void (*)(const struct fake_call *))dlsym(driver, "fake_gpu_next"),
			 n_steps);
	} else if (!strcmp(mode, "graph")) {
		run_graph((void (*)(const struct fake_call *))dlsym(driver, "fake_gpu_next"),
			  n_steps);
	} else if (!strcmp(mode, "driver")) {
		run_driver(n_steps);
	} else if (!strcmp(mode, "ahead")) {
		run_ahead(n_steps);
	} else if (!strcmp(mode, "context")) {
		run_context(n_steps);
	} else {
		for (int i = 0; i < n_steps; i++) {
			step();
			if (!strcmp(mode, "fork"))
				fork_one(i);
			if (use && i == 4)
				use();
		}
	}
	printf("done, %lu kernels\n", n_kernels);
	fflush(stdout);
	if (!strcmp(mode, "exit") || !strcmp(mode, "_exit") || !strcmp(mode, "return"))
		for (int i = 0; i < N_LAUNCHES; i++)
			launch(0);
	if (!strcmp(mode, "exit"))
		exit(3);
	if (!strcmp(mode, "_exit"))
		_exit(3);
	return !strcmp(mode, "return") ? 3 : 0;
}
