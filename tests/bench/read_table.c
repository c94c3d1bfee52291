/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_table.c - a table of a run through the reader library, with its cost
 *
 * usage: read_table LIBRARY RUN TABLE [COLUMNS]
 *
 * Each batch is released before the next one is taken. Prints rows, seconds of wall and of CPU (of all
 * threads), and the peak RSS; rates on the machine of others are best judged by CPU.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "merge/arrow/trainprof_read.h"

static char why[1024];

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Rows; -1: an error, said. */
static int64_t take_all(struct ArrowArrayStream *stream)
{
	struct ArrowArray array;
	int64_t n = 0;

	while (!stream->get_next(stream, &array) && array.release) {
		n += array.length;
		array.release(&array);
	}
	if (stream->get_last_error(stream)) {
		fprintf(stderr, "%s\n", stream->get_last_error(stream));
		n = -1;
	}
	stream->release(stream);
	return n;
}

int main(int argc, char **argv)
{
	double wall = seconds(CLOCK_MONOTONIC), cpu;
	struct ArrowArrayStream stream;
	struct trainprof_run *run;
	struct rusage used;
	int64_t n;
	void *lib;

	if (argc < 4) {
		fprintf(stderr, "usage: read_table LIBRARY RUN TABLE [COLUMNS]\n");
		return 2;
	}
	lib = dlopen(argv[1], RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	run = ((__typeof__(&trainprof_open))dlsym(lib, "trainprof_open"))(
		(const char *const *)&argv[2], 1, NULL, why, sizeof(why));
	if (!run || ((__typeof__(&trainprof_table))dlsym(lib, "trainprof_table"))(
			    run, argv[3], argc > 4 ? argv[4] : NULL, &stream, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	n = take_all(&stream);
	wall = seconds(CLOCK_MONOTONIC) - wall;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	getrusage(RUSAGE_SELF, &used);
	((__typeof__(&trainprof_close))dlsym(lib, "trainprof_close"))(run);
	printf("%-10s %9lld rows, wall %.2f s, cpu %.2f s = %.2f M/s, RSS %.1f MiB%s%s\n", argv[3],
	       (long long)n, wall, cpu, (double)n / cpu / 1e6, (double)used.ru_maxrss / 1024,
	       argc > 4 ? ", columns " : "", argc > 4 ? argv[4] : "");
	return n < 0;
}
