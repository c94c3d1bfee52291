/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcurve.c - tensor memory from its blocks: allocations and frees paired by address
 *
 * One open-addressed table of live blocks for all processes and devices, linear probing,
 * removal by shifting back: no tombstones, so its size follows what is alive.
 */
#include "merge/facts/tensor/memcurve.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

struct block {
	uint64_t address;
	uint64_t bytes;
	uint32_t track; /* plus one; 0: empty */
	uint32_t window;
	uint32_t tag;
};

struct tp_memcurve {
	struct block *block;
	uint32_t n_blocks, cap_blocks; /* capacity: a power of two */
	uint64_t lost;
	struct tp_memcurve_track *track;
	uint32_t n_tracks, cap_tracks;
	uint32_t last; /* track found last */
	uint32_t *last_of; /* the same of each process, by number */
	uint32_t cap_last_of;
};

struct tp_memcurve *tp_memcurve_new(void)
{
	return calloc(1, sizeof(struct tp_memcurve));
}

void tp_memcurve_free(struct tp_memcurve *curve)
{
	if (!curve)
		return;
	free(curve->block);
	free(curve->track);
	free(curve->last_of);
	free(curve);
}

static uint32_t hash_block(uint64_t address, uint32_t track)
{
	uint64_t h = (address ^ (uint64_t)track << 48) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 32);
}

/* Where the block is, or the empty place where it would be. Needs one empty place. */
static uint32_t find_block(const struct tp_memcurve *curve, uint64_t address,
			   uint32_t track)
{
	uint32_t mask = curve->cap_blocks - 1, at = hash_block(address, track) & mask;

	while (curve->block[at].track &&
	       (curve->block[at].address != address || curve->block[at].track != track))
		at = (at + 1) & mask;
	return at;
}

static bool is_stale(const struct tp_memcurve *curve, const struct block *block)
{
	return curve->track[block->track - 1].window != block->window;
}

/* Makes room for more: forgets the blocks of windows that are over, then doubles if the
 * others still fill more than a third. */
static bool rebuild(struct tp_memcurve *curve)
{
	struct block *old = curve->block;
	uint32_t n_old = curve->cap_blocks, n_kept = 0, cap = 1024;

	for (uint32_t i = 0; i < n_old; i++)
		n_kept += old[i].track && !is_stale(curve, &old[i]);
	while (cap / 3 < n_kept)
		cap *= 2;
	curve->block = calloc(cap, sizeof(*curve->block));
	if (!curve->block) {
		curve->block = old;
		return false;
	}
	curve->cap_blocks = cap;
	curve->n_blocks = n_kept;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i].track && !is_stale(curve, &old[i]))
			curve->block[find_block(curve, old[i].address, old[i].track)] =
			    old[i];
	free(old);
	return true;
}

static void remove_block(struct tp_memcurve *curve, uint32_t hole)
{
	uint32_t mask = curve->cap_blocks - 1, at = hole;

	for (;;) {
		uint32_t home;

		at = (at + 1) & mask;
		if (!curve->block[at].track)
			break;
		home = hash_block(curve->block[at].address, curve->block[at].track) & mask;
		/* It may move into the hole unless its home lies between the hole and it.
		 */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			curve->block[hole] = curve->block[at];
			hole = at;
		}
	}
	curve->block[hole].track = 0;
	curve->n_blocks--;
}

static struct tp_memcurve_track *find_track(struct tp_memcurve *curve,
					    const struct tp_event *event, uint32_t device)
{
	struct tp_memcurve_track *track;
	uint32_t proc = event->proc->at;

	if (!tp_grow(&curve->last_of, &curve->cap_last_of, (uint64_t)proc + 1,
		     sizeof(*curve->last_of)))
		return NULL;
	for (uint32_t i = 0; i < curve->n_tracks; i++) {
		uint32_t at = curve->last_of[proc] + i;

		if (at >= curve->n_tracks)
			at -= curve->n_tracks;
		if (curve->track[at].proc == proc && curve->track[at].device == device) {
			curve->last = curve->last_of[proc] = at;
			goto found;
		}
	}
	if (!tp_grow(&curve->track, &curve->cap_tracks, (uint64_t)curve->n_tracks + 1,
		     sizeof(*curve->track)))
		return NULL;
	curve->last = curve->last_of[proc] = curve->n_tracks++;
	curve->track[curve->last].proc = proc;
	curve->track[curve->last].device = device;
	curve->track[curve->last].window = event->window;
found:
	track = &curve->track[curve->last];
	/* Between windows nothing was seen: what was alive may be gone. */
	if (track->window != event->window) {
		track->window = event->window;
		track->live_bytes = 0;
		track->is_absolute = false;
	}
	return track;
}

/* A record holds 48 bits; what is more was made up. */
static int64_t size_of(const struct tp_event *event)
{
	return (int64_t)(event->len > TP_LEN_MAX ? TP_LEN_MAX : event->len);
}

static void set_level(struct tp_memcurve_track *track, int64_t live_bytes)
{
	track->live_bytes = live_bytes;
	track->is_absolute = true;
	track->n_unpaired_then = track->n_unpaired;
}

