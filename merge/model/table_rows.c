/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_rows.c - tables as rows for programs: CSV or a JSON object a line, numbers as they are
 *
 * Times are nanoseconds, sizes bytes, shares percent. Only tables with a name and columns with a
 * field are in them; these names never change. trainprof-merge(1), "Rows".
 */
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

/* Without blanks before it. */
static const char *text_of(const struct tp_cell *cell)
{
	const char *text = cell->kind == TP_CELL_TEXT && cell->text ? cell->text : "";

	return text + strspn(text, " ");
}

static void put_real(FILE *file, double value)
{
	if (isfinite(value))
		fprintf(file, "%.6g", value);
}

static double percent_of(const struct tp_cell *cell)
{
	return cell->whole != 0 ? 100 * cell->part / cell->whole : 0;
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
	else if (cell->kind == TP_CELL_PERCENT && isfinite(percent_of(cell)))
		put_real(file, percent_of(cell));
	else if (cell->kind == TP_CELL_REAL && isfinite(cell->real))
		fprintf(file, "%.*f", cell->decimals, cell->real);
	else if (cell->kind > TP_CELL_TEXT || (is_figure && !*text_of(cell)))
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
	else if (cell->kind == TP_CELL_PERCENT)
		put_real(file, percent_of(cell));
	else if (cell->kind == TP_CELL_REAL)
		fprintf(file, "%.*f", cell->decimals, cell->real);
	else
		put_csv_text(file, text_of(cell));
}

/* Two tables of one view, or two views: a line without anything between them. */
void tp_table_rows_head(const struct tp_table *table)
{
	struct tp_out *out = table->out;

	if (out->rows != TP_ROWS_CSV)
		return;
	if (out->n_rows_tables++)
		fputc('\n', out->file);
	fputs(out->who ? "table,process" : "table", out->file);
	for (uint32_t c = 0; c < table->n_columns; c++)
		fprintf(out->file, ",%s", table->column[c].field);
	fputc('\n', out->file);
}

static void print_csv(const struct tp_table *table)
{
	struct tp_out *out = table->out;

	fputs(table->def->name, out->file);
	if (out->who) {
		fputc(',', out->file);
		put_csv_text(out->file, out->who);
	}
	for (uint32_t c = 0; c < table->n_columns; c++) {
		fputc(',', out->file);
		put_csv(out->file, &table->cell[c]);
	}
	fputc('\n', out->file);
}

static void print_json(const struct tp_table *table)
{
	struct tp_out *out = table->out;

	fprintf(out->file, "{\"table\":\"%s\"", table->def->name);
	if (out->who) {
		fputs(",\"process\":", out->file);
		put_json_text(out->file, out->who);
	}
	for (uint32_t c = 0; c < table->n_columns; c++) {
		fprintf(out->file, ",\"%s\":", table->column[c].field);
		put_json(out->file, &table->cell[c], tp_column_is_right(&table->column[c]));
	}
	fputs("}\n", out->file);
}

void tp_table_rows_put(const struct tp_table *table)
{
	if (table->out->rows == TP_ROWS_CSV)
		print_csv(table);
	else
		print_json(table);
}
