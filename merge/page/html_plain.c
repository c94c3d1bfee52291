/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_plain.c - the views as plain tables, for browsers in which the page's script does not run
 */
#include "merge/page/html_plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/table_in.h"

enum { ROWS_MAX = 40, TEXT_MAX = 300, DEPTH_MAX = 40 };

struct tp_html_plain {
	FILE *file;
	char *bytes;
	size_t n_bytes;
};

struct tp_html_plain *tp_html_plain_new(void)
{
	struct tp_html_plain *plain = calloc(1, sizeof(*plain));

	if (!plain)
		return NULL;
	plain->file = open_memstream(&plain->bytes, &plain->n_bytes);
	if (plain->file)
		return plain;
	free(plain);
	return NULL;
}

/* Printable text, cut between two characters. */
static void put_text(FILE *file, const char *text)
{
	size_t n = strlen(text), end = n < TEXT_MAX ? n : TEXT_MAX;

	while (end && end < n && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	for (size_t i = 0; i < end; i++) {
		if (text[i] == '<')
			fputs("&lt;", file);
		else if (text[i] == '>')
			fputs("&gt;", file);
		else if (text[i] == '&')
			fputs("&amp;", file);
		else
			fputc(text[i], file);
	}
	if (end < n)
		fputs("\xe2\x80\xa6", file);
}

static void put_element(FILE *file, const char *tag, const char *text)
{
	fprintf(file, "<%s>", tag);
	put_text(file, text);
	fprintf(file, "</%s>", tag);
}

void tp_html_plain_view(struct tp_html_plain *plain, const char *title)
{
	if (!plain)
		return;
	put_element(plain->file, "h2", title);
	fputc('\n', plain->file);
}

void tp_html_plain_text(struct tp_html_plain *plain, char kind, const char *label, const char *text)
{
	if (!plain)
		return;
	fputs(kind == 't' ? "<h3>" : "<p>", plain->file);
	if (label && *label) {
		put_element(plain->file, "b", label);
		fputc(' ', plain->file);
	}
	put_text(plain->file, text);
	fputs(kind == 't' ? "</h3>\n" : "</p>\n", plain->file);
}

static void put_row(FILE *file, const struct tp_table *table, uint32_t row)
{
	char buf[TP_CELL_SHOWN];

	fputs("<tr>", file);
	for (uint32_t c = 0; c < table->n_columns; c++) {
		if (table->column[c].unit == TP_UNIT_BAR)
			continue;
		fputs(tp_column_is_right(&table->column[c]) ? "<td class=\"right\">" : "<td>", file);
		for (uint32_t i = 0; table->column[c].how & TP_TREE && i < table->row[row].depth &&
				     i < DEPTH_MAX; i++)
			fputs("&nbsp;&nbsp;", file);
		put_text(file, tp_cell_show(buf, table, row, c));
		fputs("</td>", file);
	}
	fputs("</tr>\n", file);
}

void tp_html_plain_table(struct tp_html_plain *plain, const struct tp_table *table)
{
	const uint32_t n_rows = table->n_rows < ROWS_MAX ? table->n_rows : ROWS_MAX;

	if (!plain || !n_rows)
		return;
	fputs("<div class=\"scroll\"><table><thead><tr>", plain->file);
	for (uint32_t c = 0; c < table->n_columns; c++)
		if (table->column[c].unit != TP_UNIT_BAR) {
			fputs(tp_column_is_right(&table->column[c]) ? "<th class=\"right\">"
								    : "<th>", plain->file);
			put_text(plain->file, table->column[c].title);
			fputs("</th>", plain->file);
		}
	fputs("</tr></thead><tbody>\n", plain->file);
	for (uint32_t row = 0; row < n_rows; row++)
		put_row(plain->file, table, row);
	fputs("</tbody></table></div>\n", plain->file);
	if (n_rows < table->n_rows)
		fprintf(plain->file, "<p>%u more rows are shown where the page's script runs.</p>\n",
			table->n_rows - n_rows);
}

void tp_html_plain_put(struct tp_html_plain *plain, struct tp_html *html)
{
	if (!plain)
		return;
	fclose(plain->file);
	tp_html_raw(html, "<div id=\"plain\">\n");
	tp_outfile_bytes(html->out, plain->bytes, plain->n_bytes);
	tp_html_raw(html, "</div>\n");
	free(plain->bytes);
	free(plain);
}
