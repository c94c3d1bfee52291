/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.h - from folders and files to a run, and from a run to its events in time order
 *
 * Memory is bounded by processes x blocks: heads are indexed first, a block is decoded when
 * the present reaches its first event and forgotten after its last. See trainprof_trace.h,
 * "Order".
 */
#ifndef TP_MERGE_FUSE_H
#define TP_MERGE_FUSE_H

#include "merge/input/options.h"
#include "merge/model/model.h"

/*
 * Finds the files (input.c), reads heads, META, ledgers and the rings of dead processes
 * (recover.c), aligns clocks (align.c). Trouble with a file becomes a message on stderr and
 * an issue of the run; the rest is still read. NULL: nothing usable, said why.
 */
struct tp_run *tp_run_open(const struct tp_fuse_options *options);
void tp_run_free(struct tp_run *run);

typedef void (*tp_fuse_event_fn)(void *ctx, const struct tp_event *event);
/* Hands out every event that the options select. 0 or -errno (out of memory). */
int tp_fuse_events(struct tp_run *run, tp_fuse_event_fn each, void *ctx);

/* The same by pieces, of at most a few thousand events each. NULL: out of memory. */
struct tp_fuse;
struct tp_fuse *tp_fuse_begin(struct tp_run *run, tp_fuse_event_fn each, void *ctx);
bool tp_fuse_some(struct tp_fuse *fuse);	/* false: that was all, or an error */
int tp_fuse_end(struct tp_fuse *fuse);		/* at any point; frees it. 0 or -errno */

/* Blocks one by one, as they were recorded: by the first event of each, which costs no ordering.
 * Without --steps. NULL: out of memory. */
struct tp_blocks;
struct tp_blocks *tp_blocks_begin(struct tp_run *run);
/* The next events of a block, at most `max`; 0: that was all. They live until the next call. */
uint32_t tp_blocks_some(struct tp_blocks *blocks, struct tp_event *event, uint32_t max);
void tp_blocks_end(struct tp_blocks *blocks);	/* at any point; frees it */

/* All strings of the run by tp_string.same, from 0 on; the caller frees the list. NULL: out of memory. */
const struct tp_string **tp_run_strings(struct tp_run *run, uint32_t *n);

#endif
