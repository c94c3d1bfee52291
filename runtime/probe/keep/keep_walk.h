/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_walk.h - the lists, dicts, sets, deques and caches that the program's own code can reach by name
 *
 * From the global variables of its modules, its classes, the local variables of its functions that this
 * thread runs, and its own objects that a library's object has whose function this thread runs (callbacks,
 * a model), through attributes, small containers, closures and defaults, a few levels deep. With the
 * interpreter's lock held; one walk at a time.
 */
#ifndef TP_PROBE_KEEP_WALK_H
#define TP_PROBE_KEEP_WALK_H

#include <stdint.h>

#include "runtime/probe/keep/keep_api.h"

enum { TP_KEEP_TIME_US = 5000 };	/* of the processor: then a walk ends, with what it has met */

struct tp_text;

struct tp_keep_found {
	void *object;			/* borrowed */
	enum tp_keep_kind kind;		/* CACHE, too: object is its dict then */
	ptrdiff_t size;
	uint32_t node;			/* for the two below */
};
typedef void tp_keep_take(const struct tp_keep_found *found);

/* What lies near comes first. False: not all of it was met. */
bool tp_keep_walk(tp_keep_take *take);

/* While it is taken: appends "history", "Cached.items", "main().rows"; the file that its first part is in. */
void tp_keep_name(const struct tp_keep_found *found, struct tp_text *name);
const char *tp_keep_file(const struct tp_keep_found *found);

#endif
