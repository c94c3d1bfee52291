/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sum.h - sums and differences of numbers that a file made up: they stop at the ends of the
 * type instead of running over
 */
#ifndef TP_MERGE_SUM_H
#define TP_MERGE_SUM_H

#include <stdint.h>

/* What a computation with fractions came to; nothing (0/0): 0. */
static inline int64_t tp_whole(double value)
{
	if (value >= 0x1p63)
		return INT64_MAX;
	if (value < -0x1p63)
		return INT64_MIN;
	return value == value ? (int64_t)value : 0;
}

static inline int64_t tp_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static inline int64_t tp_sub(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return b > 0 ? INT64_MIN : INT64_MAX;
	return difference;
}

#endif
