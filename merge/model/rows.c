/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c - tables as rows for programs: CSV or a JSON object a line
 */
#include "merge/model/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/json.h"
#include "merge/model/table_in.h"

/* Is the text a number as JSON has them? Names of things may be digits, too: only columns of
 * figures are asked. */
static bool is_number(const struct tp_cell *cell)
{
	const char *p = cell->text;
	size_t n;

	if (!p)
		return false;
	p += *p == '-';
	n = strspn(p, "0123456789");
	if (!n || (p[0] == '0' && n > 1))
		return false;
	p += n;
	if (*p == '.') {
		n = strspn(++p, "0123456789");
		p += n;
		return n && !*p;
	}
	return !*p;
}

/* Without the blanks that indent it for people. */
static const char *text_of(const struct tp_cell *cell)
{
	const char *text = cell->text ? cell->text : "";

	return text + strspn(text, " ");
}

static void put_real(FILE *file, double value)
{
	if (isfinite(value))
		fprintf(file, "%.6g", value);
}

static void put_json_text(FILE *file, const char *text)
{
	size_t n = strlen(text);
	char *json = malloc(6 * n + 1);

	fputc('"', file);
	if (json)
		fwrite(json, 1, (size_t)(tp_json_text(json, text, n) - json), file);
	fputc('"', file);
	free(json);
}

static void put_json(FILE *file, const struct tp_cell *cell, bool is_figure)
{
	if (cell->kind == TP_CELL_INTEGER)
		fprintf(file, "%lld", (long long)cell->integer);
	else if (cell->kind == TP_CELL_REAL && isfinite(cell->real))
		put_real(file, cell->real);
	else if (cell->kind == TP_CELL_REAL || !cell->text || (is_figure && !*cell->text))
		fputs("null", file);
	else if (is_figure && is_number(cell))
		fputs(cell->text, file);
	else
		put_json_text(file, text_of(cell));
}

static void put_csv_text(FILE *file, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, file);
		return;
	}
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static void put_csv(FILE *file, const struct tp_cell *cell)
{
	if (cell->kind == TP_CELL_INTEGER)
		fprintf(file, "%lld", (long long)cell->integer);
	else if (cell->kind == TP_CELL_REAL)
		put_real(file, cell->real);
	else
		put_csv_text(file, text_of(cell));
}

/* Two tables of one view, or two views: a line without anything between them. */
static void print_csv_head(const struct tp_table *table, struct tp_out *out)
{
	if (out->n_rows_tables++)
		fputc('\n', out->file);
	fputs(out->who ? "table,process" : "table", out->file);
	for (uint32_t c = 0; c < table->n_columns; c++)
		if (table->column[c].field)
			fprintf(out->file, ",%s", table->column[c].field);
	fputc('\n', out->file);
}

static void print_csv(const struct tp_table *table, struct tp_out *out)
{
	if (!table->is_begun)
		print_csv_head(table, out);
	for (uint32_t i = 0; i < table->n_cells; i++) {
		uint32_t c = i % table->n_columns;

		if (!c) {
			fputs(table->name, out->file);
			if (out->who) {
				fputc(',', out->file);
				put_csv_text(out->file, out->who);
			}
		}
		if (table->column[c].field) {
			fputc(',', out->file);
			put_csv(out->file, &table->cell[i]);
		}
		if (c + 1 == table->n_columns || i + 1 == table->n_cells)
			fputc('\n', out->file);
	}
}

static void print_json(const struct tp_table *table, struct tp_out *out)
{
	for (uint32_t i = 0; i < table->n_cells; i++) {
		uint32_t c = i % table->n_columns;
		const struct tp_column *column = &table->column[c];

		if (!c)
			fprintf(out->file, "{\"table\":\"%s\"", table->name);
		if (!c && out->who) {
			fputs(",\"process\":", out->file);
			put_json_text(out->file, out->who);
		}
		if (column->field) {
			fprintf(out->file, ",\"%s\":", column->field);
			put_json(out->file, &table->cell[i], column->align == TP_RIGHT);
		}
		if (c + 1 == table->n_columns || i + 1 == table->n_cells)
			fputs("}\n", out->file);
	}
}

void tp_rows_print(const struct tp_table *table, struct tp_out *out)
{
	if (!table->name)
		return;
	if (out->rows == TP_ROWS_CSV)
		print_csv(table, out);
	else
		print_json(table, out);
}
