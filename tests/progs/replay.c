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

#define READY "REPLAY_READY"

static _Noreturn void usage(void)
{
	fprintf(stderr, "usage: replay FILE [--speed X] [--repeat N]\n");
	exit(2);
}

static void set(const char *variable, const char *value)
{
	if (*value)
		setenv(variable, value, 0);
}

/* True: the variable says it, or, unset, means it. */
static bool is_set(const char *variable, const char *value, const char *meant)
{
	const char *set_to = getenv(variable);

	return !*value || !strcmp(set_to ? set_to : meant, value);
}

/*
 * A preloaded library may read the rank before main: another rank than that of a process alone
 * needs a second start, as "replay-player" (TRAINPROF_PROGRAM=player names that one alone).
 */
static void take_rank(const struct replay_file *file, char **argv)
{
	static char name[] = "replay-player";

	if (getenv(READY) || (is_set("RANK", file->rank, "0") &&
			      is_set("WORLD_SIZE", file->world_size, "1")))
		return;
	if (*file->rank) {
		setenv("RANK", file->rank, 1);
		setenv("LOCAL_RANK", file->rank, 1);
	}
	if (*file->world_size)
		setenv("WORLD_SIZE", file->world_size, 1);
	setenv(READY, "1", 1);
	argv[0] = name;
	execv("/proc/self/exe", argv);
	fprintf(stderr, "replay: cannot start again: %s\n", strerror(errno));
	exit(1);
}

int main(int argc, char **argv)
{
	struct replay_options options = {.speed = 1, .repeat = 1};
	static struct replay_file file;	/* read to the end */
	const char *path = NULL;

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
	take_rank(&file, argv);
	set("FAKE_CUPTI_VERSION", file.cupti_version);	/* read when CUPTI is loaded */
	set("FAKE_CUDA_DRIVER", file.driver_version);
	unsetenv(READY);
	replay_play(&file, &options);
	fake_gpu_finish();
	return 0;
}
