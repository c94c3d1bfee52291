/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers.h - what numbers of one file mean in the run: of stacks, of paths of modules
 *
 * Numbers are those of a window's file. Of a process those of the newest two windows are kept: spans
 * of one may come after the first events of the next. Zeroed is empty; 0 means nothing.
 */
#ifndef TP_MERGE_NUMBERS_H
#define TP_MERGE_NUMBERS_H

#include "merge/kit/keyed.h"

struct tp_numbers_file {
	uint32_t window;
	struct tp_keyed keyed;	/* hash: of the number, one to one; row: the meaning */
};

struct tp_numbers {		/* of a process */
	struct tp_numbers_file file[2];	/* by window modulo two */
};

/* The product is one to one: no row has to be looked at. */
static inline uint32_t tp_numbers_hash(uint32_t number)
{
	return number * 0x9e3779b1u;
}

/* Those of a window; NULL: it is older than those that are kept. */
static inline struct tp_numbers_file *tp_numbers_of(struct tp_numbers *numbers, uint32_t window)
{
	struct tp_numbers_file *file = &numbers->file[window & 1];

	if (file->window != window && file->keyed.slot) {
		if (file->window > window)
			return NULL;
		tp_keyed_free(&file->keyed);
	}
	file->window = window;
	return file;
}

static inline uint32_t tp_numbers_get(const struct tp_numbers_file *file, uint64_t number)
{
	uint32_t at, row;

	if (!number || number > UINT32_MAX)
		return 0;
	row = tp_keyed_first(&file->keyed, tp_numbers_hash((uint32_t)number), &at);
	return row == TP_NO_KEYED ? 0 : row;
}

/* False: out of memory. */
static inline bool tp_numbers_set(struct tp_numbers_file *file, uint32_t number, uint32_t row)
{
	return tp_keyed_add(&file->keyed, tp_numbers_hash(number), row);
}

static inline void tp_numbers_free(struct tp_numbers *numbers)
{
	tp_keyed_free(&numbers->file[0].keyed);
	tp_keyed_free(&numbers->file[1].keyed);
}

#endif
