/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h - which spans enclosed a moment, as one number, to be asked about later
 *
 * Work of a device begins long after the spans around its launch have ended. A path is the
 * rows of those spans, from the outermost in; equal ones have one number. Memory: distinct
 * paths.
 */
#ifndef TP_MERGE_PATHS_H
#define TP_MERGE_PATHS_H

#include <stdint.h>

#include "merge/kit/keyed.h"

struct tp_paths {
	struct tp_path {
		uint32_t parent, row;
		/* Those with one row more that were met last, for most often one of them is next; 0: none. */
		uint32_t last[2];
	} *path;		/* [0]: nothing encloses it */
	uint32_t n, cap;
	uint32_t most;		/* no new ones from this many on; 0: no limit */
	struct tp_keyed keyed;	/* by parent and row */
	uint32_t *first;	/* by row, of small ones: the path of it alone; 0: none */
	uint32_t cap_first;
};

enum { TP_NO_PATH = 0xffffffff };

/* The path of n rows, the innermost first; 0: of none. TP_NO_PATH: out of
 * memory. */
uint32_t tp_paths_find(struct tp_paths *paths, const uint32_t *row, uint32_t n);
/* The path that has one row more inside; greater than its parent. TP_NO_PATH: out of memory, or
 * there are `most` of them and it is not among them. */
uint32_t tp_paths_child(struct tp_paths *paths, uint32_t parent, uint32_t row);
void tp_paths_free(struct tp_paths *paths);

#endif
