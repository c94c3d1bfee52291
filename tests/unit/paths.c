/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.c - tests: ways that spans enclose each other have numbers
 */
#include "merge/facts/time/paths.h"

#include <criterion/criterion.h>

Test(paths, are_equal_where_the_rows_are)
{
	struct tp_paths paths = {.n = 0};
	static const uint32_t inner_first[] = {3, 2, 1}, other[] = {2, 3, 1};
	uint32_t a, b, c;

	cr_expect_eq(tp_paths_find(&paths, NULL, 0), 0);
	a = tp_paths_find(&paths, inner_first, 3);
	b = tp_paths_find(&paths, inner_first + 1, 2);
	c = tp_paths_find(&paths, other, 3);
	cr_expect_neq(a, 0);
	cr_expect_neq(a, b);
	cr_expect_neq(a, c);
	cr_expect_eq(tp_paths_find(&paths, inner_first, 3), a);
	cr_expect_eq(paths.path[a].row, 3);
	cr_expect_eq(paths.path[a].parent, b);
	cr_expect_eq(paths.path[paths.path[b].parent].row, 1);
	cr_expect_eq(paths.path[paths.path[b].parent].parent, 0);
	tp_paths_free(&paths);
}

Test(paths, may_be_many)
{
	struct tp_paths paths = {.n = 0};
	uint32_t number[5000];

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 5000; i++) {
			/* One row inside many others. */
			uint32_t row[] = {5, i, i / 50};
			uint32_t found = tp_paths_find(&paths, row, 3);

			if (!round)
				number[i] = found;
			cr_assert_eq(found, number[i]);
			cr_assert_eq(paths.path[paths.path[found].parent].row, i);
		}
	tp_paths_free(&paths);
}
