/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_in.h - the inside of a table, for those that show it: table_text.c, table_rows.c and the
 * page's html_tables.c
 */
#ifndef TP_MERGE_TABLE_IN_H
#define TP_MERGE_TABLE_IN_H

#include "merge/model/table.h"

enum {
	TP_TABLE_COLUMNS = 32,
	TP_BAR_MOST = 40,			/* columns of a bar */
	TP_CELL_SHOWN = 3 * TP_BAR_MOST + 1,	/* bytes of a figure or a bar, as UTF-8 */
};

struct tp_cell {
	enum tp_cell_kind { TP_CELL_NONE, TP_CELL_TEXT, TP_CELL_INTEGER, TP_CELL_REAL,
			    TP_CELL_PERCENT } kind;
	uint8_t decimals;	/* of a real */
	union {
		char *text;	/* printable, from malloc; NULL: memory ran out */
		int64_t integer;
		double real;
		struct {
			double part, whole;
		};
	};
};

struct tp_table_row {
	const char *style;
	uint32_t depth;
};

struct tp_table {
	const struct tp_table_def *def;
	const void *ctx;
	struct tp_out *out;
	uint32_t top;		/* rows that are shown; 0: all */
	bool tells_left;	/* how many are not; else the view does */
	struct tp_column column[TP_TABLE_COLUMNS];
	uint32_t n_columns;
	/* Kept until all are known; rows for programs are written as they come: one of each. */
	struct tp_cell *cell;
	struct tp_table_row *row;
	uint32_t n_rows, cap_cells, cap_rows;
	uint32_t n_added, n_shown;
	/* Rows that are still to be sorted, by a column. */
	uint32_t order;		/* TP_TABLE_COLUMNS: none */
	struct tp_table_key *key;
	uint32_t n_keys, cap_keys;
	/* Of rows for programs. */
	FILE *file;
	uint8_t *csv_cell;	/* for each field of the header: a column, or one of TP_CSV_ */
	uint32_t n_csv_cells;
};
enum { TP_CSV_PROCESS = 0xfe, TP_CSV_EMPTY = 0xff };

static inline bool tp_column_is_right(const struct tp_column *column)
{
	if (column->how & (TP_TO_LEFT | TP_TO_RIGHT))
		return column->how & TP_TO_RIGHT;
	return column->unit != TP_UNIT_TEXT && column->unit != TP_UNIT_PLACE &&
	       column->unit != TP_UNIT_BAR;
}

static inline const struct tp_cell *tp_table_cells(const struct tp_table *table, uint32_t row)
{
	return table->cell + (size_t)row * table->n_columns;
}

/* Of cells, for programs: a text without blanks before it, "" for none; a share in percent; is the text
 * in a column of figures a number as JSON has them? */
const char *tp_cell_text(const struct tp_cell *cell);
double tp_cell_percent(const struct tp_cell *cell);
bool tp_cell_is_number(const struct tp_cell *cell);

/* For people, whole: in buf, or the cell's own text. */
const char *tp_cell_show(char buf[TP_CELL_SHOWN], const struct tp_table *table, uint32_t row,
			 uint32_t c);
/* With the widths that fit; all rows. */
void tp_table_text(const struct tp_table *table);
/* The file, and a line of names where the format has one and none is there; then row after row. */
void tp_table_rows_begin(struct tp_table *table);
void tp_table_rows_put(const struct tp_table *table);
void tp_table_rows_end(struct tp_table *table);

#endif
