/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of the malloc hooks, and the last block of a thread. */
#include <criterion/criterion.h>

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/probe/heap/heap_count.h"

static void count_some(void)
{
	tp_heap_count_alloc(100);
	tp_heap_count_alloc(28);
	tp_heap_count_realloc(1000);
	tp_heap_count_free((void *)16);
}

static void *count_in_thread(void *unused)
{
	/* The first count may have to ask the kernel about a slot's last owner. */
	errno = 77;
	count_some();
	cr_expect_eq(errno, 77, "the first count on a thread keeps errno");
	return NULL;
}

Test(heap, counts_outlive_their_threads)
{
	struct tp_heap_totals totals;
	pthread_t thread;

	count_some();
	/* More threads than slots, one after the other: each slot is handed on. */
	for (int i = 0; i < 2 * TP_HEAP_SLOTS; i++) {
		pthread_create(&thread, NULL, count_in_thread, NULL);
		pthread_join(thread, NULL);
	}
	tp_heap_totals(&totals);
	cr_expect_eq(totals.allocs, 2 * (2 * TP_HEAP_SLOTS + 1));
	cr_expect_eq(totals.frees, 2 * TP_HEAP_SLOTS + 1);
	cr_expect_eq(totals.reallocs, 2 * TP_HEAP_SLOTS + 1);
	cr_expect_eq(totals.bytes, 1128ull * (2 * TP_HEAP_SLOTS + 1));
	cr_expect_eq(totals.n_sharing, 0);
}

static pthread_barrier_t barrier;
static void *count_and_wait(void *unused)
{
	count_some();
	pthread_barrier_wait(&barrier);
	return NULL;
}

Test(heap, says_how_many_threads_shared_a_slot)
{
	enum { N = TP_HEAP_SLOTS + 40 };
	static pthread_t thread[N];
	struct tp_heap_totals totals;

	pthread_barrier_init(&barrier, NULL, N + 1);
	for (int i = 0; i < N; i++)
		pthread_create(&thread[i], NULL, count_and_wait, NULL);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < N; i++)
		pthread_join(thread[i], NULL);
	tp_heap_totals(&totals);
	cr_expect_eq(totals.n_sharing, 40);
	cr_expect_eq(totals.allocs, 2 * N);
}

Test(heap, a_forked_child_counts_from_0)
{
	int status;

	count_some();
	if (!fork()) {
		struct tp_heap_totals totals;

		tp_heap_forked((uint32_t)getpid());
		count_some();
		tp_heap_totals(&totals);
		_exit(totals.allocs == 2 && totals.frees == 1 ? 0 : 1);
	}
	wait(&status);
	cr_expect_eq(status, 0);
}

/* A system call may be the end of a child in a sandbox: strict mode allows none of ours. */
Test(heap, a_forked_child_counts_without_a_system_call)
{
	int status;

	count_some();
	if (!fork()) {
		tp_heap_forked((uint32_t)getpid());
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		count_some();
		syscall(SYS_exit, 3);
	}
	wait(&status);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void *count_and_leave(void *has_counted)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	count_some();
	*(volatile bool *)has_counted = true;
	syscall(SYS_exit, 0);
	return NULL;
}

Test(heap, nor_does_a_new_thread_need_one_where_nobody_reads_the_counts)
{
	bool has_counted = false;
	pthread_t thread;

	tp_heap_forget_owners();
	pthread_create(&thread, NULL, count_and_leave, &has_counted);
	pthread_join(thread, NULL);
	cr_expect(has_counted);
}

static void live(int64_t change)
{
	tp_heap_add_live(tp_heap_slot(), change);
}

static void *give_back(void *bytes)
{
	live(-(int64_t)(intptr_t)bytes);
	return NULL;
}

Test(heap, bytes_alive_are_exact_whoever_gives_them_back)
{
	struct tp_heap_thread of[TP_HEAP_SLOTS];
	struct tp_heap_totals totals;
	pthread_t thread;

	live(1000000);
	live(-1);
	live(77);
	for (int i = 0; i < 10; i++) {
		pthread_create(&thread, NULL, give_back, (void *)(intptr_t)(1000 * i));
		pthread_join(thread, NULL);
	}
	tp_heap_totals(&totals);
	cr_expect_eq(totals.live, 1000076 - 45000);
	cr_assert_eq(tp_heap_threads(of, TP_HEAP_SLOTS), 11);
	cr_expect_eq(of[0].tid, (uint32_t)gettid());
	cr_expect_eq(of[0].live, 1000076);
	cr_expect_eq(of[0].peak, 1000076);
	cr_expect_eq(of[1].peak, 0, "gave back what others were given");
	cr_expect_eq(tp_heap_threads(of, 3), 3);
	cr_expect_eq(of[0].live, 1000076, "the highest peak comes first");
}

