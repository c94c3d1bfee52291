/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_outer.c - the outer part of a stack that broke off
 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <string.h>

#include "runtime/probe/sample/pysample_outer.h"

/* Frames are numbers here; that of frame n runs code 100 + n. */
static void make(struct tp_pysample_look *look, uint32_t n, ...)
{
	va_list args;

	memset(look, 0, sizeof(*look));
	look->digest = 7;
	look->n = n;
	va_start(args, n);
	for (uint32_t i = 0; i < n; i++) {
		uintptr_t number = va_arg(args, unsigned int);

		look->frame[i].frame = (const char *)number;
		look->frame[i].code = (const char *)(100 + number);
	}
	va_end(args);
}

static void expect(const struct tp_pysample_look *look, uint32_t n, ...)
{
	va_list args;

	cr_assert_eq(look->n, n, "%u", look->n);
	va_start(args, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = va_arg(args, unsigned int);

		cr_expect_eq((uintptr_t)look->frame[i].frame, number, "%u", i);
	}
	va_end(args);
}

static struct tp_pysample_look look, other;
static struct tp_pysample_hint hint;

/* Frame 9 is the outermost; 3 was called by 6. */
static void note(void)
{
	memset(&hint, 0, sizeof(hint));
	make(&other, 5, 2, 3, 6, 7, 9);
	tp_pysample_outer_note(&hint, &other);
}
TestSuite(pysample_outer, .init = note);

Test(pysample_outer, the_outermost_frame_is_known)
{
	make(&look, 2, 1, 9);
	cr_expect(tp_pysample_outer_is_known(&hint, &look));
	look.frame[1].code = (const char *)5;
	cr_expect_not(tp_pysample_outer_is_known(&hint, &look), "another function at the same place");
	make(&look, 2, 1, 8);
	cr_expect_not(tp_pysample_outer_is_known(&hint, &look));
	make(&look, 0);
	cr_expect_not(tp_pysample_outer_is_known(&hint, &look));
	memset(&hint, 0, sizeof(hint));
	cr_expect_not(tp_pysample_outer_is_known(&hint, &look));
	tp_pysample_outer_note(&hint, &look);
}

Test(pysample_outer, from_the_frame_on_that_both_have)
{
	make(&look, 3, 1, 2, 6);
	make(&other, 4, 4, 6, 7, 9);
	cr_assert(tp_pysample_outer_add(&hint, &look, &other));
	expect(&look, 5, 1, 2, 6, 7, 9);
	cr_expect_eq(look.digest, 0);
}

/* What lies outside of it was read too late. */
Test(pysample_outer, what_is_outside_of_it_is_replaced)
{
	make(&look, 3, 1, 7, 5);
	make(&other, 3, 4, 7, 9);
	cr_assert(tp_pysample_outer_add(&hint, &look, &other));
	expect(&look, 3, 1, 7, 9);
	/* The outermost of those that both have: a frame further in may have another caller by now. */
	make(&look, 3, 1, 6, 7);
	make(&other, 4, 1, 5, 7, 9);
	cr_assert(tp_pysample_outer_add(&hint, &look, &other));
	expect(&look, 4, 1, 6, 7, 9);
}

Test(pysample_outer, else_from_its_last_caller_on)
{
	make(&look, 3, 1, 2, 3);
	make(&other, 4, 4, 6, 7, 9);
	cr_assert(tp_pysample_outer_add(&hint, &look, &other));
	expect(&look, 6, 1, 2, 3, 6, 7, 9);
	make(&look, 1, 3);
	make(&other, 2, 7, 9);
	cr_expect_not(tp_pysample_outer_add(&hint, &look, &other), "it is not there");
	expect(&look, 1, 3);
	make(&look, 1, 5);
	make(&other, 4, 4, 6, 7, 9);
	cr_expect_not(tp_pysample_outer_add(&hint, &look, &other), "nobody is known to have called it");
	cr_expect_eq(look.digest, 7);
}

Test(pysample_outer, of_a_look_that_broke_off_itself_nothing_is_taken)
{
	make(&look, 3, 1, 2, 6);
	make(&other, 3, 4, 6, 7);
	cr_expect_not(tp_pysample_outer_add(&hint, &look, &other));
	expect(&look, 3, 1, 2, 6);
}

Test(pysample_outer, what_has_no_room_is_cut)
{
	make(&look, 0);
	for (uint32_t i = 0; i < TP_PYSAMPLE_FRAMES - 1; i++)
		look.frame[look.n++] = (struct tp_pysample_frame){ .frame = "x", .code = "x" };
	look.frame[look.n++] = (struct tp_pysample_frame){ .frame = (char *)6, .code = (char *)106 };
	make(&other, 4, 4, 6, 7, 9);
	cr_assert(tp_pysample_outer_add(&hint, &look, &other));
	cr_expect_eq(look.n, TP_PYSAMPLE_FRAMES);
	cr_expect(look.is_cut);
	/* Its last caller has no room at all. */
	look.is_cut = false;
	look.frame[look.n - 1] = (struct tp_pysample_frame){ .frame = (char *)3, .code = (char *)103 };
	cr_assert(tp_pysample_outer_add(&hint, &look, &other));
	cr_expect_eq(look.n, TP_PYSAMPLE_FRAMES);
	cr_expect(look.is_cut);
}
