/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.c - collectives by many threads, their operations by others, all with handles that are
 * often over, while windows begin and end, communicators come and go, and the drain looks
 *
 * Meant for the thread and address sanitizers. At the end no entry is left, and what was begun
 * was recorded or counted.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/base/arena.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/nccl/nccl.h"
#include "runtime/probe/nccl/nccl_events.h"
#include "runtime/probe/nccl/nccl_pool.h"
#include "tests/fakes/nccl_plugin.h"
#include "tests/unit/ring_rig.h"

enum { APPS = 3, PROXIES = 3, ROUNDS = 20000, SHARED = 64 };

static int mask;
static uint32_t is_over;		/* atomic */
static uint64_t shared[SHARED];		/* atomic: handles, also of collectives that are over */
static uint64_t n_begun;		/* atomic */

static uint32_t open_comm(uint64_t hash)
{
	struct tp_nccl_who who = {.is = {hash, 0, 2, hash % 2 ? 2 : 1, 6}, .name = "stress"};

	return tp_nccl_open(&who, &mask);
}

static void *enqueue(void *arg)
{
	uint64_t hash = (uintptr_t)arg + 1;
	uint32_t comm = open_comm(hash);

	for (int i = 0; i < ROUNDS; i++) {
		struct nccl_descr_v6 descr = {.type = NCCL_COLL, .parent = (void *)(uintptr_t)(
						      (uintptr_t)i << 8 | 2)};
		uint64_t handle;

		descr.coll.func = i % 2 ? "AllReduce" : "AllGather";
		descr.coll.datatype = "ncclFloat32";
		descr.coll.count = (size_t)i;
		descr.coll.seq = (uint64_t)i;
		handle = tp_nccl_start(6, comm, &descr);
		__atomic_store_n(&shared[i % SHARED], handle, __ATOMIC_RELAXED);
		__atomic_fetch_add(&n_begun, handle != 0, __ATOMIC_RELAXED);
		tp_nccl_stop(handle);
		if (i % 7 == 0)
			tp_nccl_stop(handle);
		if (i % 5000 == 4999) {
			tp_nccl_close(comm);
			comm = open_comm(hash);
		}
	}
	tp_nccl_close(comm);
	return NULL;
}

static void *transfer(void *arg)
{
	unsigned state = (unsigned)(uintptr_t)arg + 7;
	union nccl_state_args args = {.step = {100}};

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t parent = __atomic_load_n(&shared[(unsigned)rand_r(&state) % SHARED],
						  __ATOMIC_RELAXED);
		struct nccl_descr_v6 descr = {.type = NCCL_PROXY_OP, .parent = (void *)parent};
		uint64_t op, step;

		descr.op.pid = getpid() + (i % 10 == 0);
		op = tp_nccl_start(6, 1, &descr);
		__atomic_fetch_add(&n_begun, op != 0, __ATOMIC_RELAXED);
		descr = (struct nccl_descr_v6){.type = NCCL_PROXY_STEP, .parent = (void *)op};
		step = tp_nccl_start(6, 1, &descr);
		tp_nccl_state(step, NCCL_STEP_SEND_GPU_WAIT, (void *)&args);
		tp_nccl_state(step, NCCL_STEP_SEND_WAIT, (void *)&args);
		if (i % 50)
			tp_nccl_stop(step);
		if (i % 60)
			tp_nccl_stop(op);
	}
	return NULL;
}

static uint32_t take(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	return n;
}

/* What the drain thread does, and the schedule. */
static void *drain(void *unused)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		tp_nccl_probe.arm();
		for (int i = 0; i < 20; i++) {
			tp_nccl_probe.tick(tp_clock_now());
			tp_ring_take(take, NULL);
			tp_ring_release(0, 0);
			usleep(200);
		}
		tp_nccl_probe.disarm();
		for (int i = 0; i < 10; i++)
			tp_nccl_probe.settle(tp_clock_now(), i == 9);
		tp_ring_take(take, NULL);
		tp_ring_release(0, 0);
	}
	return NULL;
}

int main(void)
{
	static struct tp_arena arena;
	static const struct tp_config config = {.record = TP_RECORD_COMM};
	struct tp_ring_spec spec = {.bytes = 16 << 20, .dir = "/tmp", .buffer_dir = "/tmp",
				    .run_id = 1};
	pthread_t thread[APPS + PROXIES], drainer;
	struct tp_nccl_counts is;
	uint32_t n_left = 0;
	uint64_t n_known;
	char name[64];

	snprintf(name, sizeof(name), "nccl-stress.%d.ring", (int)getpid());
	spec.name = name;
	tp_clock_init(TP_CLOCK_AUTO);
	if (tp_arena_init(&arena, 8 << 20) || tp_ring_open(&spec) || tp_intern_init(&arena))
		return 1;
	tp_ring.head->phase = TP_PHASE_ACTIVE;
	tp_ring.head->windows_begun = 1;
	tp_nccl_allow();
	tp_nccl_probe.open(&config);
	pthread_create(&drainer, NULL, drain, NULL);
	for (uintptr_t i = 0; i < APPS + PROXIES; i++)
		pthread_create(&thread[i], NULL, i < APPS ? enqueue : transfer, (void *)i);
	for (int i = 0; i < APPS + PROXIES; i++)
		pthread_join(thread[i], NULL);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	pthread_join(drainer, NULL);
	tp_nccl_probe.settle(tp_clock_now(), true);
	for (uint32_t at = 0; at < tp_nccl_pool_used(); at++)
		n_left += tp_nccl_pool_is_live(at);
	tp_nccl_events_counts(&is);
	tp_ring_close();
	n_known = is.colls + is.xfers + is.no_room + is.outside;
	printf("%lu begun, %lu recorded or counted, %lu without an entry, %lu late, %u left, mask %d\n",
	       (unsigned long)n_begun, (unsigned long)n_known, (unsigned long)is.no_entry,
	       (unsigned long)is.late_ops, n_left, mask);
	return n_left || n_known != n_begun || mask || !is.colls || !is.xfers;
}
