/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of device memory: sums at any time, records in windows, from any thread. */
#include <criterion/criterion.h>

#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/engine/config/config.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/devmem/devmem.h"
#include "runtime/probe/devmem/devmem_live.h"
#include "runtime/probe/devmem/devmem_table.h"
#include "tests/unit/probe_rig.h"

static struct tp_config config = { .record = TP_RECORD_DEVMEM, .host_period_ms = 20 };

static void set_up(void)
{
	rig_open_window("devmem-test");
	cr_assert_eq(tp_devmem_probe.open(&config), 0);
	tp_devmem_probe.arm();
}

static uint32_t count_records(uint8_t kind)
{
	uint32_t n = 0;

	collect();
	for (uint32_t i = 0; i < got.n; i++)
		n += got.rec[i].kind == kind;
	return n;
}

static void alloc(uint32_t device, uint8_t kind, uint64_t address, uint64_t bytes)
{
	struct tp_devmem_block block = {
		.address = address, .bytes = bytes, .device = device, .kind = kind,
		.correlation = 7, .context = 1,
	};

	tp_devmem_alloc(&block);
}

static void release(uint64_t address, uint8_t kind)
{
	tp_devmem_free(address, kind, 8, NULL);
}

static struct tp_devmem_counts counts(void)
{
	struct tp_devmem_counts now;

	tp_devmem_counts(&now);
	return now;
}

TestSuite(devmem, .init = set_up, .fini = tear_down);

Test(devmem, sums_by_device_and_kind_and_their_peak)
{
	uint64_t live, peak;

	alloc(0, TP_DEVMEM_DEVICE, 0x1000, 100);
	alloc(0, TP_DEVMEM_POOL, 0x2000, 20);
	alloc(1, TP_DEVMEM_DEVICE, 0x3000, 3);
	alloc(0, TP_DEVMEM_PINNED, 0x4000, 5000);
	alloc(0, TP_DEVMEM_RESERVED, 0x5000, 60000);
	cr_expect_eq(tp_devmem_live(0, TP_DEVMEM_DEVICE), 100);
	cr_expect_eq(tp_devmem_live(0, TP_DEVMEM_POOL), 20);
	cr_expect_eq(tp_devmem_live(0, TP_DEVMEM_PINNED), 5000);
	cr_expect_eq(tp_devmem_live(0, 0), 120, "pinned and reserved take no device memory");
	cr_expect_eq(tp_devmem_live(1, 0), 3);
	release(0x1000, TP_DEVMEM_DEVICE);
	release(0x2000, TP_DEVMEM_DEVICE);	/* cudaFree of a pool's block is legal */
	cr_assert(tp_devmem_sum(0, &live, &peak));
	cr_expect(live == 0 && peak == 120);
	cr_expect(!tp_devmem_sum(2, &live, &peak));
	cr_expect_eq(counts().n_unknown, 0);
}

Test(devmem, a_free_of_what_is_not_known_is_counted_and_null_is_not)
{
	release(0, TP_DEVMEM_DEVICE);
	release(0x1000, TP_DEVMEM_DEVICE);
	alloc(0, TP_DEVMEM_ARRAY, 0x1000, 10);
	release(0x1000, TP_DEVMEM_DEVICE);	/* an array's handle is no address */
	cr_expect_eq(counts().n_unknown, 2);
	cr_expect_eq(tp_devmem_live(0, 0), 10);
}

Test(devmem, a_block_at_a_taken_address_replaces_the_one_that_vanished_unseen)
{
	alloc(0, TP_DEVMEM_DEVICE, 0x1000, 100);
	alloc(0, TP_DEVMEM_POOL, 0x1000, 30);
	cr_expect_eq(tp_devmem_live(0, 0), 30);
	cr_expect_eq(counts().n_replaced, 1);
	release(0x1000, TP_DEVMEM_POOL);
	cr_expect_eq(tp_devmem_live(0, 0), 0);
}

