/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out.h - where views print: titles, lines and items of text, and tables (table.h)
 *
 * Strings come from traces and are not trusted: control characters are shown as \xNN and
 * bytes that are not UTF-8 as U+FFFD; width is counted in columns of a terminal.
 */
#ifndef TP_MERGE_OUT_H
#define TP_MERGE_OUT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "merge/kit/show.h"

/* Rows for programs in place of text for people: table_rows.c. */
enum tp_rows { TP_ROWS_NONE, TP_ROWS_CSV, TP_ROWS_JSONL, TP_ROWS_GIVEN /* to struct tp_rows_to */ };

struct tp_table;
struct tp_table_def;

/* Where rows go but one after the other, and which fields a file of CSV has. */
struct tp_rows_to {
	const char *folder;	/* a file a table in there: "operator.csv"; NULL: one file of all */
	const char *const *field; /* of the one file's header: of all tables that may come */
	uint32_t n_fields;
	bool has_header;	/* that one file */
	const struct tp_table_def *begun[128];	/* these tables have a file of their own */
	uint32_t n_begun;
	bool is_bad;		/* something could not be written, and that was said */
	/* TP_ROWS_GIVEN: a table begins, and its rows, whose cells are the table's (table_in.h). */
	void (*begin)(void *ctx, const struct tp_table *table);
	void (*row)(void *ctx, const struct tp_table *table);
	void *ctx;
};

/* Who takes what views print, in place of a file: the page (html_tables.h). Texts are printable. */
struct tp_out_to {
	/* kind: 't'itle, 'l'ine or 'i'tem; indent: columns of a line; label: of items, else NULL */
	void (*text)(void *ctx, char kind, const char *style, uint32_t indent, const char *label,
		     const char *text);
	void (*table)(void *ctx, const struct tp_table *table);
	void *ctx;
};

struct tp_out {
	FILE *file;
	uint32_t width;		/* columns; 100 when not a terminal */
	bool is_whole;		/* names are not cut to the width: grep is to find them */
	bool has_color;		/* a terminal that has colours, and NO_COLOR is not set */
	enum tp_rows rows;	/* else titles, lines and items are not printed */
	struct tp_rows_to *rows_to; /* of rows */
	const char *who;	/* field "process" of the next rows; NULL: of all of them */
	const char *sort;	/* --sort: tables that have this field are sorted by it; NULL */
	uint32_t top;		/* --top, for tables without a limit of their own; 0: all */
	const struct tp_out_to *to; /* NULL: to `file` */
};

/* Tables that people would not read on a terminal (each step of each rank) are wanted, too. */
static inline bool tp_out_is_full(const struct tp_out *out)
{
	return out->rows || out->to;
}

/* A picture made of characters says something: the page has charts, programs draw their own. */
static inline bool tp_out_is_terminal(const struct tp_out *out)
{
	return !tp_out_is_full(out);
}

/* A title has an empty line before it; a line is broken at spaces where it does not fit, and
 * goes on below its own indentation. */
void tp_out_title(struct tp_out *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void tp_out_line(struct tp_out *out, const char *style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "  label      text", the text broken and continued under its own begin. */
void tp_out_item(struct tp_out *out, const char *style, uint32_t label_columns,
		 const char *label, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* "N more rows: --top 0 shows all.", if any were left out; the page has no command line. */
void tp_out_left(struct tp_out *out, uint64_t n, const char *what);

/* ---- for table_text.c ---- */

/* What switches a terminal to a style; "": none. */
const char *tp_out_style(const struct tp_out *out, const char *style);
void tp_out_pad(FILE *file, uint32_t columns);
/* The formatted text made printable, from malloc; NULL when memory is out. */
char *tp_out_format(const char *format, va_list args);

#endif
