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
static int64_t value_of(uint32_t power, uint32_t at)
{
	if (!power)
		return at;
	return ((int64_t)(CLASSES + at) << (power - 1)) + ((int64_t)1 << (power - 1)) / 2;
}

/* Room for the classes of one power more: of all between it and those that are there, too. */
static bool make_room(struct tp_spread *spread, uint32_t power)
{
	uint32_t from = spread->n_powers && spread->power < power ? spread->power : power;
	uint32_t to = spread->power + spread->n_powers > power + 1
			      ? spread->power + spread->n_powers : power + 1;
	uint32_t *classes;

	classes = calloc((size_t)(to - from) * CLASSES, sizeof(*classes));
	if (!classes)
		return false;
	if (spread->n_powers)
		memcpy(classes + (size_t)(spread->power - from) * CLASSES, spread->classes,
		       (size_t)spread->n_powers * CLASSES * sizeof(*classes));
	free(spread->classes);
	spread->classes = classes;
	spread->power = (uint8_t)from;
	spread->n_powers = (uint8_t)(to - from);
	return true;
}

static bool count(struct tp_spread *spread, uint32_t power, uint32_t at, uint32_t n)
{
	uint32_t *class;

	if (power - spread->power >= spread->n_powers && !make_room(spread, power))
		return false;
	class = &spread->classes[(power - spread->power) * CLASSES + at];
	/* A class that is full stays so. */
	if (__builtin_add_overflow(*class, n, class))
		*class = UINT32_MAX;
	return true;
}

bool tp_spread_add(struct tp_spread *spread, int64_t value)
{
	uint32_t power, at;

	if (value < 0)
		value = 0;
	if (!spread->n || value < spread->least)
		spread->least = value;
	if (!spread->n || value > spread->most)
		spread->most = value;
	spread->n++;
	spread->sum = tp_add(spread->sum, value);
	power = place(value, &at);
	return count(spread, power, at, 1);
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
	for (uint32_t i = 0; i < (uint32_t)from->n_powers * CLASSES; i++)
		if (from->classes[i])
			is_whole &= count(spread, from->power + i / CLASSES, i % CLASSES,
					  from->classes[i]);
	return is_whole;
}

int64_t tp_spread_percentile(const struct tp_spread *spread, double percent)
{
	double rank = ceil(percent / 100 * (double)spread->n);
	uint64_t before = 0;

	if (!spread->n)
		return 0;
	for (uint32_t i = 0; i < (uint32_t)spread->n_powers * CLASSES; i++) {
		int64_t value = value_of(spread->power + i / CLASSES, i % CLASSES);

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
