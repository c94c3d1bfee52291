/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow.c - tests of tables as streams of Arrow: schema, values, batches, who frees what
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "merge/arrow/columns.h"

enum { ROWS = TP_BATCH_ROWS + 7 };

struct row {
	int64_t ns;
};

static void columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct row *row = of;

	TP_TEXT(r, "name", "name", 0, "its name", "n%d", (int)(row->ns % 10));
	TP_NS(r, "self_ns", "self", 0, "its own time", row->ns);
	TP_CELL(r, "figure", "figure", TP_UNIT_COUNT, 0, "a figure that is not always known",
		row->ns % 2 ? tp_row_text(r, "?") : tp_row_integer(r, 5));
	TP_PERCENT(r, "share", "share", 0, "a share", row->ns, 2 * ROWS);
	TP_WHEN(r, ctx)
		TP_BYTES(r, "bytes", "bytes", 0, "of a run with memory", 1);
}

static const struct tp_table_def def = {.name = "test", .help = "for this test", .columns = columns};

static void begin(void *ctx, const struct tp_table *table)
{
	tp_columns_begin(ctx, table);
}

static void take(void *ctx, const struct tp_table *table)
{
	tp_columns_row(ctx, table);
}

static struct ArrowArrayStream make_stream(uint32_t n)
{
	struct tp_columns *made = tp_columns_new(&def);
	struct tp_rows_to to = {.begin = begin, .row = take, .ctx = made};
	struct tp_out out = {.rows = TP_ROWS_GIVEN, .rows_to = &to, .who = "rank 3"};
	struct tp_table *table = tp_table_begin(&def, NULL, 0, &out);
	struct ArrowArrayStream stream;

	for (uint32_t i = 0; i < n; i++)
		tp_table_add(table, &(struct row){i});
	tp_table_end(table);
	tp_columns_end(made);
	cr_assert_eq(tp_arrow_stream(&stream, tp_columns_source(made)), 0);
	tp_columns_let_go(made);
	return stream;
}

/* As in the specification: pairs of words with their lengths. */
static bool has_pair(const char *metadata, const char *key, const char *value)
{
	char pair[64];
	int32_t n_key = (int32_t)strlen(key), n_value = (int32_t)strlen(value);

	memcpy(pair, &n_key, 4);
	memcpy(pair + 4, key, (size_t)n_key);
	memcpy(pair + 4 + n_key, &n_value, 4);
	memcpy(pair + 8 + n_key, value, (size_t)n_value);
	return !memcmp(metadata + 4, pair, (size_t)(8 + n_key + n_value));
}

Test(arrow, schema_has_every_column_with_its_unit)
{
	static const char *const name[] = {"process", "name", "self_ns", "figure", "share", "bytes"};
	static const char *const format[] = {"i", "i", "l", "l", "g", "l"};
	static const char *const unit[] = {"text", "text", "ns", "count", "percent", "bytes"};
	struct ArrowArrayStream stream = make_stream(0);
	struct ArrowSchema schema;
	struct ArrowArray array;

	cr_assert_eq(stream.get_schema(&stream, &schema), 0);
	cr_assert_str_eq(schema.format, "+s");
	cr_assert(has_pair(schema.metadata, "table", "test"));
	cr_assert_eq(schema.n_children, 6);
	for (int i = 0; i < 6; i++) {
		cr_expect_str_eq(schema.children[i]->name, name[i]);
		cr_expect_str_eq(schema.children[i]->format, format[i]);
		cr_expect(has_pair(schema.children[i]->metadata, "unit", unit[i]), "%s", name[i]);
		cr_expect_eq(schema.children[i]->dictionary != NULL, *format[i] == 'i', "%s", name[i]);
	}
	cr_expect_str_eq(schema.children[1]->dictionary->format, "u");
	cr_assert_eq(stream.get_next(&stream, &array), 0);
	cr_assert_null(array.release);
	stream.release(&stream);
	schema.release(&schema);
	cr_assert(!schema.release && !stream.release);
}

static void check_batch(const struct ArrowArray *array, int64_t first)
{
	const struct ArrowArray *words = array->children[1]->dictionary;
	const struct ArrowArray *who = array->children[0]->dictionary;
	const int32_t *word = array->children[1]->buffers[1], *end = words->buffers[1];
	const char *text = words->buffers[2];
	const int64_t *ns = array->children[2]->buffers[1];
	const uint8_t *valid = array->children[3]->buffers[0];
	const double *share = array->children[4]->buffers[1];

	for (int64_t i = 0; i < array->length; i++) {
		cr_assert_eq(ns[i], first + i);
		cr_assert_eq(end[word[i] + 1] - end[word[i]], 2);
		cr_assert_eq(text[end[word[i]] + 1], (char)('0' + (first + i) % 10));
		cr_assert_eq(valid[i / 8] >> i % 8 & 1, (first + i) % 2 == 0);
		cr_assert_float_eq(share[i], 100.0 * (double)(first + i) / (2 * ROWS), 1e-9);
	}
	cr_assert_eq(array->children[3]->null_count, array->length / 2);
	cr_assert_null(array->children[2]->buffers[0]);
	cr_assert_eq(array->children[5]->null_count, array->length);
	/* Each text once, in all batches. */
	cr_assert_eq(words->length, 10);
	cr_assert_eq(who->length, 1);
	cr_assert_eq(memcmp(who->buffers[2], "rank 3", 6), 0);
}

Test(arrow, batches_have_all_rows_and_outlive_their_stream)
{
	struct ArrowArrayStream stream = make_stream(ROWS);
	struct ArrowArray array[3], moved;

	for (int i = 0; i < 3; i++)
		cr_assert_eq(stream.get_next(&stream, &array[i]), 0);
	stream.release(&stream);
	cr_assert_eq(array[0].length, TP_BATCH_ROWS);
	cr_assert_eq(array[1].length, 7);
	cr_assert_null(array[2].release);
	check_batch(&array[0], 0);
	check_batch(&array[1], TP_BATCH_ROWS);
	/* A child taken out lives on without its parent. */
	moved = *array[1].children[2];
	array[1].children[2]->release = NULL;
	array[1].release(&array[1]);
	array[0].release(&array[0]);
	cr_assert_eq(((const int64_t *)moved.buffers[1])[6], TP_BATCH_ROWS + 6);
	moved.release(&moved);
}
