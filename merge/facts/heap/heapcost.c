/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapcost.c - the figures of a stack, one row each
 */
#include "merge/facts/heap/heapcost.h"

#include <stddef.h>
#include <string.h>

/* The types are those of Go's heap profiles, where it has them. */
static const struct tp_flame_cost figures[] = {
	[TP_HEAP_PEAK] = {"peak", "bytes at the peak", "peak_space", TP_FLAME_BYTES, false},
	[TP_HEAP_ALLOCS] = {"allocations", "allocations", "alloc_objects", TP_FLAME_COUNT,
			    false},
	[TP_HEAP_LEAKED] = {"leaked", "bytes alive at the end", "inuse_space", TP_FLAME_BYTES,
			    false},
	[TP_HEAP_TEMPORARY] = {"temporary", "temporary allocations", "temporary_objects",
			       TP_FLAME_COUNT, false},
	[TP_HEAP_ALLOC_BYTES] = {"allocated", "bytes allocated", "alloc_space", TP_FLAME_BYTES,
				 true},
	[TP_HEAP_PEAK_BLOCKS] = {"peak_blocks", "blocks at the peak", "peak_objects",
				 TP_FLAME_COUNT, true},
	[TP_HEAP_END_BLOCKS] = {"end_blocks", "live blocks at the end", "inuse_objects",
				TP_FLAME_COUNT, true},
};

#define AT(member) offsetof(struct tp_hostmem_row, member)
static const size_t member_at[] = {
	[TP_HEAP_PEAK] = AT(peak_bytes), [TP_HEAP_ALLOCS] = AT(n_allocs),
	[TP_HEAP_LEAKED] = AT(end_bytes), [TP_HEAP_TEMPORARY] = AT(n_temporary),
	[TP_HEAP_ALLOC_BYTES] = AT(alloc_bytes), [TP_HEAP_PEAK_BLOCKS] = AT(peak_blocks),
	[TP_HEAP_END_BLOCKS] = AT(end_blocks),
};
_Static_assert(sizeof(figures) / sizeof(figures[0]) == TP_HEAP_FIGURES &&
	       sizeof(member_at) / sizeof(member_at[0]) == TP_HEAP_FIGURES, "a row a figure");

uint64_t tp_heap_value(const struct tp_hostmem_row *row, enum tp_heap_cost cost)
{
	uint64_t value;

	memcpy(&value, (const char *)row + member_at[cost], sizeof(value));
	return value;
}

static void row_of(const void *of, uint32_t at, uint32_t *proc, uint32_t *stack)
{
	const struct tp_heap_rows *rows = of;

	*proc = rows->row[at].proc;
	*stack = rows->row[at].stack;
}

static uint64_t value_of(const void *of, uint32_t at, uint32_t cost)
{
	const struct tp_heap_rows *rows = of;

	return tp_heap_value(&rows->row[at], (enum tp_heap_cost)cost);
}

struct tp_flame_rows tp_heap_flame(const struct tp_heap_rows *rows)
{
	return (struct tp_flame_rows){
		.run = rows->run, .n_rows = rows->n_rows, .what = "host memory", .cost = figures,
		.n_costs = TP_HEAP_FIGURES, .sample_bytes = rows->sample_bytes, .row = row_of,
		.value = value_of, .of = rows, .frames = rows->frames, .stacks = rows->stacks,
	};
}
