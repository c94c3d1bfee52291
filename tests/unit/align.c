/* SPDX-License-Identifier: Apache-2.0 */
/* align.c of the merge: ticks to nanoseconds, and what it says about its error. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "merge/clock/align.h"

enum { N = 400 };

/* A clock whose rate wanders, read at anchors with an asymmetric delay inside the bracket. */
static double true_ns(double ticks, double rate, double drift)
{
	double s = ticks / rate / 1e9;

	return ticks / rate + drift * 1e9 * sin(s / 20);
}

static void check_wander(double rate, double drift_ppm_s, uint64_t bracket, unsigned seed)
{
	struct tp_clock_anchor anchor[N];
	struct tp_align_map map;
	uint32_t hint = 0;
	double drift = drift_ppm_s * 1e-6;
	int64_t last = INT64_MIN;

	srand(seed);
	for (int i = 0; i < N; i++) {
		uint64_t ticks = (uint64_t)(rate * 1e8 * i) + 12345;
		/* The reading of MONOTONIC lies anywhere inside the bracket. */
		double off = ((double)rand() / RAND_MAX - 0.5) * (double)bracket;

		anchor[i] = (struct tp_clock_anchor){
			.ticks = ticks,
			.mono_ns = (uint64_t)(1e12 + true_ns((double)ticks + off, rate, drift)),
			.bracket_ticks = bracket,
		};
	}
	cr_assert_eq(tp_align_fit(&map, anchor, N, true), 0);
	for (int k = 0; k < 20000; k++) {
		double ticks = rate * 1e8 * (N - 1) * k / 20000 + 12345;
		int64_t got = tp_align_ns(&map, &hint, (uint64_t)ticks);
		double off = fabs((double)(got - 1000000000000ll) - true_ns(ticks, rate, drift));

		cr_assert_leq(off, (double)map.error_ns, "off %.0f ns, stated +- %ld", off,
			      (long)map.error_ns);
		cr_assert_geq(got, last, "times must rise");
		last = got;
	}
	cr_assert_lt(map.error_ns, 2000, "the bound must be worth stating: %ld", (long)map.error_ns);
	tp_align_free(&map);
}

Test(align, recovers_a_wandering_clock_within_the_bound_it_states)
{
	static const double rates[] = {1.0, 2.1, 3.7};
	static const double drifts[] = {0, 0.1, 5};

	for (int r = 0; r < 3; r++) {
		for (int d = 0; d < 3; d++) {
			for (unsigned seed = 1; seed <= 5; seed++)
				check_wander(rates[r], drifts[d], 80, seed);
		}
	}
}

Test(align, a_nanosecond_clock_needs_one_anchor_only)
{
	struct tp_clock_anchor anchor = {.ticks = 5000, .mono_ns = 5000};
	struct tp_align_map map;
	uint32_t hint = 0;

	cr_assert_eq(tp_align_fit(&map, &anchor, 1, false), 0);
	cr_assert_eq(tp_align_ns(&map, &hint, 7000), 7000);
	cr_assert_eq(tp_align_ns(&map, &hint, 3000), 3000);
	tp_align_free(&map);
}

Test(align, ticks_of_unknown_length_give_no_bound)
{
	struct tp_clock_anchor one[] = {{.ticks = 5000, .mono_ns = 9000}};
	struct tp_clock_anchor odd[] = {{.ticks = 5000, .mono_ns = 9000},
					{.ticks = 5001, .mono_ns = 9000000}};
	struct tp_align_map map;

	cr_assert_eq(tp_align_fit(&map, one, 1, true), -ENODATA);
	cr_assert_eq(map.error_ns, TP_ALIGN_UNBOUNDED);
	tp_align_free(&map);
	cr_assert_eq(tp_align_fit(&map, odd, 2, true), -ENODATA, "no clock ticks at 1 kHz");
	cr_assert_eq(map.error_ns, TP_ALIGN_UNBOUNDED);
	tp_align_free(&map);
	cr_assert_eq(tp_align_fit(&map, NULL, 0, true), -ENODATA);
	cr_assert_eq(map.n_knots, 0);
}

Test(align, anchors_that_go_backwards_are_counted_and_not_used)
{
	struct tp_clock_anchor anchor[] = {
		{.ticks = 0, .mono_ns = 1000},
		{.ticks = 2000000000, .mono_ns = 500},
		{.ticks = 4000000000, .mono_ns = 2000001000},
		{.ticks = 0, .mono_ns = 1000},
	};
	struct tp_align_map map;
	uint32_t hint = 0;

	cr_assert_eq(tp_align_fit(&map, anchor, 4, true), 0);
	cr_assert_eq(map.n_violations, 1);
	cr_assert_eq(tp_align_ns(&map, &hint, 2000000000), 1000001000);
	tp_align_free(&map);
}

