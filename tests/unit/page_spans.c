/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_spans.c of the merge: spans of a step as few as a page has room for
 */
#include "merge/page/page_spans.h"

#include <criterion/criterion.h>

enum { STEP_NS = TP_PAGE_SLOTS * 10 };	/* a slot is 10 ns */

static struct tp_page_spans make(uint32_t most)
{
	return (struct tp_page_spans){.end_ns = STEP_NS, .most = most, .fine = 1};
}

Test(page_spans, what_lies_in_a_span_is_in_the_row_below)
{
	struct tp_page_spans spans = make(100);
	uint32_t lane = tp_page_spans_lane(&spans, 7, false);

	cr_expect_eq(tp_page_spans_lane(&spans, 7, false), lane);
	cr_expect_eq(tp_page_spans_take(&spans, lane, -50, 1000, 1)->row, 0);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 100, 900, 2)->row, 1);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 200, 300, 3)->row, 2);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 400, 500, 4)->row, 2);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 1000, STEP_NS + 50, 5)->row, 0);
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
	uint32_t lane = tp_page_spans_lane(&spans, 7, true);

	cr_expect_eq(tp_page_spans_take(&spans, lane, 0, 1000, 1)->row, 0);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 500, 2000, 2)->row, 1);
	cr_expect_eq(tp_page_spans_take(&spans, lane, 1500, 3000, 3)->row, 0);
	tp_page_spans_free(&spans);
}

Test(page_spans, those_of_one_slot_are_one_that_knows_the_longest)
{
	struct tp_page_spans spans = make(100);
	uint32_t lane = tp_page_spans_lane(&spans, 7, false);
	struct tp_page_span *first = tp_page_spans_take(&spans, lane, 100, 102, 1);

	first->detail = 5;
	cr_expect_null(tp_page_spans_take(&spans, lane, 102, 107, 2));
	cr_expect_null(tp_page_spans_take(&spans, lane, 107, 109, 3));
	cr_assert_eq(spans.n_spans, 1);
	cr_expect_eq(spans.span[0].n, 3);
	cr_expect_eq(spans.span[0].word, 2);
	cr_expect_eq(spans.span[0].detail, 0);
	cr_expect_eq(spans.span[0].longest_ns, 5);
	cr_expect_eq(spans.n_events, 3);
	tp_page_spans_free(&spans);
}

/* However many come: none is lost, what is long stays what it is. */
Test(page_spans, a_step_of_many_spans_is_bounded)
{
	enum { MOST = 500, N = 20000 };	/* three slots apart */
	struct tp_page_spans spans = make(MOST);
	uint32_t lane = tp_page_spans_lane(&spans, 7, false), n_most = 0, end = 0;
	uint64_t n = 0;

	tp_page_spans_take(&spans, lane, 0, STEP_NS, 1);
	for (int64_t i = 0; i < N; i++) {
		int64_t from = i * STEP_NS / N;

		tp_page_spans_take(&spans, lane, from, from + 1, 2);
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
