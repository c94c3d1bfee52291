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

#endif
