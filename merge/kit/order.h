/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h - the order of numbers, as qsort() and bsearch() ask for it
 */
#ifndef TP_MERGE_ORDER_H
#define TP_MERGE_ORDER_H

#include <stdint.h>

static inline int tp_order_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

#endif
