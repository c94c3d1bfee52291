/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_places.c - tests of how functions of two runs find each other
 */
#include <criterion/criterion.h>

#include "merge/view/diff/diff.h"

enum { MS = 1000000, STEPS = 10 };

static struct tp_sample_owner rows[2][8];
static struct tp_sample_owners owners[2];
static struct tp_overview overview[2];
static struct tp_diff_side side[2];

static void set_up(void)
{
	for (int i = 0; i < 2; i++) {
		owners[i] = (struct tp_sample_owners){.row = rows[i]};
		overview[i] = (struct tp_overview){.owners = &owners[i]};
		side[i] = (struct tp_diff_side){.overview = &overview[i], .n_steps = STEPS};
	}
}

TestSuite(diff_places, .init = set_up);

/* So much in each step, in samples of 10 ms. */
static void spend(enum tp_diff_which which, enum tp_samples_where where, const char *file,
		  const char *function, uint32_t line, uint32_t ms)
{
	rows[which][owners[which].n_rows++] = (struct tp_sample_owner){
		.where = where,
		.frame = {.function = function, .file = file, .module = "", .line = line, .is_python = true},
		.sum = {.n = (uint64_t)ms * STEPS / 10, .ns = (int64_t)ms * STEPS * MS},
	};
}

static struct tp_diff_function *compare(enum tp_diff_samples which, uint32_t wanted)
{
	uint32_t n;
	struct tp_diff_function *row = tp_diff_functions(&side[TP_DIFF_BASE], &side[TP_DIFF_NOW], which, &n);

	cr_assert_eq(n, wanted);
	return row;
}

static void expect(const struct tp_diff_function *row, const char *file, uint32_t line, double base,
		   double now)
{
	cr_expect_str_eq(row->file, file);
	cr_expect_eq(row->line, line);
	cr_expect_float_eq(row->time[TP_DIFF_BASE].ns, base * MS, 1);
	cr_expect_float_eq(row->time[TP_DIFF_NOW].ns, now * MS, 1);
}

Test(diff_places, a_function_whose_lines_moved_is_the_same)
{
	struct tp_diff_function *row;

	spend(TP_DIFF_BASE, TP_SAMPLES_GAP, "/a/data.py", "augment", 10, 20);
	spend(TP_DIFF_NOW, TP_SAMPLES_GAP, "/a/data.py", "augment", 13, 60);
	row = compare(TP_DIFF_STEPS, 1);
	expect(&row[0], "/a/data.py", 13, 20, 60);
	cr_expect(tp_diff_is_certain(&row[0]));
	free(row);
}

Test(diff_places, a_copy_of_the_program_in_another_folder_has_the_same_functions)
{
	struct tp_diff_function *row;

	spend(TP_DIFF_BASE, TP_SAMPLES_GAP, "/v1/a/data.py", "load", 1, 10);
	spend(TP_DIFF_BASE, TP_SAMPLES_GAP, "/v1/b/data.py", "load", 1, 20);
	spend(TP_DIFF_NOW, TP_SAMPLES_GAP, "/v2/a/data.py", "load", 1, 40);
	spend(TP_DIFF_NOW, TP_SAMPLES_GAP, "/v2/b/data.py", "load", 1, 25);
	row = compare(TP_DIFF_STEPS, 2);
	expect(&row[0], "/v2/a/data.py", 1, 10, 40);
	expect(&row[1], "/v2/b/data.py", 1, 20, 25);
	free(row);
}

/* The place is one that can be looked up: of this run, unless the function is gone. */
Test(diff_places, the_line_is_one_of_this_runs)
{
	struct tp_diff_function *row;

	spend(TP_DIFF_BASE, TP_SAMPLES_GAP, "/a/data.py", "augment", 13, 60);
	spend(TP_DIFF_NOW, TP_SAMPLES_GAP, "/a/data.py", "augment", 10, 20);
	spend(TP_DIFF_BASE, TP_SAMPLES_GAP, "/a/data.py", "old", 30, 10);
	row = compare(TP_DIFF_STEPS, 2);
	expect(&row[0], "/a/data.py", 10, 60, 20);
	expect(&row[1], "/a/data.py", 30, 10, 0);
	free(row);
}

Test(diff_places, functions_of_one_name_in_two_files_are_two)
{
	struct tp_diff_function *row;

	spend(TP_DIFF_BASE, TP_SAMPLES_GAP, "/a/one.py", "main", 1, 10);
	spend(TP_DIFF_NOW, TP_SAMPLES_GAP, "/a/two.py", "main", 1, 40);
	row = compare(TP_DIFF_STEPS, 2);
	expect(&row[0], "/a/two.py", 1, 0, 40);
	expect(&row[1], "/a/one.py", 1, 10, 0);
	free(row);
}

Test(diff_places, what_is_inside_a_function_is_part_of_it)
{
	struct tp_diff_function *row;

	spend(TP_DIFF_BASE, TP_SAMPLES_GAP, "/a/data.py", "load", 5, 10);
	spend(TP_DIFF_NOW, TP_SAMPLES_GAP, "/a/data.py", "load.<locals>.<listcomp>", 6, 30);
	row = compare(TP_DIFF_STEPS, 1);
	expect(&row[0], "/a/data.py", 6, 10, 30);
	cr_expect_eq(row[0].n_function, 4);
	free(row);
}

Test(diff_places, workers_and_operators_are_apart)
{
	struct tp_diff_function *row;

	for (int i = 0; i < 2; i++) {
		spend(i, TP_SAMPLES_WORKER, "/a/data.py", "decode", 5, 10);
		spend(i, TP_SAMPLES_OPERATOR, "/a/train.py", "main", 7, 20 + 20 * i);
		spend(i, TP_SAMPLES_DATA, "/a/train.py", "sampler", 9, 30);
		spend(i, TP_SAMPLES_OUTSIDE, "/a/train.py", "evaluate", 11, 99);
	}
	row = compare(TP_DIFF_WORKERS, 1);
	expect(&row[0], "/a/data.py", 5, 10, 10);
	free(row);
	row = compare(TP_DIFF_OUTSIDE, 1);
	expect(&row[0], "/a/train.py", 9, 30, 30);
	free(row);
	row = compare(TP_DIFF_STEPS, 2);
	expect(&row[0], "/a/train.py", 7, 20, 40);
	free(row);
}

Test(diff_places, a_change_of_few_samples_is_not_certain)
{
	struct tp_diff_function *row;

	spend(TP_DIFF_BASE, TP_SAMPLES_GAP, "/a/data.py", "augment", 10, 10);
	spend(TP_DIFF_NOW, TP_SAMPLES_GAP, "/a/data.py", "augment", 10, 15);
	row = compare(TP_DIFF_STEPS, 1);
	cr_expect_not(tp_diff_is_certain(&row[0]));
	free(row);
}
