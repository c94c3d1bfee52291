/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakdown.c - tests of the step-time breakdown: known answers, and random intervals against
 * a count of every nanosecond; steps that last as long as the work they asked for
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "merge/facts/time/breakdown.h"

struct interval {
	int64_t begin, end;
	uint32_t category;	/* TP_CAT_N: a step */
};

enum { NO_WORK = 1000000 };	/* called: not of a device */

/* called: when work of a device was asked for; NULL: none is. */
static void run_work(struct tp_breakdown *b, const struct interval *in, const int64_t *called,
		     uint32_t n)
{
	uint64_t index = 0;

	tp_breakdown_init(b);
	for (uint32_t i = 0; i < n; i++) {
		if (in[i].category == TP_CAT_N)
			tp_breakdown_step(b, index++, in[i].begin, in[i].end);
		else if (called && called[i] != NO_WORK)
			tp_breakdown_work(b, in[i].category, in[i].begin, in[i].end, called[i]);
		else
			tp_breakdown_span(b, in[i].category, in[i].begin, in[i].end);
	}
	tp_breakdown_end(b);
}

static void run(struct tp_breakdown *b, const struct interval *in, uint32_t n)
{
	run_work(b, in, NULL, n);
}

Test(breakdown, counts_the_example_of_the_priority_rule)
{
	/* Kernel [2,7), memcpy inside it [3,6), CPU Exec [1,3): the kernel counts first, the
	 * memcpy is hidden by it, of the CPU only [1,2) is left. */
	static const struct interval in[] = {
		{0, 10, TP_CAT_N}, {1, 3, TP_CAT_CPU}, {2, 7, TP_CAT_KERNEL}, {3, 6, TP_CAT_MEMCPY},
	};
	struct tp_breakdown b;

	run(&b, in, 4);
	cr_assert_eq(b.n_steps, 1);
	cr_expect_eq(b.step[0].ns[TP_CAT_KERNEL], 5);
	cr_expect_eq(b.step[0].ns[TP_CAT_MEMCPY], 0);
	cr_expect_eq(b.step[0].ns[TP_CAT_CPU], 1);
	cr_expect_eq(b.step[0].ns[TP_CAT_OTHER], 4);
	tp_breakdown_free(&b);
}

Test(breakdown, gives_known_answers)
{
	static const struct {
		const char *what;
		uint32_t n;
		struct interval in[6];
		int64_t comm, data, cpu, other;	/* of step 0 */
	} cases[] = {
		{"empty step", 1, {{5, 15, TP_CAT_N}}, 0, 0, 0, 10},
		{"an operator that began before the step",
		 2, {{0, 8, TP_CAT_CPU}, {5, 15, TP_CAT_N}}, 0, 0, 3, 7},
		{"an operator that ends after the step",
		 2, {{5, 15, TP_CAT_N}, {12, 30, TP_CAT_CPU}}, 0, 0, 3, 7},
		{"nested operators count once",
		 4,
		 {{0, 10, TP_CAT_N}, {1, 9, TP_CAT_CPU}, {2, 4, TP_CAT_CPU}, {5, 8, TP_CAT_CPU}},
		 0, 0, 8, 2},
		{"operators inside the data loader are loading",
		 3, {{0, 10, TP_CAT_N}, {0, 4, TP_CAT_DATA}, {1, 6, TP_CAT_CPU}}, 0, 4, 2, 4},
		{"communication hides what runs beside it",
		 4,
		 {{0, 10, TP_CAT_N}, {0, 10, TP_CAT_CPU}, {2, 3, TP_CAT_DATA}, {2, 8, TP_CAT_COMM}},
		 6, 0, 4, 0},
		{"before zero", 2, {{-20, -10, TP_CAT_N}, {-15, -12, TP_CAT_CPU}}, 0, 0, 3, 7},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_breakdown b;

		run(&b, cases[i].in, cases[i].n);
		cr_assert_eq(b.n_steps, 1, "%s", cases[i].what);
		cr_expect_eq(b.step[0].ns[TP_CAT_COMM], cases[i].comm, "%s", cases[i].what);
		cr_expect_eq(b.step[0].ns[TP_CAT_DATA], cases[i].data, "%s", cases[i].what);
		cr_expect_eq(b.step[0].ns[TP_CAT_CPU], cases[i].cpu, "%s", cases[i].what);
		cr_expect_eq(b.step[0].ns[TP_CAT_OTHER], cases[i].other, "%s", cases[i].what);
		tp_breakdown_free(&b);
	}
}

