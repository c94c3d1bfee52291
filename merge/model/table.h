/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - tables: what a view makes, whoever reads them
 *
 * A table is its columns, written down once, in a function: each line of it says all about a
 * column - its field, its title, its unit, how it gives way, one line of help, and its cell of a
 * row. That function is called for each row, and without one to learn which columns there are.
 * Text for a terminal (table_text.c), rows for programs (table_rows.c), the page's data
 * (html_tables.c), --sort, --help-columns and the check of the manual come from it.
 *
 *	static void columns(struct tp_row *r, const void *ctx, const void *of)
 *	{
 *		const struct state *state = ctx;
 *		const struct operator *row = of;
 *
 *		TP_TEXT(r, "operator", "operator", TP_CUT, "name", "%s", row->name);
 *		TP_NS(r, "self_ns", "self", 0, "its own time", row->self_ns);
 *		TP_WHEN(r, state->has_device)
 *			TP_NS(r, "device_ns", "GPU", TP_LESS(1), "time on devices", row->device_ns);
 *	}
 *
 * Without a row only what TP_WHEN and the cells say of `ctx` is not looked at.
 * When memory is out, rows are left out; nothing here fails.
 */
#ifndef TP_MERGE_TABLE_H
#define TP_MERGE_TABLE_H

#include "merge/model/out.h"

enum tp_unit {
	TP_UNIT_TEXT,
	TP_UNIT_PLACE,		/* a line of code: file:line function */
	TP_UNIT_NS,
	TP_UNIT_BYTES,
	TP_UNIT_COUNT,
	TP_UNIT_NUMBER,		/* what is called by a number: a step, a process */
	TP_UNIT_REAL,
	TP_UNIT_PERCENT,
	TP_UNIT_BAR,		/* a share, drawn */
	TP_UNITS
};
const char *tp_unit_name(enum tp_unit unit);	/* "ns" */

/* How a column behaves; added up. */
#define TP_LESS(n) (n)	/* left out where there is no room, the largest first; 1..255 */
enum {
	TP_CUT = 0x100,		/* text: cut in the middle when the table is too wide */
	TP_TO_LEFT = 0x200,	/* against its unit: figures are aligned right, text left */
	TP_TO_RIGHT = 0x400,
	TP_ROWS_ONLY = 0x800,	/* for programs, would be too wide for people */
	TP_TREE = 0x1000,	/* indented by the depth of its row */
	TP_INSET = 0x2000,	/* two columns from the left */
	TP_SIGNED = 0x4000,	/* "+" before what is not negative */
};

struct tp_column {
	const char *field;	/* a name for ever, "self_ns"; NULL: for people only */
	const char *title;	/* NULL: in rows only */
	const char *help;	/* a line: of --help-columns */
	enum tp_unit unit;
	uint32_t how;
};

struct tp_row;
typedef void tp_table_columns(struct tp_row *r, const void *ctx, const void *of);

/* What is known of a table before there is a run. */
struct tp_table_def {
	const char *name;	/* in rows; NULL: for people only */
	const char *help;
	tp_table_columns *columns;
	const char *order;	/* field that it is sorted by; NULL: as its rows come */
	uint32_t row_bytes;	/* rows are copied; 0: they live as long as the table */
};

/* Limits of a table's rows that are no number. */
enum { TP_TOP_ASKED = UINT32_MAX, /* --top's, where it is given; what is left is told */
       TP_TOP_NONE = UINT32_MAX - 1 /* the view has chosen them */ };

/* NULL, when memory is out, is a table that takes nothing. top: rows that are shown; 0: all. */
struct tp_table *tp_table_begin(const struct tp_table_def *def, const void *ctx, uint32_t top,
				struct tp_out *out);
void tp_table_add(struct tp_table *table, const void *row);
/* Prints what is not printed yet, frees it. Returns how many rows are not shown. */
uint32_t tp_table_end(struct tp_table *table);
/* All of it at once: n rows of `size` bytes. */
uint32_t tp_table_show(const struct tp_table_def *def, const void *ctx, const void *rows,
		       uint32_t n, size_t size, uint32_t top, struct tp_out *out);

