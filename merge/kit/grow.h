/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow.h - arrays that grow, for tables whose size is known only at the end
 *
 * New items are zero. When memory is out the array keeps its old size and the caller says
 * that its figures are not complete: nothing here ends the program.
 */
#ifndef TP_MERGE_GROW_H
#define TP_MERGE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TP_GROW_LARGE = 1 << 20 };	/* bytes */

/* Room for `need` items of `item` bytes behind *array (of *cap items). False: out of memory. */
static inline bool tp_grow(void *array, uint32_t *cap, uint64_t need, size_t item)
{
	void *old, *bigger;
	uint64_t want = *cap ? *cap : 16;

	if (need <= *cap)
		return true;
	if (need > UINT32_MAX)
		return false;
	/* Large ones by less: what is not used yet is memory all the same. */
	while (want < need)
		want += want * item < TP_GROW_LARGE ? want : want / 4;
	if (want > UINT32_MAX)
		want = UINT32_MAX;
	/* `array` is the address of a pointer of any type: copied, not cast. */
	memcpy(&old, array, sizeof(old));
	bigger = realloc(old, want * item);
	if (!bigger)
		return false;
	memset((char *)bigger + *cap * item, 0, (want - *cap) * item);
	memcpy(array, &bigger, sizeof(bigger));
	*cap = (uint32_t)want;
	return true;
}

#endif
