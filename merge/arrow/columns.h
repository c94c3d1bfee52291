/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - the rows of one table of a view as batches, which streams share
 *
 * Built by one thread from the rows that a table gives (TP_ROWS_GIVEN), then only read: who holds
 * one counts, the last one frees. Every column that the table may have is there, whatever the run,
 * and "process" before them, unless a column of theirs says whose a row is. Memory that is out: kit/need.h.
 */
#ifndef TP_MERGE_ARROW_COLUMNS_H
#define TP_MERGE_ARROW_COLUMNS_H

#include "merge/arrow/stream.h"

struct tp_columns {
	struct tp_shape shape;
	struct tp_words words[TP_BATCH_COLUMNS];	/* of all batches */
	uint8_t from[TP_BATCH_COLUMNS];	/* column of the table that gives rows now */
	struct tp_batch **batch;
	uint32_t n_batches, cap_batches;
	atomic_uint n_holders;
};

/* Fills a shape without a run; all columns are picked. */
void tp_columns_shape(struct tp_shape *shape, const struct tp_table_def *def);
struct tp_columns *tp_columns_new(const struct tp_table_def *def);
void tp_columns_hold(struct tp_columns *columns);
void tp_columns_let_go(struct tp_columns *columns);	/* NULL: nothing */

/* A table of that definition begins; a row of it; there are no more of any. */
void tp_columns_begin(struct tp_columns *columns, const struct tp_table *table);
void tp_columns_row(struct tp_columns *columns, const struct tp_table *table);
void tp_columns_end(struct tp_columns *columns);
/* Its batches, any number of times. */
struct tp_source *tp_columns_source(struct tp_columns *columns);

#endif