/* Its columns without a run: all that it may have. Returns their number, at most `cap`. */
uint32_t tp_table_outline(const struct tp_table_def *def, struct tp_column *column, uint32_t cap);
/* What the field that it is sorted by means. */
const char *tp_table_order(const struct tp_table_def *def, const void *ctx, struct tp_out *out);
bool tp_table_has_field(const struct tp_table_def *def, const char *field);

/* ---- in the function of a table's columns ---- */

/* Only when there is a condition's case; without a run every column is there. */
#define TP_WHEN(r, condition) if (tp_row_is_outline(r) || (condition))

/* put: what gives the cell, one of those below; it is called when there is a row. */
#define TP_CELL(r, field, title, unit, how, help, put)                                             \
	do {                                                                                       \
		if (tp_row_takes(r, &(const struct tp_column){field, title, help, unit, how}))     \
			put;                                                                       \
	} while (0)
#define TP_NS(r, field, title, how, help, ns)                                                      \
	TP_CELL(r, field, title, TP_UNIT_NS, how, help, tp_row_integer(r, ns))
#define TP_BYTES(r, field, title, how, help, bytes)                                                \
	TP_CELL(r, field, title, TP_UNIT_BYTES, how, help, tp_row_integer(r, (int64_t)(bytes)))
#define TP_COUNT(r, field, title, how, help, n)                                                    \
	TP_CELL(r, field, title, TP_UNIT_COUNT, how, help, tp_row_count(r, n))
#define TP_NUMBER(r, field, title, how, help, n)                                                   \
	TP_CELL(r, field, title, TP_UNIT_NUMBER, how, help, tp_row_count(r, n))
#define TP_REAL(r, field, title, how, help, value, decimals)                                       \
	TP_CELL(r, field, title, TP_UNIT_REAL, how, help, tp_row_real(r, value, decimals))
#define TP_PERCENT(r, field, title, how, help, part, whole)                                        \
	TP_CELL(r, field, title, TP_UNIT_PERCENT, how, help,                                       \
		tp_row_percent(r, (double)(part), (double)(whole)))
#define TP_TEXT(r, field, title, how, help, ...)                                                   \
	TP_CELL(r, field, title, TP_UNIT_TEXT, how, help, tp_row_text(r, __VA_ARGS__))
#define TP_PLACE(r, field, title, how, help, ...)                                                  \
	TP_CELL(r, field, title, TP_UNIT_PLACE, how, help, tp_row_text(r, __VA_ARGS__))

/* A cell that nobody gives is empty: not known. */
void tp_row_integer(struct tp_row *r, int64_t value);
void tp_row_count(struct tp_row *r, uint64_t n);
void tp_row_real(struct tp_row *r, double value, uint8_t decimals);
void tp_row_percent(struct tp_row *r, double part, double whole);
/* Of a column of figures: what stands in place of one. */
void tp_row_text(struct tp_row *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Of the whole row: "" none, "bold", "dim", "red", "yellow", "green"; how deep in what is above. */
#define TP_STYLE(r, style) (tp_row_is_there(r) ? tp_row_style(r, style) : (void)0)
#define TP_DEPTH(r, depth) (tp_row_is_there(r) ? tp_row_depth(r, depth) : (void)0)
void tp_row_style(struct tp_row *r, const char *style);
void tp_row_depth(struct tp_row *r, uint32_t depth);
bool tp_row_is_there(const struct tp_row *r);
/* For programs, who want names whole; else for people, on a terminal or in the page. */
bool tp_row_is_for_programs(const struct tp_row *r);
bool tp_row_is_for_terminal(const struct tp_row *r);
bool tp_row_is_outline(const struct tp_row *r);
/* Is this column's cell to be given now? Not to be called but by TP_CELL. */
bool tp_row_takes(struct tp_row *r, const struct tp_column *column);

#endif
