/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_place.c - windows by the ids of their calls, and the records that wait for theirs
 *
 * Of each window that is not written yet: the lowest and the highest id of its calls, the highest of
 * a call before it, and the lowest of one after it. Ids between are not known: their calls come later,
 * or never (CUPTI dropped them). Then the work is the window's: what is kept in the wrong one of two
 * windows is better than what is thrown away.
 */
#include "runtime/probe/gpu/cupti_place.h"

#include <string.h>

#include "runtime/base/arena.h"
#include "runtime/base/sync.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/gpu/cupti_decode.h"
#include "runtime/trace/kinds.h"

enum {
	N_PAST = 8,		/* windows written, that what comes too late is counted for */
	RING_PART = 8,		/* of the ring's records, as many may be kept */
	RING_LOOK = 512,	/* records between two looks at how full the ring is */
};

struct window {
	uint64_t begin, end;	/* ticks; end 0: it goes on */
	bool has_before, has_calls, has_next;
	uint32_t before;	/* the highest id of a call before it */
	uint32_t first, last;	/* ids of calls in it */
	uint32_t next;		/* the lowest id of a call after it */
};

static struct {
	struct window window[TP_RING_WINDOWS];	/* the first is being written */
	uint32_t n;
	bool is_armed;		/* after the last of them */
	bool is_last;		/* no more calls of the first one are to come */
	bool has_seen;
	uint32_t seen;		/* the highest id of all calls */
	struct window past[N_PAST];
	uint32_t n_past;	/* counts on */

	struct tp_rec *kept;	/* mapped when the first one comes */
	uint32_t n_kept, cap_kept, n_touched;
	bool is_new;		/* calls came since the last look */
} place;

struct tp_cupti_span tp_cupti_place_now = {UINT64_MAX, UINT64_MAX - 1};

/* ---- windows ---- */

/* Ids wrap: nearer than half the circle is before. */
static bool is_call_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

static void move_on(void)
{
	place.past[place.n_past++ % N_PAST] = place.window[0];
	place.n--;
	memmove(&place.window[0], &place.window[1], place.n * sizeof(place.window[0]));
	place.is_last = false;
}

static void follow(const struct tp_cupti_wanted *wanted)
{
	uint32_t n = wanted->has_window ? 1 + wanted->n_later : 0;

	while (place.n && (!n || place.window[0].begin != wanted->begin))
		move_on();
	for (uint32_t k = 0; k < n; k++) {
		const struct tp_cupti_span span =
			k ? wanted->later[k - 1] : (struct tp_cupti_span){wanted->begin, wanted->end};

		if (k == place.n)
			place.window[place.n++] = (struct window){
				.begin = span.begin, .has_before = place.has_seen, .before = place.seen,
			};
		place.window[k].end = span.end;
	}
	place.is_armed = wanted->has_next;
	tp_cupti_place_now.begin = n ? wanted->begin : UINT64_MAX;
	tp_cupti_place_now.end = n && wanted->end ? wanted->end : UINT64_MAX - 1;
}

void tp_cupti_place_begin(const struct tp_cupti_wanted *wanted)
{
	follow(wanted);
	place.is_new = true;
}

static void raise_to(bool *has, uint32_t *highest, uint32_t id)
{
	if (!*has || is_call_before(*highest, id))
		*highest = id;
	*has = true;
}

static void note_call(uint64_t begin, uint64_t end, uint32_t id)
{
	raise_to(&place.has_seen, &place.seen, id);
	for (uint32_t k = 0; k < place.n; k++) {
		struct window *w = &place.window[k];

		if (end < w->begin) {
			raise_to(&w->has_before, &w->before, id);
			return;
		}
		if (w->end && begin > w->end) {
			if (!w->has_next || is_call_before(id, w->next))
				w->next = id;
			w->has_next = true;
			continue;
		}
		if (!w->has_calls || is_call_before(id, w->first))
			w->first = id;
		raise_to(&w->has_calls, &w->last, id);
		return;
	}
}

/* ---- places ---- */

static bool is_of(const struct window *w, uint32_t id)
{
	return w->has_calls && is_call_before(w->first, id) && is_call_before(id, w->last);
}

static TP_COLD bool is_late(uint8_t kind, uint64_t end, uint32_t id)
{
	for (uint32_t i = 0; i < place.n_past && i < N_PAST; i++) {
		const struct window *w = &place.past[i];

		if ((end >= w->begin && end <= w->end) || (tp_kind_is_device(kind) && is_of(w, id)))
			return true;
	}
	return false;
}

/* Nobody wants it; or somebody would have. */
static TP_COLD enum tp_cupti_place leave_out(uint8_t kind, uint64_t end, uint32_t id)
{
	return is_late(kind, end, id) ? TP_CUPTI_LATE : TP_CUPTI_OUTSIDE;
}

/* Called before the window: in its warm-up. */
static bool is_before(const struct window *w, uint32_t id)
{
	return w->has_before && is_call_before(id, w->before) && !is_of(w, id);
}

/* Of work that ended after the first window. */
static TP_COLD enum tp_cupti_place place_after(uint8_t kind, uint64_t begin, uint64_t end, uint32_t id,
					       bool is_last)
{
	for (uint32_t k = 0; k < place.n; k++) {
		const struct window *w = &place.window[k];
		bool is_known, is_early;

		if (end < w->begin)
			return leave_out(kind, end, id);
		if (!w->end || end <= w->end)
			return TP_CUPTI_NOW;
		is_known = begin <= w->end || is_of(w, id);
		is_early = !is_known && (is_before(w, id) || is_late(kind, end, id));
		if (!is_known && !is_early && w->has_next && is_call_before(w->next, id))
			continue;
		if (k || (!is_known && !is_last))
			return TP_CUPTI_ASIDE;
		/* Called before the window, and begun after it. */
		return is_early ? leave_out(kind, end, id) : TP_CUPTI_AFTER;
	}
	return place.is_armed ? TP_CUPTI_NOW : leave_out(kind, end, id);
}

