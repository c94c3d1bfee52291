/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_pass.c - one pass of the merge over a run, with its cost
 *
 * usage: merge_pass order|json FOLDER [OUTPUT]
 *
 * order: every event is handed out in time order and its order checked, nothing is made of
 * it. json: the chrome sink writes OUTPUT. Prints events, seconds of wall and of CPU (of all
 * threads), and the peak RSS; rates on the machine of others are best judged by CPU.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "merge/input/fuse.h"
#include "merge/pass.h"

static struct {
	int64_t last_ns;
	uint64_t n_events, n_disorders;
} pass;

static void count_event(void *ctx, const struct tp_event *event)
{
	(void)ctx;
	pass.n_disorders += event->begin_ns < pass.last_ns;
	pass.last_ns = event->begin_ns;
	pass.n_events++;
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	const char *path[1] = {argc > 2 ? argv[2] : ""};
	struct tp_fuse_options options = {.path = path, .n_paths = 1, .is_quiet = true};
	double wall = seconds(CLOCK_MONOTONIC), cpu;
	struct rusage used;
	struct tp_run *run;
	int err;

	if (argc < 3 || (!strcmp(argv[1], "json") && argc < 4)) {
		fprintf(stderr, "usage: merge_pass order|json FOLDER [OUTPUT]\n");
		return 2;
	}
	run = tp_run_open(&options);
	if (!run)
		return 1;
	if (!strcmp(argv[1], "json")) {
		err = tp_pass_write(run, &tp_sink_chrome, argv[3]);
		pass.n_events = run->n_events;
	} else {
		err = tp_fuse_events(run, count_event, NULL);
	}
	tp_run_free(run);
	wall = seconds(CLOCK_MONOTONIC) - wall;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	getrusage(RUSAGE_SELF, &used);
	printf("%-6s %llu events, wall %.2f s = %.2f M/s, cpu %.2f s = %.2f M/s, RSS %.1f MiB, "
	       "%llu out of order\n",
	       argv[1], (unsigned long long)pass.n_events, wall, (double)pass.n_events / wall / 1e6,
	       cpu, (double)pass.n_events / cpu / 1e6, (double)used.ru_maxrss / 1024,
	       (unsigned long long)pass.n_disorders);
	return err || pass.n_disorders ? 1 : 0;
}
