/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.c - the rows of one table of a view as batches, which streams share
 */
#include "merge/arrow/columns.h"

#include <stdlib.h>
#include <string.h>

enum { FROM_NOWHERE = 0xff, FROM_PROCESS = 0xfe, ROOM_AT_FIRST = 16 };

void tp_columns_shape(struct tp_shape *shape, const struct tp_table_def *def)
{
	struct tp_column outline[TP_TABLE_COLUMNS];
	uint32_t n = tp_table_outline(def, outline, TP_TABLE_COLUMNS), first = 1;

	for (uint32_t c = 0; c < n; c++)
		if (!strcmp(outline[c].field, "process") || !strcmp(outline[c].field, "process_at"))
			first = 0;
	*shape = (struct tp_shape){.name = def->name, .help = def->help, .n_columns = n + first,
				   .n_picked = n + first};
	shape->column[0] = (struct tp_column){.field = "process", .unit = TP_UNIT_TEXT,
					      .help = "process of the row, in tables of one process each"};
	memcpy(shape->column + first, outline, n * sizeof(*outline));
	for (uint32_t c = 0; c < shape->n_columns; c++)
		shape->picked[c] = (uint8_t)c;
}

struct tp_columns *tp_columns_new(const struct tp_table_def *def)
{
	struct tp_columns *columns = tp_need(1, sizeof(*columns));

	tp_columns_shape(&columns->shape, def);
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
	for (uint32_t i = 0; i < columns->n_batches; i++)
		tp_batch_let_go(columns->batch[i]);
	for (uint32_t c = 0; c < columns->shape.n_columns; c++)
		tp_words_free(&columns->words[c]);
	free(columns->batch);
	free(columns);
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
	for (uint32_t c = 0; c < columns->shape.n_columns; c++)
		columns->from[c] = find_cell(table, columns->shape.column[c].field);
}

/* The last one, or a new one when that is full. */
static struct tp_batch *open_batch(struct tp_columns *columns)
{
	struct tp_batch *last = columns->n_batches ? columns->batch[columns->n_batches - 1] : NULL;

	if (last && last->n_rows < TP_BATCH_ROWS)
		return last;
	tp_need_room(&columns->batch, &columns->cap_batches, (uint64_t)columns->n_batches + 1,
		     sizeof(*columns->batch));
	last = tp_batch_new(&columns->shape, ROOM_AT_FIRST, NULL);
	columns->batch[columns->n_batches++] = last;
	return last;
}

static void put_text(struct tp_cells *to, struct tp_words *words, const char *text)
{
	if (text)
		tp_cells_word(to, tp_words_number(words, text));
	else
		tp_cells_no_word(to);
}

/* What stands in place of a figure ("?") is no figure: not known. */
static void put_integer(struct tp_cells *to, const struct tp_cell *cell)
{
	if (cell->kind == TP_CELL_INTEGER)
		tp_cells_integer(to, cell->integer);
	else if (cell->kind == TP_CELL_TEXT && tp_cell_is_number(cell))
		tp_cells_integer(to, strtoll(cell->text, NULL, 10));
	else
		tp_cells_null(to);
}

static void put_real(struct tp_cells *to, const struct tp_cell *cell)
{
	if (cell->kind == TP_CELL_REAL)
		tp_cells_real(to, cell->real);
	else if (cell->kind == TP_CELL_PERCENT)
		tp_cells_real(to, tp_cell_percent(cell));
	else if (cell->kind == TP_CELL_INTEGER)
		tp_cells_real(to, (double)cell->integer);
	else if (cell->kind == TP_CELL_TEXT && tp_cell_is_number(cell))
		tp_cells_real(to, strtod(cell->text, NULL));
	else
		tp_cells_null(to);
}

void tp_columns_row(struct tp_columns *columns, const struct tp_table *table)
{
	static const struct tp_cell none;
	struct tp_batch *batch = open_batch(columns);

	for (uint32_t c = 0; c < columns->shape.n_columns; c++) {
		enum tp_batch_type type = tp_batch_type(columns->shape.column[c].unit);
		uint8_t from = columns->from[c];
		const struct tp_cell *cell = from < FROM_PROCESS ? &table->cell[from] : &none;
		struct tp_cells *to = &batch->cells[c];

		if (from == FROM_PROCESS)
			put_text(to, &columns->words[c], table->out->who);
		else if (type == TP_BATCH_WORDS)
			put_text(to, &columns->words[c],
				 cell->kind == TP_CELL_TEXT ? tp_cell_text(cell) : NULL);
		else if (type == TP_BATCH_FLOAT64)
			put_real(to, cell);
		else
			put_integer(to, cell);
	}
	batch->n_rows++;
}

void tp_columns_end(struct tp_columns *columns)
{
	for (uint32_t i = 0; i < columns->n_batches; i++)
		tp_batch_seal(columns->batch[i], &columns->shape, columns->words);
}

/* ---- as a source ---- */

struct kept {
	struct tp_source source;	/* first */
	struct tp_columns *columns;
	uint32_t at;			/* the batch that comes next */
};

static struct tp_batch *next_kept(struct tp_source *source, int *err, const char **why)
{
	struct kept *kept = (struct kept *)source;

	if (kept->at == kept->columns->n_batches)
		return NULL;
	tp_batch_hold(kept->columns->batch[kept->at]);
	return kept->columns->batch[kept->at++];
}

static void free_kept(struct tp_source *source)
{
	tp_columns_let_go(((struct kept *)source)->columns);
	free(source);
}

struct tp_source *tp_columns_source(struct tp_columns *columns)
{
	struct kept *kept = tp_need(1, sizeof(*kept));

	kept->source = (struct tp_source){.shape = columns->shape, .next = next_kept, .free = free_kept};
	kept->columns = columns;
	tp_columns_hold(columns);
	return &kept->source;
}
