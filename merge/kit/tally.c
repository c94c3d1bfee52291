/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.c - counts by two numbers
 */
#include "merge/kit/tally.h"

#include <stdlib.h>

#include "merge/kit/need.h"

uint64_t tp_tally_add(struct tp_tally *tally, uint32_t a, uint32_t b, uint64_t n)
{
	uint32_t hash = tp_keyed_hash((uint64_t)a << 32 | b), at, row;

	for (row = tp_keyed_first(&tally->by, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&tally->by, hash, &at))
		if (tally->row[row].a == a && tally->row[row].b == b)
			break;
	if (row == TP_NO_KEYED) {
		row = tally->n_rows++;
		tp_need_room(&tally->row, &tally->cap_rows, tally->n_rows, sizeof(*tally->row));
		tally->row[row] = (struct tp_tally_row){a, b, 0};
		tp_need_keyed(&tally->by, hash, row);
	}
	tally->row[row].n += n;
	return tally->row[row].n;
}

void tp_tally_free(struct tp_tally *tally)
{
	free(tally->row);
	tp_keyed_free(&tally->by);
}
