/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - text tables that fit the terminal, and numbers as people read them
 *
 * Strings come from traces and are not trusted: control characters are shown as \xNN and
 * bytes that are not UTF-8 as U+FFFD; width is counted in columns of a terminal.
 */
#ifndef TP_MERGE_TABLE_H
#define TP_MERGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "merge/kit/show.h"

/* Rows for programs in place of text for people: rows.h. */
enum tp_rows { TP_ROWS_NONE, TP_ROWS_CSV, TP_ROWS_JSONL };

struct tp_table;

/* Who takes what views print, in place of a file: the page (html_tables.h). Texts are printable. */
struct tp_out_to {
	/* kind: 't'itle, 'l'ine or 'i'tem; label: of items, else NULL */
	void (*text)(void *ctx, char kind, const char *style, const char *label, const char *text);
	void (*table)(void *ctx, const struct tp_table *table);
	void *ctx;
};

struct tp_out {
	FILE *file;
	uint32_t width;		/* columns; 100 when not a terminal */
	bool has_color;		/* a terminal, and NO_COLOR is not set */
	enum tp_rows rows;	/* else titles, lines and items are not printed */
	uint32_t n_rows_tables;	/* printed so far */
	const char *who;	/* field "process" of the next rows; NULL: of all of them */
	const struct tp_out_to *to; /* NULL: to `file` */
};

/* Tables that people would not read on a terminal (each step of each rank) are wanted, too. */
static inline bool tp_out_is_full(const struct tp_out *out)
{
	return out->rows || out->to;
}

enum tp_align { TP_LEFT, TP_RIGHT };

struct tp_column {
	const char *title;
	enum tp_align align;
	bool may_cut;		/* text: cut in the middle when the table is too wide */
	uint8_t is_extra;	/* left out when even that is not enough: the greatest first; 0: stays */
	const char *field;	/* in rows: a name for ever, "self_ns"; NULL: not in them */
};

/* Collects cells row by row, then prints with the widths that fit. */
struct tp_table *tp_table_new(const struct tp_column *column, uint32_t n_columns);
/* What it is called in rows; without, it is not in them. */
void tp_table_name(struct tp_table *table, const char *name);
void tp_table_cell(struct tp_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Cells as the tp_show_ functions below write them. */
void tp_cell_ns(struct tp_table *table, int64_t ns);
void tp_cell_bytes(struct tp_table *table, int64_t bytes);
void tp_cell_count(struct tp_table *table, uint64_t n);
void tp_cell_percent(struct tp_table *table, double part, double whole);
/* A style for the row of the cell last given: "" none, "bold", "dim", "red", "yellow",
 * "green". */
void tp_table_style(struct tp_table *table, const char *style);
void tp_table_print(struct tp_table *table, struct tp_out *out);	/* and frees it */
/* Writes the rows so far and forgets them, for tables of very many: rows for programs only. */
void tp_table_flush(struct tp_table *table, struct tp_out *out);

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

#endif
