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

enum { CLASSES = 128, CLASS_BITS = 7 };

/* The power of two, and the class in it. */
static uint32_t place(int64_t value, uint32_t *at)
{
	uint32_t high = value < CLASSES ? CLASS_BITS : 63 - (uint32_t)__builtin_clzll(value);

	*at = (uint32_t)(value >> (high - CLASS_BITS)) & (CLASSES - 1);
	/* 0..127 in the first row, 128..255 in the second. */
	return value < CLASSES ? 0 : high - CLASS_BITS + 1;
}

/* The middle of a class. */
static int64_t value_of(uint32_t row, uint32_t at)
{
	if (!row)
		return at;
	return ((int64_t)(CLASSES + at) << (row - 1)) + ((int64_t)1 << (row - 1)) / 2;
}

static bool count(struct tp_spread *spread, uint32_t row, uint32_t at, uint32_t n)
{
	uint32_t **classes = &spread->classes[row];

	if (!*classes)
		*classes = calloc(CLASSES, sizeof(**classes));
	if (!*classes)
		return false;
	/* A class that is full stays so. */
	if (__builtin_add_overflow((*classes)[at], n, &(*classes)[at]))
		(*classes)[at] = UINT32_MAX;
	return true;
}

bool tp_spread_add(struct tp_spread *spread, int64_t value)
{
	uint32_t row, at;

	if (value < 0)
		value = 0;
	if (!spread->n || value < spread->least)
		spread->least = value;
	if (!spread->n || value > spread->most)
		spread->most = value;
	spread->n++;
	spread->sum = tp_add(spread->sum, value);
	row = place(value, &at);
	return count(spread, row, at, 1);
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
	for (uint32_t row = 0; row < 58; row++)
		for (uint32_t at = 0; from->classes[row] && at < CLASSES; at++)
			if (from->classes[row][at])
				is_whole &= count(spread, row, at, from->classes[row][at]);
	return is_whole;
}

int64_t tp_spread_percentile(const struct tp_spread *spread, double percent)
{
	double rank = ceil(percent / 100 * (double)spread->n);
	uint64_t before = 0;

	if (!spread->n)
		return 0;
	for (uint32_t row = 0; row < 58; row++) {
		for (uint32_t at = 0; spread->classes[row] && at < CLASSES; at++) {
			int64_t value = value_of(row, at);

			before += spread->classes[row][at];
			if ((double)before < rank || !before)
				continue;
			return value < spread->least  ? spread->least
			       : value > spread->most ? spread->most
						      : value;
		}
	}
	return spread->most;
}

void tp_spread_free(struct tp_spread *spread)
{
	for (uint32_t row = 0; row < 58; row++)
		free(spread->classes[row]);
	memset(spread, 0, sizeof(*spread));
}