Test(devmem, a_free_that_fails_leaves_the_block)
{
	alloc(0, TP_DEVMEM_DEVICE, 0x1000, 100);
	release(0x1000, TP_DEVMEM_DEVICE);
	tp_devmem_unfree();
	cr_expect_eq(tp_devmem_live(0, 0), 100);
	tp_devmem_unfree();	/* nothing more to undo */
	release(0x2000, TP_DEVMEM_DEVICE);
	tp_devmem_unfree();	/* was not known: stays so */
	cr_expect_eq(tp_devmem_live(0, 0), 100);
	cr_expect_eq(count_records(TP_REC_DEVALLOC), 2);
}

static void create(uint64_t handle, uint64_t bytes)
{
	struct tp_devmem_block block = {
		.address = handle, .bytes = bytes, .device = 1, .kind = TP_DEVMEM_PHYSICAL,
	};

	tp_devmem_create(&block);
}

static void map(uint64_t address, uint64_t bytes, uint64_t handle)
{
	struct tp_devmem_block block = {
		.address = address, .bytes = bytes, .device = TP_DEVMEM_NO_DEVICE,
		.kind = TP_DEVMEM_MAPPED,
	};

	tp_devmem_map(&block, handle);
}

Test(devmem, physical_memory_lives_until_released_and_unmapped)
{
	create(5, 1000);
	map(0x10000, 600, 5);
	map(0x20000, 400, 5);
	cr_expect_eq(tp_devmem_live(1, TP_DEVMEM_MAPPED), 1000, "a mapping is on its memory's device");
	cr_expect_eq(tp_devmem_live(1, 0), 1000, "a mapping takes no memory of its own");
	tp_devmem_release(5, 0, NULL);
	cr_expect_eq(tp_devmem_live(1, 0), 1000);
	/* The handle comes back for other memory, while the first lives. */
	create(5, 70);
	cr_expect_eq(tp_devmem_live(1, 0), 1070);
	tp_devmem_unmap(0x10000, 600, 0, NULL);
	cr_expect_eq(tp_devmem_live(1, 0), 1070);
	tp_devmem_unmap(0x20000, 400, 0, NULL);
	cr_expect_eq(tp_devmem_live(1, 0), 70);
	tp_devmem_release(5, 0, NULL);
	cr_expect_eq(tp_devmem_live(1, 0), 0);
	cr_expect(counts().n_unknown == 0 && counts().n_replaced == 0);
	cr_expect_eq(count_records(TP_REC_DEVFREE), 4);
}

Test(devmem, a_retained_handle_and_a_failed_release)
{
	create(5, 1000);
	map(0x10000, 1000, 5);
	tp_devmem_retain(5, 0x10000);
	tp_devmem_release(5, 0, NULL);
	tp_devmem_release(5, 0, NULL);
	tp_devmem_unrelease();
	tp_devmem_unmap(0x10000, 1000, 0, NULL);
	cr_expect_eq(tp_devmem_live(1, 0), 1000, "the release that failed counts for nothing");
	tp_devmem_release(5, 0, NULL);
	cr_expect_eq(tp_devmem_live(1, 0), 0);
	create(6, 30);
	tp_devmem_release(6, 0, NULL);
	tp_devmem_unrelease();
	cr_expect_eq(tp_devmem_live(1, 0), 30);
	tp_devmem_release(6, 0, NULL);
	cr_expect_eq(tp_devmem_live(1, 0), 0);
	cr_expect_eq(counts().n_unknown, 0);
}

Test(devmem, one_unmap_may_end_many_mappings)
{
	create(5, 1000);
	for (uint64_t i = 0; i < 10; i++)
		map(0x10000 + i * 100, 100, 5);
	tp_devmem_release(5, 0, NULL);
	tp_devmem_unmap(0x10000, 1000, 0, NULL);
	cr_expect_eq(tp_devmem_live(1, 0), 0);
	cr_expect_eq(tp_devmem_live(1, TP_DEVMEM_MAPPED), 0);
	cr_expect_eq(counts().n_unknown, 0);
}

