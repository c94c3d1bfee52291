/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapdiff.c - host memory of two runs, stack by stack
 */
#include "merge/facts/heap/heapdiff.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"
#include "merge/kit/show.h"
#include "runtime/base/hash.h"

struct diff {
	struct tp_heapdiff_row *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed by_key;
	struct tp_frame *frame;
	uint32_t cap_frames;
};

/* Python has a forward() and a <module> in every file; what has no name is known by its module. */
static uint64_t hash_frame(const struct tp_frame *frame, uint64_t inner)
{
	const char *where = frame->is_python ? tp_show_base(frame->file)
			    : !frame->function[0] ? tp_show_base(frame->module) : "";
	uint64_t h = tp_hash_bytes(frame->function, strlen(frame->function), inner);

	return tp_hash_bytes(where, strlen(where), h);
}

static bool key_of(struct diff *diff, const struct tp_heap_rows *rows, uint32_t stack,
		   uint64_t *key)
{
	uint32_t n = rows->frames(rows->stacks, stack, diff->frame, diff->cap_frames);

	if (n > diff->cap_frames) {
		if (!tp_grow(&diff->frame, &diff->cap_frames, n, sizeof(diff->frame[0])))
			return false;
		n = rows->frames(rows->stacks, stack, diff->frame, diff->cap_frames);
	}
	*key = 1;
	for (uint32_t i = 0; i < n; i++)
		*key = hash_frame(&diff->frame[i], *key);
	return true;
}

static struct tp_heapdiff_row *find_row(struct diff *diff, uint64_t key)
{
	uint32_t hash = tp_keyed_hash(key), at, i;

	for (i = tp_keyed_first(&diff->by_key, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&diff->by_key, hash, &at)) {
		if (diff->row[i].key == key)
			return &diff->row[i];
	}
	if (!tp_grow(&diff->row, &diff->cap_rows, (uint64_t)diff->n_rows + 1,
		     sizeof(diff->row[0])) ||
	    !tp_keyed_add(&diff->by_key, hash, diff->n_rows))
		return NULL;
	diff->row[diff->n_rows].key = key;
	return &diff->row[diff->n_rows++];
}

static bool add_side(struct diff *diff, const struct tp_heap_rows *rows, bool is_base)
{
	for (uint32_t i = 0; i < rows->n_rows; i++) {
		struct tp_heapdiff_row *row;
		uint64_t key, *figure;

		if (!key_of(diff, rows, rows->row[i].stack, &key) || !(row = find_row(diff, key)))
			return false;
		figure = is_base ? row->base : row->now;
		for (uint32_t k = 0; k < TP_HEAP_FIGURES; k++)
			figure[k] += tp_heap_value(&rows->row[i], (enum tp_heap_cost)k);
		row->stack = rows->row[i].stack;
		row->is_of_base = is_base;
	}
	return true;
}

struct tp_heapdiff_row *tp_heapdiff(const struct tp_heap_rows *base,
				    const struct tp_heap_rows *now, uint32_t *n)
{
	struct diff diff = {0};
	bool is_good = tp_grow(&diff.row, &diff.cap_rows, 1, sizeof(diff.row[0])) &&
		       add_side(&diff, base, true) && add_side(&diff, now, false);

	tp_keyed_free(&diff.by_key);
	free(diff.frame);
	if (!is_good) {
		free(diff.row);
		return NULL;
	}
	*n = diff.n_rows;
	return diff.row;
}
