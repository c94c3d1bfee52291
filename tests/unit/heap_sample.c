/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks chosen by bytes: the gaps, what sums over them estimate, the table of those alive. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/probe/heap/heap_sample.h"

enum { MEAN = 1000 };

Test(heap_sample, gaps_are_exponential)
{
	enum { N = 400000 };
	uint64_t dice = 42;
	double sum = 0, squares = 0;
	uint32_t n_longer[3] = { 0 };

	for (int i = 0; i < N; i++) {
		double gap = (double)tp_heap_sample_gap(&dice, MEAN << 10) / (MEAN << 10);

		sum += gap;
		squares += gap * gap;
		for (int k = 0; k < 3; k++)
			n_longer[k] += gap > k + 1;
	}
	/* Mean and variance of 1, e^-k longer than k means: within 5 standard errors. */
	cr_expect_float_eq(sum / N, 1, 5 / sqrt(N), "mean %f", sum / N);
	cr_expect_float_eq(squares / N - 1, 1, 5 * sqrt(20.0 / N), "square %f", squares / N);
	for (int k = 0; k < 3; k++) {
		double p = exp(-(k + 1));

		cr_expect_float_eq((double)n_longer[k] / N, p, 5 * sqrt(p * (1 - p) / N),
				   "longer than %d: %f, not %f", k + 1, (double)n_longer[k] / N, p);
	}
}

static double chance(uint64_t bytes)
{
	return -expm1(-(double)(bytes ? bytes : 1) / MEAN);
}

/* Blocks of mixed sizes, many times: the mean of the estimates is the truth, and their spread is
 * what the estimated errors say. */
Test(heap_sample, sums_over_chosen_blocks_estimate_sums_over_all)
{
	enum { RUNS = 400, BLOCKS = 2000 };
	static const uint64_t size[] = { 0, 1, 16, 100, 999, 5000, 100000 };
	double bytes = 0, mean_bytes = 0, mean_count = 0, spread = 0, error = 0;
	uintptr_t address = 0x7f0000000000;

	cr_assert(tp_heap_sample_open(MEAN));
	tp_heap_self.dice = 42;	/* the same chances in each run of the test */
	for (int i = 0; i < BLOCKS; i++)
		bytes += (double)size[i % 7];
	for (int run = 0; run < RUNS; run++) {
		double sum = 0, count = 0, variance = 0;

		tp_heap_sample_begin();
		for (int i = 0; i < BLOCKS; i++) {
			uint64_t s = size[i % 7];
			double p = chance(s), y = (double)s;

			if (!tp_heap_sample_choose((void *)(address += 16), s))
				continue;
			sum += y / p;
			count += 1 / p;
			variance += (1 - p) * y * y / p / p;
		}
		mean_bytes += sum / RUNS;
		mean_count += count / RUNS;
		spread += (sum - bytes) * (sum - bytes) / RUNS;
		error += variance / RUNS;
	}
	cr_expect_eq(tp_heap_sample_no_room(), 0);
	cr_expect_float_eq(mean_bytes, bytes, 5 * sqrt(error / RUNS), "%.0f bytes, not %.0f",
			   mean_bytes, bytes);
	/* Of blocks of 0 and 1 bytes one in a thousand is chosen, and stands for a thousand. */
	cr_expect_float_eq(mean_count, BLOCKS, 5 * sqrt(BLOCKS * 2.0 / 7 * MEAN / RUNS),
			   "%.0f blocks, not %d", mean_count, BLOCKS);
	cr_expect(spread > 0.7 * error && spread < 1.4 * error, "spread %.0f, error %.0f",
		  sqrt(spread), sqrt(error));
}

/* Chosen: each whose size is far beyond the mean. */
static bool choose(uintptr_t address)
{
	return tp_heap_sample_choose((void *)address, MEAN * 100);
}

Test(heap_sample, a_chosen_block_is_known_until_it_is_dropped)
{
	cr_assert(tp_heap_sample_open(MEAN));
	cr_expect(choose(0x1000));
	cr_expect(choose(0x2000));
	cr_expect_not(tp_heap_sample_drop((void *)0x3000));
	cr_expect(tp_heap_sample_drop((void *)0x1000));
	cr_expect_not(tp_heap_sample_drop((void *)0x1000));
	cr_expect(tp_heap_sample_keep_back((void *)0x1000));
	cr_expect(tp_heap_sample_drop((void *)0x1000));
	tp_heap_sample_begin();
	cr_expect_not(tp_heap_sample_drop((void *)0x2000), "of the window before");
}

Test(heap_sample, windows_may_be_more_than_have_numbers)
{
	cr_assert(tp_heap_sample_open(MEAN));
	cr_expect(choose(0x1000));
	for (int i = 0; i < 65535; i++)
		tp_heap_sample_begin();
	cr_expect_not(tp_heap_sample_drop((void *)0x1000));
}

Test(heap_sample, a_full_table_is_counted)
{
	enum { MOST = 1 << 17 };
	uint64_t n = 0, n_known = 0;

	cr_assert(tp_heap_sample_open(MEAN));
	for (uintptr_t i = 1; i <= MOST; i++)
		n += choose(i * 16);
	cr_expect_gt(n, MOST / 8);
	cr_expect_gt(tp_heap_sample_no_room(), 0);
	cr_expect_eq(n + tp_heap_sample_no_room(), MOST);
	for (uintptr_t i = 1; i <= MOST; i++)
		n_known += tp_heap_sample_drop((void *)(i * 16));
	cr_expect_eq(n_known, n, "each that was chosen is known");
	cr_expect(choose(16));
}

Test(heap_sample, a_forked_child_chooses_by_its_own_chance)
{
	int64_t until[2];
	int out[2];

	cr_assert(tp_heap_sample_open(MEAN));
	choose(0x1000);
	cr_assert_eq(pipe(out), 0);
	for (int i = 0; i < 2; i++) {
		if (!fork()) {
			tp_heap_sample_forked();
			choose(0x2000);
			_exit(write(out[1], &tp_heap_self.until_sample, 8) != 8);
		}
		wait(NULL);
		cr_assert_eq(read(out[0], &until[i], 8), 8);
	}
	cr_expect_neq(until[0], until[1]);
}
