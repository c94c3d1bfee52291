/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.c - the rows of one table as columns in batches, which streams share
 */
#include "merge/arrow/columns.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"

enum { FROM_NOWHERE = 0xff, FROM_PROCESS = 0xfe };

struct tp_columns *tp_columns_new(const struct tp_table_def *def)
{
	struct tp_columns *columns = tp_need(1, sizeof(*columns));
	struct tp_column outline[TP_TABLE_COLUMNS];
	uint32_t n = tp_table_outline(def, outline, TP_TABLE_COLUMNS), first = 1;

	for (uint32_t c = 0; c < n; c++)
		if (!strcmp(outline[c].field, "process") || !strcmp(outline[c].field, "process_at"))
			first = 0;
	columns->def = def;
	columns->column[0] = (struct tp_column){.field = "process", .unit = TP_UNIT_TEXT,
						.help = "whose row it is, where tables are of one process each"};
	memcpy(columns->column + first, outline, n * sizeof(*outline));
	columns->n_columns = n + first;
	columns->n_holders = 1;
	return columns;
}

void tp_columns_hold(struct tp_columns *columns)
{
	columns->n_holders++;
}

void tp_columns_let_go(struct tp_columns *columns)
{
	if (!columns || --columns->n_holders)
		return;
	for (uint32_t i = 0; i < columns->n_batches; i++) {
		for (uint32_t c = 0; c < columns->n_columns; c++) {
			free(columns->batch[i]->value[c].valid);
			free(columns->batch[i]->value[c].values);
		}
		free(columns->batch[i]);
	}
	for (uint32_t c = 0; c < columns->n_columns; c++)
		tp_words_free(&columns->words[c]);
	free(columns->batch);
	free(columns);
}

enum tp_columns_type tp_columns_type(const struct tp_column *column)
{
	switch (column->unit) {
	case TP_UNIT_TEXT:
	case TP_UNIT_PLACE:
		return TP_COLUMNS_WORDS;
	case TP_UNIT_REAL:
	case TP_UNIT_PERCENT:
	case TP_UNIT_BAR:
		return TP_COLUMNS_FLOAT64;
	default:
		return TP_COLUMNS_INT64;
	}
}

static uint8_t find_cell(const struct tp_table *table, const char *field)
{
	for (uint32_t c = 0; c < table->n_columns; c++)
		if (!strcmp(table->column[c].field, field))
			return (uint8_t)c;
	return strcmp(field, "process") ? FROM_NOWHERE : FROM_PROCESS;
}

void tp_columns_begin(struct tp_columns *columns, const struct tp_table *table)
{
	for (uint32_t c = 0; c < columns->n_columns; c++)
		columns->from[c] = find_cell(table, columns->column[c].field);
}

/* The last one, or a new one when that is full. */
static struct tp_columns_batch *open_batch(struct tp_columns *columns)
{
	struct tp_columns_batch *last = columns->n_batches ? columns->batch[columns->n_batches - 1] : NULL;

	if (last && last->n_rows < TP_COLUMNS_ROWS)
		return last;
	tp_need_room(&columns->batch, &columns->cap_batches, (uint64_t)columns->n_batches + 1,
		     sizeof(*columns->batch));
	last = tp_need(1, sizeof(*last));
	columns->batch[columns->n_batches++] = last;
	return last;
}

static void put_valid(struct tp_columns_values *value, uint32_t row, bool is_valid)
{
	tp_need_room(&value->valid, &value->cap_valid, row / 8 + 1, 1);
	if (is_valid)
		value->valid[row / 8] |= (uint8_t)(1 << row % 8);
	else
		value->n_null++;
}

static void put_text(struct tp_columns_values *value, struct tp_words *words, uint32_t row, const char *text)
{
	tp_need_room(&value->values, &value->cap_values, (uint64_t)row + 1, sizeof(*value->word));
	if (text)
		value->word[row] = tp_words_number(words, text);
	put_valid(value, row, text != NULL);
}

/* What stands in place of a figure ("?") is no figure: not known. */
static void put_integer(struct tp_columns_values *value, uint32_t row, const struct tp_cell *cell)
{
	bool is_text = cell->kind == TP_CELL_TEXT && tp_cell_is_number(cell);

	tp_need_room(&value->values, &value->cap_values, (uint64_t)row + 1, sizeof(*value->integer));
	if (cell->kind == TP_CELL_INTEGER)
		value->integer[row] = cell->integer;
	else if (is_text)
		value->integer[row] = strtoll(cell->text, NULL, 10);
	put_valid(value, row, cell->kind == TP_CELL_INTEGER || is_text);
}

static void put_real(struct tp_columns_values *value, uint32_t row, const struct tp_cell *cell)
{
	bool is_valid = true;

	tp_need_room(&value->values, &value->cap_values, (uint64_t)row + 1, sizeof(*value->real));
	if (cell->kind == TP_CELL_REAL)
		value->real[row] = cell->real;
	else if (cell->kind == TP_CELL_PERCENT)
		value->real[row] = tp_cell_percent(cell);
	else if (cell->kind == TP_CELL_INTEGER)
		value->real[row] = (double)cell->integer;
	else if (cell->kind == TP_CELL_TEXT && tp_cell_is_number(cell))
		value->real[row] = strtod(cell->text, NULL);
	else
		is_valid = false;
	put_valid(value, row, is_valid);
}

void tp_columns_row(struct tp_columns *columns, const struct tp_table *table)
{
	static const struct tp_cell none;
	struct tp_columns_batch *batch = open_batch(columns);
	uint32_t row = batch->n_rows;

	for (uint32_t c = 0; c < columns->n_columns; c++) {
		uint8_t from = columns->from[c];
		const struct tp_cell *cell = from < FROM_PROCESS ? &table->cell[from] : &none;
		struct tp_columns_values *value = &batch->value[c];

		if (from == FROM_PROCESS)
			put_text(value, &columns->words[c], row, table->out->who);
		else if (tp_columns_type(&columns->column[c]) == TP_COLUMNS_WORDS)
			put_text(value, &columns->words[c], row,
				 cell->kind == TP_CELL_TEXT ? tp_cell_text(cell) : NULL);
		else if (tp_columns_type(&columns->column[c]) == TP_COLUMNS_FLOAT64)
			put_real(value, row, cell);
		else
			put_integer(value, row, cell);
	}
	batch->n_rows = row + 1;
}
