/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_tables.c - what views print, as JSON of the page
 */
#include "merge/page/html_tables.h"

#include <string.h>

#include "merge/model/table_in.h"

enum { ROWS_MAX = 8000 };	/* of a table: what no page needs, and no browser likes */

static void put_text(void *ctx, char kind, const char *style, uint32_t indent, const char *label,
		     const char *text)
{
	struct tp_html_tables *tables = ctx;
	struct tp_html *html = tables->html;
	char word[2] = {kind, 0};

	tp_html_plain_text(tables->plain, kind, label, text);
	tp_html_open(html, NULL, '{');
	tp_html_text(html, "kind", word);
	if (style && *style)
		tp_html_text(html, "style", style);
	if (indent)
		tp_html_integer(html, "indent", indent);
	if (label)
		tp_html_text(html, "label", label);
	tp_html_text(html, "text", text);
	tp_html_close(html, '}');
}

/* Of a column's reals, when all have the same; -1: not. */
static int find_decimals(const struct tp_table *table, uint32_t c)
{
	int decimals = -1;

	for (uint32_t row = 0; row < table->n_rows; row++) {
		const struct tp_cell *cell = &tp_table_cells(table, row)[c];

		if (cell->kind != TP_CELL_REAL)
			continue;
		if (decimals >= 0 && cell->decimals != decimals)
			return -1;
		decimals = cell->decimals;
	}
	return decimals;
}

static void put_column(struct tp_html *html, const struct tp_column *column, int decimals)
{
	tp_html_open(html, NULL, '{');
	tp_html_text(html, "title", column->title);
	if (column->field)
		tp_html_text(html, "field", column->field);
	if (column->help)
		tp_html_text(html, "help", column->help);
	tp_html_text(html, "unit", tp_unit_name(column->unit));
	if (tp_column_is_right(column))
		tp_html_integer(html, "right", 1);
	if (column->how & TP_TREE)
		tp_html_integer(html, "tree", 1);
	if (column->how & TP_SIGNED)
		tp_html_integer(html, "signed", 1);
	if (decimals >= 0)
		tp_html_integer(html, "decimals", decimals);
	tp_html_close(html, '}');
}

/* A share whose whole is nothing is none, not 0; reals of several precisions are shown as they are. */
static void put_cell(struct tp_html *html, const struct tp_cell *cell, int decimals)
{
	char text[32];

	if (cell->kind == TP_CELL_REAL && decimals < 0) {
		snprintf(text, sizeof(text), "%.*f", cell->decimals, cell->real);
		tp_html_text(html, NULL, text);
	} else if (cell->kind == TP_CELL_INTEGER) {
		tp_html_integer(html, NULL, cell->integer);
	} else if (cell->kind == TP_CELL_REAL) {
		tp_html_real(html, NULL, cell->real);
	} else if (cell->kind == TP_CELL_PERCENT && cell->whole > 0) {
		tp_html_real(html, NULL, 100 * cell->part / cell->whole);
	} else if (cell->kind == TP_CELL_TEXT && cell->text) {
		tp_html_text(html, NULL, cell->text);
	} else {
		tp_html_text(html, NULL, cell->kind == TP_CELL_PERCENT ? "-" : "");
	}
}

static void put_rows(struct tp_html *html, const struct tp_table *table, uint32_t n_rows,
		     const int *decimals)
{
	if (n_rows < table->n_rows)
		tp_html_integer(html, "left_out", table->n_rows - n_rows);
	tp_html_open(html, "rows", '[');
	for (uint32_t row = 0; row < n_rows; row++) {
		tp_html_open(html, NULL, '[');
		for (uint32_t c = 0; c < table->n_columns; c++)
			put_cell(html, &tp_table_cells(table, row)[c], decimals[c]);
		tp_html_close(html, ']');
	}
	tp_html_close(html, ']');
}

/* Of trees only: how deep in what is above it each row is. */
static void put_depths(struct tp_html *html, const struct tp_table *table, uint32_t n_rows)
{
	bool is_tree = false;

	for (uint32_t c = 0; c < table->n_columns; c++)
		is_tree |= table->column[c].how & TP_TREE;
	if (!is_tree)
		return;
	tp_html_open(html, "depths", '[');
	for (uint32_t row = 0; row < n_rows; row++)
		tp_html_integer(html, NULL, table->row[row].depth);
	tp_html_close(html, ']');
}

/* By number of the row: few have one. */
static void put_styles(struct tp_html *html, const struct tp_table *table, uint32_t n_rows)
{
	tp_html_open(html, "styles", '{');
	for (uint32_t row = 0; row < n_rows; row++) {
		char number[16];

		if (!table->row[row].style || !*table->row[row].style)
			continue;
		snprintf(number, sizeof(number), "%u", row);
		tp_html_text(html, number, table->row[row].style);
	}
	tp_html_close(html, '}');
}

static void put_table(void *ctx, const struct tp_table *table)
{
	const uint32_t n_rows = table->n_rows < ROWS_MAX ? table->n_rows : ROWS_MAX;
	struct tp_html_tables *tables = ctx;
	struct tp_html *html = tables->html;
	int decimals[TP_TABLE_COLUMNS];

	tp_html_plain_table(tables->plain, table);
	tp_html_open(html, NULL, '{');
	if (table->def->name)
		tp_html_text(html, "name", table->def->name);
	if (table->def->order)
		tp_html_text(html, "order", table->def->order);
	tp_html_open(html, "columns", '[');
	for (uint32_t c = 0; c < table->n_columns; c++) {
		decimals[c] = find_decimals(table, c);
		put_column(html, &table->column[c], decimals[c]);
	}
	tp_html_close(html, ']');
	put_rows(html, table, n_rows, decimals);
	put_depths(html, table, n_rows);
	put_styles(html, table, n_rows);
	tp_html_close(html, '}');
}

struct tp_out *tp_html_tables(struct tp_html_tables *tables, struct tp_html *html,
			      struct tp_html_plain *plain, const char *sort)
{
	*tables = (struct tp_html_tables){
		.html = html, .plain = plain,
		.to = {.text = put_text, .table = put_table, .ctx = tables},
		.out = {.width = 120, .sort = sort, .to = &tables->to},
	};
	return &tables->out;
}