static int compare(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

/* Steps one after the other with gaps, any intervals of any categories over them. */
static uint32_t make(struct interval *in, uint32_t n_steps, uint32_t n_spans, unsigned *seed)
{
	int64_t at = -100;
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_steps; i++) {
		int64_t end = at + 1 + rand_r(seed) % 80;

		in[n++] = (struct interval){at, end, TP_CAT_N};
		at = end + (rand_r(seed) % 3 ? 0 : rand_r(seed) % 20);
	}
	for (uint32_t i = 0; i < n_spans; i++) {
		int64_t begin = -120 + rand_r(seed) % 400;

		in[n++] = (struct interval){begin, begin + rand_r(seed) % 60,
					    rand_r(seed) % TP_CAT_OTHER};
	}
	qsort(in, n, sizeof(*in), compare);
	return n;
}

Test(breakdown, agrees_with_a_count_of_every_nanosecond_and_adds_up)
{
	unsigned seed = 5;

	for (uint32_t round = 0; round < 500; round++) {
		struct interval in[120];
		uint32_t n = make(in, 1 + rand_r(&seed) % 6, rand_r(&seed) % 100, &seed), step = 0;
		struct tp_breakdown b;

		run(&b, in, n);
		for (uint32_t s = 0; s < n; s++) {
			int64_t ns[TP_CAT_N] = {0}, sum = 0;

			if (in[s].category != TP_CAT_N)
				continue;
			for (int64_t t = in[s].begin; t < in[s].end; t++) {
				uint32_t best = TP_CAT_OTHER;

				for (uint32_t i = 0; i < n; i++)
					if (in[i].category < best && t >= in[i].begin &&
					    t < in[i].end)
						best = in[i].category;
				ns[best]++;
			}
			cr_assert_eq(b.step[step].begin_ns, in[s].begin);
			cr_assert_eq(b.step[step].end_ns, in[s].end);
			for (uint32_t c = 0; c < TP_CAT_N; c++) {
				cr_assert_eq(b.step[step].ns[c], ns[c],
					     "round %u, step %u, %s: %ld, not %ld", round, step,
					     tp_category_name(c), (long)b.step[step].ns[c],
					     (long)ns[c]);
				sum += b.step[step].ns[c];
			}
			cr_assert_eq(sum, in[s].end - in[s].begin);
			step++;
		}
		cr_assert_eq(step, b.n_steps);
		tp_breakdown_free(&b);
	}
}

Test(breakdown, still_adds_up_when_steps_overlap)
{
	static const struct interval in[] = {
		{0, 100, TP_CAT_N}, {10, 90, TP_CAT_CPU}, {50, 80, TP_CAT_N}, {60, 61, TP_CAT_N},
	};
	struct tp_breakdown b;

	run(&b, in, 4);
	cr_assert_eq(b.n_steps, 3);
	for (uint32_t i = 0; i < b.n_steps; i++) {
		int64_t sum = 0;

		for (uint32_t c = 0; c < TP_CAT_N; c++)
			sum += b.step[i].ns[c];
		cr_expect_eq(sum, b.step[i].end_ns - b.step[i].begin_ns, "step %u", i);
	}
	tp_breakdown_free(&b);
}