Test(devmem, what_belongs_to_a_context_or_graph_goes_with_it)
{
	struct tp_devmem_block block = { .device = 0, .kind = TP_DEVMEM_GRAPH, .graph = 77, .bytes = 9 };

	for (uint64_t i = 1; i <= 1000; i++)
		alloc(0, TP_DEVMEM_DEVICE, i << 12, 10);	/* of context 1 */
	for (uint64_t i = 1; i <= 3; i++) {
		block.address = 0x7000000 + i;
		tp_devmem_alloc(&block);
	}
	block = (struct tp_devmem_block){ .address = 5, .bytes = 4, .kind = TP_DEVMEM_POOL };
	tp_devmem_alloc(&block);
	tp_devmem_context_gone(2);
	cr_expect_eq(tp_devmem_live(0, 0), 10031);
	tp_devmem_context_gone(1);
	cr_expect_eq(tp_devmem_live(0, 0), 31);
	tp_devmem_graph_gone(77, 0);
	cr_expect_eq(tp_devmem_live(0, 0), 4);
}

Test(devmem, what_is_out_of_date_is_forgotten)
{
	for (uint64_t i = 1; i <= 100; i++)
		alloc(0, i % 2 ? TP_DEVMEM_POOL : TP_DEVMEM_DEVICE, i << 12, 10);
	collect();
	tp_devmem_forget(TP_DEVMEM_POOL);
	cr_expect_eq(tp_devmem_live(0, TP_DEVMEM_POOL), 0);
	cr_expect_eq(tp_devmem_live(0, 0), 500);
	cr_expect_eq(count_records(TP_REC_DEVFREE), 0, "nobody freed them");
	release(1 << 12, TP_DEVMEM_POOL);
	cr_expect_eq(counts().n_unknown, 1);
}

/* ---- many threads ---- */

enum { THREADS = 128, ROUNDS = 3000, SLOTS = 1024 };

static struct {
	pthread_mutex_t lock;
	uint64_t address[SLOTS];	/* handed from thread to thread; 0: none */
	uint64_t bytes[SLOTS];
	uint64_t next, live;
} truth = { .lock = PTHREAD_MUTEX_INITIALIZER, .next = 0x100000 };

static void *churn(void *seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t at = (uint32_t)rand_r(&state) % SLOTS;
		uint64_t bytes = (uint64_t)rand_r(&state) % 100000 + 1, old, address;

		/* Like the driver: a block is taken out before its address can be given again. */
		pthread_mutex_lock(&truth.lock);
		old = truth.address[at];
		truth.address[at] = 0;
		truth.live -= old ? truth.bytes[at] : 0;
		pthread_mutex_unlock(&truth.lock);
		if (old) {
			release(old, TP_DEVMEM_DEVICE);
			address = old;		/* reused at once, with another size */
		} else {
			address = __atomic_fetch_add(&truth.next, 512, __ATOMIC_RELAXED);
		}
		alloc(3, TP_DEVMEM_DEVICE, address, bytes);
		pthread_mutex_lock(&truth.lock);
		old = truth.address[at];
		if (!old) {
			truth.address[at] = address;
			truth.bytes[at] = bytes;
			truth.live += bytes;
		}
		pthread_mutex_unlock(&truth.lock);
		if (old)
			release(address, TP_DEVMEM_DEVICE);
	}
	return NULL;
}

Test(devmem, a_hundred_threads_leave_exactly_what_is_alive)
{
	pthread_t thread[THREADS];
	struct tp_devmem_counts now;

	tp_devmem_probe.disarm();
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, churn, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	now = counts();
	cr_expect_eq(tp_devmem_live(3, 0), truth.live);
	cr_expect_eq(now.n_allocs, THREADS * ROUNDS);
	cr_expect(now.n_unknown == 0 && now.n_replaced == 0 && now.n_not_kept == 0);
}

