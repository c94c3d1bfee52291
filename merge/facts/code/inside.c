/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.c - functions of libraries by the user's functions that call them
 */
#include "merge/facts/code/inside.h"

#include "merge/kit/need.h"
#include "runtime/base/own_python.h"

enum {
	LEAST = 3,		/* samples */
	PART = 4,		/* all but one of so many are nearly all; one of so many is worth a name */
	CALLED = 1,		/* depth of what the user's function itself calls */
	NARROW_PART = 5,	/* less than what calls it: then that is named */
};

static uint32_t find_row(struct tp_inside *inside, uint32_t owner, const struct tp_frame *frame)
{
	const uint32_t hash = tp_keyed_hash((uint64_t)frame->function_id << 32 | owner);
	uint32_t at, row;

	for (row = tp_keyed_first(&inside->by, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&inside->by, hash, &at))
		if (inside->row[row].owner == owner &&
		    inside->row[row].frame.function_id == frame->function_id)
			return row;
	row = inside->n_rows++;
	tp_need_room(&inside->row, &inside->cap_rows, inside->n_rows, sizeof(*inside->row));
	inside->row[row] = (struct tp_inside_row){.owner = owner, .frame = *frame};
	tp_need_keyed(&inside->by, hash, row);
	return row;
}

void tp_inside_add(struct tp_inside *inside, uint32_t owner, uint32_t stack, const struct tp_frame *frame,
		   uint32_t n, enum tp_inside_names names, uint64_t n_more)
{
	for (uint32_t i = 0; i < n; i++) {
		struct tp_inside_row *row;
		uint32_t at;

		bool is_public;

		if (!frame[i].is_python || !tp_own_python_is_package(frame[i].file))
			continue;
		is_public = tp_own_python_is_public(frame[i].function) ||
			    (names == TP_INSIDE_LOADER && tp_own_python_is_asked(frame[i].function));
		if (!is_public && !tp_own_python_is_private(frame[i].function))
			continue;
		at = find_row(inside, owner, &frame[i]);
		row = &inside->row[at];
		row->is_private = !is_public;
		/* One that calls itself is there once. */
		if (row->stack == stack + 1)
			continue;
		row->stack = stack + 1;
		row->depth = n - i;
		row->n += n_more;
		tp_samples_count_line(&inside->lines, at, &frame[i], n_more, &row->line_n, &row->frame);
	}
}

static bool is_narrower(const struct tp_inside_row *a, const struct tp_inside_row *b)
{
	return a->n != b->n ? a->n < b->n : a->depth > b->depth;
}

/* How much a name tells. */
static uint32_t class_of(const struct tp_inside_row *row)
{
	return row->is_private ? 1 : row->depth > CALLED ? 2 : 0;
}

const struct tp_inside_row *tp_inside_better(const struct tp_inside_row *row,
					     const struct tp_inside_row *other, uint64_t n_all)
{
	if (row->n < n_all - n_all / (row->is_private ? PART : 2))
		return other;
	if (!other || class_of(row) != class_of(other))
		return !other || class_of(row) > class_of(other) ? row : other;
	return is_narrower(row, other) ? row : other;
}

static const struct tp_inside_row *find_narrowest(const struct tp_inside *inside, uint32_t owner,
						   uint64_t least)
{
	const struct tp_inside_row *found = NULL;

	for (uint32_t i = 0; i < inside->n_rows; i++) {
		const struct tp_inside_row *row = &inside->row[i];

		if (row->owner == owner && !row->is_private && row->n >= least &&
		    (!found || is_narrower(row, found)))
			found = row;
	}
	return found;
}

const struct tp_inside_row *tp_inside_of_loader(const struct tp_inside *inside, uint32_t owner,
						uint64_t n_all)
{
	const uint64_t nearly_all = n_all - n_all / PART, part = n_all / PART;
	const struct tp_inside_row *found = find_narrowest(inside, owner, n_all - n_all / 2);
	uint64_t most = 0;

	if (found && found->n < nearly_all)
		return found;
	for (uint32_t i = 0; i < inside->n_rows; i++) {
		const struct tp_inside_row *row = &inside->row[i];

		if (row->owner == owner && !row->is_private && row->n < nearly_all && row->n >= part &&
		    row->n > most)
			most = row->n;
	}
	return most >= LEAST ? find_narrowest(inside, owner, most - most / NARROW_PART) : found;
}

void tp_inside_free(struct tp_inside *inside)
{
	free(inside->row);
	tp_keyed_free(&inside->by);
	tp_tally_free(&inside->lines);
}
