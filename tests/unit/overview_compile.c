/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_compile.c - tests of the rule on functions that are compiled again and again
 */
#include "tests/unit/advice_rig.h"

static void set_up(void)
{
	advice_init();
}

TestSuite(overview_compile, .init = set_up);

/* In each of n_steps steps n_traced operators of a compilation, 1 ms each, after a gap of 20 ms, and then the
 * region that it made: of n_numbers numbers from 7 on, by turns. */
static void add_some_regions(uint32_t n_steps, uint32_t n_traced, uint32_t n_numbers)
{
	const struct tp_string *trace = fake_text(&fake, "PythonDispatchMode");
	char name[64];

	add_some_steps(n_steps);
	add_line(1, 10);
	add_line(2, 20);
	for (uint32_t i = 0; i < n_steps; i++) {
		int64_t at = i * 100 * MS;

		add_stack(1, at + 1);
		add(TP_REC_OP, "aten::mm", at + 2, at + 5 * MS);
		add_stack(2, at + 5 * MS + 1);
		for (uint32_t k = 0; k < n_traced; k++)
			add(TP_REC_OP, "", at + (25 + k) * MS, at + (26 + k) * MS)->name = trace;
		snprintf(name, sizeof(name), "Torch-Compiled Region: 3/%u", 7 + i % n_numbers);
		add(TP_REC_OP, name, at + 45 * MS, at + 99 * MS);
	}
}

static void add_regions(uint32_t n_traced, uint32_t n_numbers)
{
	add_some_regions(STEPS, n_traced, n_numbers);
}

Test(overview_compile, sees_a_function_that_is_compiled_in_each_step)
{
	const char *text;

	add_regions(10, STEPS);
	text = print();
	expect_rules(text, (const char *[]){"recompilation", NULL});
	cr_expect(strstr(text, "compiled 3 times again in 4 recorded steps"), "%s", text);
	cr_expect(strstr(text, "/home/me/train.py:20 main\n"), "%s", text);
}

/* By automatic lengths a function is compiled twice, and that is all. */
Test(overview_compile, sees_one_that_is_compiled_in_each_of_three_steps)
{
	add_some_regions(3, 10, 3);
	expect_rules(print(), (const char *[]){"recompilation", NULL});
	set_up();
	add_some_regions(3, 10, 2);
	cr_expect_not(strstr(print(), "\n  recompilation "), "%s", print());
	set_up();
	add_some_regions(STEPS, 10, 3);
	cr_expect_not(strstr(print(), "\n  recompilation "), "%s", print());
}

/* Three of 1 MiB in four steps. */
Test(overview_compile, what_compilations_keep_is_no_growth_of_the_programs)
{
	for (uint32_t kib = 700; kib <= 900; kib += 200) {
		set_up();
		add_regions(10, STEPS);
		for (uint32_t k = 0; k < 80; k++)
			fake_step_row(&fake, proc, k, k * 100 * MS, 100 * MS)->heap_bytes =
				(100 << 20) + (uint64_t)k * kib * 1024;
		expect_rules(print(), (const char *[]){"recompilation", kib == 900 ? "host-memory-growth" : NULL, NULL});
	}
}

Test(overview_compile, says_nothing_of_regions_that_were_there)
{
	/* One region; several, that were compiled before. */
	add_regions(10, 1);
	cr_expect_not(strstr(print(), "\n  recompilation "), "%s", print());
	set_up();
	add_regions(0, STEPS);
	cr_expect_not(strstr(print(), "\n  recompilation "), "%s", print());
}
