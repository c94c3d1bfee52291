/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_old.c - see table_old.h
 */
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/model/table_in.h"

struct tp_old_table {
	struct tp_old_column column[TP_TABLE_COLUMNS];
	uint32_t n_columns;
	struct tp_cell *cell;
	uint32_t n_cells, cap_cells;
	struct tp_table_row *row;
	uint32_t cap_rows;
	const char *name;
	bool is_begun;
};

struct tp_old_table *tp_table_new(const struct tp_old_column *column, uint32_t n_columns)
{
	struct tp_old_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	memcpy(table->column, column, n_columns * sizeof(*column));
	table->n_columns = n_columns;
	return table;
}

void tp_table_name(struct tp_old_table *table, const char *name)
{
	if (table)
		table->name = name;
}

static void put(struct tp_old_table *table, struct tp_cell cell)
{
	if (table && tp_grow(&table->cell, &table->cap_cells, (uint64_t)table->n_cells + 1,
			     sizeof(cell)))
		table->cell[table->n_cells++] = cell;
}

void tp_table_cell(struct tp_old_table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(table, (struct tp_cell){.kind = TP_CELL_TEXT, .text = tp_out_format(format, args)});
	va_end(args);
}

void tp_cell_ns(struct tp_old_table *table, int64_t ns)
{
	put(table, (struct tp_cell){.kind = TP_CELL_INTEGER, .unit = TP_UNIT_NS, .integer = ns});
}

void tp_cell_bytes(struct tp_old_table *table, int64_t bytes)
{
	put(table,
	    (struct tp_cell){.kind = TP_CELL_INTEGER, .unit = TP_UNIT_BYTES, .integer = bytes});
}

void tp_cell_count(struct tp_old_table *table, uint64_t n)
{
	put(table, (struct tp_cell){.kind = TP_CELL_INTEGER, .unit = TP_UNIT_COUNT,
				    .integer = n > INT64_MAX ? INT64_MAX : (int64_t)n});
}

void tp_cell_percent(struct tp_old_table *table, double part, double whole)
{
	put(table, (struct tp_cell){.kind = TP_CELL_PERCENT, .unit = TP_UNIT_PERCENT,
				    .part = part, .whole = whole});
}

void tp_table_style(struct tp_old_table *table, const char *style)
{
	uint32_t row;

	if (!table || !table->n_cells)
		return;
	row = (table->n_cells - 1) / table->n_columns;
	if (tp_grow(&table->row, &table->cap_rows, (uint64_t)row + 1, sizeof(*table->row)))
		table->row[row].style = style;
}

static void show(struct tp_old_table *old, struct tp_out *out)
{
	struct tp_table_def def = {.name = old->name};
	struct tp_table table = {.def = &def, .out = out};
	uint32_t at[TP_TABLE_COLUMNS];
	uint32_t n_rows = (old->n_cells + old->n_columns - 1) / old->n_columns;

	if (out->rows && !old->name)
		return;
	for (uint32_t c = 0; c < old->n_columns; c++) {
		const struct tp_old_column *from = &old->column[c];
		struct tp_column *to = &table.column[table.n_columns];

		if (out->rows && !from->field)
			continue;
		*to = (struct tp_column){.field = from->field, .title = from->title ? from->title : "",
			.how = from->is_extra | (from->may_cut ? TP_CUT : 0) |
			       (from->align == TP_RIGHT ? TP_TO_RIGHT : TP_TO_LEFT)};
		for (uint32_t i = c; i < old->n_cells; i += old->n_columns)
			if (old->cell[i].kind != TP_CELL_TEXT)
				to->unit = old->cell[i].unit;
		at[table.n_columns++] = c;
	}
	table.cell = calloc((size_t)n_rows * table.n_columns + 1, sizeof(*table.cell));
	table.row = calloc(n_rows + 1, sizeof(*table.row));
	for (uint32_t r = 0; r < n_rows; r++) {
		if (r < old->cap_rows)
			table.row[r] = old->row[r];
		for (uint32_t c = 0; c < table.n_columns && r * old->n_columns + at[c] < old->n_cells; c++)
			table.cell[r * table.n_columns + c] = old->cell[r * old->n_columns + at[c]];
	}
	table.n_rows = n_rows;
	if (out->to) {
		out->to->table(out->to->ctx, &table);
	} else if (out->rows) {
		struct tp_cell *cell = table.cell;

		if (!old->is_begun)
			tp_table_rows_head(&table);
		for (uint32_t r = 0; r < n_rows; r++, table.cell += table.n_columns)
			tp_table_rows_put(&table);
		table.cell = cell;
	} else {
		tp_table_text(&table);
	}
	free(table.cell);
	free(table.row);
}

static void forget(struct tp_old_table *table)
{
	for (uint32_t i = 0; i < table->n_cells; i++)
		if (table->cell[i].kind == TP_CELL_TEXT)
			free(table->cell[i].text);
	table->n_cells = 0;
}

void tp_table_print(struct tp_old_table *table, struct tp_out *out)
{
	if (!table)
		return;
	show(table, out);
	forget(table);
	free(table->cell);
	free(table->row);
	free(table);
}

void tp_table_flush(struct tp_old_table *table, struct tp_out *out)
{
	if (!table || out->to || !out->rows || !table->n_cells)
		return;
	show(table, out);
	table->is_begun = true;
	forget(table);
}
