/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c - tests of medians, percentiles and bars
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/stats.h"

Test(stats, takes_percentiles_by_nearest_rank)
{
	static const int64_t value[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	static const struct {
		double percent;
		int64_t is;
	} cases[] = {{0, 1}, {10, 1}, {11, 2}, {50, 5}, {90, 9}, {91, 10}, {99, 10}, {100, 10}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(tp_percentile(value, 10, cases[i].percent), cases[i].is, "%g",
			     cases[i].percent);
	cr_expect_eq(tp_percentile(value, 1, 99), 1);
	cr_expect_eq(tp_percentile(NULL, 0, 50), 0);
}

Test(stats, keeps_the_median_of_the_last_values)
{
	struct tp_running running = {.n = 0};
	int64_t all[500];
	unsigned seed = 4;

	cr_expect_eq(tp_running_median(&running), 0);
	for (uint32_t i = 0; i < 500; i++) {
		int64_t last[TP_RUNNING];
		uint32_t n = i + 1 < TP_RUNNING ? i + 1 : TP_RUNNING;

		all[i] = rand_r(&seed) % 20;
		tp_running_add(&running, all[i]);
		memcpy(last, all + i + 1 - n, n * sizeof(*last));
		tp_sort_i64(last, n);
		cr_assert_eq(tp_running_median(&running), last[(n - 1) / 2], "value %u", i);
	}
}

Test(stats, draws_a_row_of_bars)
{
	static const int64_t value[] = {0, 50, 100, 200, 25};
	char buf[64];

	cr_expect_str_eq(tp_sparkline(buf, value, 5, 5, 100), "▁▅██▃");
	/* Fewer columns than values: the largest of each group. */
	cr_expect_str_eq(tp_sparkline(buf, value, 5, 2, 100), "▅█");
	cr_expect_str_eq(tp_sparkline(buf, value, 5, 20, 0), "▁▁▁▁▁");
	cr_expect_str_eq(tp_sparkline(buf, value, 0, 5, 100), "");
}

Test(stats, draws_a_bar_in_eighths)
{
	char buf[64];

	cr_expect_str_eq(tp_bar(buf, 1, 2, 4), "██");
	cr_expect_str_eq(tp_bar(buf, 1, 1, 4), "████");
	cr_expect_str_eq(tp_bar(buf, 5, 1, 4), "████");
	cr_expect_str_eq(tp_bar(buf, 1, 8, 1), "▏");
	cr_expect_str_eq(tp_bar(buf, 7, 8, 1), "▉");
	cr_expect_str_eq(tp_bar(buf, 0, 1, 4), "");
	cr_expect_str_eq(tp_bar(buf, 1, 0, 4), "");
}