Test(breakdown, a_step_lasts_until_its_work_has_ended_and_the_next_begins_there)
{
	static const struct interval in[] = {
		{-5, 12, TP_CAT_KERNEL},	/* from before: the lead */
		{0, 50, TP_CAT_N},
		{10, 20, TP_CAT_CPU},
		{15, 90, TP_CAT_KERNEL},	/* asked for in the first step */
		{50, 100, TP_CAT_N},
		{55, 60, TP_CAT_CPU},
		{92, 95, TP_CAT_MEMCPY},
		{95, 130, TP_CAT_KERNEL},
		{110, 120, TP_CAT_N},		/* asks for nothing, and is hidden */
		{140, 150, TP_CAT_N},
	};
	static const int64_t called[] = {
		INT64_MIN, NO_WORK, NO_WORK, 10, NO_WORK, NO_WORK, 57, 58, NO_WORK, NO_WORK,
	};
	static const struct {
		int64_t begin, end, kernel, memcpy, cpu, other;
	} wanted[] = {
		{12, 90, 75, 0, 3, 0},
		{90, 130, 35, 3, 0, 2},
		{130, 130, 0, 0, 0, 0},
		{140, 150, 0, 0, 0, 10},
	};
	struct tp_breakdown b;

	run_work(&b, in, called, sizeof(in) / sizeof(in[0]));
	cr_assert_eq(b.n_steps, 4);
	for (uint32_t i = 0; i < b.n_steps; i++) {
		cr_expect_eq(b.step[i].begin_ns, wanted[i].begin, "step %u begins at %ld", i,
			     (long)b.step[i].begin_ns);
		cr_expect_eq(b.step[i].end_ns, wanted[i].end, "step %u ends at %ld", i,
			     (long)b.step[i].end_ns);
		cr_expect_eq(b.step[i].ns[TP_CAT_KERNEL], wanted[i].kernel, "step %u", i);
		cr_expect_eq(b.step[i].ns[TP_CAT_MEMCPY], wanted[i].memcpy, "step %u", i);
		cr_expect_eq(b.step[i].ns[TP_CAT_CPU], wanted[i].cpu, "step %u", i);
		cr_expect_eq(b.step[i].ns[TP_CAT_OTHER], wanted[i].other, "step %u", i);
	}
	tp_breakdown_free(&b);
}

/* Some spans become work of a device, asked for a while before it begins. */
static void give_work(const struct interval *in, int64_t *called, uint32_t n, unsigned *seed)
{
	for (uint32_t i = 0; i < n; i++) {
		called[i] = NO_WORK;
		if (in[i].category <= TP_CAT_MEMSET)
			called[i] = rand_r(seed) % 4 ? in[i].begin - rand_r(seed) % 60 : INT64_MIN;
	}
}

static int64_t end_of_work(const struct interval *in, const int64_t *called, uint32_t n,
			   const struct interval *step)
{
	int64_t end = INT64_MIN;

	for (uint32_t i = 0; i < n; i++)
		if (called[i] >= step->begin && called[i] < step->end && in[i].end > end)
			end = in[i].end;
	return end;
}

static void expect_count(const struct interval *in, uint32_t n, const struct tp_step_time *step)
{
	int64_t ns[TP_CAT_N] = {0};

	for (int64_t t = step->begin_ns; t < step->end_ns; t++) {
		uint32_t best = TP_CAT_OTHER;

		for (uint32_t i = 0; i < n; i++)
			if (in[i].category < best && t >= in[i].begin && t < in[i].end)
				best = in[i].category;
		ns[best]++;
	}
	for (uint32_t c = 0; c < TP_CAT_N; c++)
		cr_assert_eq(step->ns[c], ns[c], "%s: %ld, not %ld", tp_category_name(c),
			     (long)step->ns[c], (long)ns[c]);
}

Test(breakdown, agrees_with_a_count_where_devices_work)
{
	unsigned seed = 7;

	for (uint32_t round = 0; round < 300; round++) {
		struct interval in[120];
		uint32_t n = make(in, 2 + rand_r(&seed) % 6, rand_r(&seed) % 60, &seed), step = 0;
		int64_t before = INT64_MIN, called[120];
		bool has_work = false;
		struct tp_breakdown b;

		give_work(in, called, n, &seed);
		for (uint32_t i = 0; i < n; i++)
			has_work |= in[i].category == TP_CAT_N &&
				    end_of_work(in, called, n, &in[i]) != INT64_MIN;
		run_work(&b, in, called, n);
		for (uint32_t i = 0; i < n; i++) {
			int64_t end = in[i].end, work;

			if (in[i].category != TP_CAT_N)
				continue;
			work = end_of_work(in, called, n, &in[i]);
			end = work > end ? work : end;
			if (!step)	/* the lead has a test of its own */
				before = b.step[0].begin_ns;
			before = has_work && before > in[i].begin ? before : in[i].begin;
			end = end > before ? end : before;
			cr_assert_eq(b.step[step].begin_ns, before, "round %u, step %u", round, step);
			cr_assert_eq(b.step[step].end_ns, end, "round %u, step %u", round, step);
			expect_count(in, n, &b.step[step++]);
			before = end;
		}
		cr_assert_eq(step, b.n_steps);
		tp_breakdown_free(&b);
	}
}
