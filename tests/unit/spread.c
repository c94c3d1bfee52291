/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.c - tests: percentiles of many values, against those of the sorted values
 */
#include "merge/kit/spread.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "merge/kit/stats.h"

static void compare(int64_t *value, uint32_t n)
{
	static const double percents[] = {0, 1, 25, 50, 90, 99, 99.9, 100};
	struct tp_spread spread = {.n = 0};
	int64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		cr_assert(tp_spread_add(&spread, value[i]));
		sum += value[i];
	}
	tp_sort_i64(value, n);
	cr_expect_eq(spread.n, n);
	cr_expect_eq(spread.sum, sum);
	cr_expect_eq(spread.least, value[0]);
	cr_expect_eq(spread.most, value[n - 1]);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		int64_t truth = tp_percentile(value, n, percents[i]),
			got = tp_spread_percentile(&spread, percents[i]);

		cr_expect(llabs(got - truth) <= truth / 256, "p%g of %u: %lld, sorted %lld",
			  percents[i], n, (long long)got, (long long)truth);
	}
	tp_spread_free(&spread);
}

Test(spread, gives_percentiles_within_their_error)
{
	static int64_t value[20000];
	unsigned seed = 1;

	for (uint32_t n = 1; n <= 20000; n = n * 3 + 1) {
		for (uint32_t i = 0; i < n; i++)
			value[i] = (int64_t)rand_r(&seed) >> rand_r(&seed) % 31;
		compare(value, n);
		for (uint32_t i = 0; i < n; i++)
			value[i] = 2000 + rand_r(&seed) % 300;
		compare(value, n);
	}
}

Test(spread, is_exact_where_all_are_equal_and_where_they_are_small)
{
	struct tp_spread spread = {.n = 0};

	cr_expect_eq(tp_spread_percentile(&spread, 50), 0);
	cr_expect_eq(tp_spread_mean(&spread), 0);
	tp_spread_add(&spread, 123456789);
	cr_expect_eq(tp_spread_percentile(&spread, 50), 123456789);
	tp_spread_free(&spread);
	for (int64_t i = 0; i < 100; i++)
		tp_spread_add(&spread, i);
	cr_expect_eq(tp_spread_percentile(&spread, 50), 49);
	cr_expect_eq(tp_spread_percentile(&spread, 99), 98);
	tp_spread_free(&spread);
}

Test(spread, bears_the_ends_of_the_type)
{
	struct tp_spread spread = {.n = 0}, other = {.n = 0};

	tp_spread_add(&spread, INT64_MIN);
	tp_spread_add(&spread, INT64_MAX);
	tp_spread_add(&spread, INT64_MAX);
	cr_expect_eq(spread.sum, INT64_MAX);
	cr_expect_eq(spread.least, 0);
	cr_expect_gt(tp_spread_percentile(&spread, 100), INT64_MAX / 256 * 255);
	tp_spread_add(&other, 5);
	cr_assert(tp_spread_merge(&other, &spread));
	cr_expect_eq(other.n, 4);
	cr_expect_eq(other.least, 0);
	cr_expect_eq(other.most, INT64_MAX);
	cr_expect_eq(tp_spread_percentile(&other, 50), 5);
	tp_spread_free(&spread);
	tp_spread_free(&other);
}
