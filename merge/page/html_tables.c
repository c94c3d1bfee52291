/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_tables.c - what views print, as JSON of the page
 */
#include "merge/page/html_tables.h"

#include <string.h>

#include "merge/model/table_in.h"

enum { ROWS_MAX = 8000 };	/* of a table: what no page needs, and no browser likes */

static void put_text(void *ctx, char kind, const char *style, const char *label, const char *text)
{
	struct tp_html *html = ctx;
	char word[2] = {kind, 0};

	tp_html_open(html, NULL, '{');
	tp_html_text(html, "kind", word);
	if (style && *style)
		tp_html_text(html, "style", style);
	if (label)
		tp_html_text(html, "label", label);
	tp_html_text(html, "text", text);
	tp_html_close(html, '}');
}

/* The unit that all figures of a column have; 0: it has none, or several. */
static char find_unit(const struct tp_table *table, uint32_t column)
{
	char unit = 0;

	for (uint32_t i = column; i < table->n_cells; i += table->n_columns) {
		const struct tp_cell *cell = &table->cell[i];
		char its = cell->kind == TP_CELL_INTEGER ? cell->unit
			   : cell->kind == TP_CELL_REAL	 ? '%'
							 : 0;

		if (its && unit && its != unit)
			return 0;
		unit = its ? its : unit;
	}
	return unit;
}

static void put_column(struct tp_html *html, const struct tp_column *column, char unit)
{
	char word[2] = {unit, 0};

	tp_html_open(html, NULL, '{');
	tp_html_text(html, "title", column->title);
	if (column->field)
		tp_html_text(html, "field", column->field);
	if (column->align == TP_RIGHT)
		tp_html_integer(html, "right", 1);
	if (unit)
		tp_html_text(html, "unit", word);
	tp_html_close(html, '}');
}

/* A share whose whole is nothing is shown as none, not as 0. */
static bool is_figure(const struct tp_cell *cell)
{
	return cell->kind == TP_CELL_INTEGER ||
	       (cell->kind == TP_CELL_REAL && !(cell->text && !strcmp(cell->text, "-")));
}

static void put_cell(struct tp_html *html, const struct tp_cell *cell, char unit)
{
	if (!unit || !is_figure(cell))
		tp_html_bytes(html, NULL, cell->text ? cell->text : "", cell->n_bytes);
	else if (cell->kind == TP_CELL_INTEGER)
		tp_html_integer(html, NULL, cell->integer);
	else
		tp_html_real(html, NULL, cell->real);
}

static void put_rows(struct tp_html *html, const struct tp_table *table, const char *unit)
{
	uint64_t n_shown = (uint64_t)ROWS_MAX * table->n_columns;

	if (n_shown < table->n_cells)
		tp_html_integer(html, "left_out",
				(table->n_cells - (int64_t)n_shown) / table->n_columns);
	else
		n_shown = table->n_cells;
	tp_html_open(html, "rows", '[');
	for (uint32_t i = 0; i < n_shown; i += table->n_columns) {
		tp_html_open(html, NULL, '[');
		for (uint32_t c = 0; c < table->n_columns && i + c < table->n_cells; c++)
			put_cell(html, &table->cell[i + c], unit[c]);
		tp_html_close(html, ']');
	}
	tp_html_close(html, ']');
}

/* By number of the row: few have one. */
static void put_styles(struct tp_html *html, const struct tp_table *table)
{
	uint32_t n_rows = (table->n_cells + table->n_columns - 1) / table->n_columns;

	tp_html_open(html, "styles", '{');
	for (uint32_t row = 0; row < n_rows && row < table->cap_styles; row++) {
		char number[16];

		if (!table->style[row] || !*table->style[row])
			continue;
		snprintf(number, sizeof(number), "%u", row);
		tp_html_text(html, number, table->style[row]);
	}
	tp_html_close(html, '}');
}

static void put_table(void *ctx, const struct tp_table *table)
{
	struct tp_html *html = ctx;
	char unit[TP_TABLE_COLUMNS];

	if (!table->n_columns)
		return;
	tp_html_open(html, NULL, '{');
	if (table->name)
		tp_html_text(html, "name", table->name);
	tp_html_open(html, "columns", '[');
	for (uint32_t c = 0; c < table->n_columns; c++) {
		unit[c] = find_unit(table, c);
		put_column(html, &table->column[c], unit[c]);
	}
	tp_html_close(html, ']');
	put_rows(html, table, unit);
	put_styles(html, table);
	tp_html_close(html, '}');
}

void tp_html_tables(struct tp_html *html, struct tp_out *out, struct tp_out_to *to)
{
	*to = (struct tp_out_to){.text = put_text, .table = put_table, .ctx = html};
	*out = (struct tp_out){.width = 120, .to = to};
}
