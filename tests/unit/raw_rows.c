/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_rows.c - tests of rows that become batches: by column and one by one, and whose memory it is
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "merge/arrow/raw_rows.h"

struct row {
	int64_t ns, count;
	double real;
	const char *text;
};

static const struct tp_raw_column columns[] = {
	TP_RAW(struct row, ns, TP_UNIT_NS, "a time"),
	TP_RAW(struct row, count, TP_UNIT_COUNT, "a number that is not always known"),
	TP_RAW(struct row, real, TP_UNIT_REAL, "a real"),
	TP_RAW(struct row, text, TP_UNIT_TEXT, "a text, of who puts it"),
	{.field = NULL},
};

static struct tp_raw_rows rows;

static void init(void)
{
	tp_raw_rows_init(&rows, "test", "for this test", columns);
}

static void fini(void)
{
	tp_raw_rows_free(&rows);
}

TestSuite(raw_rows, .init = init, .fini = fini);

static void put_by_column(uint32_t n)
{
	struct tp_batch *batch = tp_raw_rows_batch(&rows, n);

	for (uint32_t c = 0; c < 4; c++) {
		int64_t *to = tp_cells_more(&batch->cells[c], n);

		cr_assert_leq(batch->cells[c].n, batch->cells[c].cap_values);
		for (uint32_t i = 0; i < n; i++)
			to[i] = i;
	}
	batch->n_rows += n;
}

Test(raw_rows, a_batch_that_begins_with_one_row_has_room_for_the_others)
{
	struct tp_batch *batch;

	put_by_column(1);
	for (uint32_t n = 1; n + 128 <= TP_BATCH_ROWS; n += 128)
		put_by_column(128);
	cr_assert_null(tp_raw_rows_take(&rows));
	put_by_column(128);
	batch = tp_raw_rows_take(&rows);
	cr_assert_eq(batch->n_rows, TP_BATCH_ROWS - 127);
	tp_batch_let_go(batch);
}

static struct tp_batch *take_full(int64_t first)
{
	struct tp_batch *batch;

	for (int64_t i = 0; !(batch = tp_raw_rows_take(&rows)); i++)
		tp_raw_rows_put(&rows, &(struct row){first + i, i % 2 ? i : TP_RAW_NONE, NAN, NULL});
	return batch;
}

Test(raw_rows, a_batch_that_nobody_holds_is_the_next_but_one)
{
	struct tp_batch *first = take_full(0), *third;
	const void *memory = first->cells[0].values;

	cr_assert_eq(first->cells[1].n_null, TP_BATCH_ROWS / 2);
	tp_batch_let_go(first);
	/* The second was begun while the first was held. */
	tp_batch_let_go(take_full(0));
	third = take_full(7);
	cr_assert_eq(third->cells[0].values, memory);
	cr_assert_eq(third->n_rows, TP_BATCH_ROWS);
	cr_assert_eq(third->cells[1].n_null, TP_BATCH_ROWS / 2);
	for (uint32_t i = 2; i < TP_BATCH_ROWS; i++)
		cr_assert_eq(third->cells[1].valid[i / 8] >> i % 8 & 1, third->cells[1].integer[i] != 0, "%u", i);
	tp_batch_let_go(third);
}

Test(raw_rows, batches_that_are_held_are_apart_and_outlive_what_made_them)
{
	struct tp_batch *one = take_full(0), *two = take_full(0);

	cr_assert_neq(one->cells[0].values, two->cells[0].values);
	tp_raw_rows_free(&rows);
	tp_raw_rows_init(&rows, "test", "for this test", columns);
	cr_assert_eq(one->cells[0].integer[TP_BATCH_ROWS - 1], TP_BATCH_ROWS - 1);
	tp_batch_let_go(two);
	tp_batch_let_go(one);
}

/* More than become cells at a time, and not all of the next ones. */
Test(raw_rows, what_is_not_known_is_null_wherever_it_comes_first)
{
	struct tp_batch *batch;

	for (int64_t i = 0; i < 100; i++) {
		char text[8];

		snprintf(text, sizeof(text), "t%d", (int)(i % 3));
		tp_raw_rows_put(&rows, &(struct row){i, i, i == 99 ? NAN : 0.5, i % 3 ? text : NULL});
	}
	tp_raw_rows_end(&rows);
	batch = tp_raw_rows_take(&rows);
	cr_assert_eq(batch->n_rows, 100);
	cr_assert_null(batch->cells[1].valid);
	cr_assert_eq(batch->cells[2].n_null, 1);
	cr_assert_eq(batch->cells[3].n_null, 34);
	for (uint32_t i = 0; i < 100; i++) {
		cr_assert_eq(batch->cells[0].integer[i], i);
		cr_assert_eq(batch->cells[2].valid[i / 8] >> i % 8 & 1, i != 99, "%u", i);
		cr_assert_eq(batch->cells[3].valid[i / 8] >> i % 8 & 1, i % 3 != 0, "%u", i);
		cr_assert_eq(batch->cells[3].word[i], i % 3 == 2, "%u", i);
	}
	cr_assert_eq(memcmp(batch->cells[3].words->text, "t1t2", 4), 0);
	tp_batch_let_go(batch);
}
