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

/* Every tenth step takes so much longer, and none of those is recorded. */
static const char *print_periodic(int64_t longer)
{
	int64_t now = 0;

	set_up();
	add_kernels(45 * MS, STEPS);
	for (uint32_t i = 0; i < 60; i++) {
		int64_t ns = 100 * MS + (i % 10 == 9 ? longer : 0);

		fake_step_row(&fake, proc, i, now, ns);
		now += ns;
	}
	return print();
}

Test(overview_usual, what_was_recorded_costs_its_part_of_the_run)
{
	/* 47 % of the run; beside it 55 % of the other steps' time, which is 29 % of the run. */
	const char *text = print_periodic(900ll * MS), *host = strstr(text, "\n  host-bound "),
		   *period = strstr(text, "\n  every-n-steps ");

	cr_assert(host && period, "%s", text);
	cr_expect(period < host, "%s", text);
	text = print_periodic(300ll * MS);
	host = strstr(text, "\n  host-bound ");
	period = strstr(text, "\n  every-n-steps ");
	cr_assert(host && period, "%s", text);
	cr_expect(host < period, "%s", text);
}
