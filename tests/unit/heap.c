/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of the malloc hooks, and the last block of a thread. */
#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/probe/heap_count.h"

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

		tp_heap_forked();
		count_some();
		tp_heap_totals(&totals);
		_exit(totals.allocs == 2 && totals.frees == 1 ? 0 : 1);
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
