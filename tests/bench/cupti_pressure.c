/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_pressure.c - a program whose device makes more records than anybody can take
 *
 * usage: cupti_pressure CALLS THREADS	(run by cupti_pressure.sh, with the stand-ins' CUPTI)
 *
 * Each call starts WORK kernels of the stand-in, so that a few cores offer tens of millions of
 * records a second. Prints how many calls and kernels there were, how fast, and the
 * process's peak memory, as "name value" lines.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/fakes/fake.h"

enum { WORK = 200, MOST_THREADS = 64, WARM_NS = 400000000, LAST_NS = 300000000 };

static __typeof__(&cudaLaunchKernel) launch;
static __typeof__(&fake_gpu_next) next;
static uint32_t n_calls;

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *make_calls(void *unused)
{
	static const char kernel;
	struct fake_work work[WORK] = {{0}};
	struct fake_call call = {.work = work, .n_work = WORK};

	for (uint32_t i = 0; i < WORK; i++) {
		work[i].kind = FAKE_KERNEL;
		work[i].name = i % 2 ? "pressure_odd" : "pressure_even";
		work[i].stream = 7;
		for (uint32_t k = 0; k < 3; k++)
			work[i].grid[k] = work[i].block[k] = 1;
	}
	for (uint32_t i = 0; i < n_calls; i++) {
		uint64_t now = real_ns();

		/* Done by now: queued on a stream of 5 us each they would lie hours ahead. */
		for (uint32_t k = 0; k < WORK; k++) {
			work[k].start_ns = now - WORK + k;
			work[k].end_ns = now - WORK + k + 1;
		}
		next(&call);
		launch(&kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct timespec warm = {.tv_nsec = WARM_NS}, last = {.tv_nsec = LAST_NS};
	uint32_t n_threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	pthread_t threads[MOST_THREADS];
	struct rusage used;
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW), *driver;
	double begin, end;

	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!n_threads || n_threads > MOST_THREADS || !runtime || !driver) {
		fprintf(stderr, "usage: cupti_pressure CALLS THREADS, with LD_LIBRARY_PATH=$O/tests/fakes\n");
		return 2;
	}
	n_calls = (uint32_t)atoi(argv[1]);
	launch = (__typeof__(&cudaLaunchKernel))dlsym(runtime, "cudaLaunchKernel");
	next = (__typeof__(&fake_gpu_next))dlsym(driver, "fake_gpu_next");
	((__typeof__(&cudaFree))dlsym(runtime, "cudaFree"))(NULL);
	nanosleep(&warm, NULL);	/* the window opens on another thread */
	begin = seconds(CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < n_threads; i++)
		pthread_create(&threads[i], NULL, make_calls, NULL);
	for (uint32_t i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	end = seconds(CLOCK_MONOTONIC);
	nanosleep(&last, NULL);
	getrusage(RUSAGE_SELF, &used);
	printf("calls %u\nkernels %u\nseconds %.3f\nmillions_a_second %.2f\npeak_kib %ld\n",
	       n_calls * n_threads, n_calls * n_threads * WORK, end - begin,
	       (double)n_calls * n_threads * (WORK + 1) / (end - begin) / 1e6, used.ru_maxrss);
	return 0;
}