Test(devmem, the_table_grows_and_has_an_end)
{
	tp_devmem_probe.disarm();
	for (uint64_t i = 1; i <= TP_DEVMEM_BLOCKS_MAX + 10; i++)
		alloc(0, TP_DEVMEM_DEVICE, i * 256, 1);
	cr_expect_eq(counts().n_not_kept, 10);
	cr_expect_eq(tp_devmem_live(0, 0), TP_DEVMEM_BLOCKS_MAX);
	/* Odd ones first: what remains must still be found after so many shifts. */
	for (uint64_t i = 1; i <= TP_DEVMEM_BLOCKS_MAX + 10; i += 2)
		release(i * 256, TP_DEVMEM_DEVICE);
	for (uint64_t i = 2; i <= TP_DEVMEM_BLOCKS_MAX + 10; i += 2)
		release(i * 256, TP_DEVMEM_DEVICE);
	cr_expect_eq(tp_devmem_live(0, 0), 0);
	cr_expect_eq(counts().n_unknown, 10);
}

/* ---- records ---- */

Test(devmem, records_say_what_where_and_who)
{
	struct tp_devmem_block block = {
		.address = 0x1000, .bytes = 300, .pool = 0xabc, .device = 2, .kind = TP_DEVMEM_POOL,
		.correlation = 41, .is_async = true, .caller = (void *)(uintptr_t)gnu_get_libc_version,
	};
	struct tp_devmem_what what;
	const char *bytes;
	uint32_t kind, n;

	errno = 77;
	tp_devmem_alloc(&block);
	tp_devmem_free(0x1000, TP_DEVMEM_POOL, 42, NULL);
	cr_expect_eq(errno, 77);
	collect();
	cr_assert_eq(got.n, 2);
	cr_expect(got.rec[0].kind == TP_REC_DEVALLOC && got.rec[1].kind == TP_REC_DEVFREE);
	cr_expect(got.rec[0].time <= got.rec[1].time);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(tp_rec_len(&got.rec[i]), 300);
		cr_expect_eq(got.rec[i].arg, 0x1000);
		cr_expect_eq(got.rec[i].link, 41u + (uint32_t)i);
		cr_expect_eq(got.rec[i].name, got.rec[0].name);
	}
	cr_assert(tp_intern_get(NULL, got.rec[0].name, &kind, &bytes, &n));
	cr_assert_eq(kind, TP_STRING_DEVMEM);
	cr_assert(n > sizeof(what));
	memcpy(&what, bytes, sizeof(what));
	cr_expect(what.device == 2 && what.kind == TP_DEVMEM_POOL && what.is_async && what.pool == 0xabc);
	cr_expect(memmem(bytes + sizeof(what), n - sizeof(what), "libc.so", 7), "the owner is libc");
}

Test(devmem, outside_of_windows_sums_go_on_without_records)
{
	tp_devmem_probe.disarm();
	alloc(0, TP_DEVMEM_DEVICE, 0x1000, 100);
	release(0x9000, TP_DEVMEM_DEVICE);
	collect();
	cr_expect_eq(got.n, 0);
	cr_expect_eq(tp_devmem_live(0, 0), 100);
	tp_devmem_probe.arm();
	release(0x1000, TP_DEVMEM_DEVICE);
	collect();
	cr_assert_eq(got.n, 1);
	cr_expect_eq(tp_rec_len(&got.rec[0]), 100, "the size of a block from before is known");
}

/* The i-th counter of that name; NULL: there are fewer. */
static const struct tp_rec *find_counter(const char *name, uint32_t i)
{
	for (uint32_t at = 0; at < got.n; at++) {
		const char *bytes;
		uint32_t kind, n;

		if (got.rec[at].kind == TP_REC_COUNTER &&
		    tp_intern_get(NULL, got.rec[at].name, &kind, &bytes, &n) &&
		    !strcmp(bytes, name) && !i--)
			return &got.rec[at];
	}
	return NULL;
}

