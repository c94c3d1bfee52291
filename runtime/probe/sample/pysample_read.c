/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_read.c - a thread's frames, looked at twice
 *
 * One thread at a time uses it: the drain thread.
 */
#include "runtime/probe/sample/pysample_read.h"

#include "runtime/base/clock.h"
#include "runtime/probe/sample/pysample_names.h"

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
		if (a->frame[i].frame != b->frame[i].frame || a->frame[i].code != b->frame[i].code)
			return false;
	return true;
}

/* Both looks end at the same frame: nothing outside was missed while a call was being made. */
static bool has_same_end(const struct tp_pysample_look *a, const struct tp_pysample_look *b)
{
	return a->n && b->n && a->frame[a->n - 1].frame == b->frame[b->n - 1].frame &&
	       a->frame[a->n - 1].code == b->frame[b->n - 1].code;
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

enum tp_pysample_found tp_pysample_look(const char *state, const struct tp_pysample_state *kernel,
					struct tp_pysample_hint *hint, struct tp_pysample_look *look)
{
	static struct tp_pysample_look second;
	const uint64_t before = look->digest;

	for (uint32_t i = 0; i < TRIES; i++) {
		bool is_new = false, is_named;

		if (!tp_pysample_frames(state, hint, look))
			continue;
		look->time = tp_clock_now();
		/* It may have run, and came back or stayed: two looks that say the same. */
		if (look->digest == before)
			return TP_PYSAMPLE_UNNAMED;
		is_named = tp_pysample_names(look, &is_new);
		if (is_named && (!look->n || !tp_pysample_has_run(kernel)))
			return TP_PYSAMPLE_NAMED;
		if (!is_named || !tp_pysample_frames(state, hint, &second))
			continue;
		/* A thread that calls all the time is never the same twice; what names say of it was then
		 * read in an earlier look, and is compared with what its code objects say. */
		if (is_new ? is_same(look, &second) && is_named_alike(look, &second) :
			     has_same_end(look, &second) || is_same(look, &second))
			return TP_PYSAMPLE_NAMED;
	}
	return TP_PYSAMPLE_DISCARDED;
}
