/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.c - which spans enclosed a moment, as one number
 */
#include "merge/facts/time/paths.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"

enum { FIRST_MOST = 1 << 20 };	/* rows found without a hash when nothing encloses them */

static uint32_t add(struct tp_paths *paths, uint32_t parent, uint32_t row, uint32_t hash)
{
	if (paths->most && paths->n >= paths->most)
		return TP_NO_PATH;
	if (!tp_grow(&paths->path, &paths->cap, (uint64_t)paths->n + 2, sizeof(*paths->path)))
		return TP_NO_PATH;
	/* Number 0 is the empty one. */
	if (!paths->n)
		paths->n = 1;
	if (!tp_keyed_add(&paths->keyed, hash, paths->n))
		return TP_NO_PATH;
	paths->path[paths->n] = (struct tp_path){.parent = parent, .row = row};
	return paths->n++;
}

static uint32_t find_or_add(struct tp_paths *paths, uint32_t parent, uint32_t row)
{
	uint32_t hash = tp_keyed_hash((uint64_t)parent << 32 | row), at;

	for (uint32_t i = tp_keyed_first(&paths->keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&paths->keyed, hash, &at))
		if (paths->path[i].parent == parent && paths->path[i].row == row)
			return i;
	return add(paths, parent, row, hash);
}

/* Of one row only: there may be many, and each is asked for again and again. */
static uint32_t first_of(struct tp_paths *paths, uint32_t row)
{
	if (!tp_grow(&paths->first, &paths->cap_first, (uint64_t)row + 1, sizeof(*paths->first)))
		return TP_NO_PATH;
	if (!paths->first[row]) {
		uint32_t path = find_or_add(paths, 0, row);

		if (path == TP_NO_PATH)
			return path;
		paths->first[row] = path;
	}
	return paths->first[row];
}

uint32_t tp_paths_child(struct tp_paths *paths, uint32_t parent, uint32_t row)
{
	uint32_t *last = parent < paths->n ? paths->path[parent].last : NULL;
	uint32_t child;

	if (!parent && row < FIRST_MOST)
		return first_of(paths, row);
	for (uint32_t i = 0; last && i < 2; i++)
		if (last[i] && paths->path[last[i]].row == row)
			return last[i];
	child = find_or_add(paths, parent, row);
	if (child == TP_NO_PATH)
		return child;
	last = paths->path[parent].last;
	last[1] = last[0];
	last[0] = child;
	return child;
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
	tp_keyed_free(&paths->keyed);
	free(paths->first);
	memset(paths, 0, sizeof(*paths));
}
