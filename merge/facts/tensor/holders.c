/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holders.c - who held the memory at one moment
 */
#include "merge/facts/tensor/holders.h"

#include <stdlib.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

void tp_holders_free(struct tp_holders *holders)
{
	free(holders->row);
	tp_keyed_free(&holders->keyed);
}

static bool is_of(const struct tp_holder *holder, const struct tp_life *life)
{
	return holder->name == life->name && holder->category == life->category &&
	       holder->origin.path == life->origin.path &&
	       holder->origin.stack == life->origin.stack;
}

/* NULL: out of memory. */
static struct tp_holder_row *find_row(struct tp_holders *holders, const struct tp_life *life)
{
	const uint32_t hash = tp_keyed_hash(((uint64_t)life->name << 8 | life->category) ^
					    ((uint64_t)life->origin.path << 40 ^
					     (uint64_t)life->origin.stack << 20));
	struct tp_holder_row *row;
	uint32_t at, i;

	for (i = tp_keyed_first(&holders->keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&holders->keyed, hash, &at))
		if (is_of(&holders->row[i].holder, life))
			return &holders->row[i];
	if (!tp_grow(&holders->row, &holders->cap, (uint64_t)holders->n + 1, sizeof(*row)) ||
	    !tp_keyed_add(&holders->keyed, hash, holders->n))
		return NULL;
	row = &holders->row[holders->n++];
	*row = (struct tp_holder_row){
		.holder = {.name = life->name, .category = life->category, .origin = life->origin},
		.age = holders->age,
	};
	return row;
}

bool tp_holders_add(struct tp_holders *holders, const struct tp_life *life)
{
	struct tp_holder_row *row = find_row(holders, life);

	if (!row)
		return false;
	if (row->age != holders->age) {
		row->age = holders->age;
		row->holder.bytes = 0;
		row->holder.n_blocks = 0;
	}
	row->holder.bytes = tp_add(row->holder.bytes, life->bytes);
	row->holder.n_blocks += !life->is_sum;
	return true;
}

void tp_holders_forget(struct tp_holders *holders)
{
	holders->age++;
}

static int compare_holders(const void *a, const void *b)
{
	const struct tp_holder *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->category != y->category)
		return (int)x->category - (int)y->category;
	if (x->origin.path != y->origin.path)
		return x->origin.path < y->origin.path ? -1 : 1;
	return (x->origin.stack > y->origin.stack) - (x->origin.stack < y->origin.stack);
}

struct tp_holder *tp_holders_sorted(const struct tp_holders *holders, uint32_t *n)
{
	struct tp_holder *sorted = malloc(((size_t)holders->n + 1) * sizeof(*sorted));

	*n = 0;
	if (!sorted)
		return NULL;
	for (uint32_t i = 0; i < holders->n; i++)
		if (holders->row[i].age == holders->age && holders->row[i].holder.bytes)
			sorted[(*n)++] = holders->row[i].holder;
	qsort(sorted, *n, sizeof(*sorted), compare_holders);
	return sorted;
}
