/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_outer.c - the outer part of a stack that broke off
 */
#include "runtime/probe/sample/pysample_outer.h"

#include <string.h>

#include "runtime/base/hash.h"

enum {
	NEAR = 8,	/* frames at an end of a stack that are looked at */
	SETS = 16, WAYS = 4,	/* of callers: so many functions have a place, wherever their code lies */
};

/* By whom a function was called last; in a set the newest function first. */
static struct caller {
	const char *callee;	/* its code; NULL: empty */
	const char *frame, *code;
} callers[SETS][WAYS];

static struct caller *set_of(const char *callee)
{
	return callers[tp_hash_mix((uintptr_t)callee) % SETS];
}

/* NULL: it is not known. */
static struct caller *find_caller(const char *callee)
{
	struct caller *set = set_of(callee);

	for (uint32_t i = 0; i < WAYS; i++)
		if (set[i].callee == callee)
			return &set[i];
	return NULL;
}

static void note_caller(const char *callee, const struct tp_pysample_frame *by)
{
	struct caller *set = set_of(callee), *caller = find_caller(callee);

	if (!caller) {
		memmove(&set[1], &set[0], (WAYS - 1) * sizeof(set[0]));
		caller = set;
	}
	*caller = (struct caller){ callee, by->frame, by->code };
}

bool tp_pysample_outer_is_known(const struct tp_pysample_hint *hint, const struct tp_pysample_look *look)
{
	return tp_pysample_ends_at(look, hint->end_frame, hint->end_code);
}

void tp_pysample_outer_note(struct tp_pysample_hint *hint, const struct tp_pysample_look *look)
{
	if (!look->n)
		return;
	hint->end_frame = look->frame[look->n - 1].frame;
	hint->end_code = look->frame[look->n - 1].code;
	for (uint32_t i = 0; i + 1 < look->n && i < NEAR; i++)
		note_caller(look->frame[i].code, &look->frame[i + 1]);
}

/* Where in `look` that frame stands; look->n: nowhere. */
static uint32_t find(const struct tp_pysample_look *look, const char *frame, const char *code)
{
	uint32_t i;

	for (i = 0; i < look->n; i++)
		if (tp_pysample_is_at(&look->frame[i], frame, code))
			break;
	return i;
}

/* Frames of `other` from `at` on become those of `look` from `from` on. */
static void add(struct tp_pysample_look *look, uint32_t from, const struct tp_pysample_look *other,
		uint32_t at)
{
	const uint32_t n_wanted = other->n - at, n_room = TP_PYSAMPLE_FRAMES - from;
	const uint32_t n = n_wanted < n_room ? n_wanted : n_room;

	memcpy(&look->frame[from], &other->frame[at], n * sizeof(look->frame[0]));
	look->n = from + n;
	look->is_cut = other->is_cut || n < n_wanted;
	look->digest = 0;
}

bool tp_pysample_outer_add(const struct tp_pysample_hint *hint, struct tp_pysample_look *look,
			   const struct tp_pysample_look *other)
{
	const struct caller *caller;
	uint32_t at;

	if (!look->n || !tp_pysample_outer_is_known(hint, other))
		return false;
	for (uint32_t i = look->n; i-- > 0 && look->n - i <= NEAR;) {
		at = find(other, look->frame[i].frame, look->frame[i].code);
		if (at < other->n) {
			add(look, i, other, at);
			return true;
		}
	}
	caller = find_caller(look->frame[look->n - 1].code);
	if (!caller)
		return false;
	at = find(other, caller->frame, caller->code);
	if (at == other->n)
		return false;
	add(look, look->n, other, at);
	return true;
}
