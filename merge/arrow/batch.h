/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - some rows of a table as columns of Arrow, which consumers hold
 *
 * One thread fills a batch, column by column or row by row; sealed it is only read: who holds it
 * counts, the last one frees. Memory that is out: kit/need.h.
 */
#ifndef TP_MERGE_ARROW_BATCH_H
#define TP_MERGE_ARROW_BATCH_H

#include "merge/arrow/words.h"
#include "merge/kit/need.h"
#include "merge/model/table_in.h"

enum {
	/* Of a batch, at most: one of events, of 1.5 MiB, lies in the caches that its consumer shares. */
	TP_BATCH_ROWS = 1 << 14,
	TP_BATCH_COLUMNS = TP_TABLE_COLUMNS + 1,
};

/* What Arrow calls them; texts are numbers of words. */
enum tp_batch_type { TP_BATCH_INT64 = 'l', TP_BATCH_FLOAT64 = 'g', TP_BATCH_WORDS = 'i' };

static inline enum tp_batch_type tp_batch_type(enum tp_unit unit)
{
	switch (unit) {
	case TP_UNIT_TEXT:
	case TP_UNIT_PLACE:
		return TP_BATCH_WORDS;
	case TP_UNIT_REAL:
	case TP_UNIT_PERCENT:
	case TP_UNIT_BAR:
		return TP_BATCH_FLOAT64;
	default:
		return TP_BATCH_INT64;
	}
}

/* Which columns a table has, and which of them a stream gives. */
struct tp_shape {
	const char *name, *help;
	struct tp_column column[TP_BATCH_COLUMNS];
	uint32_t n_columns;
	uint8_t picked[TP_BATCH_COLUMNS];	/* in the order of the stream */
	uint32_t n_picked;
};

struct tp_cells {
	uint8_t *valid;		/* a bit a row; NULL: every cell is there */
	union {
		void *values;
		int64_t *integer;
		double *real;
		int32_t *word;
	};
	uint32_t n, cap_valid, cap_values, n_null;
	struct tp_words_kept *words;	/* of a sealed batch, of texts */
};

struct tp_batch {
	atomic_uint n_holders;
	uint32_t n_rows, n_columns;
	struct tp_batch_spare *spare;	/* where it goes when the last holder lets go; NULL */
	struct tp_cells cells[];
};

/* A batch that nobody holds any more, for the next one of the same table: its memory is mapped already.
 * Held by who makes batches and by each batch; any thread. */
struct tp_batch_spare;
struct tp_batch_spare *tp_batch_spare_new(void);
void tp_batch_spare_let_go(struct tp_batch_spare *spare);	/* NULL: nothing */

/* With room for `room` rows in the columns that are picked; they have no cells yet. spare: of batches of
 * this shape alone, NULL: none. */
struct tp_batch *tp_batch_new(const struct tp_shape *shape, uint32_t room, struct tp_batch_spare *spare);
/* All columns that are picked have n_rows cells; words by column. */
void tp_batch_seal(struct tp_batch *batch, const struct tp_shape *shape, struct tp_words *words);
void tp_batch_hold(struct tp_batch *batch);
void tp_batch_let_go(struct tp_batch *batch);	/* NULL: nothing */

/* The first cell that is not there is behind the last one. */
void tp_cells_first_null(struct tp_cells *cells);

/* The cell that was just put behind the others is there. */
static inline void tp_cells_there(struct tp_cells *cells)
{
	if (cells->valid) {
		tp_need_room(&cells->valid, &cells->cap_valid, cells->n / 8 + 1, 1);
		cells->valid[cells->n / 8] |= (uint8_t)(1 << cells->n % 8);
	}
	cells->n++;
}

/* Behind the last cell come n, of which these are there, 64 a word; NULL: all. n_null is counted, n not. */
void tp_cells_mask(struct tp_cells *cells, uint32_t n, const uint64_t *there);

static inline void tp_cells_absent(struct tp_cells *cells)
{
	if (!cells->valid)
		tp_cells_first_null(cells);
	tp_need_room(&cells->valid, &cells->cap_valid, cells->n / 8 + 1, 1);
	cells->n_null++;
	cells->n++;
}

static inline void tp_cells_integer(struct tp_cells *cells, int64_t value)
{
	tp_need_room(&cells->values, &cells->cap_values, (uint64_t)cells->n + 1, 8);
	cells->integer[cells->n] = value;
	tp_cells_there(cells);
}

static inline void tp_cells_real(struct tp_cells *cells, double value)
{
	tp_need_room(&cells->values, &cells->cap_values, (uint64_t)cells->n + 1, 8);
	cells->real[cells->n] = value;
	tp_cells_there(cells);
}

static inline void tp_cells_word(struct tp_cells *cells, int32_t word)
{
	tp_need_room(&cells->values, &cells->cap_values, (uint64_t)cells->n + 1, 8);
	cells->word[cells->n] = word;
	tp_cells_there(cells);
}

/* Not known: what stands there is zero. */
static inline void tp_cells_null(struct tp_cells *cells)
{
	tp_need_room(&cells->values, &cells->cap_values, (uint64_t)cells->n + 1, 8);
	cells->integer[cells->n] = 0;
	tp_cells_absent(cells);
}

static inline void tp_cells_no_word(struct tp_cells *cells)
{
	tp_need_room(&cells->values, &cells->cap_values, (uint64_t)cells->n + 1, 8);
	cells->word[cells->n] = 0;
	tp_cells_absent(cells);
}

/* n cells more, all there, of integers or reals in a batch with room for them, for the caller to write. */
static inline void *tp_cells_more(struct tp_cells *cells, uint32_t n)
{
	void *from = cells->integer + cells->n;

	if (cells->valid)
		tp_cells_mask(cells, n, NULL);
	cells->n += n;
	return from;
}

#endif
