/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.c - which spans enclosed a moment, as one number
 */
#include "merge/facts/time/paths.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"

/* The child that is expected now; TP_NO_PATH: it is another one. */
static uint32_t expect(struct tp_paths *paths, uint32_t parent, uint32_t row)
{
	uint32_t last, next;

	if (parent >= paths->n || !paths->path[parent].last)
		return TP_NO_PATH;
	last = paths->path[parent].last;
	if (paths->path[last].row == row)
		return last;
	next = paths->path[last].next;
	if (!next || paths->path[next].row != row)
		return TP_NO_PATH;
	paths->path[parent].last = next;
	return next;
}

static uint32_t meet(struct tp_paths *paths, uint32_t parent, uint32_t child)
{
	uint32_t last = paths->path[parent].last;

	if (last)
		paths->path[last].next = child;
	paths->path[parent].last = child;
	return child;
}

uint32_t tp_paths_child(struct tp_paths *paths, uint32_t parent, uint32_t row)
{
	uint32_t hash, at, i = expect(paths, parent, row);

	if (i != TP_NO_PATH)
		return i;
	hash = tp_keyed_hash((uint64_t)parent << 32 | row);
	for (i = tp_keyed_first(&paths->keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&paths->keyed, hash, &at))
		if (paths->path[i].parent == parent && paths->path[i].row == row)
			return meet(paths, parent, i);
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
	return meet(paths, parent, paths->n++);
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
	memset(paths, 0, sizeof(*paths));
}
