/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_maps.c - what a process has mapped, by address and kind
 */
#include "merge/facts/heap/hostmem_maps.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"

/* The first range that ends beyond the address. */
static uint32_t find(const struct tp_hostmem_maps *maps, uint64_t address)
{
	uint32_t low = 0, high = maps->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (maps->range[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool insert(struct tp_hostmem_maps *maps, uint32_t at, struct tp_hostmem_range range)
{
	if (maps->n >= TP_HOSTMEM_RANGES_MAX ||
	    !tp_grow(&maps->range, &maps->cap, (uint64_t)maps->n + 1, sizeof(range)))
		return false;
	memmove(&maps->range[at + 1], &maps->range[at], (maps->n - at) * sizeof(range));
	maps->range[at] = range;
	maps->n++;
	return true;
}

bool tp_hostmem_unmap(struct tp_hostmem_maps *maps, uint64_t begin, uint64_t end,
		      uint64_t *removed)
{
	uint32_t at = find(maps, begin), last;

	if (begin >= end)
		return true;
	if (at < maps->n && maps->range[at].begin < begin && maps->range[at].end > end) {
		/* A hole in the middle of one. */
		struct tp_hostmem_range behind = maps->range[at];

		behind.begin = end;
		if (!insert(maps, at + 1, behind))
			return false;
		removed[behind.kind] += end - begin;
		maps->range[at].end = begin;
		return true;
	}
	if (at < maps->n && maps->range[at].begin < begin) {
		removed[maps->range[at].kind] += maps->range[at].end - begin;
		maps->range[at++].end = begin;
	}
	for (last = at; last < maps->n && maps->range[last].end <= end; last++)
		removed[maps->range[last].kind] +=
			maps->range[last].end - maps->range[last].begin;
	if (last < maps->n && maps->range[last].begin < end) {
		removed[maps->range[last].kind] += end - maps->range[last].begin;
		maps->range[last].begin = end;
	}
	if (last > at) {
		memmove(&maps->range[at], &maps->range[last],
			(maps->n - last) * sizeof(*maps->range));
		maps->n -= last - at;
	}
	return true;
}

bool tp_hostmem_map(struct tp_hostmem_maps *maps, uint64_t begin, uint64_t end, uint8_t kind,
		    uint64_t *removed)
{
	struct tp_hostmem_range range = {begin, end, kind};

	if (begin >= end)
		return true;
	return tp_hostmem_unmap(maps, begin, end, removed) &&
	       insert(maps, find(maps, begin), range);
}

void tp_hostmem_maps_free(struct tp_hostmem_maps *maps)
{
	free(maps->range);
	*maps = (struct tp_hostmem_maps){0};
}
