/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.c - which spans enclosed a moment, as one number
 */
#include "merge/paths.h"

#include <stdlib.h>
#include <string.h>

#include "merge/grow.h"

static uint32_t hash_path(uint32_t parent, uint32_t row)
{
	uint64_t h = ((uint64_t)parent << 32 | row) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 32);
}

static bool double_slots(struct tp_paths *paths)
{
	uint32_t n = paths->n_slots ? paths->n_slots * 2 : 256;
	uint32_t *slot = calloc(n, sizeof(*slot));

	if (!slot)
		return false;
	for (uint32_t i = 1; i < paths->n; i++) {
		uint32_t at = hash_path(paths->path[i].parent, paths->path[i].row);

		while (slot[at & (n - 1)])
			at++;
		slot[at & (n - 1)] = i;
	}
	free(paths->slot);
	paths->slot = slot;
	paths->n_slots = n;
	return true;
}

uint32_t tp_paths_child(struct tp_paths *paths, uint32_t parent, uint32_t row)
{
	uint32_t at, i;

	if (paths->n >= paths->n_slots / 2 && !double_slots(paths))
		return TP_NO_PATH;
	for (at = hash_path(parent, row); (i = paths->slot[at & (paths->n_slots - 1)]); at++)
		if (paths->path[i].parent == parent && paths->path[i].row == row)
			return i;
	if (paths->most && paths->n >= paths->most)
		return TP_NO_PATH;
	if (!tp_grow(&paths->path, &paths->cap, (uint64_t)paths->n + 2, sizeof(*paths->path)))
		return TP_NO_PATH;
	/* Number 0 is the empty one. */
	if (!paths->n)
		paths->n = 1;
	paths->path[paths->n] = (struct tp_path){parent, row};
	paths->slot[at & (paths->n_slots - 1)] = paths->n;
	return paths->n++;
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
