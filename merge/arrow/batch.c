/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - some rows of a table as columns of Arrow, which consumers hold
 */
#include "merge/arrow/batch.h"

#include <string.h>

struct tp_batch_spare {
	atomic_uint n_holders;
	_Atomic(struct tp_batch *) batch;	/* nobody's; NULL: none */
};

struct tp_batch_spare *tp_batch_spare_new(void)
{
	struct tp_batch_spare *spare = tp_need(1, sizeof(*spare));

	spare->n_holders = 1;
	return spare;
}

static void free_batch(struct tp_batch *batch)
{
	if (!batch)
		return;
	for (uint32_t c = 0; c < batch->n_columns; c++) {
		free(batch->cells[c].valid);
		free(batch->cells[c].values);
	}
	free(batch);
}

void tp_batch_spare_let_go(struct tp_batch_spare *spare)
{
	if (!spare || --spare->n_holders)
		return;
	free_batch(spare->batch);
	free(spare);
}

/* Not zeroed: every cell is written before it is read. */
static void make_room(struct tp_cells *cells, uint32_t room)
{
	if (cells->cap_values >= room)
		return;
	free(cells->values);
	cells->cap_values = 0;
	cells->values = malloc((size_t)room * sizeof(*cells->integer));
	if (!cells->values)
		tp_need_failed();
	cells->cap_values = room;
}

struct tp_batch *tp_batch_new(const struct tp_shape *shape, uint32_t room, struct tp_batch_spare *spare)
{
	struct tp_batch *batch = spare ? atomic_exchange(&spare->batch, NULL) : NULL;

	if (!batch) {
		batch = tp_need(1, sizeof(*batch) + shape->n_columns * sizeof(*batch->cells));
		batch->n_columns = shape->n_columns;
	}
	for (uint32_t i = 0; i < shape->n_picked; i++)
		make_room(&batch->cells[shape->picked[i]], room);
	batch->n_holders = 1;
	batch->spare = spare;
	if (spare)
		spare->n_holders++;
	return batch;
}

void tp_batch_seal(struct tp_batch *batch, const struct tp_shape *shape, struct tp_words *words)
{
	for (uint32_t i = 0; i < shape->n_picked; i++) {
		uint32_t at = shape->picked[i];

		if (tp_batch_type(shape->column[at].unit) == TP_BATCH_WORDS)
			batch->cells[at].words = tp_words_keep(&words[at]);
	}
}

void tp_batch_hold(struct tp_batch *batch)
{
	batch->n_holders++;
}

static void empty(struct tp_cells *cells)
{
	tp_words_let_go(cells->words);
	free(cells->valid);
	*cells = (struct tp_cells){.values = cells->values, .cap_values = cells->cap_values};
}

void tp_batch_let_go(struct tp_batch *batch)
{
	struct tp_batch_spare *spare;

	if (!batch || --batch->n_holders)
		return;
	spare = batch->spare;
	for (uint32_t c = 0; c < batch->n_columns; c++)
		empty(&batch->cells[c]);
	batch->n_rows = 0;
	free_batch(spare ? atomic_exchange(&spare->batch, batch) : batch);
	tp_batch_spare_let_go(spare);
}

void tp_cells_first_null(struct tp_cells *cells)
{
	tp_need_room(&cells->valid, &cells->cap_valid, cells->n / 8 + 1, 1);
	memset(cells->valid, 0xff, cells->n / 8);
	cells->valid[cells->n / 8] = (uint8_t)((1 << cells->n % 8) - 1);
}

void tp_cells_mask(struct tp_cells *cells, uint32_t n, const uint64_t *there)
{
	/* Words are written whole, at any bit: nine bytes from the first one's on. */
	tp_need_room(&cells->valid, &cells->cap_valid, (uint64_t)(cells->n + n) / 8 + 16, 1);
	for (uint32_t i = 0; i < n; i += 64) {
		uint32_t at = cells->n + i, shift = at % 8, left = n - i;
		uint64_t mask = there ? there[i / 64] : UINT64_MAX, word;

		if (left < 64)
			mask &= (UINT64_C(1) << left) - 1;
		cells->n_null += (left < 64 ? left : 64) - (uint32_t)__builtin_popcountll(mask);
		memcpy(&word, cells->valid + at / 8, sizeof(word));
		word |= mask << shift;
		memcpy(cells->valid + at / 8, &word, sizeof(word));
		if (shift)
			cells->valid[at / 8 + 8] |= (uint8_t)(mask >> (64 - shift));
	}
}
