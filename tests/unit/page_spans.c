/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_spans.c of the merge: spans of a step as few as a page has room for
 */
#include "merge/page/page_spans.h"

#include <criterion/criterion.h>

static const char thread[] = "a thread";

enum { STEP_NS = TP_PAGE_SLOTS * 10 };	/* a slot is 10 ns */

static struct tp_page_spans make(uint32_t most)
{
	return (struct tp_page_spans){.end_ns = STEP_NS, .most = most, .fine = 1};
}

Test(page_spans, what_lies_in_a_span_is_in_the_row_below)
{
	struct tp_page_spans spans = make(100);
	uint32_t lane = tp_page_spans_lane(&spans, thread, false);

	cr_expect_eq(tp_page_spans_lane(&spans, thread, false), lane);
	cr_expect_eq(tp_page_spans_take(&spans, lane, -50, 1000)->row, 0);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 100, 900)->row, 1);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 200, 300)->row, 2);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 400, 500)->row, 2);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 1000, STEP_NS + 50)->row, 0);
	tp_page_spans_end(&spans);
	cr_assert_eq(spans.n_spans, 5);
	/* Cut to the step. */
	cr_expect_eq(spans.span[0].begin, 0);
	cr_expect_eq(spans.span[0].longest_ns, 1000);
	cr_expect_eq(spans.span[1].end, TP_PAGE_SLOTS);
	tp_page_spans_free(&spans);
}

Test(page_spans, those_that_cross_are_beside_each_other)
{
	struct tp_page_spans spans = make(100);
	uint32_t lane = tp_page_spans_lane(&spans, thread, true);

	cr_expect_eq(tp_page_spans_take(&spans, lane, 0, 1000)->row, 0);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 500, 2000)->row, 1);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 1500, 3000)->row, 0);
	tp_page_spans_free(&spans);
}

Test(page_spans, those_of_one_slot_are_one_that_knows_the_longest)
{
	struct tp_page_spans spans = make(100);
	uint32_t lane = tp_page_spans_lane(&spans, thread, false);
	struct tp_page_span *first = tp_page_spans_take(&spans, lane, 100, 102);

	first->word = 1;
	first->detail = 5;
	/* Now the longest: it is for the caller to say what that is. */
	first = tp_page_spans_take(&spans, lane, 102, 107);
	cr_assert_not_null(first);
	cr_expect_eq(first->n, 2);
	cr_expect_eq(first->word, 0);
	cr_expect_eq(first->detail, 0);
	first->word = 2;
	cr_expect_null(tp_page_spans_take(&spans, lane, 107, 109));
	cr_assert_eq(spans.n_spans, 1);
	cr_expect_eq(spans.span[0].n, 3);
	cr_expect_eq(spans.span[0].word, 2);
	cr_expect_eq(spans.span[0].longest_ns, 5);
	cr_expect_eq(spans.n_events, 3);
	tp_page_spans_free(&spans);
}

/* However many come: none is lost, what is long stays what it is. */
Test(page_spans, a_step_of_many_spans_is_bounded)
{
	enum { MOST = 500, N = 20000 };	/* three slots apart */
	struct tp_page_spans spans = make(MOST);
	uint32_t lane = tp_page_spans_lane(&spans, thread, false), n_most = 0, end = 0;
	uint64_t n = 0;

	tp_page_spans_take(&spans, lane, 0, STEP_NS)->word = 1;
	for (int64_t i = 0; i < N; i++) {
		int64_t from = i * STEP_NS / N;

		tp_page_spans_take(&spans, lane, from, from + 1);
		n_most = spans.n_spans > n_most ? spans.n_spans : n_most;
	}
	tp_page_spans_end(&spans);
	cr_expect_leq(n_most, 2 * MOST);
	cr_expect_leq(spans.n_spans, MOST);
	cr_expect_gt(spans.n_spans, 1);
	cr_expect_eq(spans.span[0].word, 1);
	cr_expect_eq(spans.span[0].n, 1);
	for (uint32_t i = 0; i < spans.n_spans; i++) {
		n += spans.span[i].n;
		cr_expect(i < 2 || spans.span[i].begin >= end, "span %u", i);
		end = spans.span[i].end;
	}
	cr_expect_eq(n, N + 1);
	tp_page_spans_free(&spans);
}

/* As the page reads them: of several spans slots and how many, of one what started it. */
Test(page_spans, packed_ones_take_little_room)
{
	struct tp_page_spans spans = make(100);
	uint32_t lane = tp_page_spans_lane(&spans, thread, false);
	struct tp_page_span *span;
	static const uint8_t expected[] = {
		9, 0, 3,				/* lane 9, its row 0: three spans */
		2, 5 << 2 | 1, 1, 2, 4, 0,		/* two in slot 2, the longest 4 ns */
		1, 6 << 2, 20, 7,			/* in slots 3 and 4 */
		7, 7 << 2 | 2, 10, 0, 9, 6,		/* in slot 10; started six before */
	};

	spans.lane[lane].number = 9;
	tp_page_spans_take(&spans, lane, 21, 24)->word = 4;
	tp_page_spans_take(&spans, lane, 25, 29)->word = 5;
	span = tp_page_spans_take(&spans, lane, 30, 50);
	span->word = 6;
	span->detail = 7;
	span = tp_page_spans_take(&spans, lane, 100, 110);
	span->word = 7;
	span->from_lane = (uint16_t)lane;
	span->from = 4;
	tp_page_spans_end(&spans);
	tp_page_spans_pack(&spans);
	cr_assert_eq(spans.n_packed, sizeof(expected), "%u bytes", spans.n_packed);
	cr_expect_arr_eq(spans.packed, expected, sizeof(expected));
	cr_expect_null(spans.span);
	tp_page_spans_free(&spans);
	cr_expect_null(spans.packed);
}
