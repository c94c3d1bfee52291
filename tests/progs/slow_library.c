/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_library.c - a library whose constructor takes its time, and the program that loads it
 *
 * cc -DPLUGIN -shared: the library. Its constructor allocates until the trace at $SLOW_TRACE has grown
 * in spite of it, then prints "written"; after 20 seconds "not written".
 * usage: slow_library LIBRARY
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#ifdef PLUGIN
static void *volatile sink;

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static long size_of_trace(void)
{
	const char *path = getenv("SLOW_TRACE");
	struct stat status;

	return path && !stat(path, &status) ? (long)status.st_size : 0;
}

/* Whatever our thread does now and then, it has done it by the second second. */
static __attribute__((constructor)) void take_time(void)
{
	double begin = now();
	long size = -1;

	while (now() < begin + 20) {
		for (int i = 0; i < 20000; i++) {
			sink = malloc((size_t)i % 500);
			free(sink);
		}
		if (size < 0 && now() > begin + 1.5)
			size = size_of_trace();
		if (size >= 0 && size_of_trace() > size + 100000) {
			puts("written");
			return;
		}
	}
	puts("not written");
}
#else
int main(int argc, char **argv)
{
	return argc < 2 || !dlopen(argv[1], RTLD_NOW);
}
#endif
