/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_user.c - a program that trains nothing, but uses (the fake) NCCL in steps: a communicator
 * between hosts, one within a host, many small ones; collectives in groups and alone, sends and
 * receives, a CUDA graph, copy engines, a proxy that works for another process
 *
 * usage: nccl_user [STEPS [RANK RANKS]]. Marks its steps by trainprof.h. Prints, at the end, the
 * version of the plugin that was found and the mask: "plugin V mask M".
 * NCCL_USER says what else it does: "abort": the communicator between hosts goes while its
 * proxies work; "slow": they take a few milliseconds; "fork": a child does a step of its own;
 * "burst": more at a time than the profiler has room for.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/trainprof.h"
#include "tests/fakes/nccl_fake.h"

enum { SMALL = 20 };

static struct fake_comm *world, *local, *small[SMALL];
static int rank, n_ranks = 2;

static void make_comms(void)
{
	struct fake_comm_spec spec = {"world", 0xabc001, 2, n_ranks, rank, 4};

	world = fake_nccl_comm(&spec);
	spec = (struct fake_comm_spec){NULL, 0xabc100 + (uint64_t)rank / 2, 1, 2, rank % 2, 2};
	local = fake_nccl_comm(&spec);
	for (int i = 0; i < SMALL; i++) {
		char name[16];

		snprintf(name, sizeof(name), "small%d", i);
		spec = (struct fake_comm_spec){name, 0xabc200 + (uint64_t)i, 1, 1, 0, 1};
		small[i] = fake_nccl_comm(&spec);
	}
}

static void call(struct fake_comm *comm, enum fake_func func, enum fake_type type, size_t count,
		 int peer)
{
	struct fake_call is = {.func = func, .type = type, .count = count, .peer = peer,
			       .stream = 0x55001000};

	fake_nccl_call(comm, &is);
}

/* Also on a thread of its own, at the same time. */
static void *use_local(void *unused)
{
	call(local, FAKE_ALL_REDUCE, FAKE_BFLOAT16, 333, 0);
	for (int i = 0; i < SMALL; i++)
		call(small[i], FAKE_BROADCAST, FAKE_INT8, 10 + (size_t)i, 0);
	return unused;
}

static void step(int i)
{
	struct fake_call engines = {.func = FAKE_ALL_GATHER, .type = FAKE_FLOAT64, .count = 64,
				    .stream = 0x55002000, .by_engines = true};
	pthread_t thread;
	bool has_thread = !pthread_create(&thread, NULL, use_local, NULL);

	call(world, FAKE_ALL_REDUCE, FAKE_FLOAT32, 1000 + (size_t)i, 0);
	fake_nccl_group_start();
	call(world, FAKE_ALL_GATHER, FAKE_FLOAT16, 2000, 0);
	call(world, FAKE_REDUCE_SCATTER, FAKE_FLOAT16, 2000, 0);
	fake_nccl_group_end();
	fake_nccl_group_start();
	call(world, FAKE_SEND, FAKE_FLOAT32, 50, (rank + 1) % n_ranks);
	call(world, FAKE_RECV, FAKE_FLOAT32, 50, (rank + n_ranks - 1) % n_ranks);
	fake_nccl_group_end();
	fake_nccl_call(local, &engines);
	fake_nccl_replay(world);
	fake_nccl_foreign(world, 0);
	if (has_thread)
		pthread_join(thread, NULL);
}

static void capture(void)
{
	struct fake_call is = {.func = FAKE_ALL_REDUCE, .type = FAKE_FLOAT32, .count = 4000,
			       .stream = 0x55003000, .is_captured = true};

	fake_nccl_call(world, &is);
}

static void burst(void)
{
	for (int i = 0; i < 9000; i++)
		call(world, FAKE_ALL_REDUCE, FAKE_FLOAT32, 1, 0);
}

int main(int argc, char **argv)
{
	int n_steps = argc > 1 ? atoi(argv[1]) : 6;
	const char *habit = getenv("NCCL_USER") ? getenv("NCCL_USER") : "";

	if (argc > 3) {
		rank = atoi(argv[2]);
		n_ranks = atoi(argv[3]);
	}
	if (strstr(habit, "slow"))
		fake_nccl_set_pace(2000);
	make_comms();
	trainprof_step();
	for (int i = 0; i < n_steps; i++) {
		if (i == 2)
			capture();
		step(i);
		if (strstr(habit, "burst"))
			burst();
		if (!strstr(habit, "slow"))
			fake_nccl_wait(world);
		trainprof_step();
	}
	if (strstr(habit, "fork")) {
		pid_t child = fork();

		if (!child) {
			call(local, FAKE_ALL_REDUCE, FAKE_FLOAT32, 1, 0);
			_exit(fake_nccl_mask() != 0);
		}
		waitpid(child, NULL, 0);
	}
	printf("plugin %d mask %d\n", fake_nccl_version(), fake_nccl_mask());
	for (int i = 0; i < SMALL; i++)
		fake_nccl_destroy(small[i], true);
	fake_nccl_destroy(local, true);
	fake_nccl_destroy(world, !strstr(habit, "abort"));
	return 0;
}
