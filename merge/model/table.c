/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - text tables that fit the terminal
 *
 * Cells are kept as printable bytes until all of them are known, then one column may be cut
 * in the middle and others may be left out until a row fits. What a trace says is never
 * sent to a terminal as it is: every cell and line goes through tp_show_text.
 * When memory is out, rows are left out; nothing here fails.
 */
#include "merge/model/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/utf8.h"
#include "merge/model/rows.h"
#include "merge/model/table_in.h"

enum {
	GAP = 2,	/* columns between two cells */
	CUT_LEAST = 32, /* columns of text are cut to this before others are left out */
};

static const struct {
	const char *name, *code;
} styles[] = {
    {"bold", "\033[1m"},    {"dim", "\033[2m"},	   {"red", "\033[1;31m"},
    {"yellow", "\033[33m"}, {"green", "\033[32m"},
};

static const char *find_style(const struct tp_out *out, const char *style)
{
	if (!out->has_color || !style)
		return "";
	for (uint32_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (!strcmp(styles[i].name, style))
			return styles[i].code;
	return "";
}

/* The formatted text made printable, from malloc; NULL when memory is out. */
static char *format_clean(const char *format, va_list args)
{
	char first[512], *raw = first, *clean;
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(first, sizeof(first), format, args);
	if (n >= (int)sizeof(first)) {
		raw = malloc((size_t)n + 1);
		if (raw)
			vsnprintf(raw, (size_t)n + 1, format, again);
	}
	va_end(again);
	if (n < 0 || !raw)
		return NULL;
	/* A byte becomes at most four. */
	clean = malloc((size_t)n * 4 + 1);
	if (clean)
		tp_show_text(clean, (uint32_t)n * 4 + 1, raw, (uint32_t)n);
	if (raw != first)
		free(raw);
	return clean;
}

struct tp_table *tp_table_new(const struct tp_column *column, uint32_t n_columns)
{
	struct tp_table *table = calloc(1, sizeof(*table));

	if (!table || n_columns > TP_TABLE_COLUMNS) {
		free(table);
		return NULL;
	}
	memcpy(table->column, column, n_columns * sizeof(*column));
	table->n_columns = n_columns;
	return table;
}

void tp_table_name(struct tp_table *table, const char *name)
{
	if (table)
		table->name = name;
}

void tp_table_cell(struct tp_table *table, const char *format, ...)
{
	struct tp_cell *cell;
	va_list args;

	if (!table || !tp_grow(&table->cell, &table->cap_cells,
			       (uint64_t)table->n_cells + 1, sizeof(*table->cell)))
		return;
	cell = &table->cell[table->n_cells++];
	cell->kind = TP_CELL_TEXT;
	va_start(args, format);
	cell->text = format_clean(format, args);
	va_end(args);
	cell->n_bytes = cell->text ? (uint32_t)strlen(cell->text) : 0;
	cell->columns = tp_utf8_width(cell->text, cell->n_bytes);
}

/* The cell just given, whose figure is to be kept; NULL: it found no room. */
static struct tp_cell *last_cell(struct tp_table *table, uint32_t n_before)
{
	return table && table->n_cells > n_before ? &table->cell[n_before] : NULL;
}

static void put_integer(struct tp_table *table, int64_t integer, char unit, const char *shown)
{
	uint32_t n_before = table ? table->n_cells : 0;
	struct tp_cell *cell;

	tp_table_cell(table, "%s", shown);
	cell = last_cell(table, n_before);
	if (!cell)
		return;
	cell->kind = TP_CELL_INTEGER;
	cell->unit = unit;
	cell->integer = integer;
}

void tp_cell_ns(struct tp_table *table, int64_t ns)
{
	char buf[32];

	put_integer(table, ns, 'n', tp_show_ns(buf, ns));
}

void tp_cell_bytes(struct tp_table *table, int64_t bytes)
{
	char buf[32];

	put_integer(table, bytes, 'b', tp_show_bytes(buf, bytes));
}

void tp_cell_count(struct tp_table *table, uint64_t n)
{
	char buf[32];

	put_integer(table, n > INT64_MAX ? INT64_MAX : (int64_t)n, 'c',
		    tp_show_count(buf, n));
}

void tp_cell_percent(struct tp_table *table, double part, double whole)
{
	uint32_t n_before = table ? table->n_cells : 0;
	struct tp_cell *cell;
	char buf[32];

	tp_table_cell(table, "%s", tp_show_percent(buf, part, whole));
	cell = last_cell(table, n_before);
	if (!cell)
		return;
	cell->kind = TP_CELL_REAL;
	cell->real = whole ? 100 * part / whole : 0;
}

void tp_table_style(struct tp_table *table, const char *style)
{
	uint32_t row;

	if (!table || !table->n_cells)
		return;
	row = (table->n_cells - 1) / table->n_columns;
	if (tp_grow(&table->style, &table->cap_styles, (uint64_t)row + 1,
		    sizeof(*table->style)))
		table->style[row] = style;
}

/* Bytes of the longest beginning (or, backwards, end) of `text` that fits `columns`. */
static uint32_t fit_head(const char *text, uint32_t n, uint32_t columns)
{
	uint32_t at = 0, used = 0, len;

	while (at < n) {
		used += tp_utf8_columns(tp_utf8_next(text + at, n - at, &len));
		if (used > columns)
			break;
		at += len;
	}
	return at;
}

static uint32_t fit_tail(const char *text, uint32_t n, uint32_t columns)
{
	uint32_t at = n, used = 0, len;

	while (at > 0) {
		uint32_t before = at - 1;

		while (before > 0 && ((uint8_t)text[before] & 0xc0) == 0x80)
			before--;
		used += tp_utf8_columns(tp_utf8_next(text + before, n - before, &len));
		if (used > columns)
			break;
		at = before;
	}
	return n - at;
}

static void pad(FILE *file, uint32_t n)
{
	fprintf(file, "%*s", (int)n, "");
}

static void print_cell(FILE *file, const struct tp_cell *cell, uint32_t columns,
		       enum tp_align align, bool is_last)
{
	uint32_t head, tail;

	if (cell->columns <= columns) {
		if (align == TP_RIGHT)
			pad(file, columns - cell->columns);
		fwrite(cell->text ? cell->text : "", 1, cell->n_bytes, file);
		if (align == TP_LEFT && !is_last)
			pad(file, columns - cell->columns);
		return;
	}
	/* The end of an operator's name tells as much as its begin: cut in the middle. */
	head = fit_head(cell->text, cell->n_bytes, columns ? (columns - 1) / 2 : 0);
	tail = fit_tail(cell->text, cell->n_bytes,
			columns ? columns - 1 - (columns - 1) / 2 : 0);
	fwrite(cell->text, 1, head, file);
	fputs(columns ? "\xe2\x80\xa6" : "", file);
	fwrite(cell->text + cell->n_bytes - tail, 1, tail, file);
	if (!is_last)
		pad(file, columns - tp_utf8_width(cell->text, head) - (columns ? 1 : 0) -
			      tp_utf8_width(cell->text + cell->n_bytes - tail, tail));
}

static void print_row(const struct tp_table *table, const struct tp_cell *row,
		      uint32_t n_cells, const uint32_t *columns, struct tp_out *out,
		      const char *code)
{
	uint32_t last = 0;
	bool is_first = true;

	for (uint32_t c = 0; c < n_cells; c++)
		if (columns[c] && row[c].columns)
			last = c;
	fputs(code, out->file);
	for (uint32_t c = 0; c <= last && c < n_cells; c++) {
		if (!columns[c])
			continue;
		if (!is_first)
			pad(out->file, GAP);
		is_first = false;
		print_cell(out->file, &row[c], columns[c], table->column[c].align,
			   c == last);
	}
	fputs(*code ? "\033[0m\n" : "\n", out->file);
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
		if ((any || table->column[c].may_cut) && columns[c] > least &&
		    (found == UINT32_MAX || columns[c] > columns[found]))
			found = c;
	return found;
}

static uint32_t find_extra(const struct tp_table *table, const uint32_t *columns)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t c = 0; c < table->n_columns; c++)
		if (columns[c] && table->column[c].is_extra &&
		    (found == UINT32_MAX ||
		     table->column[c].is_extra >= table->column[found].is_extra))
			found = c;
	return found;
}