enum tp_cupti_place tp_cupti_place_slow(uint8_t kind, uint64_t begin, uint64_t end, uint32_t correlation)
{
	const struct window *w = &place.window[0];

	if (kind == TP_REC_CALL)
		note_call(begin, end, correlation);
	if (tp_unlikely(!place.n || end < w->begin))
		return leave_out(kind, end, correlation);
	if (tp_likely(!w->end || end <= w->end))
		return TP_CUPTI_NOW;
	if (tp_kind_is_device(kind))
		return place_after(kind, begin, end, correlation, place.is_last);
	if (begin <= w->end || place.n > 1 || place.is_armed)
		return TP_CUPTI_NOW;
	return leave_out(kind, end, correlation);
}

static enum tp_cupti_place place_untimed(uint8_t kind, uint32_t id, bool is_last)
{
	const struct window *w = &place.window[0];
	enum tp_cupti_place found;

	/* In a warm-up that is no loss, before the windows or after them. */
	if (!place.n || is_before(w, id))
		return TP_CUPTI_OUTSIDE;
	found = place_after(kind, UINT64_MAX, UINT64_MAX, id, is_last);
	return found == TP_CUPTI_NOW && place.window[place.n - 1].end ? TP_CUPTI_OUTSIDE : found;
}

enum tp_cupti_place tp_cupti_place_untimed(uint8_t kind, uint32_t correlation)
{
	return place_untimed(kind, correlation, place.is_last);
}

static enum tp_cupti_place place_again(const struct tp_rec *rec, bool is_last)
{
	const struct window *w = &place.window[0];
	uint64_t end = tp_rec_end(rec);

	if (!rec->time)
		return place_untimed(rec->kind, rec->link, is_last);
	if (!place.n || end < w->begin)
		return leave_out(rec->kind, end, rec->link);
	return place_after(rec->kind, rec->time, end, rec->link, is_last);
}

/* ---- what is kept ---- */

static bool map_kept(void)
{
	uint32_t cap = tp_ring.head ? tp_ring.head->n_chunks * (uint32_t)TP_CHUNK_RECORDS / RING_PART : 0;
	void *memory;

	if (!cap)
		return false;
	memory = tp_map_memory(cap * sizeof(*place.kept), MAP_NORESERVE);
	if (memory == MAP_FAILED)
		return false;
	place.kept = memory;
	place.cap_kept = cap;
	return true;
}

static void put(const struct tp_rec *kept, uint8_t flags)
{
	struct tp_cupti_counts *counts = &tp_cupti_counts[kept->kind];
	struct tp_rec *rec;

	if (!kept->time) {
		counts->no_time++;
		return;
	}
	rec = tp_ring_reserve();
	if (!rec) {
		counts->no_room++;
		return;
	}
	*rec = *kept;
	rec->flags |= flags;
	tp_ring_commit();
	tp_cupti_count_made(kept->kind, kept->name, kept->arg);
}

/* False: it stays. */
static bool settle_one(const struct tp_rec *rec, bool is_last)
{
	switch (place_again(rec, is_last)) {
	case TP_CUPTI_OUTSIDE:
		tp_cupti_counts[rec->kind].outside++;
		return true;
	case TP_CUPTI_LATE:
		tp_cupti_counts[rec->kind].late++;
		return true;
	case TP_CUPTI_NOW:
		put(rec, 0);
		return true;
	case TP_CUPTI_AFTER:
		put(rec, TP_F_AFTER);
		return true;
	case TP_CUPTI_ASIDE:
		break;
	}
	return false;
}

void tp_cupti_place_keep(const struct tp_rec *rec)
{
	if (tp_likely((place.kept || map_kept()) && place.n_kept < place.cap_kept)) {
		place.kept[place.n_kept++] = *rec;
		if (place.n_kept > place.n_touched)
			place.n_touched = place.n_kept;
	} else if (!settle_one(rec, true)) {
		tp_cupti_counts[rec->kind].no_room++;
	}
}

static void give_back(void)
{
	if (place.n_kept || !place.n_touched)
		return;
	madvise(place.kept, place.n_touched * sizeof(*place.kept), MADV_DONTNEED);
	place.n_touched = 0;
}

bool tp_cupti_place_kept(const struct tp_cupti_wanted *wanted, bool is_last, bool waits)
{
	uint32_t at, n = 0;

	if (!is_last && (!place.n_kept || !place.is_new))
		return true;
	follow(wanted);
	is_last |= place.is_last;
	for (at = 0; at < place.n_kept; at++) {
		if (waits && at % RING_LOOK == 0 && tp_cupti_is_ring_half_full())
			break;
		if (!settle_one(&place.kept[at], is_last))
			place.kept[n++] = place.kept[at];
	}
	if (n < at)
		memmove(&place.kept[n], &place.kept[at], (place.n_kept - at) * sizeof(*place.kept));
	place.n_kept -= at - n;
	if (n < place.n_kept)
		return false;
	place.is_new = false;
	place.is_last = is_last;
	if (is_last)
		give_back();
	return true;
}

uint32_t tp_cupti_place_n_kept(void)
{
	return place.n_kept;
}

void tp_cupti_place_forked(void)
{
	struct tp_rec *kept = place.kept;
	uint32_t cap = place.cap_kept;

	/* The child's copy of the mapping serves the child. */
	memset(&place, 0, sizeof(place));
	place.kept = kept;
	place.cap_kept = cap;
}
