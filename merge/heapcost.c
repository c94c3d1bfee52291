/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapcost.c - the figures of a stack, one row each
 */
#include "merge/heapcost.h"

#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct tp_hostmem_row, member)

static const struct {
	struct tp_heap_figure figure;
	size_t at;
} figures[] = {
	[TP_HEAP_PEAK] = {{"peak", "bytes at the peak", true}, AT(peak_bytes)},
	[TP_HEAP_ALLOCS] = {{"allocations", "allocations", false}, AT(n_allocs)},
	[TP_HEAP_LEAKED] = {{"leaked", "bytes alive at the end", true}, AT(end_bytes)},
	[TP_HEAP_TEMPORARY] = {{"temporary", "temporary allocations", false}, AT(n_temporary)},
	[TP_HEAP_ALLOC_BYTES] = {{"allocated", "bytes allocated", true}, AT(alloc_bytes)},
	[TP_HEAP_PEAK_BLOCKS] = {{"peak_blocks", "blocks at the peak", false}, AT(peak_blocks)},
	[TP_HEAP_END_BLOCKS] = {{"end_blocks", "blocks alive at the end", false}, AT(end_blocks)},
};
_Static_assert(sizeof(figures) / sizeof(figures[0]) == TP_HEAP_FIGURES, "a row a figure");

const struct tp_heap_figure *tp_heap_figure(enum tp_heap_cost cost)
{
	return &figures[cost].figure;
}

uint64_t tp_heap_value(const struct tp_hostmem_row *row, enum tp_heap_cost cost)
{
	uint64_t value;

	memcpy(&value, (const char *)row + figures[cost].at, sizeof(value));
	return value;
}
