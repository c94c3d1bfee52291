/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc.c - what the malloc hooks cost while nothing is recorded
 *
 * usage: malloc LIBRARY NOP-LIBRARY [ROUNDS]
 *
 * Runs itself without a preload, with the library that only forwards, with the real one in a
 * process that it passes through, and in one that trains (bytes alive are counted), in turn,
 * and prints nanoseconds of CPU an event (one malloc or one free) and what was added to the run
 * without: medians of the differences within a round. Two loads: one block taken and given
 * back at once, and 1,024 live blocks of 16 bytes to 4 KiB. The goals: at most 2 ns added in the
 * one, counting of calls included, at most 8 in the other. Exit status 1 when one is missed.
 * What recording costs: tests/bench/heap.py.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_LOADS = 2, N_SETUPS = 4, MOST_ROUNDS = 99, BATCHES = 9, LIVE = 1024 };
static const char *const load_name[N_LOADS] = { "one block", "1,024 live blocks" };
enum setup { NONE, NOP, PASSED, COUNTED };
static const char *const setup_name[N_SETUPS] = { "none", "nop", "passed", "counted" };
static const double goal_ns[N_SETUPS] = { [PASSED] = 2.0, [COUNTED] = 8.0 };

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int order_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *value, int n)
{
	qsort(value, (size_t)n, sizeof(*value), order_doubles);
	return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}

static void run_one_block(int n_events)
{
	for (int i = 0; i < n_events / 2; i++) {
		char *block = malloc(64);

		/* Or the compiler removes both calls. */
		__asm__ volatile("" : : "r"(block) : "memory");
		free(block);
	}
}

static void run_live_blocks(int n_events)
{
	static void *live[LIVE];
	uint32_t dice = 12345;

	for (int i = 0; i < n_events / 2; i++) {
		void **place;

		dice = dice * 1664525u + 1013904223u;
		place = &live[dice >> 22];
		free(*place);
		*place = malloc((size_t)16 << (dice >> 8) % 9);
	}
}

/* The child: least of the batches for each load (noise only ever adds). */
static int measure(void)
{
	static void (*const run[N_LOADS])(int) = { run_one_block, run_live_blocks };
	enum { EVENTS = 400000 };
	double result[N_LOADS];

	for (int load = 0; load < N_LOADS; load++) {
		run[load](EVENTS / 4);
		result[load] = 1e9;
		for (int i = 0; i < BATCHES; i++) {
			double begin = cpu_ns(), ns;

			run[load](EVENTS);
			ns = (cpu_ns() - begin) / EVENTS;
			if (ns < result[load])
				result[load] = ns;
		}
	}
	return write(STDOUT_FILENO, result, sizeof(result)) == sizeof(result) ? 0 : 1;
}

/* A preload that the dynamic linker could not use would measure as free. */
static int is_mapped(const char *path)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int found = 0;
	char line[4096];

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, path) != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* A session that records nothing: it never comes to its first window. */
static void ask_for_session(void)
{
	const char *tmp = getenv("TMP");
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/malloc-bench", tmp ? tmp : "/tmp");
	setenv("TRAINPROF_DIR", dir, 1);
	setenv("TRAINPROF_OVERWRITE", "1", 1);
	setenv("TRAINPROF_PROGRAM", "exe", 1);	/* /proc/self/exe */
	setenv("TRAINPROF_HEAP", "counters", 1);
}

static int run_child(const char *self, enum setup setup, const char *preload,
		     double result[N_LOADS])
{
	int status, out[2];
	pid_t pid;

	if (pipe(out) < 0)
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		unsetenv("LD_PRELOAD");
		if (*preload)
			setenv("LD_PRELOAD", preload, 1);
		if (setup == COUNTED)
			ask_for_session();
		execl(self, self, "--measure", preload, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	status = read(out[0], result, sizeof(double) * N_LOADS) == sizeof(double) * N_LOADS ? 0 : -1;
	close(out[0]);
	waitpid(pid, NULL, 0);
	return status;
}

int main(int argc, char **argv)
{
	static double ns[N_SETUPS][N_LOADS][MOST_ROUNDS], added[MOST_ROUNDS];
	const char *preload[N_SETUPS] = { "" };
	int rounds = argc > 3 ? atoi(argv[3]) : 15, missed = 0;

	if (argc == 3 && !strcmp(argv[1], "--measure"))
		return *argv[2] && !is_mapped(argv[2]) ? 1 : measure();
	if (argc < 3 || rounds < 1 || rounds > MOST_ROUNDS) {
		fprintf(stderr, "usage: malloc LIBRARY NOP-LIBRARY [ROUNDS]\n");
		return 2;
	}
	for (int i = 1; i < N_SETUPS; i++) {
		preload[i] = realpath(argv[i == NOP ? 2 : 1], NULL);
		if (!preload[i]) {
			perror(argv[i == NOP ? 2 : 1]);
			return 2;
		}
	}
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < N_SETUPS; i++) {
			/* Another one goes first in each round. */
			int setup = (round + i) % N_SETUPS;
			double result[N_LOADS];

			if (run_child("/proc/self/exe", setup, preload[setup], result) < 0) {
				fprintf(stderr, "malloc: no result with preload '%s'\n",
					preload[setup]);
				return 2;
			}
			for (int load = 0; load < N_LOADS; load++)
				ns[setup][load][round] = result[load];
		}
	}
	printf("%-18s %-10s %9s %9s\n", "load", "preload", "ns/event", "added ns");
	for (int load = 0; load < N_LOADS; load++) {
		for (int setup = 0; setup < N_SETUPS; setup++) {
			double more;

			for (int i = 0; i < rounds; i++)
				added[i] = ns[setup][load][i] - ns[0][load][i];
			more = median(added, rounds);
			if (goal_ns[setup] > 0 && more > goal_ns[setup])
				missed = 1;
			if (setup)
				printf("%-18s %-10s %9.2f %9.2f\n", load_name[load],
				       setup_name[setup], ns[0][load][0] + more, more);
			else
				printf("%-18s %-10s %9.2f %9s\n", load_name[load], setup_name[setup],
				       ns[0][load][0], "-");
		}
	}
	printf("malloc_hook_added_ns goal=%.1f counted goal=%.1f %s\n", goal_ns[PASSED],
	       goal_ns[COUNTED], missed ? "missed" : "met");
	return missed;
}
