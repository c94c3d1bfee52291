/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_steps.c - tests of what a ledger says of slow steps
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "merge/facts/code/slow_steps.h"

static struct tp_proc proc;
static struct tp_slow_where where;

static bool is_even(const void *ctx, uint64_t step)
{
	return step % 2 == *(const uint64_t *)ctx;
}

static uint32_t ask(const char *started)
{
	const uint64_t rest = 0;

	proc.started = started;
	return tp_slow_steps_where(&proc, is_even, &rest, &where);
}

Test(slow_steps, most_of_the_chosen_steps_say_it)
{
	cr_expect_eq(ask("argv.0=x\nslow.2=9 /a/b/train.py:31 main > /a/b/my net.py:12 save\n"
			 "slow.3=9 /a/train.py:1 other\nslow.5=9 /a/train.py:1 other\nslow.7=9 /a/train.py:1 other\n"
			 "slow.4=7 /a/b/train.py:31 main > /a/b/my net.py:14 save\n"
			 "slow.6=8 /a/b/train.py:31 main\n"), 2);
	cr_expect_str_eq(where.text, "train.py:31 main > my net.py:12 save");
}

Test(slow_steps, what_differs_inside_is_told_as_far_as_half_say_the_same)
{
	cr_expect_eq(ask("slow.2=9 /a/x.py:1 f > /p/lib.py:3 load\nslow.4=9 /a/x.py:1 f > /p/lib.py:4 save\n"
			 "slow.6=9 /a/x.py:2 f > /p/lib.py:5 close\nslow.8=9 /a/x.py:2 f\n"
			 "slow.10=9 /a/x.py:2 further\n"), 4);
	cr_expect_str_eq(where.text, "x.py:2 f");
	cr_expect_eq(ask("slow.2=9 /a/x.py:1 f > /p/lib.py:3 load\nslow.4=9 /a/y.py:1 g > /p/lib.py:4 save\n"
			 "slow.6=9 /a/z.py:2 h > /p/lib.py:5 close\n"), 1);
	cr_expect_str_eq(where.text, "x.py:1 f > lib.py:3 load");
}

/* Samples of a step may be shared by chance in what the package does before and after. */
Test(slow_steps, what_a_third_say_of_the_users_is_told_before_a_package)
{
	static const char package[] = "slow.2=4 /a/x.py:38 <module> > /x/site-packages/l/loop.py:376 advance\n"
				      "slow.4=4 /a/x.py:38 <module> > /x/site-packages/l/loop.py:376 advance\n"
				      "slow.6=4 /a/x.py:38 <module>\n",
			  hook[] = "slow.8=5 /a/x.py:38 <module> > /a/x.py:29 hook\n"
				   "slow.10=5 /a/x.py:38 <module> > /a/x.py:30 hook > /a/net.py:3 forward\n",
			  other[] = "slow.12=4 /a/x.py:38 <module>\nslow.14=4 /a/x.py:38 <module>\n";
	char text[sizeof(package) + sizeof(hook) + sizeof(other)];

	snprintf(text, sizeof(text), "%s%s", package, hook);
	cr_expect_eq(ask(text), 2);
	cr_expect_str_eq(where.text, "x.py:38 <module> > x.py:29 hook");
	cr_expect_eq(where.n_own, 2);
	snprintf(text, sizeof(text), "%s%s%s", package, hook, other);
	cr_expect_eq(ask(text), 7);
	cr_expect_str_eq(where.text, "x.py:38 <module>");
	/* Of two alike the first one. */
	cr_expect_eq(ask("slow.2=4 /a/x.py:8 f > /x/site-packages/l/loop.py:6 advance\n"
			 "slow.4=4 /a/x.py:8 f > /x/site-packages/l/loop.py:6 advance\n"
			 "slow.6=5 /a/x.py:8 f > /a/x.py:29 hook\nslow.8=5 /a/x.py:8 f > /a/x.py:29 hook\n"
			 "slow.10=5 /a/x.py:8 f > /a/x.py:9 log\nslow.12=5 /a/x.py:8 f > /a/x.py:9 log\n"), 2);
	cr_expect_str_eq(where.text, "x.py:8 f > x.py:29 hook");
}

Test(slow_steps, a_step_counts_once_and_damage_is_nothing)
{
	cr_expect_eq(ask("slow.2=9 /a/x.py:1 f\nslow.2=9 /a/x.py:1 f\nslow.4=9 /a/y.py:1 g\nslow.6=9 /a/y.py:1 g\n"), 2);
	cr_expect_str_eq(where.text, "y.py:1 g");
	cr_expect_eq(ask("slow.2=9\nslow.x=9 /a/x.py:1 f\nslow.=\nslow.3=9 /a/x.py:1 f\n"), 0);
	cr_expect_str_eq(where.text, "");
	cr_expect_eq(ask(""), 0);
	cr_expect_eq(where.n_own, 0);
}

Test(slow_steps, functions_of_the_users_are_counted)
{
	cr_expect_eq(ask("slow.2=9 /a/x.py:1 f > /a/my net.py:3 save > /x/site-packages/lib/a.py:9 dump\n"), 1);
	cr_expect_eq(where.n_own, 2);
	cr_expect_eq(ask("slow.2=9 /a/x.py:1 f > garbage collection\n"), 1);
	cr_expect_eq(where.n_own, 1);
}

Test(slow_steps, long_names_are_cut)
{
	char text[400] = "slow.2=9 /a/";

	memset(text + strlen(text), 'x', 300);
	strcpy(text + 312, "\n");
	cr_expect_eq(ask(text), 1);
	cr_expect_lt(strlen(where.text), TP_SLOW_WHERE);
}
