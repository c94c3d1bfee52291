/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.c - percentiles of many values in little memory
 *
 * Below 128 every value is a class of its own.
 */
#include "merge/kit/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"

enum {
	CLASS_BITS = 7,
	CLASSES = 1 << CLASS_BITS,	/* of a power of two */
	PIECE = 16,			/* classes that get room at a time: a line of the cache */
};

/* Numbered from the smallest values on: 0..127 for these, then 128 for each power of two. */
static uint32_t class_of(int64_t value)
{
	uint32_t high;

	if (value < CLASSES)
		return (uint32_t)value;
	high = 63 - (uint32_t)__builtin_clzll((uint64_t)value);
	return (high - CLASS_BITS) * CLASSES + (uint32_t)(value >> (high - CLASS_BITS));
}

/* The middle of a class. */
static int64_t value_of(uint32_t class)
{
	uint32_t shift = class / CLASSES ? class / CLASSES - 1 : 0;

	if (!shift)
		return class;
	return ((int64_t)(CLASSES + class % CLASSES) << shift) + ((int64_t)1 << shift) / 2;
}

/* Room for one piece more: for all between it and those that are there, too. */
static bool make_room(struct tp_spread *spread, uint32_t piece)
{
	uint32_t from = spread->n_pieces && spread->piece < piece ? spread->piece : piece;
	uint32_t to = spread->piece + spread->n_pieces > piece + 1
			      ? spread->piece + spread->n_pieces : piece + 1;
	uint32_t *classes = calloc((size_t)(to - from) * PIECE, sizeof(*classes));

	if (!classes)
		return false;
	if (spread->n_pieces)
		memcpy(classes + (size_t)(spread->piece - from) * PIECE, spread->classes,
		       (size_t)spread->n_pieces * PIECE * sizeof(*classes));
	free(spread->classes);
	spread->classes = classes;
	spread->piece = (uint16_t)from;
	spread->n_pieces = (uint16_t)(to - from);
	return true;
}

static bool count(struct tp_spread *spread, uint32_t class, uint32_t n)
{
	uint32_t piece = class / PIECE, *of;

	if (piece - spread->piece >= spread->n_pieces && !make_room(spread, piece))
		return false;
	of = &spread->classes[class - spread->piece * PIECE];
	/* A class that is full stays so. */
	if (__builtin_add_overflow(*of, n, of))
		*of = UINT32_MAX;
	return true;
}

bool tp_spread_add(struct tp_spread *spread, int64_t value)
{
	if (value < 0)
		value = 0;
	if (!spread->n || value < spread->least)
		spread->least = value;
	if (!spread->n || value > spread->most)
		spread->most = value;
	spread->n++;
	spread->sum = tp_add(spread->sum, value);
	return count(spread, class_of(value), 1);
}

bool tp_spread_merge(struct tp_spread *spread, const struct tp_spread *from)
{
	bool is_whole = true;

	if (!from->n)
		return true;
	if (!spread->n || from->least < spread->least)
		spread->least = from->least;
	if (!spread->n || from->most > spread->most)
		spread->most = from->most;
	spread->n += from->n;
	spread->sum = tp_add(spread->sum, from->sum);
	for (uint32_t i = 0; i < (uint32_t)from->n_pieces * PIECE; i++)
		if (from->classes[i])
			is_whole &= count(spread, from->piece * PIECE + i, from->classes[i]);
	return is_whole;
}

int64_t tp_spread_percentile(const struct tp_spread *spread, double percent)
{
	double rank = ceil(percent / 100 * (double)spread->n);
	uint64_t before = 0;

	if (!spread->n)
		return 0;
	for (uint32_t i = 0; i < (uint32_t)spread->n_pieces * PIECE; i++) {
		int64_t value = value_of(spread->piece * PIECE + i);

		before += spread->classes[i];
		if ((double)before < rank || !before)
			continue;
		return value < spread->least  ? spread->least
		       : value > spread->most ? spread->most
					      : value;
	}
	return spread->most;
}

void tp_spread_free(struct tp_spread *spread)
{
	free(spread->classes);
	memset(spread, 0, sizeof(*spread));
}
