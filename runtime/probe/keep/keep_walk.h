/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_walk.h - the lists, dicts, sets, deques and caches that the program's own code can reach by name
 *
 * From the global variables of its modules, its classes, and the local variables of its functions that this
 * thread runs, through attributes, small containers, closures and defaults, a few levels deep. With the
 * interpreter's lock held; one walk at a time.
 */
#ifndef TP_PROBE_KEEP_WALK_H
#define TP_PROBE_KEEP_WALK_H

#include <stdint.h>

#include "runtime/probe/keep/keep_api.h"

enum {
	TP_KEEP_NAME = 160,
	TP_KEEP_FILE = 512,
	TP_KEEP_TIME_US = 2000,		/* a walk that takes longer is given up */
};

struct tp_keep_found {
	void *object;			/* borrowed */
	enum tp_keep_kind kind;		/* CACHE, too: object is its dict then */
	ptrdiff_t size;
	const char *name;		/* "history", "Cached.items", "main().rows": until the call returns */
	const char *file;		/* that the first part of the name is in */
};
typedef void tp_keep_take(const struct tp_keep_found *found);

/* False: given up in the middle; some were not told. */
bool tp_keep_walk(tp_keep_take *take);

#endif
