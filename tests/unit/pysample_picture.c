/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_picture.c - tests of the table of lines outside windows, and of when and what is told of it
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/probe/sample/pysample_picture.h"

static struct tp_picture picture;
static struct tp_pysample_look look;
static char told[TP_PICTURE_BYTES + 1];

static void set_up(void)
{
	memset(&picture, 0, sizeof(picture));
}

TestSuite(pysample_picture, .init = set_up);

/* 1 is torch's, the others are the user's; from 100 on their names are long. */
static bool name(uint32_t string, const char **bytes, uint32_t *n_bytes)
{
	static char text[400];

	*n_bytes = (uint32_t)snprintf(text, sizeof(text), "f%u%c%s%.*s.py", string, 0,
				      string == 1 ? "/x/site-packages/torch/" : "/home/me/",
				      string < 100 ? 5 : 250,
				      "train/a/long/folder/a/long/folder/a/long/folder/a/long/folder/a/long/folder/a/long/"
				      "folder/a/long/folder/a/long/folder/a/long/folder/a/long/folder/a/long/folder/a/long/"
				      "folder/a/long/folder/a/long/folder/a/long/folder/a/long/folder/a/long/folder/a/long/");
	*bytes = text;
	return true;
}

/* n times: the innermost frame, and the one that called it (0: none). */
static void take(uint32_t n, uint32_t inner, uint32_t outer, uint32_t line, bool is_other)
{
	look.n = outer ? 2 : 1;
	look.frame[0] = (struct tp_pysample_frame){.string = inner, .line = line};
	look.frame[1] = (struct tp_pysample_frame){.string = outer, .line = line};
	for (uint32_t i = 0; i < n; i++)
		tp_picture_take(&picture, &look, is_other, false, name);
}

static const char *tell(uint64_t steps)
{
	struct tp_text out;

	tp_text_init(&out, told, sizeof(told));
	tp_picture_tell(&picture, steps, name, &out);
	cr_expect_not(out.is_cut);
	return told;
}

Test(pysample_picture, a_sample_is_of_the_innermost_line_of_the_users)
{
	take(3, 1, 2, 10, false);	/* torch called by the user */
	take(1, 3, 2, 10, false);
	take(2, 1, 0, 7, true);		/* nobody's but torch's */
	tp_picture_take(&picture, &look, false, true, name);
	cr_expect_str_eq(tell(9), "outside.1=5 2 1 0 4\n"
				  "outside.1.0=3 t /home/me/train.py:10 f2\n"
				  "outside.1.1=2 o /x/site-packages/torch/train.py:7 f1\n"
				  "outside.1.2=1 t /home/me/train.py:10 f3\n"
				  "outside.1.3=1 t /x/site-packages/torch/train.py:7 f1\n");
}

Test(pysample_picture, is_told_when_there_is_half_as_much_again)
{
	take(TP_PICTURE_FIRST - 1, 2, 0, 1, false);
	cr_expect_not(tp_picture_is_due(&picture, 0, false));
	cr_expect(tp_picture_is_due(&picture, 0, true));
	take(1, 2, 0, 1, false);
	cr_expect(tp_picture_is_due(&picture, 5, false));
	tell(5);
	cr_expect_not(tp_picture_is_due(&picture, 5, false));
	cr_expect_not(tp_picture_is_due(&picture, 5, true));
	/* Half as much, but only some steps later; twice as much at once. */
	take(TP_PICTURE_FIRST / 2, 2, 0, 1, false);
	cr_expect_not(tp_picture_is_due(&picture, 5 + TP_PICTURE_STEPS - 1, false));
	cr_expect(tp_picture_is_due(&picture, 5 + TP_PICTURE_STEPS, false));
	take(TP_PICTURE_FIRST / 2, 2, 0, 1, false);
	cr_expect(tp_picture_is_due(&picture, 6, false));
}

Test(pysample_picture, of_many_lines_the_frequent_ones_stay)
{
	uint64_t n_listed = 0;

	for (uint32_t i = 0; i < 50; i++) {
		take(20, 2, 0, 7, false);
		for (uint32_t k = 0; k < 10; k++)
			take(1, 3, 0, 1000 + i * 10 + k, false);
	}
	cr_expect_eq(picture.n_rows, TP_PICTURE_ROWS);
	cr_expect_eq(picture.n_training, 1500);
	for (uint32_t i = 0; i < picture.n_rows; i++)
		n_listed += picture.row[i].n;
	cr_expect_eq(n_listed + picture.n_unlisted, 1500);
	cr_expect(strstr(tell(1), "outside.1.0=1000 t /home/me/train.py:7 f2\n"), "%s", told);
}

Test(pysample_picture, what_is_told_has_a_bound_and_adds_up)
{
	unsigned long training, other, collecting, unlisted, n;
	uint64_t sum;

	for (uint32_t i = 0; i < 40; i++)
		take(40 - i, 100 + i, 0, 7, false);
	tell(1);
	cr_expect_leq(strlen(told), TP_PICTURE_BYTES);
	cr_assert_eq(sscanf(told, "outside.1=%lu %lu %lu %lu", &training, &other, &collecting, &unlisted), 4);
	sum = unlisted;
	for (const char *at = told; (at = strstr(at, "\noutside.1.")) != NULL; at++)
		if (sscanf(at, "\noutside.1.%*u=%lu", &n) == 1)
			sum += n;
	cr_expect_eq(sum, training);
	cr_expect_gt(unlisted, 0);
}
