/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem.c - blocks of device memory by many threads, while others read the sums, look who
 * asked, take snapshots of the libraries, and libraries come and go
 *
 * Meant for the thread and address sanitizers. At the end what is alive must be exactly what
 * the threads left.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/arena.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/devmem/devmem.h"
#include "runtime/probe/devmem/owner.h"
#include "tests/unit/ring_rig.h"

enum { WRITERS = 8, ROUNDS = 20000, OWN = 64 };

static uint32_t is_over;	/* atomic */
static uint64_t left;		/* atomic: bytes */

static void *write_blocks(void *arg)
{
	uint64_t base = ((uint64_t)(uintptr_t)arg + 1) << 32, bytes[OWN] = {0};
	unsigned state = (unsigned)(uintptr_t)arg + 1;

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t at = (uint32_t)rand_r(&state) % OWN;
		uint64_t address = base + at * 4096;

		if (bytes[at]) {
			tp_devmem_free(address, TP_DEVMEM_DEVICE, 0, NULL);
			if (i % 100 == 0) {
				tp_devmem_unfree();
				continue;
			}
			bytes[at] = 0;
		} else {
			struct tp_devmem_block block = {
				.address = address, .bytes = (uint64_t)rand_r(&state) % 1000 + 1,
				.device = at % 2, .kind = at % 3 ? TP_DEVMEM_DEVICE : TP_DEVMEM_POOL,
				.caller = i % 16 ? (void *)(uintptr_t)getenv : tp_owner_caller(),
			};

			tp_devmem_alloc(&block);
			bytes[at] = block.bytes;
		}
	}
	for (int at = 0; at < OWN; at++)
		__atomic_fetch_add(&left, bytes[at], __ATOMIC_RELAXED);
	return NULL;
}

static void *read_sums(void *unused)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		struct tp_devmem_counts counts;

		tp_devmem_counts(&counts);
		if (tp_devmem_live(0, 0) > 1ull << 40)
			return (void *)1;
	}
	return NULL;
}

static void *load_libraries(void *unused)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		void *library = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);

		if (library)
			dlclose(library);
		usleep(100);
	}
	return NULL;
}

static uint32_t take(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	return n;
}

/* What the drain thread does. */
static void *drain(void *unused)
{
	uint64_t time = 1;

	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		tp_devmem_probe.tick(time);
		tp_devmem_probe.settle(time++, false);
		tp_ring_take(take, NULL);
		tp_ring_release(0, 0);
	}
	return NULL;
}

int main(void)
{
	static struct tp_arena arena;
	static const struct tp_config config = {.record = TP_RECORD_DEVMEM, .host_period_ms = 20};
	struct tp_ring_spec spec = {.bytes = 8 << 20, .dir = "/tmp", .buffer_dir = "/tmp", .run_id = 1};
	pthread_t writer[WRITERS], other[3];
	void *(*const others[3])(void *) = {read_sums, load_libraries, drain};
	struct tp_devmem_counts counts;
	uint64_t live;
	void *failed = NULL;
	char name[64];

	snprintf(name, sizeof(name), "devmem-stress.%d.ring", (int)getpid());
	spec.name = name;
	tp_clock_init(TP_CLOCK_AUTO);
	if (tp_arena_init(&arena, 4 << 20) || tp_ring_open(&spec) || tp_intern_init(&arena))
		return 1;
	tp_ring.head->phase = TP_PHASE_ACTIVE;
	tp_ring.head->windows_begun = 1;
	tp_devmem_probe.open(&config);
	tp_devmem_probe.arm();
	for (int i = 0; i < 3; i++)
		pthread_create(&other[i], NULL, others[i], NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&writer[i], NULL, write_blocks, (void *)(uintptr_t)i);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writer[i], NULL);
	tp_devmem_probe.disarm();
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++) {
		void *result;

		pthread_join(other[i], &result);
		failed = result ? result : failed;
	}
	tp_devmem_counts(&counts);
	live = tp_devmem_live(0, 0) + tp_devmem_live(1, 0);
	tp_ring_close();
	printf("alive %lu of %lu, %lu allocations, %lu unknown, %lu replaced\n", (unsigned long)live,
	       (unsigned long)left, (unsigned long)counts.n_allocs, (unsigned long)counts.n_unknown,
	       (unsigned long)counts.n_replaced);
	return live != left || counts.n_unknown || counts.n_replaced || failed;
}
