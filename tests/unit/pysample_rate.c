/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_rate.c - tests of how often samples are taken
 */
#include <criterion/criterion.h>

#include "runtime/probe/sample/pysample_rate.h"

static struct tp_pysample_rate rate;

static void note(uint32_t n, uint64_t round_ns)
{
	for (uint32_t i = 0; i < n; i++)
		tp_pysample_rate_note(&rate, round_ns);
}

Test(pysample_rate, is_what_the_user_says)
{
	tp_pysample_rate_init(&rate, 100);
	cr_expect_eq(tp_pysample_rate_ms(&rate), 10);
	note(1000, 1000000);
	cr_expect_eq(tp_pysample_rate_ms(&rate), 10);
	tp_pysample_rate_init(&rate, 1000);
	cr_expect_eq(tp_pysample_rate_ms(&rate), 1);
}

Test(pysample_rate, is_what_half_a_percent_of_a_core_allows)
{
	static const struct {
		uint64_t round_ns, ms;
	} row[] = {{1, 2}, {10000, 4}, {40000, 10}, {80000, 18}, {10000000, 100}};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		tp_pysample_rate_init(&rate, 0);
		note(1000, row[i].round_ns);
		cr_expect_eq(tp_pysample_rate_ms(&rate), row[i].ms, "%lu ns: %lu ms", row[i].round_ns,
			     tp_pysample_rate_ms(&rate));
	}
}

Test(pysample_rate, is_high_when_a_window_begins)
{
	tp_pysample_rate_init(&rate, 0);
	cr_expect_eq(tp_pysample_rate_ms(&rate), 2);
	note(39, 40000);
	cr_expect_eq(tp_pysample_rate_ms(&rate), 2);
	note(1, 40000);
	cr_expect_eq(tp_pysample_rate_ms(&rate), 10);
	tp_pysample_rate_window(&rate);
	cr_expect_eq(tp_pysample_rate_ms(&rate), 2);
}

Test(pysample_rate, follows_the_mean_of_the_last_rounds)
{
	tp_pysample_rate_init(&rate, 0);
	/* The first ones read names, which later ones know. */
	note(4, 900000);
	note(200, 40000);
	cr_expect_eq(tp_pysample_rate_ms(&rate), 10);
	/* Each second one is dear. */
	for (uint32_t i = 0; i < 100; i++) {
		note(1, 40000);
		note(1, 120000);
	}
	cr_expect_geq(tp_pysample_rate_ms(&rate), 16);
	cr_expect_leq(tp_pysample_rate_ms(&rate), 19);
}

Test(pysample_rate, is_low_outside_windows)
{
	tp_pysample_rate_init(&rate, 0);
	note(100, 29000);
	cr_expect_eq(tp_pysample_rate_outside_ms(&rate), 100);
	/* Many threads. */
	note(300, 490000);
	cr_expect_geq(tp_pysample_rate_outside_ms(&rate), 1230);
	cr_expect_leq(tp_pysample_rate_outside_ms(&rate), 1250);
	tp_pysample_rate_init(&rate, 20);
	note(300, 490000);
	cr_expect_eq(tp_pysample_rate_outside_ms(&rate), 50);
}

Test(pysample_rate, rounds_are_drawn_from_half_to_one_and_a_half)
{
	uint64_t drawn = 0, sum = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t ms = tp_pysample_rate_draw_ms(100, &drawn);

		cr_expect(ms >= 50 && ms <= 150, "%lu", (unsigned long)ms);
		sum += ms;
	}
	cr_expect(sum > 95000 && sum < 105000, "%lu", (unsigned long)sum);
}
