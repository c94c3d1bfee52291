/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_place.h - to which window a record of CUPTI belongs, and what waits until that is known
 *
 * Device work belongs to the window that launched it, however late it runs: its call tells, by the
 * correlation id, and ids are given in order. But CUPTI delivers a kernel before the call that
 * launched it, and while the records of one window are awaited others may begin and end. The ring
 * takes work that ended after its window (TP_F_AFTER) for the window being written only. So what
 * runs after a window is kept here while its call is not known, or its window's turn has not come.
 *
 * Drain thread only. Kept records lie in one mapping, an eighth of the ring's size at most; its pages
 * are given back when it is empty.
 */
#ifndef TP_PROBE_CUPTI_PLACE_H
#define TP_PROBE_CUPTI_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/ring_layout.h"

struct tp_cupti_span {		/* of a window: ticks; end 0: it goes on */
	uint64_t begin, end;
};

/* What is wanted now; the probe keeps it up to date. */
struct tp_cupti_wanted {
	uint64_t begin, end;	/* of the window being written */
	bool has_window;	/* else everything is outside */
	bool has_next;		/* armed again, after the last of the windows: its warm-up */
	uint32_t n_later;	/* windows that have begun since, in order */
	struct tp_cupti_span later[TP_RING_WINDOWS - 1];
};

enum tp_cupti_place {
	TP_CUPTI_OUTSIDE,	/* of no window */
	TP_CUPTI_LATE,		/* of one whose file is finished */
	TP_CUPTI_NOW,		/* goes to the ring, which finds the window by the time */
	TP_CUPTI_AFTER,		/* the same, with TP_F_AFTER */
	TP_CUPTI_ASIDE,		/* to be kept */
};

/* First, whenever records are decoded. */
void tp_cupti_place_begin(const struct tp_cupti_wanted *wanted);

/* The window being written; one that goes on has the highest end, none the highest begin. */
extern struct tp_cupti_span tp_cupti_place_now __attribute__((visibility("hidden")));
enum tp_cupti_place tp_cupti_place_slow(uint8_t kind, uint64_t begin, uint64_t end, uint32_t correlation);

/* Of a record with these times; of calls, takes note of the id. */
static inline enum tp_cupti_place tp_cupti_place(uint8_t kind, uint64_t begin, uint64_t end,
						 uint32_t correlation)
{
	if (kind != TP_REC_CALL && end >= tp_cupti_place_now.begin && end <= tp_cupti_place_now.end)
		return TP_CUPTI_NOW;
	return tp_cupti_place_slow(kind, begin, end, correlation);
}

/* Of device work whose times are missing: OUTSIDE and ASIDE, else they are a loss. */
enum tp_cupti_place tp_cupti_place_untimed(uint8_t kind, uint32_t correlation);

/* Keeps a record that is ASIDE; time 0: it has none. Where there is no room it is put, or counted, by
 * what is known. */
void tp_cupti_place_keep(const struct tp_rec *rec);
/*
 * Looks at what is kept again, and puts into the ring, or counts, what is known by now. is_last: all
 * records of the window being written have come, so a call that is not known was one of the window.
 * False, where it waits: the ring is half full, ask again when it was drained.
 */
bool tp_cupti_place_kept(const struct tp_cupti_wanted *wanted, bool is_last, bool waits);
uint32_t tp_cupti_place_n_kept(void);
void tp_cupti_place_forked(void);

#endif