static int64_t take_block(struct tp_memcurve *curve, struct tp_memcurve_track *track,
			  const struct tp_event *event, uint32_t *tag)
{
	uint32_t at;
	int64_t bytes = size_of(event);
	bool is_known = event->len != 0;

	*tag = 0;
	if (curve->n_blocks) {
		at = find_block(curve, event->arg, curve->last + 1);
		if (curve->block[at].track) {
			if (curve->block[at].window == event->window)
				*tag = curve->block[at].tag;
			/* A block of an earlier window at this address says nothing. */
			if (!is_known && curve->block[at].window == event->window) {
				bytes = (int64_t)curve->block[at].bytes;
				is_known = true;
			}
			remove_block(curve, at);
		}
	}
	if (!is_known)
		track->n_unpaired++;
	return -bytes;
}

/* Room for one more block and an empty place behind it. Three quarters full at most: probes
 * stay short. */
static bool has_room(struct tp_memcurve *curve)
{
	if (curve->n_blocks < curve->cap_blocks / 4 * 3 &&
	    curve->n_blocks < TP_MEMCURVE_BLOCKS_MAX)
		return true;
	/* After a rebuild that found everything alive, do not try again for each block. */
	if (curve->n_blocks >= TP_MEMCURVE_BLOCKS_MAX && curve->lost % 65536)
		return false;
	return rebuild(curve) && curve->n_blocks < TP_MEMCURVE_BLOCKS_MAX;
}

static void put_block(struct tp_memcurve *curve, struct tp_memcurve_track *track,
		      const struct tp_event *event, uint32_t *tag)
{
	struct block *block;
	uint32_t replaced = 0;

	track->live_bytes = tp_add(track->live_bytes, size_of(event));
	if (!has_room(curve)) {
		curve->lost++;
		*tag = 0;
		return;
	}
	block = &curve->block[find_block(curve, event->arg, curve->last + 1)];
	/* Nobody saw the old block at this address being freed. */
	if (block->track && block->window == event->window) {
		track->live_bytes = tp_sub(track->live_bytes, (int64_t)block->bytes);
		replaced = block->tag;
	}
	curve->n_blocks += !block->track;
	*block = (struct block){event->arg, (uint64_t)size_of(event), curve->last + 1,
				event->window, *tag};
	*tag = replaced;
}

struct tp_memcurve_track *tp_memcurve_event(struct tp_memcurve *curve,
					    const struct tp_event *event, int64_t *change)
{
	uint32_t tag = 0;

	return tp_memcurve_tagged(curve, event, change, &tag);
}

struct tp_memcurve_track *tp_memcurve_tagged(struct tp_memcurve *curve,
					     const struct tp_event *event, int64_t *change,
					     uint32_t *tag)
{
	struct tp_memcurve_track *track;

	*change = 0;
	if (event->kind != TP_REC_ALLOC && event->kind != TP_REC_FREE &&
	    event->kind != TP_REC_TOTALS)
		return NULL;
	track = find_track(curve, event, event->link);
	if (!track)
		return NULL;
	switch (event->kind) {
	case TP_REC_ALLOC:
		track->n_allocs++;
		*change = size_of(event);
		/* Of old versions of torch.profiler without an address: its free cannot be found. */
		if (event->arg)
			put_block(curve, track, event, tag);
		else
			track->live_bytes = tp_add(track->live_bytes, *change);
		break;
	case TP_REC_FREE:
		track->n_frees++;
		*change = take_block(curve, track, event, tag);
		track->live_bytes = tp_add(track->live_bytes, *change);
		break;
	default:
		set_level(track, size_of(event));
	}
	return track;
}

/* The block that is alive there; NULL: none. */
static const struct block *block_at(struct tp_memcurve *curve, const struct tp_event *event,
				    uint32_t device)
{
	const struct block *block;

	if (!find_track(curve, event, device) || !curve->n_blocks)
		return NULL;
	block = &curve->block[find_block(curve, event->arg, curve->last + 1)];
	return block->track && block->window == event->window ? block : NULL;
}

uint32_t tp_memcurve_tag(struct tp_memcurve *curve, const struct tp_event *event,
			 uint32_t device)
{
	const struct block *block = block_at(curve, event, device);

	return block ? block->tag : 0;
}

int64_t tp_memcurve_bytes(struct tp_memcurve *curve, const struct tp_event *event, uint32_t device)
{
	const struct block *block = block_at(curve, event, device);

	return block ? (int64_t)block->bytes : 0;
}

bool tp_memcurve_older(struct tp_memcurve *curve, const struct tp_event *event, uint32_t device,
		       uint32_t tag)
{
	struct tp_memcurve_track *track = find_track(curve, event, device);
	int64_t live_bytes;

	if (!track)
		return false;
	live_bytes = track->live_bytes;
	put_block(curve, track, event, &tag);
	if (track->is_absolute)
		track->live_bytes = live_bytes;
	/* Of the block itself: it was not kept. */
	return tp_memcurve_tag(curve, event, device) != 0;
}

int64_t tp_memcurve_live(struct tp_memcurve *curve, const struct tp_event *event, uint32_t device)
{
	const struct tp_memcurve_track *track = find_track(curve, event, device);

	return track ? track->live_bytes : 0;
}

bool tp_memcurve_is_unsure(struct tp_memcurve *curve, const struct tp_event *event, uint32_t device)
{
	const struct tp_memcurve_track *track = find_track(curve, event, device);

	return track && (!track->is_absolute || track->n_unpaired != track->n_unpaired_then);
}

void tp_memcurve_set(struct tp_memcurve *curve, const struct tp_event *event,
		     uint32_t device, int64_t live_bytes)
{
	struct tp_memcurve_track *track = find_track(curve, event, device);

	if (!track)
		return;
	set_level(track, live_bytes);
}

uint64_t tp_memcurve_lost(const struct tp_memcurve *curve)
{
	return curve->lost;
}
