/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_text.c - a table as text: on a terminal columns of names are cut in the middle, and columns
 * are left out until a row fits
 */
#include <stdlib.h>
#include <string.h>

#include "merge/kit/stats.h"
#include "merge/kit/utf8.h"
#include "merge/model/table_in.h"

enum {
	GAP = 2,	/* columns between two cells */
	CUT_LEAST = 32, /* columns of text are cut to this before others are left out */
	INSET = 2,	/* of TP_INSET */
	INDENT = 2,	/* of a depth */
	DEPTH_MOST = 40, /* that is indented */
	BAR_MOST = TP_BAR_MOST, BAR_LEAST = 12, BAR_WIDTH = 70,
};

/* A cell as it is printed. */
struct shown {
	const char *text;
	uint32_t n_bytes, columns;
	uint32_t indent;	/* before the text, in `columns` */
	char buf[TP_CELL_SHOWN];
};

static const char *show_figure(char buf[32], const struct tp_cell *cell, enum tp_unit unit)
{
	switch (unit) {
	case TP_UNIT_NS:
		return tp_show_ns(buf, cell->integer);
	case TP_UNIT_BYTES:
		return tp_show_bytes(buf, cell->integer);
	case TP_UNIT_NUMBER:
		snprintf(buf, 32, "%lld", (long long)cell->integer);
		return buf;
	default:
		return tp_show_count(buf, (uint64_t)cell->integer);
	}
}

static const char *show_text(char buf[TP_CELL_SHOWN], const struct tp_table *table,
			     const struct tp_cell *cell, enum tp_unit unit)
{
	switch (cell->kind) {
	case TP_CELL_TEXT:
		return cell->text ? cell->text : "";
	case TP_CELL_INTEGER:
		return show_figure(buf, cell, unit);
	case TP_CELL_REAL:
		snprintf(buf, 32, "%.*f", cell->decimals, cell->real);
		return buf;
	case TP_CELL_PERCENT:
		if (unit == TP_UNIT_BAR)
			return tp_bar(buf, cell->part, cell->whole,
				      table->out->width > BAR_WIDTH ? BAR_MOST : BAR_LEAST);
		return tp_show_percent(buf, cell->part, cell->whole);
	default:
		return "";
	}
}

const char *tp_cell_show(char buf[TP_CELL_SHOWN], const struct tp_table *table, uint32_t row,
			 uint32_t c)
{
	const struct tp_cell *cell = &tp_table_cells(table, row)[c];
	const char *text = show_text(buf, table, cell, table->column[c].unit);

	if (!(table->column[c].how & TP_SIGNED) || cell->kind != TP_CELL_INTEGER ||
	    cell->integer < 0 || text != buf)
		return text;
	memmove(buf + 1, buf, strlen(buf) + 1);
	buf[0] = '+';
	return buf;
}

static void show_cell(struct shown *shown, const struct tp_table *table, uint32_t row, uint32_t c)
{
	const struct tp_column *column = &table->column[c];
	const uint32_t depth = table->row[row].depth;

	shown->text = tp_cell_show(shown->buf, table, row, c);
	shown->n_bytes = (uint32_t)strlen(shown->text);
	shown->indent = (column->how & TP_INSET ? INSET : 0) +
			(column->how & TP_TREE ? INDENT * (depth < DEPTH_MOST ? depth : DEPTH_MOST)
					       : 0);
	shown->columns = shown->indent + tp_utf8_width(shown->text, shown->n_bytes);
}

static void show_title(struct shown *shown, const struct tp_table *table, uint32_t c)
{
	const struct tp_column *column = &table->column[c];

	shown->text = column->title;
	shown->n_bytes = (uint32_t)strlen(shown->text);
	shown->indent = column->how & TP_INSET && *shown->text ? INSET : 0;
	shown->columns = shown->indent + tp_utf8_width(shown->text, shown->n_bytes);
}

/* The end of an operator's name tells as much as its start: cut in the middle. */
static void print_cut(FILE *file, const struct shown *cell, uint32_t columns, bool is_last)
{
	const uint32_t n_head = columns ? (columns - 1) / 2 : 0, n_tail = columns - n_head - 1;
	const uint32_t indent = cell->indent < n_head ? cell->indent : n_head;
	uint32_t head = tp_utf8_head(cell->text, cell->n_bytes, n_head - indent);
	uint32_t tail = tp_utf8_tail(cell->text, cell->n_bytes, n_tail);

	tp_out_pad(file, indent);
	fwrite(cell->text, 1, head, file);
	fputs("\xe2\x80\xa6", file);
	fwrite(cell->text + cell->n_bytes - tail, 1, tail, file);
	if (!is_last)
		tp_out_pad(file, columns - indent - 1 - tp_utf8_width(cell->text, head) -
				 tp_utf8_width(cell->text + cell->n_bytes - tail, tail));
}

