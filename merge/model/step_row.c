/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_row.c - finds a step's line of the ledger
 */
#include "merge/model/step_row.h"

const struct tp_step_row *tp_step_row_find(const struct tp_step_row *rows, uint32_t n,
					   const struct tp_proc *proc, uint64_t index)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct tp_step_row *row = &rows[middle];

		if (row->proc->at < proc->at || (row->proc == proc && row->index < index))
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && rows[low].proc == proc && rows[low].index == index ? &rows[low] : NULL;
}
