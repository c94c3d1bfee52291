/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.h - counts by two numbers, such as a row and a line
 *
 * All zero: empty. Memory: the pairs; that there is none ends the program (need.h).
 */
#ifndef TP_MERGE_TALLY_H
#define TP_MERGE_TALLY_H

#include <stdint.h>

#include "merge/kit/keyed.h"

struct tp_tally {
	struct tp_keyed by;
	struct tp_tally_row {
		uint32_t a, b;
		uint64_t n;
	} *row;
	uint32_t n_rows, cap_rows;
};

/* Adds n; returns what the pair has now. */
uint64_t tp_tally_add(struct tp_tally *tally, uint32_t a, uint32_t b, uint64_t n);
void tp_tally_free(struct tp_tally *tally);

#endif