static void print_cell(FILE *file, const struct shown *cell, uint32_t columns, bool is_right,
		       bool is_last)
{
	if (cell->columns > columns) {
		print_cut(file, cell, columns, is_last);
		return;
	}
	tp_out_pad(file, cell->indent + (is_right ? columns - cell->columns : 0));
	fwrite(cell->text, 1, cell->n_bytes, file);
	if (!is_right && !is_last)
		tp_out_pad(file, columns - cell->columns);
}

static void print_row(const struct tp_table *table, const struct shown *cell,
		      const uint32_t *columns, const char *code)
{
	FILE *file = table->out->file;
	uint32_t last = 0;
	bool is_first = true;

	for (uint32_t c = 0; c < table->n_columns; c++)
		if (columns[c] && cell[c].n_bytes)
			last = c;
	fputs(code, file);
	for (uint32_t c = 0; c <= last && c < table->n_columns; c++) {
		if (!columns[c])
			continue;
		if (!is_first)
			tp_out_pad(file, GAP);
		is_first = false;
		print_cell(file, &cell[c], columns[c], tp_column_is_right(&table->column[c]),
			   c == last);
	}
	fputs(*code ? "\033[0m\n" : "\n", file);
}

static uint32_t add_widths(const struct tp_table *table, const uint32_t *columns)
{
	uint32_t total = 0, shown = 0;

	for (uint32_t c = 0; c < table->n_columns; c++) {
		total += columns[c];
		shown += columns[c] != 0;
	}
	return total + (shown ? (shown - 1) * GAP : 0);
}

/* The widest column that may be cut (any: of all columns) and has more than `least`. */
static uint32_t find_widest(const struct tp_table *table, const uint32_t *columns, bool any,
			    uint32_t least)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t c = 0; c < table->n_columns; c++)
		if ((any || table->column[c].how & TP_CUT) && columns[c] > least &&
		    (found == UINT32_MAX || columns[c] > columns[found]))
			found = c;
	return found;
}

static uint32_t extra_of(const struct tp_column *column)
{
	return column->how & 0xff;
}

static uint32_t find_extra(const struct tp_table *table, const uint32_t *columns)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t c = 0; c < table->n_columns; c++)
		if (columns[c] && extra_of(&table->column[c]) &&
		    (found == UINT32_MAX ||
		     extra_of(&table->column[c]) >= extra_of(&table->column[found])))
			found = c;
	return found;
}

/* columns[c] is the width wanted, becomes that given: 0 for a column that is left out. */
static void cut_widths(const struct tp_table *table, uint32_t width, uint32_t *columns)
{
	while (add_widths(table, columns) > width) {
		uint32_t c = find_widest(table, columns, false, CUT_LEAST);

		if (c != UINT32_MAX) {
			columns[c]--;
			continue;
		}
		c = find_extra(table, columns);
		if (c != UINT32_MAX) {
			columns[c] = 0;
			continue;
		}
		c = find_widest(table, columns, true, 1);
		if (c == UINT32_MAX)
			return;
		columns[c]--;
	}
}

/* Where names stay whole, the columns that are shown are those of a terminal of the same width. */
static void fit_widths(const struct tp_table *table, uint32_t *columns)
{
	uint32_t wanted[TP_TABLE_COLUMNS];

	memcpy(wanted, columns, sizeof(wanted));
	cut_widths(table, table->out->width ? table->out->width : 80, columns);
	for (uint32_t c = 0; table->out->is_whole && c < table->n_columns; c++)
		columns[c] = columns[c] ? wanted[c] : 0;
}

void tp_table_text(const struct tp_table *table)
{
	struct shown cell[TP_TABLE_COLUMNS];
	uint32_t columns[TP_TABLE_COLUMNS] = {0};
	bool has_titles = false;

	for (uint32_t c = 0; c < table->n_columns; c++) {
		show_title(&cell[c], table, c);
		has_titles |= cell[c].n_bytes != 0;
		columns[c] = cell[c].columns;
		for (uint32_t row = 0; row < table->n_rows; row++) {
			struct shown one;

			show_cell(&one, table, row, c);
			columns[c] = one.columns > columns[c] ? one.columns : columns[c];
		}
	}
	fit_widths(table, columns);
	if (has_titles)
		print_row(table, cell, columns, tp_out_style(table->out, "bold"));
	for (uint32_t row = 0; row < table->n_rows; row++) {
		for (uint32_t c = 0; c < table->n_columns; c++)
			show_cell(&cell[c], table, row, c);
		print_row(table, cell, columns, tp_out_style(table->out, table->row[row].style));
	}
}
