/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_in.h - the inside of a table, for table.c (text) and rows.c (CSV, JSON) only
 */
#ifndef TP_MERGE_TABLE_IN_H
#define TP_MERGE_TABLE_IN_H

#include "merge/model/table.h"

enum { TP_TABLE_COLUMNS = 24 };

struct tp_cell {
	char *text;		/* printable, from malloc; NULL: memory ran out */
	uint32_t n_bytes, columns;
	enum tp_cell_kind { TP_CELL_TEXT, TP_CELL_INTEGER, TP_CELL_REAL } kind;
	char unit;		/* of integers: 'n's, 'b'ytes, a 'c'ount */
	int64_t integer;
	double real;		/* percent */
};

struct tp_table {
	struct tp_column column[TP_TABLE_COLUMNS];
	uint32_t n_columns;
	struct tp_cell *cell;
	uint32_t n_cells, cap_cells;
	const char **style;	/* of each row */
	uint32_t cap_styles;
	const char *name;	/* in rows; NULL: the table is for people only */
	bool is_begun;		/* its first rows were written: tp_table_flush */
};

#endif
