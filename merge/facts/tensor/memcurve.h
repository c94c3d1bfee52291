/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcurve.h - tensor memory from its blocks: allocations and frees paired by address
 *
 * A free tells the address, often not the size: the size is that of the block allocated
 * there. Blocks older than their window are not known; what frees them is counted apart.
 * Where the trace says totals (TOTALS records, the step ledger) the caller sets them, so an
 * error does not add up. Memory: blocks alive, up to a limit, never events.
 */
#ifndef TP_MERGE_MEMCURVE_H
#define TP_MERGE_MEMCURVE_H

#include "merge/model/model.h"

enum { TP_MEMCURVE_BLOCKS_MAX = 1 << 19 };	/* 32 bytes each in a half-full table */

struct tp_memcurve_track {	/* one device of one process */
	uint32_t proc, device;
	uint32_t window;
	int64_t live_bytes;	/* since the window's start, or absolute once set */
	bool is_absolute;
	uint64_t n_allocs, n_frees;
	uint64_t n_unpaired;	/* frees of blocks that are not known */
	uint64_t n_unpaired_then;	/* when live_bytes was set */
};

struct tp_memcurve;

struct tp_memcurve *tp_memcurve_new(void);
void tp_memcurve_free(struct tp_memcurve *curve);

/*
 * An ALLOC, FREE or TOTALS record. Returns the track, its figures up to date, or NULL (out of
 * memory, another kind); *change gets the bytes that this event added (freed: negative;
 * TOTALS: 0).
 */
struct tp_memcurve_track *tp_memcurve_event(struct tp_memcurve *curve,
					    const struct tp_event *event, int64_t *change);

/*
 * The same for who keeps something of his own about each block, by a number that is not 0. ALLOC:
 * *tag is the new block's, and becomes that of the block that it replaces unheard, 0: none. FREE:
 * becomes that of the block, 0: not known. Blocks of a window are forgotten when the next one's
 * first event comes.
 */
struct tp_memcurve_track *tp_memcurve_tagged(struct tp_memcurve *curve,
					     const struct tp_event *event, int64_t *change,
					     uint32_t *tag);
/* Of the block at event->arg on that device, alive in the event's window; 0: not known. */
uint32_t tp_memcurve_tag(struct tp_memcurve *curve, const struct tp_event *event,
			 uint32_t device);
/* Its bytes; 0: not known. */
int64_t tp_memcurve_bytes(struct tp_memcurve *curve, const struct tp_event *event, uint32_t device);
/* A block from before the window turned up there: its bytes are in the totals already, where
 * these are absolute. False: it cannot be kept. */
bool tp_memcurve_older(struct tp_memcurve *curve, const struct tp_event *event, uint32_t device,
		       uint32_t tag);

/* The live bytes of a process's device, as far as they are known. */
int64_t tp_memcurve_live(struct tp_memcurve *curve, const struct tp_event *event, uint32_t device);
/* Not set in this window, or blocks were freed since whose size nobody knows. */
bool tp_memcurve_is_unsure(struct tp_memcurve *curve, const struct tp_event *event, uint32_t device);
/* They are known from elsewhere. */
void tp_memcurve_set(struct tp_memcurve *curve, const struct tp_event *event, uint32_t device,
		     int64_t live_bytes);

/* Blocks not kept because there were too many, or memory was out. */
uint64_t tp_memcurve_lost(const struct tp_memcurve *curve);

#endif
