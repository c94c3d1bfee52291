/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_read.c - a thread's frames, looked at twice
 *
 * One thread at a time uses it: the drain thread.
 */
#include "runtime/probe/sample/pysample_read.h"

#include "runtime/base/clock.h"
#include "runtime/probe/sample/pysample_names.h"
#include "runtime/probe/sample/pysample_outer.h"

enum { TRIES = 4 };

const char *tp_pysample_read_init(const struct tp_pyframe_layout *layout)
{
	const char *why = tp_pysample_frames_init(layout);

	return why ? why : tp_pysample_names_init(layout);
}

static bool is_same(const struct tp_pysample_look *a, const struct tp_pysample_look *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!tp_pysample_is_at(&a->frame[i], b->frame[i].frame, b->frame[i].code))
			return false;
	return true;
}

/* Both looks end at the same frame: nothing outside was missed while a call was being made. */
static bool has_same_end(const struct tp_pysample_look *a, const struct tp_pysample_look *b)
{
	return b->n && tp_pysample_ends_at(a, b->frame[b->n - 1].frame, b->frame[b->n - 1].code);
}

/* The same frames have the same names, those that are new being read again. */
static bool is_named_alike(const struct tp_pysample_look *a, struct tp_pysample_look *b)
{
	bool is_new = false;

	if (!tp_pysample_names(b, &is_new))
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->frame[i].string != b->frame[i].string ||
		    a->frame[i].is_hidden != b->frame[i].is_hidden)
			return false;
	return true;
}

/*
 * Frames with names that were new, or an end that is not the one known: another look must say the same, or,
 * of known names, have the same end, or that end.
 */
static bool is_confirmed(const char *state, struct tp_pysample_hint *hint, struct tp_pysample_look *look,
			 bool is_whole, bool is_new)
{
	static struct tp_pysample_look other;

	for (uint32_t i = 0; i < TRIES; i++) {
		if (!tp_pysample_frames(state, hint, &other))
			continue;
		if (is_new)
			return is_whole && is_same(look, &other) && is_named_alike(look, &other);
		/* A thread that calls all the time is never the same twice; what names say of it was then
		 * read in an earlier look, and is compared with what its code objects say. */
		if (is_whole && (has_same_end(look, &other) || is_same(look, &other)))
			return true;
		if (tp_pysample_outer_add(hint, look, &other))
			return tp_pysample_names(look, &is_new) && !is_new;
	}
	return false;
}

enum tp_pysample_found tp_pysample_look(const char *state, const struct tp_pysample_state *kernel,
					struct tp_pysample_hint *hint, struct tp_pysample_look *look)
{
	const uint64_t before = look->digest;

	for (uint32_t i = 0; i < TRIES; i++) {
		bool is_new = false, is_whole = tp_pysample_frames(state, hint, look);

		if (!is_whole && !look->n)
			continue;
		look->time = tp_clock_now();
		/* It may have run, and came back or stayed: two looks that say the same. */
		if (is_whole && look->digest == before)
			return TP_PYSAMPLE_UNNAMED;
		if (!tp_pysample_names(look, &is_new))
			continue;
		if ((is_whole && ((!is_new && tp_pysample_outer_is_known(hint, look)) || !look->n ||
				  !tp_pysample_has_run(kernel))) ||
		    is_confirmed(state, hint, look, is_whole, is_new)) {
			tp_pysample_outer_note(hint, look);
			return TP_PYSAMPLE_NAMED;
		}
	}
	return TP_PYSAMPLE_DISCARDED;
}
