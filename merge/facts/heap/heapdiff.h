/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapdiff.h - host memory of two runs, stack by stack
 *
 * Builds differ, so do addresses, lines and processes: stacks are the same when the functions in
 * them are called the same, whichever process they are of. Figures are sums over processes.
 */
#ifndef TP_MERGE_HEAPDIFF_H
#define TP_MERGE_HEAPDIFF_H

#include "merge/facts/heap/heapcost.h"

struct tp_heapdiff_row {
	uint64_t key;
	uint64_t base[TP_HEAP_FIGURES], now[TP_HEAP_FIGURES];
	uint32_t stack;			/* one of them */
	bool is_of_base;		/* of the base's stacks, else of the others */
};

/* Rows of both, to be freed; NULL: out of memory. */
struct tp_heapdiff_row *tp_heapdiff(const struct tp_heap_rows *base,
				    const struct tp_heap_rows *now, uint32_t *n);

#endif
