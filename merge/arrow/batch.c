/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - some rows of a table as columns of Arrow, which consumers hold
 */
#include "merge/arrow/batch.h"

#include <string.h>

struct tp_batch *tp_batch_new(const struct tp_shape *shape, uint32_t room)
{
	struct tp_batch *batch = tp_need(1, sizeof(*batch) + shape->n_columns * sizeof(*batch->cells));

	batch->n_holders = 1;
	batch->n_columns = shape->n_columns;
	for (uint32_t i = 0; i < shape->n_picked; i++) {
		struct tp_cells *cells = &batch->cells[shape->picked[i]];

		/* Not zeroed: every cell is written before it is read. */
		cells->values = malloc((size_t)room * sizeof(*cells->integer));
		if (!cells->values)
			tp_need_failed();
		cells->cap_values = room;
	}
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

void tp_batch_let_go(struct tp_batch *batch)
{
	if (!batch || --batch->n_holders)
		return;
	for (uint32_t c = 0; c < batch->n_columns; c++) {
		free(batch->cells[c].valid);
		free(batch->cells[c].values);
		tp_words_let_go(batch->cells[c].words);
	}
	free(batch);
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
