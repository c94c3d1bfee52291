/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_rows.h - rows of structs into batches, for tables that no view shows
 *
 * A row is a struct of int64_t, double and const char * alone; a column says where in it its value
 * stands, so that its name, its unit and its cell are one line:
 *
 *	TP_RAW(struct span, dur_ns, TP_UNIT_NS, "how long it took")
 *
 * Not known: TP_RAW_NONE, NAN, NULL. Batches that are full wait to be taken. Memory: one batch, and
 * those that wait.
 */
#ifndef TP_MERGE_ARROW_RAW_ROWS_H
#define TP_MERGE_ARROW_RAW_ROWS_H

#include <stddef.h>

#include "merge/arrow/batch.h"

#define TP_RAW_NONE INT64_MIN

struct tp_raw_column {
	const char *field;	/* NULL: there are no more */
	enum tp_unit unit;
	uint32_t at;		/* in the row's struct */
	bool is_stable;		/* a text that lives, as it is, as long as the run */
	const char *help;
};
#define TP_RAW(row, field, unit, help) {#field, unit, offsetof(row, field), false, help}
#define TP_RAW_NAME(row, field, help) {#field, TP_UNIT_TEXT, offsetof(row, field), true, help}

struct tp_raw_rows {
	struct tp_shape shape;
	const struct tp_raw_column *column;
	struct tp_words words[TP_BATCH_COLUMNS];
	uint8_t text[TP_BATCH_COLUMNS];	/* those of the columns that are picked */
	uint32_t n_texts;
	char *some;			/* rows that are no cells yet; texts are numbers of words */
	uint32_t n_some, row_bytes;
	struct tp_batch_spare *spare;
	struct tp_batch *open;		/* NULL: none yet */
	struct tp_batch **ready;	/* from n_taken on */
	uint32_t n_ready, n_taken, cap_ready;
};

/* All columns are picked. */
void tp_raw_rows_shape(struct tp_shape *shape, const char *name, const char *help,
		   const struct tp_raw_column *column);
void tp_raw_rows_init(struct tp_raw_rows *rows, const char *name, const char *help,
		  const struct tp_raw_column *column);
/* Before the first row: these columns alone, in this order. */
void tp_raw_rows_pick(struct tp_raw_rows *rows, const uint8_t *picked, uint32_t n_picked);
void tp_raw_rows_free(struct tp_raw_rows *rows);
void tp_raw_rows_put(struct tp_raw_rows *rows, const void *row);
/* A batch with room for `n` rows more, for who puts them by column and counts them in n_rows. Rows of a table
 * are put one by one, or all of them by column. */
struct tp_batch *tp_raw_rows_batch(struct tp_raw_rows *rows, uint32_t n);
/* There are no more: what is open is ready. */
void tp_raw_rows_end(struct tp_raw_rows *rows);
/* The next one that is ready, the taker's; NULL: none. */
struct tp_batch *tp_raw_rows_take(struct tp_raw_rows *rows);

#endif
