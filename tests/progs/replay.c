/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - a program that does what a replay file says: its threads, ranges, calls, kernels
 *
 * usage: replay FILE [--speed X] [--repeat N]
 *
 * Each thread's order is kept exactly, and its pace as well as that can be; how well is said at
 * the end, on standard error. Device records carry the file's times, moved to this process's
 * clock; with --speed all times are divided by X. Calls of CUDA go to the stand-ins of
 * tests/fakes. Ends when the last device record was delivered.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/progs/replay_file.h"
#include "tests/progs/replay_play.h"

#define READY "TRAINPROF_REPLAY_READY"

static _Noreturn void usage(void)
{
	fprintf(stderr, "usage: replay FILE [--speed X] [--repeat N]\n");
	exit(2);
}

static void set(const char *variable, const char *value)
{
	if (*value)
		setenv(variable, value, 1);
}

/* What is read when libraries are loaded is in the environment of a second start. */
static void start_again(const struct replay_file *file, char **argv)
{
	if (getenv(READY))
		return;
	set("RANK", file->rank);
	set("LOCAL_RANK", file->rank);
	set("WORLD_SIZE", file->world_size);
	if (!getenv("FAKE_CUPTI_VERSION"))
		set("FAKE_CUPTI_VERSION", file->cupti_version);
	if (!getenv("FAKE_CUDA_DRIVER"))
		set("FAKE_CUDA_DRIVER", file->driver_version);
	setenv(READY, "1", 1);
	execv("/proc/self/exe", argv);
	fprintf(stderr, "replay: cannot start again: %s\n", strerror(errno));
	exit(1);
}

int main(int argc, char **argv)
{
	struct replay_options options = {.speed = 1, .repeat = 1};
	const char *path = NULL;
	struct replay_file file;

	for (int i = 1; i < argc; i++) {
		char *end = (char *)"";

		if (!strcmp(argv[i], "--speed") && i + 1 < argc)
			options.speed = strtod(argv[++i], &end);
		else if (!strcmp(argv[i], "--repeat") && i + 1 < argc)
			options.repeat = (uint32_t)strtoul(argv[++i], &end, 10);
		else if (*argv[i] != '-' && !path)
			path = argv[i];
		else
			usage();
		if (*end || !(options.speed > 0) || !options.repeat)
			usage();
	}
	if (!path)
		usage();
	replay_read(&file, path);
	start_again(&file, argv);
	unsetenv(READY);
	replay_play(&file, &options);
	fake_gpu_finish();
	return 0;
}
