/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outside.h - the run outside windows by samples that the ledgers sum up: lines of the program
 *
 * "outside.N=TRAINING OTHER COLLECTING UNLISTED ROWS" and rows "outside.N.K=SAMPLES WHO FILE:LINE FUNCTION" are
 * all that was counted up to then: of each process the last one counts that is whole. Needs no event.
 */
#ifndef TP_MERGE_OUTSIDE_H
#define TP_MERGE_OUTSIDE_H

#include "merge/model/model.h"

struct tp_outside_row {
	char *text;		/* "FILE:LINE FUNCTION" */
	bool is_other;		/* of other threads than those that train */
	uint64_t n;
};

struct tp_outside {
	struct tp_outside_row *row;	/* of all processes, most samples first */
	uint32_t n_rows, cap_rows;
	uint64_t n_training, n_other, n_unlisted;
	uint64_t n_collecting;		/* of threads that train: garbage was collected */
};

/* To be freed. */
void tp_outside_read(const struct tp_run *run, struct tp_outside *outside);
void tp_outside_free(struct tp_outside *outside);

/* The row's parts: file and function in buf, which is of `cap` bytes. The line. */
uint32_t tp_outside_split(const struct tp_outside_row *row, char *buf, size_t cap, const char **file,
			  const char **function);

#endif
