/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcat.h - what each block of tensor memory was for
 *
 * A block that an optimizer's scan saw is what the scan says. Any other is known by its life:
 * where it was born (forward, backward, optimizer, data loader), and what had happened when it
 * was freed. So the category of a block is known when it dies, or its window ends. Blocks from
 * before the window are known as far as a scan saw them; the rest is one number, what the totals
 * say less what is known.
 *
 * Memory: blocks that are alive, and what module_origin.h keeps; never events.
 */
#ifndef TP_MERGE_MEMCAT_H
#define TP_MERGE_MEMCAT_H

#include "merge/facts/tensor/memlife.h"
#include "merge/facts/tensor/memops.h"

struct tp_memcat_calls {
	/* Bytes alive on the device of a process, as far as known, after a change. Before the
	 * `life` of the block that it frees. */
	void (*live)(void *ctx, const struct tp_event *event, uint32_t device, int64_t bytes);
	void (*life)(void *ctx, const struct tp_life *life);
	/* A window of the process (tp_proc.at) is over, before the lives of what is still alive. May be
	 * NULL. */
	void (*window)(void *ctx, uint32_t proc);
};

struct tp_memcat;

/* Events that tell what tensor memory is for, or in which window they are. */
#define TP_MEMCAT_KINDS                                                                        \
	(TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) | TP_FACT_KIND(TP_REC_STEP) |    \
	 TP_FACT_KIND(TP_REC_ALLOC) | TP_FACT_KIND(TP_REC_FREE) | TP_FACT_KIND(TP_REC_TOTALS) | \
	 TP_FACT_KIND(TP_REC_CATEGORY) | TP_FACT_KIND(TP_REC_SCAN) |                           \
	 TP_FACT_KIND(TP_REC_STACK) | TP_FACT_KIND(TP_REC_FRAME) |                             \
	 TP_FACT_KIND(TP_REC_NNMODULE) | TP_FACT_KIND(TP_REC_COUNTER) |                        \
	 TP_FACT_KIND(TP_REC_MARK))

extern const struct tp_fact tp_fact_memcat;

/* One more reader; `calls` lives as long. */
void tp_memcat_read(struct tp_memcat *cat, const struct tp_memcat_calls *calls, void *ctx);
/* Where the event's thread is: row of tp_names (TP_NO_NAME), line and module. */
uint32_t tp_memcat_where(struct tp_memcat *cat, const struct tp_event *event,
			 struct tp_origin *origin);

const struct tp_names *tp_memcat_names(const struct tp_memcat *cat);
struct tp_origins *tp_memcat_origins(const struct tp_memcat *cat);

/* After the end: of the at-th device of a process. NULL: there are no more. */
const struct tp_memops *tp_memcat_operators(const struct tp_memcat *cat, uint32_t at,
					    const struct tp_proc **proc, uint32_t *device);

/* What is not known, over all of the run. */
struct tp_memcat_doubts {
	uint64_t n_scans, n_scanned, n_unread;
	int64_t scan_ns;
	uint64_t n_older_frees;		/* of blocks from before a window that nobody named */
	uint64_t n_unheard;		/* blocks whose address was used again */
	uint64_t n_lost;		/* for want of memory */
	bool has_blocks, has_totals;	/* of all windows: what was alive when they began is known */
};
struct tp_memcat_doubts tp_memcat_doubts(const struct tp_memcat *cat);

#endif