Test(devmem, sums_are_counters_in_windows_and_at_their_ends)
{
	struct tp_devmem_block block = {
		.address = 0x1000, .bytes = 300, .device = 2, .kind = TP_DEVMEM_DEVICE,
		.caller = (void *)(uintptr_t)gnu_get_libc_version,
	};
	const struct tp_rec *rec;
	uint64_t changed;

	tp_devmem_alloc(&block);
	alloc(2, TP_DEVMEM_PINNED, 0x3000, 50);
	collect();
	changed = got.rec[1].time;
	tp_devmem_probe.tick(9);
	tp_devmem_probe.tick(10);
	collect();
	rec = find_counter("device libc.so.6", 0);
	cr_assert(rec);
	cr_expect(rec->time > changed && rec->link == 2 && rec->arg == 300);
	cr_expect_null(find_counter("device libc.so.6", 1), "only when it changed");
	rec = find_counter("pinned (unknown)", 0);
	cr_assert(rec);
	cr_expect_eq(rec->arg, 50);
	rec = find_counter("GPU memory known", 0);
	cr_assert(rec);
	cr_expect(rec->arg == 300 && rec->link == 2);
	cr_expect_null(find_counter("GPU memory unattributed", 0), "no driver tells here");

	tp_devmem_free(0x1000, TP_DEVMEM_DEVICE, 0, NULL);
	tp_ring.head->phase = TP_PHASE_WAIT;
	tp_devmem_probe.disarm();
	alloc(2, TP_DEVMEM_DEVICE, 0x9000, 7);	/* after the window */
	collect();
	cr_expect(tp_devmem_probe.settle(20, false));
	cr_expect(tp_devmem_probe.settle(20, false));
	collect();
	rec = find_counter("GPU memory known", 0);
	cr_assert(rec);
	cr_expect(rec->time == 20 && rec->arg == 0);
	cr_expect_null(find_counter("GPU memory known", 1), "once for a window");
}

/* Probes hear of a fork only when there is a session: workers of a loader may come before. */
static void expect_child_with_nothing(bool has_session)
{
	int status;
	pid_t child;

	alloc(0, TP_DEVMEM_DEVICE, 0x1000, 100);
	child = fork();
	if (!child) {
		bool is_good;

		tp_ring_forked();
		if (has_session)
			tp_devmem_probe.forked();
		else
			tp_devmem_probe.open(&config);
		is_good = tp_devmem_live(0, 0) == 0 && counts().n_allocs == 0;
		alloc(0, TP_DEVMEM_DEVICE, 0x1000, 5);
		is_good = is_good && tp_devmem_live(0, 0) == 5;
		_exit(is_good ? 0 : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
	cr_expect_eq(tp_devmem_live(0, 0), 100);
	/* In the process itself nothing is forgotten. */
	tp_devmem_probe.open(&config);
	cr_expect_eq(tp_devmem_live(0, 0), 100);
}

Test(devmem, a_forked_child_begins_with_nothing)
{
	expect_child_with_nothing(true);
}

Test(devmem, so_does_one_that_was_made_before_there_was_a_session)
{
	expect_child_with_nothing(false);
}

Test(devmem, more_owners_and_pools_than_there_are_cells_share_one)
{
	struct tp_devmem_block block = { .device = 0, .kind = TP_DEVMEM_POOL, .bytes = 1 };

	tp_devmem_probe.disarm();
	for (uint64_t i = 1; i <= 3000; i++) {
		block.address = i << 8;
		block.pool = i;
		tp_devmem_alloc(&block);
	}
	cr_expect_eq(tp_devmem_n_cells(), TP_DEVMEM_CELLS);
	cr_expect_eq(tp_devmem_live(0, TP_DEVMEM_POOL) + tp_devmem_live(TP_DEVMEM_NO_DEVICE, 0), 3000);
	for (uint64_t i = 1; i <= 3000; i++)
		release(i << 8, TP_DEVMEM_POOL);
	cr_expect_eq(tp_devmem_live(0, TP_DEVMEM_POOL) + tp_devmem_live(TP_DEVMEM_NO_DEVICE, 0), 0);
}
