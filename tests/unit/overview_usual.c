/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_usual.c - tests of the rules' costs: what most steps are like, what another rule explains, and
 * which part of the run was recorded
 */
#include "tests/unit/advice_gpu_rig.h"

static void set_up(void)
{
	advice_gpu_init();
}

TestSuite(overview_usual, .init = set_up);

/* A kernel in each step, from 2 ms to `end`, or to 5 ms in the steps from `from` on. */
static void add_kernels(int64_t end, uint32_t from)
{
	add_steps();
	add_kernel(1 * MS, 2 * MS, end);
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_KERNEL && event[i].begin_ns >= from * 100ll * MS)
			event[i].end_ns = event[i].begin_ns + 3 * MS;
}

Test(overview_usual, a_step_unlike_the_others_is_not_what_holds_a_run_back)
{
	const char *text;

	add_kernels(99 * MS, STEPS - 1);
	text = print();
	expect_rules(text, (const char *const[]){NULL});
	cr_expect(strstr(text, "GPU idle  26."), "of all steps it is: %s", text);
	set_up();
	add_kernels(99 * MS, STEPS - 2);
	expect_rules(print(), (const char *const[]){"host-bound", NULL});
}

Test(overview_usual, a_device_that_waits_for_gloo_does_not_wait_for_the_host)
{
	add_kernels(50 * MS, STEPS);
	for (uint32_t i = 0; i < STEPS; i++)
		add(TP_REC_RANGE, "gloo:all_reduce", i * 100 * MS + 50 * MS, i * 100 * MS + 99 * MS);
	expect_rules(print(), (const char *const[]){"gloo", NULL});
	/* For half of that time only. */
	set_up();
	add_kernels(50 * MS, STEPS);
	for (uint32_t i = 0; i < STEPS; i++)
		add(TP_REC_RANGE, "gloo:all_reduce", i * 100 * MS + 75 * MS, i * 100 * MS + 99 * MS);
	expect_rules(print(), (const char *const[]){"gloo", "host-bound", NULL});
}

static bool is_tenth(uint32_t i)
{
	return i % 10 == 9;
}

static bool is_now_and_then(uint32_t i)
{
	return i == 11 || i == 19 || i == 30 || i == 41 || i == 46;
}

/* Such steps take so much longer, and none of those is recorded. Whether `rule` comes before `of_steps`. */
static bool comes_first(const char *rule, const char *of_steps, bool (*is_slow)(uint32_t), int64_t usual,
			int64_t longer)
{
	const char *text, *at, *at_steps;
	int64_t now = 0;

	for (uint32_t i = 0; i < 60; i++) {
		int64_t ns = usual + (is_slow(i) ? longer : 0);

		fake_step_row(&fake, proc, i, now, ns);
		now += ns;
	}
	text = print();
	at = strstr(text, rule);
	at_steps = strstr(text, of_steps);
	cr_assert(at && at_steps, "%s", text);
	return at < at_steps;
}

/* Without what is slow the host costs 55 % of a step. */
static bool host_comes_first(const char *of_steps, bool (*is_slow)(uint32_t), int64_t longer)
{
	set_up();
	add_kernels(45 * MS, STEPS);
	return comes_first("\n  host-bound ", of_steps, is_slow, 100 * MS, longer);
}

/* Small operators, 52 %. */
static bool small_come_first(const char *of_steps, bool (*is_slow)(uint32_t), int64_t longer)
{
	set_up();
	add_small(400, 1, 16000, 10000);
	return comes_first("\n  small-operators ", of_steps, is_slow, 10 * MS, longer);
}

Test(overview_usual, what_was_recorded_costs_its_part_of_the_run)
{
	static const char every[] = "\n  every-n-steps ", slow[] = "\n  slow-steps ";

	/* What is slow is 47 % of the run, and of the rest 55 % is 29 % of the run. */
	cr_expect_not(host_comes_first(every, is_tenth, 900ll * MS));
	cr_expect(host_comes_first(every, is_tenth, 300ll * MS));
	cr_expect_not(small_come_first(every, is_tenth, 90 * MS));
	cr_expect(small_come_first(every, is_tenth, 30 * MS));
	cr_expect_not(small_come_first(slow, is_now_and_then, 100 * MS));
	cr_expect(small_come_first(slow, is_now_and_then, 45 * MS));
}
