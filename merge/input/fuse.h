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
#include "merge/model/strings.h"

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

/*
 * Some events of one process and window. As records, of which `time` is the begin in ns of the run and len
 * the duration in ns of a span: then no device is among them, and calls have their thread in arg. Or as
 * events; with `proc` NULL of any processes and windows.
 */
struct tp_block_part {
	const struct tp_proc *proc;
	uint32_t window, n;
	const struct tp_rec *rec;	/* NULL: as events */
	const uint16_t *thread;		/* of records: index in proc->thread */
	bool has_calls;			/* some are */
	const struct tp_ids *ids;	/* of their names */
	const struct tp_event *event;
};
enum { TP_PART_MOST = 256 };

/* Blocks one by one, as they were recorded: by the first event of each, which costs no ordering.
 * Without --steps. NULL: out of memory. */
struct tp_blocks;
struct tp_blocks *tp_blocks_begin(struct tp_run *run);
/* The next part, of at most TP_PART_MOST; it lives until the next call. False: that was all. */
bool tp_blocks_part(struct tp_blocks *blocks, struct tp_block_part *part);
void tp_blocks_end(struct tp_blocks *blocks);	/* at any point; frees it */

/* All strings of the run by tp_string.same, from 0 on; the caller frees the list. NULL: out of memory. */
const struct tp_string **tp_run_strings(struct tp_run *run, uint32_t *n);

#endif
