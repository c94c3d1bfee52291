/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_rows.c - rows of structs into batches, for tables that no view shows
 */
#include "merge/arrow/raw_rows.h"

#include <math.h>
#include <string.h>

enum { ROOM_AT_FIRST = 1 << 10 };

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
	tp_raw_rows_shape(&rows->shape, name, help, column);
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
}

static void put_cell(struct tp_cells *to, struct tp_words *words, const struct tp_raw_column *column,
		     const void *row)
{
	const void *at = (const char *)row + column->at;
	const char *text;
	int64_t integer;
	double real;

	switch (tp_batch_type(column->unit)) {
	case TP_BATCH_WORDS:
		memcpy(&text, at, sizeof(text));
		if (text)
			tp_cells_word(to, column->is_stable ? tp_words_number_of(words, text)
							    : tp_words_shown(words, text));
		else
			tp_cells_no_word(to);
		return;
	case TP_BATCH_FLOAT64:
		memcpy(&real, at, sizeof(real));
		if (isnan(real))
			tp_cells_null(to);
		else
			tp_cells_real(to, real);
		return;
	default:
		memcpy(&integer, at, sizeof(integer));
		if (integer == TP_RAW_NONE)
			tp_cells_null(to);
		else
			tp_cells_integer(to, integer);
	}
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

void tp_raw_rows_put(struct tp_raw_rows *rows, const void *row)
{
	struct tp_batch *batch = open_batch(rows, 1, ROOM_AT_FIRST);

	for (uint32_t i = 0; i < rows->shape.n_picked; i++) {
		uint32_t c = rows->shape.picked[i];

		put_cell(&batch->cells[c], &rows->words[c], &rows->column[c], row);
	}
	batch->n_rows++;
}

void tp_raw_rows_end(struct tp_raw_rows *rows)
{
	if (rows->open && rows->open->n_rows)
		seal_open(rows);
}

struct tp_batch *tp_raw_rows_take(struct tp_raw_rows *rows)
{
	return rows->n_taken < rows->n_ready ? rows->ready[rows->n_taken++] : NULL;
}