Test(heap, the_peak_is_wrong_by_less_than_what_is_not_told)
{
	int64_t now = 0, most = 0, seen;
	uint64_t dice = 1;

	for (int i = 0; i < 200000; i++) {
		int64_t change;

		dice = dice * 6364136223846793005u + 1442695040888963407u;
		change = (int64_t)(dice >> 48) - (now > 5000000 ? 40000 : 30000);
		live(change);
		now += change;
		most = now > most ? now : most;
		seen = tp_heap_peak();
		cr_assert(seen > most - TP_HEAP_TELL_BYTES && seen < most + TP_HEAP_TELL_BYTES,
			  "%ld, not %ld", (long)seen, (long)most);
	}
	/* Taken: begins anew, and is not forgotten. */
	seen = tp_heap_peak();
	live(-now);
	cr_expect_eq(tp_heap_take_recent_peak(), seen);
	cr_expect_lt(tp_heap_take_recent_peak(), TP_HEAP_TELL_BYTES);
	cr_expect_eq(tp_heap_peak(), seen);
}

/* By the way that malloc and free take in a thread that has a slot of its own. */
Test(heap, the_short_way_counts_as_the_long_one)
{
	struct tp_heap_slot *slot = tp_heap_slot();
	int64_t now = 0, most = 0, seen, size[64] = {0};
	uint64_t dice = 1, allocs = 0, bytes = 0;
	struct tp_heap_totals totals;
	struct tp_heap_thread of;
	char block;

	cr_assert_eq(slot, tp_heap_self.slot);
	for (int i = 0; i < 200000; i++) {
		int64_t *one;
		bool is_due;

		dice = dice * 6364136223846793005u + 1442695040888963407u;
		one = &size[dice >> 58];
		if (*one) {
			tp_heap_self.last_block = i % 2 ? &block : (void *)&dice;
			is_due = tp_heap_own_takes(slot, &block, (size_t)*one);
			cr_assert_eq(tp_heap_self.last_block, i % 2 ? NULL : (void *)&dice);
			now -= *one;
			*one = 0;
		} else {
			*one = (int64_t)(dice >> 30 & 0xffff) + 1;
			is_due = tp_heap_own_gave(slot, (size_t)*one - 1, (size_t)*one);
			now += *one;
			allocs++;
			bytes += (uint64_t)*one - 1;
		}
		if (is_due)
			tp_heap_tell(slot);
		most = now > most ? now : most;
		seen = tp_heap_live();
		cr_assert(seen > now - TP_HEAP_TELL_BYTES && seen < now + TP_HEAP_TELL_BYTES);
	}
	tp_heap_totals(&totals);
	cr_expect_eq(totals.live, now);
	cr_expect_eq(totals.allocs, allocs);
	cr_expect_eq(totals.bytes, bytes);
	cr_expect_eq(totals.allocs + totals.frees, 200000);
	cr_assert_eq(tp_heap_threads(&of, 1), 1);
	cr_expect_eq(of.peak, most);
}

/* All slots are taken first; only who shares one changes anything. */
enum { SHARERS = 8, CHANGES = 3000000 };
static void *change_much(void *unused)
{
	struct tp_heap_slot *slot = tp_heap_slot();

	cr_expect_eq(slot->is_shared, tp_heap_self.slot == NULL);
	cr_expect_eq(slot, tp_heap_slot());
	pthread_barrier_wait(&barrier);
	for (int i = 0; slot->is_shared && i < CHANGES; i++)
		live(i % 2 ? 1000 : -998);
	pthread_barrier_wait(&barrier);
	return NULL;
}

Test(heap, threads_that_share_a_slot_lose_nothing)
{
	enum { N = TP_HEAP_SLOTS + SHARERS };
	static pthread_t thread[N];
	struct tp_heap_totals totals;

	pthread_barrier_init(&barrier, NULL, N);
	for (int i = 0; i < N; i++)
		pthread_create(&thread[i], NULL, change_much, NULL);
	for (int i = 0; i < N; i++)
		pthread_join(thread[i], NULL);
	tp_heap_totals(&totals);
	cr_expect_eq(totals.n_sharing, SHARERS);
	cr_expect_eq(totals.live, SHARERS * CHANGES);
	/* Nothing of it is told twice. */
	cr_expect_leq(tp_heap_peak(), SHARERS * CHANGES + TP_HEAP_TELL_BYTES);
}

Test(heap, a_forked_child_inherits_what_is_alive)
{
	int status;

	live(123456);
	if (!fork()) {
		struct tp_heap_totals totals;
		bool is_right;

		tp_heap_forked((uint32_t)getpid());
		tp_heap_totals(&totals);
		is_right = totals.live == 123456 && tp_heap_peak() == 123456;
		live(-123456);
		tp_heap_totals(&totals);
		_exit(is_right && totals.live == 0 && tp_heap_take_recent_peak() == 123456 &&
				      tp_heap_take_recent_peak() == 0 ? 0 : 1);
	}
	wait(&status);
	cr_expect_eq(status, 0);
}

Test(heap, knows_the_last_block_once_and_until_it_is_freed)
{
	char block[2];

	cr_expect_not(tp_heap_is_last_block(NULL));
	tp_heap_self.last_block = &block[0];
	cr_expect_not(tp_heap_is_last_block(&block[1]));
	cr_expect(tp_heap_is_last_block(&block[0]));
	cr_expect_not(tp_heap_is_last_block(&block[0]));
	tp_heap_self.last_block = &block[0];
	tp_heap_count_free(&block[1]);
	cr_expect(tp_heap_is_last_block(&block[0]));
	tp_heap_self.last_block = &block[0];
	tp_heap_count_free(&block[0]);
	cr_expect_not(tp_heap_is_last_block(&block[0]));
}
