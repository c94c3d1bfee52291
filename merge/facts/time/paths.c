/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.c - which spans enclosed a moment, as one number
 */
#include "merge/facts/time/paths.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"

static uint32_t meet(struct tp_paths *paths, uint32_t parent, uint32_t child, uint32_t row)
{
	struct tp_path *path = &paths->path[parent];

	if (path->last) {
		paths->path[path->last].next = child;
		paths->path[path->last].next_row = row;
	}
	path->last = child;
	path->last_row = row;
	return child;
}

/* The child that is expected now; TP_NO_PATH: it is another one. */
static uint32_t expect(struct tp_paths *paths, uint32_t parent, uint32_t row)
{
	struct tp_path *path;
	const struct tp_path *last;

	if (parent >= paths->n)
		return TP_NO_PATH;
	path = &paths->path[parent];
	if (!path->last)
		return TP_NO_PATH;
	if (path->last_row == row)
		return path->last;
	last = &paths->path[path->last];
	if (!last->next || last->next_row != row)
		return TP_NO_PATH;
	path->last = last->next;
	path->last_row = row;
	return path->last;
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
			return meet(paths, parent, i, row);
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
	return meet(paths, parent, paths->n++, row);
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