/* columns[c] is the width wanted, becomes that given: 0 for a column that is left out. */
static void fit_widths(const struct tp_table *table, uint32_t width, uint32_t *columns)
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

static void print_text(const struct tp_table *table, struct tp_out *out)
{
	struct tp_cell head[TP_TABLE_COLUMNS] = {{.text = NULL}};
	uint32_t columns[TP_TABLE_COLUMNS] = {0};
	bool has_titles = false;

	for (uint32_t c = 0; c < table->n_columns; c++) {
		const char *title = table->column[c].title ? table->column[c].title : "";

		head[c].n_bytes = (uint32_t)strlen(title);
		head[c].text = (char *)(uintptr_t)title;
		head[c].columns = columns[c] = tp_utf8_width(title, head[c].n_bytes);
		has_titles |= head[c].n_bytes != 0;
	}
	for (uint32_t i = 0; i < table->n_cells; i++)
		if (columns[i % table->n_columns] < table->cell[i].columns)
			columns[i % table->n_columns] = table->cell[i].columns;
	fit_widths(table, out->width ? out->width : 80, columns);
	if (has_titles)
		print_row(table, head, table->n_columns, columns, out,
			  find_style(out, "bold"));
	for (uint32_t i = 0, row = 0; i < table->n_cells; i += table->n_columns, row++) {
		uint32_t left = table->n_cells - i;
		const char *style = row < table->cap_styles ? table->style[row] : NULL;

		print_row(table, table->cell + i,
			  left < table->n_columns ? left : table->n_columns, columns, out,
			  find_style(out, style));
	}
}

