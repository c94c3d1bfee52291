/* SPDX-License-Identifier: Apache-2.0 */
/* A sum and its peak, by the thread that owns it and by others. */
#include <criterion/criterion.h>

#include <pthread.h>

#include "runtime/engine/biased_sum.h"

enum { ROUNDS = 8000000, OWNER = 100, OTHER = 7 };

static struct tp_biased_sum sum;
static pthread_barrier_t all_there;

Test(biased_sum, has_the_peak_of_both_parts_together)
{
	int64_t now;

	tp_biased_add(&sum, true, 100);
	tp_biased_add(&sum, false, 50);
	tp_biased_add(&sum, true, -100);
	cr_expect_eq(tp_biased_read(&sum), 50);
	cr_expect_eq(tp_biased_take_peak(&sum, &now), 150);
	cr_expect_eq(now, 50);
	/* From here on, what there is. */
	cr_expect_eq(tp_biased_take_peak(&sum, &now), 50);
	tp_biased_add(&sum, false, 20);
	tp_biased_add(&sum, false, -60);
	cr_expect_eq(tp_biased_take_peak(&sum, &now), 70);
	cr_expect_eq(now, 10);
}

/* Two that added at the same time saw neither each other nor the peak: whoever takes away first does. */
Test(biased_sum, finds_a_peak_that_was_missed_when_something_goes)
{
	int64_t now;

	sum = (struct tp_biased_sum){.own = 100, .others = 50, .peak = 100};
	tp_biased_add(&sum, true, -100);
	cr_expect_eq(tp_biased_take_peak(&sum, &now), 150);
	sum = (struct tp_biased_sum){.own = 100, .others = 50, .peak = 100};
	tp_biased_add(&sum, false, -50);
	cr_expect_eq(tp_biased_take_peak(&sum, &now), 150);
}

Test(biased_sum, may_be_below_nothing_and_is_nothing_once_it_is_forgotten)
{
	tp_biased_add(&sum, true, -5);
	tp_biased_add(&sum, false, -3);
	cr_expect_eq(tp_biased_read(&sum), -8);
	cr_expect_eq(sum.peak, 0);
	tp_biased_forget(&sum);
	cr_expect_eq(tp_biased_read(&sum), 0);
}

static void *add_and_take(void *is_owner)
{
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < ROUNDS; i++) {
		tp_biased_add(&sum, is_owner != NULL, is_owner ? OWNER : OTHER);
		tp_biased_add(&sum, is_owner != NULL, is_owner ? -OWNER : -OTHER);
	}
	return NULL;
}

/* Three others, so that their additions meet as well. */
Test(biased_sum, is_exact_when_threads_have_added_at_the_same_time)
{
	pthread_t thread[4];
	int64_t now, peak;

	pthread_barrier_init(&all_there, NULL, 4);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, add_and_take, i ? NULL : &sum), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	peak = tp_biased_take_peak(&sum, &now);
	cr_expect_eq(now, 0, "%ld", (long)now);
	cr_expect(peak >= OWNER && peak <= OWNER + 3 * OTHER, "%ld", (long)peak);
}
