/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.c - which spans enclosed a moment, as one number
 */
#include "merge/facts/time/paths.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"

enum { BITS_FIRST = 6, BITS_MOST = 31 };

/* Where a path's children begin to be looked for. */
static uint32_t place(uint32_t parent, uint32_t row, uint32_t n_bits)
{
	return tp_keyed_hash((uint64_t)parent << 32 | row) >> (32 - n_bits);
}

static void put(struct tp_path_slot *slot, uint32_t n_bits, struct tp_path_slot entry)
{
	const uint32_t mask = (uint32_t)((1ull << n_bits) - 1);
	uint32_t at = place(entry.parent, entry.row, n_bits);

	while (slot[at & mask].child)
		at++;
	slot[at & mask] = entry;
}

static bool double_slots(struct tp_paths *paths)
{
	uint32_t n_bits = paths->n_bits ? paths->n_bits + 1 : BITS_FIRST;
	struct tp_path_slot *slot =
		n_bits <= BITS_MOST ? calloc((size_t)1 << n_bits, sizeof(*slot)) : NULL;

	if (!slot)
		return false;
	for (uint32_t i = 1; i < paths->n; i++)
		put(slot, n_bits,
		    (struct tp_path_slot){paths->path[i].parent, paths->path[i].row, i});
	free(paths->slot);
	paths->slot = slot;
	paths->n_bits = n_bits;
	return true;
}

static uint32_t add(struct tp_paths *paths, uint32_t parent, uint32_t row)
{
	if (paths->most && paths->n >= paths->most)
		return TP_NO_PATH;
	if (!tp_grow(&paths->path, &paths->cap, (uint64_t)paths->n + 2, sizeof(*paths->path)))
		return TP_NO_PATH;
	/* Number 0 is the empty one. */
	if (!paths->n)
		paths->n = 1;
	if ((!paths->n_bits || paths->n >= (1ull << paths->n_bits) / 4 * 3) && !double_slots(paths))
		return TP_NO_PATH;
	paths->path[paths->n] = (struct tp_path){.parent = parent, .row = row};
	put(paths->slot, paths->n_bits, (struct tp_path_slot){parent, row, paths->n});
	return paths->n++;
}

uint32_t tp_paths_child(struct tp_paths *paths, uint32_t parent, uint32_t row)
{
	const uint32_t mask = (uint32_t)((1ull << paths->n_bits) - 1);

	for (uint32_t at = paths->n_bits ? place(parent, row, paths->n_bits) : 0; paths->n_bits; at++) {
		const struct tp_path_slot *slot = &paths->slot[at & mask];

		if (!slot->child)
			break;
		if (slot->parent == parent && slot->row == row)
			return slot->child;
	}
	return add(paths, parent, row);
}

uint32_t tp_paths_find(struct tp_paths *paths, const uint32_t *row, uint32_t n)
{
	uint32_t path = 0;

	while (n && path != TP_NO_PATH)
		path = tp_paths_child(paths, path, row[--n]);
	return path;
}

void tp_paths_free(struct tp_paths *paths)
{
	free(paths->path);
	free(paths->slot);
	memset(paths, 0, sizeof(*paths));
}