Test(align, extreme_anchors_do_not_overflow)
{
	struct tp_clock_anchor anchor[] = {
		{.ticks = 1, .mono_ns = UINT64_MAX},
		{.ticks = UINT64_MAX, .mono_ns = 1},
		{.ticks = 10, .mono_ns = 10, .bracket_ticks = UINT64_MAX},
		{.ticks = 20, .mono_ns = 20},
	};
	struct tp_align_map map;
	uint32_t hint = 0;

	tp_align_fit(&map, anchor, 4, true);
	if (map.n_knots)
		(void)tp_align_ns(&map, &hint, 15);
	tp_align_free(&map);
}

Test(align, realtime_offset_is_the_median_so_one_jump_does_not_move_it)
{
	struct tp_clock_anchor anchor[] = {
		{.mono_ns = 10, .real_ns = 1010}, {.mono_ns = 20, .real_ns = 999999},
		{.mono_ns = 30, .real_ns = 1030}, {.mono_ns = 40, .real_ns = 1041},
		{.mono_ns = 50, .real_ns = 1050},
	};

	cr_assert_eq(tp_align_real_offset(anchor, 5), 1000);
	cr_assert_eq(tp_align_real_offset(anchor, 0), 0);
}

/* A second clock behind the first: both in one map, to the nanosecond of both. */
Test(align, a_bent_map_gives_the_times_of_the_clock_behind)
{
	static const struct tp_align_bend bend[] = {
		{1000000000000, 50000000000}, {1010000000000, 60000500000}, {1020000000000, 70000400000}};
	struct tp_clock_anchor anchor[30];
	struct tp_align_map map;
	uint32_t hint = 0;
	int64_t error, before = INT64_MIN;

	for (uint32_t i = 0; i < 30; i++)
		anchor[i] = (struct tp_clock_anchor){.ticks = 777 + i * 2100000000ull,
						     .mono_ns = 995000000000 + i * 1000000000ull,
						     .bracket_ticks = 80};
	cr_assert_eq(tp_align_fit(&map, anchor, 30, true), 0);
	error = map.error_ns;
	cr_assert_eq(tp_align_bend(&map, bend, 3), 0);
	cr_assert_geq(map.error_ns, error);
	for (int64_t ns = 993000000000; ns < 1026000000000; ns += 12345678) {
		uint64_t ticks = (uint64_t)(777 + (double)(ns - 995000000000) * 2.1);
		int64_t got, want = ns - 950000000000;

		if (ns < 995000001000)
			continue;
		if (ns > 1020000000000)
			want = 70000400000 + (ns - 1020000000000);
		else if (ns > 1010000000000)
			want = 60000500000 + (int64_t)((double)(ns - 1010000000000) * 0.99999);
		else if (ns > 1000000000000)
			want = 50000000000 + (int64_t)((double)(ns - 1000000000000) * 1.00005);
		got = tp_align_ns(&map, &hint, ticks);
		cr_assert_leq(llabs(got - want), map.error_ns + 2, "at %ld: %ld", (long)ns,
			      (long)(got - want));
		cr_assert_geq(got, before);
		before = got;
	}
	tp_align_free(&map);
}

/* Random maps of few pieces, and ticks around their ends; rates of 0 and as large as they get. */
Test(align, a_piece_gives_what_the_map_gives_or_says_that_it_does_not)
{
	uint64_t random = 18, n_within = 0, n_without = 0;

	for (uint32_t turn = 0; turn < 20000; turn++) {
		struct tp_align_knot knot[3] = {{.ticks = 1000}};
		struct tp_align_map map = {.knot = knot, .n_knots = 3};

		for (uint32_t i = 0; i < 3; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			knot[i].rate = random >> (random >> 58);
			knot[i].ns = (int64_t)(random >> 3) * (random & 1 ? 1 : -1);
			if (i)
				knot[i].ticks = knot[i - 1].ticks + 1 + (random >> 33);
		}
		for (uint32_t i = 0; i < 3; i++) {
			int64_t added = (int64_t)(random >> 4) * (random & 2 ? 1 : -1);
			struct tp_align_piece piece = tp_align_piece(&map, i, added);
			const uint64_t behind[] = {0, 1, piece.n / 2, piece.n - 1};

			n_without += !piece.n;
			for (uint32_t k = 0; piece.n && k < 4 && behind[k] < piece.n; k++) {
				uint32_t hint = 0;
				uint64_t ticks = piece.from + behind[k];

				if (ticks < piece.from)
					break;
				n_within++;
				cr_assert_eq(piece.ns + (int64_t)((unsigned __int128)behind[k] *
								  piece.rate >> 32),
					     tp_align_ns(&map, &hint, ticks) + added);
			}
		}
	}
	cr_assert_gt(n_within, 10000);
	cr_assert_gt(n_without, 1000);
}