void tp_table_print(struct tp_table *table, struct tp_out *out)
{
	if (!table)
		return;
	if (out->to)
		out->to->table(out->to->ctx, table);
	else if (out->rows)
		tp_rows_print(table, out);
	else
		print_text(table, out);
	for (uint32_t i = 0; i < table->n_cells; i++)
		free(table->cell[i].text);
	free(table->cell);
	free(table->style);
	free(table);
}

void tp_table_flush(struct tp_table *table, struct tp_out *out)
{
	if (!table || out->to || !out->rows || !table->n_cells)
		return;
	tp_rows_print(table, out);
	table->is_begun = true;
	for (uint32_t i = 0; i < table->n_cells; i++)
		free(table->cell[i].text);
	table->n_cells = 0;
}

/* Prints text from column `at` on, broken at spaces, continued at column `indent`. */
static void print_wrapped(struct tp_out *out, const char *text, uint32_t at,
			  uint32_t indent)
{
	uint32_t width = out->width > 20 ? out->width : 80;
	uint32_t n = (uint32_t)strlen(text);

	if (indent > width / 2)
		indent = width / 2;
	for (;;) {
		uint32_t fit = fit_head(text, n, width > at ? width - at : 1), end = fit,
			 shown;

		if (fit < n) {
			while (end > 0 && text[end] != ' ')
				end--;
			/* A word longer than the line (a path): whole, so that it can be
			 * copied. */
			if (end == 0)
				while (fit < n && text[fit] != ' ')
					fit++;
			if (end == 0)
				end = fit;
		}
		for (shown = end; end < n && shown > 0 && text[shown - 1] == ' ';)
			shown--;
		fwrite(text, 1, shown, out->file);
		text += end;
		n -= end;
		while (n && *text == ' ') {
			text++;
			n--;
		}
		if (!n)
			return;
		fputc('\n', out->file);
		pad(out->file, indent);
		at = indent;
	}
}

static void print_styled(struct tp_out *out, char kind, const char *style,
			 uint32_t label_columns, const char *label, char *text)
{
	const char *code = find_style(out, style);
	uint32_t indent = 0;
	char clean[256];

	if (text && out->to) {
		if (label)
			tp_show_text(clean, sizeof(clean), label, (uint32_t)strlen(label));
		out->to->text(out->to->ctx, kind, style, label ? clean : NULL, text);
	}
	if (!text || out->rows || out->to) {
		free(text);
		return;
	}
	fputs(code, out->file);
	if (label) {
		uint32_t used;

		tp_show_text(clean, sizeof(clean), label, (uint32_t)strlen(label));
		used = tp_utf8_width(clean, (uint32_t)strlen(clean));
		fprintf(out->file, "  %s", clean);
		pad(out->file, used < label_columns ? label_columns - used : 1);
		indent = 2 + label_columns;
		print_wrapped(out, text, used < label_columns ? indent : used + 3, indent);
	} else {
		while (text[indent] == ' ')
			indent++;
		pad(out->file, indent);
		print_wrapped(out, text + indent, indent, indent + 2);
	}
	fputs(*code ? "\033[0m\n" : "\n", out->file);
	free(text);
}

void tp_out_title(struct tp_out *out, const char *format, ...)
{
	va_list args;

	if (!out->rows && !out->to)
		fputc('\n', out->file);
	va_start(args, format);
	print_styled(out, 't', "bold", 0, NULL, format_clean(format, args));
	va_end(args);
}

void tp_out_line(struct tp_out *out, const char *style, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_styled(out, 'l', style, 0, NULL, format_clean(format, args));
	va_end(args);
}

void tp_out_item(struct tp_out *out, const char *style, uint32_t label_columns,
		 const char *label, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_styled(out, 'i', style, label_columns, label, format_clean(format, args));
	va_end(args);
}
