/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_rows.c - tables as rows for programs: CSV or a JSON object a line, numbers as they are
 *
 * Times are nanoseconds, sizes bytes, shares percent. Only tables with a name and columns with a
 * field are in them; these names never change. A file of CSV has one header: that of a table, where
 * each has a file of its own, else of all tables that may come. trainprof-merge(1), "Rows".
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/json.h"
#include "merge/kit/say.h"
#include "merge/model/table_in.h"

/* Is the text a number as JSON has them? Names of things may be digits, too: only columns of
 * figures are asked. */
bool tp_cell_is_number(const struct tp_cell *cell)
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
const char *tp_cell_text(const struct tp_cell *cell)
{
	const char *text = cell->kind == TP_CELL_TEXT && cell->text ? cell->text : "";

	return text + strspn(text, " ");
}

static void put_real(FILE *file, double value)
{
	if (isfinite(value))
		fprintf(file, "%.6g", value);
}

double tp_cell_percent(const struct tp_cell *cell)
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
	else if (cell->kind == TP_CELL_PERCENT && isfinite(tp_cell_percent(cell)))
		put_real(file, tp_cell_percent(cell));
	else if (cell->kind == TP_CELL_REAL && isfinite(cell->real))
		fprintf(file, "%.*f", cell->decimals, cell->real);
	else if (cell->kind > TP_CELL_TEXT || (is_figure && !*tp_cell_text(cell)))
		fputs("null", file);
	else if (is_figure && tp_cell_is_number(cell))
		fputs(cell->text, file);
	else
		put_json_text(file, tp_cell_text(cell));
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
		put_real(file, tp_cell_percent(cell));
	else if (cell->kind == TP_CELL_REAL)
		fprintf(file, "%.*f", cell->decimals, cell->real);
	else
		put_csv_text(file, tp_cell_text(cell));
}

/* ---- the header of CSV ---- */

/* Which column of the table is this field of the header? */
static uint8_t find_cell(const struct tp_table *table, const char *field)
{
	for (uint32_t c = 0; c < table->n_columns; c++)
		if (!strcmp(table->column[c].field, field))
			return (uint8_t)c;
	return strcmp(field, "process") ? TP_CSV_EMPTY : TP_CSV_PROCESS;
}

static void put_header(struct tp_table *table, const char *const *field, uint32_t n, bool has_header)
{
	const char *before = "";

	table->csv_cell = malloc(n + 1);
	if (!table->csv_cell)
		return;
	for (uint32_t i = 0; i < n; i++) {
		table->csv_cell[i] = find_cell(table, field[i]);
		if (!has_header)
			fprintf(table->file, "%s%s", before, field[i]);
		before = ",";
	}
	table->n_csv_cells = n;
	if (!has_header)
		fputc('\n', table->file);
}

/* All fields that the table may have, so that the header does not depend on the run; "process"
 * before them, unless it is one of them. */
static void put_own_header(struct tp_table *table, bool has_header)
{
	struct tp_column column[TP_TABLE_COLUMNS];
	const char *field[TP_TABLE_COLUMNS + 1] = {"process"};
	uint32_t n = tp_table_outline(table->def, column, TP_TABLE_COLUMNS), first = 1;

	for (uint32_t c = 0; c < n; c++)
		if (!strcmp(column[c].field, "process"))
			first = 0;
	for (uint32_t c = 0; c < n; c++)
		field[first + c] = column[c].field;
	put_header(table, field, first + n, has_header);
}

/* ---- files ---- */

/* Has this table a header already? From now on it has. */
static bool note_begun(struct tp_rows_to *to, const struct tp_table_def *def)
{
	for (uint32_t i = 0; i < to->n_begun; i++)
		if (to->begun[i] == def)
			return true;
	if (to->n_begun < sizeof(to->begun) / sizeof(to->begun[0]))
		to->begun[to->n_begun++] = def;
	return false;
}

static FILE *open_file(struct tp_table *table, bool is_begun)
{
	struct tp_rows_to *to = table->out->rows_to;
	const char *suffix = table->out->rows == TP_ROWS_CSV ? "csv" : "jsonl";
	FILE *file = NULL;
	char *path;

	if (asprintf(&path, "%s/%s.%s", to->folder, table->def->name, suffix) < 0)
		return NULL;
	file = fopen(path, is_begun ? "ae" : "we");
	if (!file) {
		tp_say("cannot write '%s': %s", path, strerror(errno));
		to->is_bad = true;
	}
	free(path);
	return file;
}

void tp_table_rows_begin(struct tp_table *table)
{
	struct tp_rows_to *to = table->out->rows_to;
	const bool has_header = to->has_header;
	bool is_begun;

	if (table->out->rows == TP_ROWS_GIVEN) {
		to->begin(to->ctx, table);
		return;
	}
	is_begun = note_begun(to, table->def);
	table->file = to->folder ? open_file(table, is_begun) : table->out->file;
	if (!table->file || table->out->rows != TP_ROWS_CSV)
		return;
	if (to->folder) {
		put_own_header(table, is_begun);
		return;
	}
	if (!has_header)
		fputs("table,", table->file);
	put_header(table, to->field, to->n_fields, has_header);
	to->has_header = true;
}

void tp_table_rows_end(struct tp_table *table)
{
	struct tp_rows_to *to = table->out->rows_to;
	bool is_bad;

	free(table->csv_cell);
	if (!to->folder || !table->file)
		return;
	is_bad = ferror(table->file);
	is_bad |= fclose(table->file) != 0;
	if (is_bad) {
		tp_say("cannot write '%s/%s': %s", to->folder, table->def->name, strerror(errno));
		to->is_bad = true;
	}
}

/* ---- rows ---- */

static void print_csv(const struct tp_table *table)
{
	struct tp_out *out = table->out;
	const bool has_name = !out->rows_to->folder;

	if (has_name)
		fputs(table->def->name, table->file);
	for (uint32_t i = 0; i < table->n_csv_cells; i++) {
		if (i || has_name)
			fputc(',', table->file);
		if (table->csv_cell[i] == TP_CSV_PROCESS)
			put_csv_text(table->file, out->who ? out->who : "");
		else if (table->csv_cell[i] != TP_CSV_EMPTY)
			put_csv(table->file, &table->cell[table->csv_cell[i]]);
	}
	fputc('\n', table->file);
}

static void print_json(const struct tp_table *table)
{
	struct tp_out *out = table->out;

	fprintf(table->file, "{\"table\":\"%s\"", table->def->name);
	if (out->who) {
		fputs(",\"process\":", table->file);
		put_json_text(table->file, out->who);
	}
	for (uint32_t c = 0; c < table->n_columns; c++) {
		fprintf(table->file, ",\"%s\":", table->column[c].field);
		put_json(table->file, &table->cell[c], tp_column_is_right(&table->column[c]));
	}
	fputs("}\n", table->file);
}

void tp_table_rows_put(const struct tp_table *table)
{
	struct tp_rows_to *to = table->out->rows_to;

	if (table->out->rows == TP_ROWS_GIVEN)
		to->row(to->ctx, table);
	if (!table->file)
		return;
	if (table->out->rows == TP_ROWS_CSV)
		print_csv(table);
	else
		print_json(table);
}
