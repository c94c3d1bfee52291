/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moments.c - tests of what was alive at moments: against a sum over all blocks
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "merge/facts/tensor/moments.h"

enum { MOMENTS = 6000, LIVES = 20000, TIME = 100000 };

static struct tp_life life[LIVES];

static int by_end(const void *a, const void *b)
{
	const struct tp_life *x = a, *y = b;

	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int64_t alive_at(int64_t ns, uint32_t category)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < LIVES; i++)
		if (life[i].begin_ns <= ns && life[i].end_ns > ns &&
		    (category == TP_MOMENT_INTERNAL ? life[i].is_internal
						    : life[i].category == category))
			sum += life[i].bytes;
	return sum;
}

/* Moments are added and dropped while blocks die; most are forgotten on the way. */
Test(moments, have_what_was_alive_however_many_are_forgotten)
{
	struct tp_moments moments = {.n = 0};
	static uint32_t handle[MOMENTS];
	static int64_t ns[MOMENTS];
	uint32_t next = 0, n_kept = 0;

	srand(1);
	for (uint32_t i = 0; i < LIVES; i++) {
		life[i].begin_ns = rand() % TIME;
		life[i].end_ns = life[i].begin_ns + (rand() % 8 ? rand() % 50 : rand() % TIME);
		life[i].bytes = 1 + rand() % 1000;
		life[i].category = (enum tp_tensor_category)(rand() % TP_TENSOR_N);
		life[i].is_internal = rand() % 4 == 0;
	}
	qsort(life, LIVES, sizeof(*life), by_end);
	for (uint32_t m = 0; m < MOMENTS; m++) {
		ns[m] = (int64_t)m * TIME / MOMENTS;
		while (next < LIVES && life[next].end_ns <= ns[m])
			tp_moments_life(&moments, &life[next++]);
		handle[m] = tp_moments_add(&moments, ns[m]);
		cr_assert_neq(handle[m], TP_NO_MOMENT);
		/* One of twenty stays; the others go at once, or much later. */
		if (m >= 300 && (m - 300) % 20 && (m - 300) % 3)
			tp_moments_drop(&moments, handle[m - 300]);
		if (m % 20 && m % 3 == 0)
			tp_moments_drop(&moments, handle[m]);
	}
	while (next < LIVES)
		tp_moments_life(&moments, &life[next++]);
	cr_expect(moments.cap < MOMENTS, "%u", moments.cap);
	tp_moments_end(&moments);
	for (uint32_t m = 0; m < MOMENTS; m += 20) {
		const struct tp_moment *moment = tp_moments_get(&moments, handle[m]);

		n_kept++;
		for (uint32_t c = 0; c < TP_MOMENT_N; c++)
			cr_assert_eq(moment->bytes[c], alive_at(ns[m], c), "%u: %u: %ld, not %ld", m, c,
				     (long)moment->bytes[c], (long)alive_at(ns[m], c));
	}
	cr_expect_eq(n_kept, MOMENTS / 20);
	tp_moments_free(&moments);
}

Test(moments, have_users_and_none_is_not_one)
{
	struct tp_moments moments = {.n = 0};
	const struct tp_life there = {.begin_ns = 5, .end_ns = 20, .bytes = 7,
				      .category = TP_TENSOR_INPUT};
	uint32_t first = tp_moments_add(&moments, 10);

	cr_expect_eq(tp_moments_ns(&moments, first), 10);
	cr_expect_eq(tp_moments_ns(&moments, TP_NO_MOMENT), 0);
	cr_expect_eq(tp_moments_use(&moments, first), first);
	tp_moments_drop(&moments, first);
	/* Still one user: the next one does not take its place. */
	cr_expect_neq(tp_moments_add(&moments, 11), first);
	cr_expect_eq(tp_moments_use(&moments, TP_NO_MOMENT), TP_NO_MOMENT);
	tp_moments_drop(&moments, TP_NO_MOMENT);
	tp_moments_life(&moments, &there);
	tp_moments_end(&moments);
	cr_expect_eq(tp_moments_get(&moments, first)->bytes[TP_TENSOR_INPUT], 7);
	cr_expect_eq(tp_moments_get(&moments, TP_NO_MOMENT)->bytes[TP_TENSOR_INPUT], 0);
	tp_moments_free(&moments);
}
