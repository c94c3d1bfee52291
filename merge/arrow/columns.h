/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - the rows of one table as columns in batches, which streams share
 *
 * Built by one thread from the rows that a table gives (TP_ROWS_GIVEN), then only read: who holds
 * one counts, the last one frees. Every column that the table may have is there, whatever the run,
 * and "process" before them, unless a column of theirs says whose a row is. Memory that is out: kit/need.h.
 */
#ifndef TP_MERGE_ARROW_COLUMNS_H
#define TP_MERGE_ARROW_COLUMNS_H

#include <stdatomic.h>

#include "merge/arrow/words.h"
#include "merge/model/table_in.h"

enum { TP_COLUMNS_ROWS = 1 << 16 }; /* of a batch, at most */

/* What Arrow calls them; texts are numbers of words. */
enum tp_columns_type { TP_COLUMNS_INT64 = 'l', TP_COLUMNS_FLOAT64 = 'g', TP_COLUMNS_WORDS = 'i' };

struct tp_columns_values {
	uint8_t *valid;		/* a bit a row */
	union {
		void *values;
		int64_t *integer;
		double *real;
		int32_t *word;
	};
	uint32_t cap_valid, cap_values, n_null;
};

struct tp_columns_batch {
	struct tp_columns_values value[TP_TABLE_COLUMNS + 1];
	uint32_t n_rows;
};

struct tp_columns {
	const struct tp_table_def *def;
	struct tp_column column[TP_TABLE_COLUMNS + 1];
	struct tp_words words[TP_TABLE_COLUMNS + 1];	/* of all batches */
	uint32_t n_columns;
	uint8_t from[TP_TABLE_COLUMNS + 1];	/* column of the table that gives rows now */
	struct tp_columns_batch **batch;
	uint32_t n_batches, cap_batches;
	atomic_uint n_holders;
};

struct tp_columns *tp_columns_new(const struct tp_table_def *def);
void tp_columns_hold(struct tp_columns *columns);
void tp_columns_let_go(struct tp_columns *columns);	/* NULL: nothing */

enum tp_columns_type tp_columns_type(const struct tp_column *column);
/* A table of that definition begins; a row of it. */
void tp_columns_begin(struct tp_columns *columns, const struct tp_table *table);
void tp_columns_row(struct tp_columns *columns, const struct tp_table *table);

#endif
