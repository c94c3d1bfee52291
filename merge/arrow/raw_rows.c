/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_rows.c - rows of structs into batches, for tables that no view shows
 */
#include "merge/arrow/raw_rows.h"

#include <math.h>
#include <string.h>

enum {
	ROOM_AT_FIRST = 1 << 10,
	SOME_ROWS = 64,		/* that become cells at a time, a bit each */
};
_Static_assert(TP_BATCH_ROWS % SOME_ROWS == 0, "some rows are of one batch");

void tp_raw_rows_shape(struct tp_shape *shape, const char *name, const char *help,
		   const struct tp_raw_column *column)
{
	*shape = (struct tp_shape){.name = name, .help = help};
	for (uint32_t c = 0; column[c].field; c++) {
		shape->column[c] = (struct tp_column){.field = column[c].field, .unit = column[c].unit,
						      .help = column[c].help};
		shape->picked[c] = (uint8_t)c;
		shape->n_columns = shape->n_picked = c + 1;
	}
}

void tp_raw_rows_init(struct tp_raw_rows *rows, const char *name, const char *help,
		  const struct tp_raw_column *column)
{
	memset(rows, 0, sizeof(*rows));
	rows->column = column;
	rows->spare = tp_batch_spare_new();
	for (uint32_t c = 0; column[c].field; c++)
		if (rows->row_bytes < column[c].at + sizeof(int64_t))
			rows->row_bytes = column[c].at + (uint32_t)sizeof(int64_t);
	rows->some = tp_need(SOME_ROWS, rows->row_bytes);
	tp_raw_rows_shape(&rows->shape, name, help, column);
	tp_raw_rows_pick(rows, rows->shape.picked, rows->shape.n_picked);
}

void tp_raw_rows_pick(struct tp_raw_rows *rows, const uint8_t *picked, uint32_t n_picked)
{
	memmove(rows->shape.picked, picked, n_picked);
	rows->shape.n_picked = n_picked;
	rows->n_texts = 0;
	for (uint32_t i = 0; i < n_picked; i++)
		if (tp_batch_type(rows->column[picked[i]].unit) == TP_BATCH_WORDS)
			rows->text[rows->n_texts++] = picked[i];
}

void tp_raw_rows_free(struct tp_raw_rows *rows)
{
	for (uint32_t c = 0; c < rows->shape.n_columns; c++)
		tp_words_free(&rows->words[c]);
	for (uint32_t i = rows->n_taken; i < rows->n_ready; i++)
		tp_batch_let_go(rows->ready[i]);
	tp_batch_let_go(rows->open);
	tp_batch_spare_let_go(rows->spare);
	free(rows->ready);
	free(rows->some);
}

static void seal_open(struct tp_raw_rows *rows)
{
	tp_batch_seal(rows->open, &rows->shape, rows->words);
	if (rows->n_taken == rows->n_ready)
		rows->n_taken = rows->n_ready = 0;
	tp_need_room(&rows->ready, &rows->cap_ready, (uint64_t)rows->n_ready + 1, sizeof(*rows->ready));
	rows->ready[rows->n_ready++] = rows->open;
	rows->open = NULL;
}

static struct tp_batch *open_batch(struct tp_raw_rows *rows, uint32_t n, uint32_t room)
{
	if (rows->open && rows->open->n_rows + n > TP_BATCH_ROWS)
		seal_open(rows);
	if (!rows->open)
		rows->open = tp_batch_new(&rows->shape, room, rows->spare);
	return rows->open;
}

struct tp_batch *tp_raw_rows_batch(struct tp_raw_rows *rows, uint32_t n)
{
	return open_batch(rows, n, TP_BATCH_ROWS);
}

/* The cells of a column of some rows: from `from` on, a row apart each. Of those that are not known zero,
 * and no bit in what is returned. */
#define PUT_CELLS(name, cell, in_row, is_known)                                                    \
	static uint64_t name(cell *to, const char *from, uint32_t n, uint32_t row_bytes)           \
	{                                                                                          \
		uint64_t there = 0;                                                                \
                                                                                                   \
		for (uint32_t i = 0; i < n; i++, from += row_bytes) {                              \
			const in_row value = *(const in_row *)from;                                \
			const bool is = is_known;                                                  \
                                                                                                   \
			there |= (uint64_t)is << i;                                                \
			to[i] = is ? (cell)value : 0;                                              \
		}                                                                                  \
		return there;                                                                      \
	}

PUT_CELLS(put_integers, int64_t, int64_t, value != TP_RAW_NONE)
PUT_CELLS(put_words, int32_t, int64_t, value != TP_RAW_NONE)
PUT_CELLS(put_reals, double, double, !isnan(value))

static void put_column(struct tp_cells *to, const struct tp_raw_column *column,
		       const struct tp_raw_rows *rows)
{
	const char *from = rows->some + column->at;
	const uint32_t n = rows->n_some;
	uint64_t there;

	tp_need_room(&to->values, &to->cap_values, (uint64_t)to->n + n, sizeof(*to->integer));
	switch (tp_batch_type(column->unit)) {
	case TP_BATCH_WORDS:
		there = put_words(to->word + to->n, from, n, rows->row_bytes);
		break;
	case TP_BATCH_FLOAT64:
		there = put_reals(to->real + to->n, from, n, rows->row_bytes);
		break;
	default:
		there = put_integers(to->integer + to->n, from, n, rows->row_bytes);
	}
	if (!to->valid && there << (64 - n) != UINT64_MAX << (64 - n))
		tp_cells_first_null(to);
	if (to->valid)
		tp_cells_mask(to, n, &there);
	to->n += n;
}

static void put_some(struct tp_raw_rows *rows)
{
	struct tp_batch *batch = open_batch(rows, rows->n_some, ROOM_AT_FIRST);

	for (uint32_t i = 0; i < rows->shape.n_picked; i++) {
		uint32_t c = rows->shape.picked[i];

		put_column(&batch->cells[c], &rows->column[c], rows);
	}
	batch->n_rows += rows->n_some;
	rows->n_some = 0;
}

/* In place of a text its number. */
static void put_word(struct tp_words *words, const struct tp_raw_column *column, char *row)
{
	int64_t number = TP_RAW_NONE;
	const char *text;

	memcpy(&text, row + column->at, sizeof(text));
	if (text)
		number = column->is_stable ? tp_words_number_of(words, text) : tp_words_shown(words, text);
	memcpy(row + column->at, &number, sizeof(number));
}

void tp_raw_rows_put(struct tp_raw_rows *rows, const void *row)
{
	char *to = rows->some + (size_t)rows->n_some * rows->row_bytes;

	memcpy(to, row, rows->row_bytes);
	for (uint32_t i = 0; i < rows->n_texts; i++) {
		uint32_t c = rows->text[i];

		put_word(&rows->words[c], &rows->column[c], to);
	}
	if (++rows->n_some == SOME_ROWS)
		put_some(rows);
}

void tp_raw_rows_end(struct tp_raw_rows *rows)
{
	if (rows->n_some)
		put_some(rows);
	if (rows->open && rows->open->n_rows)
		seal_open(rows);
}

struct tp_batch *tp_raw_rows_take(struct tp_raw_rows *rows)
{
	return rows->n_taken < rows->n_ready ? rows->ready[rows->n_taken++] : NULL;
}
