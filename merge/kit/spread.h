/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.h - percentiles of many values in little memory
 *
 * Values are counted in classes, 128 between a power of two and the next: a percentile is
 * wrong by less than 0.4 %, and never beyond the smallest and the largest value. 4 bytes for each
 * class from the smallest to the largest value that occur, in pieces of 16: 512 for a power of two.
 */
#ifndef TP_MERGE_SPREAD_H
#define TP_MERGE_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

struct tp_spread {
	uint64_t n;
	int64_t sum, least, most;
	uint32_t *classes;	/* of n_pieces pieces, from `piece` on */
	uint16_t piece, n_pieces;
};

/* Values below 0 count as 0. False: out of memory, it is in n, sum, least and most only. */
bool tp_spread_add(struct tp_spread *spread, int64_t value);
/* By nearest rank; 0: no values. */
int64_t tp_spread_percentile(const struct tp_spread *spread, double percent);
static inline int64_t tp_spread_mean(const struct tp_spread *spread)
{
	return spread->n ? spread->sum / (int64_t)spread->n : 0;
}
/* Adds all that `from` has. False: as above. */
bool tp_spread_merge(struct tp_spread *spread, const struct tp_spread *from);
void tp_spread_free(struct tp_spread *spread);

#endif
