/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outside.c - tests of what ledgers say of the run outside windows
 */
#include <criterion/criterion.h>
#include <string.h>

#include "merge/facts/code/outside.h"

static struct tp_proc proc[2];
static struct tp_proc *procs[] = {&proc[0], &proc[1]};
static const struct tp_run run = {.proc = procs, .n_procs = 2};
static struct tp_outside outside;

static void read_both(const char *a, const char *b)
{
	proc[0].started = a;
	proc[1].started = b;
	tp_outside_read(&run, &outside);
}

static void expect_row(uint32_t at, uint64_t n, bool is_other, const char *text)
{
	cr_assert_lt(at, outside.n_rows);
	cr_expect_eq(outside.row[at].n, n);
	cr_expect_eq(outside.row[at].is_other, is_other);
	cr_expect_str_eq(outside.row[at].text, text);
}

Test(outside, the_last_that_is_whole_counts_and_processes_are_added)
{
	read_both("argv.0=x\noutside.1=9 0 0 0 1\noutside.1.0=9 t /a/x.py:1 f\n"
		  "outside.2=30 5 4 2 2\noutside.2.0=28 t /a/x.py:1 f\nslow.9=3 /a/x.py:1 f\noutside.2.1=5 o /a/y.py:3 g\n"
		  "outside.3=60 5 0 0 2\noutside.3.0=60 t /a/x.py:1 f\n",
		  "outside.1=50 5 1 1 2\noutside.1.0=40 t /a/z.py:1 h\noutside.1.1=10 t /a/x.py:1 f\n");
	cr_expect_eq(outside.n_training, 80);
	cr_expect_eq(outside.n_other, 10);
	cr_expect_eq(outside.n_collecting, 5);
	cr_expect_eq(outside.n_unlisted, 3);
	cr_expect_eq(outside.n_rows, 3);
	expect_row(0, 40, false, "/a/z.py:1 h");
	expect_row(1, 38, false, "/a/x.py:1 f");
	expect_row(2, 5, true, "/a/y.py:3 g");
	tp_outside_free(&outside);
}

Test(outside, damage_is_nothing)
{
	static const char *const bad[] = {
		"", "outside.=", "outside.1=", "outside.1=9 0 0 0 99999\n", "outside.x=1 0 0 0 0\n",
		"outside.1=9 0 10 0 1\noutside.1.0=9 t /a/x.py:1 f\n",
		"outside.1=9 0 0 0 1\noutside.1.0=9 q /a/x.py:1 f\n", "outside.1=9 0 0 0 1\noutside.1.0=9\n",
		"outside.1=9 0 0 0 1\noutside.2.0=9 t /a/x.py:1 f\n", "outside.1.0=9 t /a/x.py:1 f\n",
		"outside.1=18446744073709551615 0 0 0 1\noutside.1.0=18446744073709551615 t /a/x.py:1 f\n",
	};

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		read_both(bad[i], "");
		cr_expect_eq(outside.n_rows + outside.n_training, 0, "%s", bad[i]);
		tp_outside_free(&outside);
	}
}

Test(outside, a_place_has_three_parts)
{
	static const struct {
		const char *text, *file, *function;
		uint32_t line;
	} row[] = {
		{"/a/my net.py:12 Net.forward", "/a/my net.py", "Net.forward", 12},
		{"C:/x:3:7 f.<locals>.<lambda>", "C:/x:3", "f.<locals>.<lambda>", 7},
		{"?:0 ?", "?", "?", 0}, {"", "", "", 0}, {"x y", "x", "y", 0}, {"x:99999999999 y", "x:99999999999", "y", 0},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct tp_outside_row one = {.text = (char *)row[i].text};
		const char *file, *function;
		char buf[200];

		cr_expect_eq(tp_outside_split(&one, buf, sizeof(buf), &file, &function), row[i].line, "%s", row[i].text);
		cr_expect_str_eq(file, row[i].file);
		cr_expect_str_eq(function, row[i].function);
	}
}
