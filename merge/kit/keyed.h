/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyed.h - rows of an array found by a hash of their keys
 *
 * The array is the caller's; here stand hash and row number, 8 bytes each in a table that is at
 * most three quarters full. Zeroed is empty. Hashes of 32 bits: their upper ones choose the
 * place, so a product with a large odd number is good enough.
 *
 *	for (row = tp_keyed_first(&k, hash, &at); row != TP_NO_KEYED; row = tp_keyed_next(&k, hash, &at))
 *		if (key of row is the one)
 *			return row;
 *	tp_keyed_add(&k, hash, new_row);
 */
#ifndef TP_MERGE_KEYED_H
#define TP_MERGE_KEYED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define TP_NO_KEYED UINT32_MAX

struct tp_keyed_slot {
	uint32_t hash, row;	/* row plus one; 0: empty */
};

struct tp_keyed {
	struct tp_keyed_slot *slot;
	uint32_t n_bits, n;	/* 2^n_bits places, n of them taken */
};

static inline uint32_t tp_keyed_hash(uint64_t key)
{
	return (uint32_t)((key ^ key >> 29) * 0x9e3779b97f4a7c15ull >> 32);
}

static inline uint32_t tp_keyed_next(const struct tp_keyed *keyed, uint32_t hash, uint32_t *at)
{
	const uint32_t mask = (uint32_t)((1ull << keyed->n_bits) - 1);

	for (;;) {
		const struct tp_keyed_slot *slot = &keyed->slot[*at & mask];

		++*at;
		if (!slot->row)
			return TP_NO_KEYED;
		if (slot->hash == hash)
			return slot->row - 1;
	}
}

static inline uint32_t tp_keyed_first(const struct tp_keyed *keyed, uint32_t hash, uint32_t *at)
{
	if (!keyed->n)
		return TP_NO_KEYED;
	*at = hash >> (32 - keyed->n_bits);
	return tp_keyed_next(keyed, hash, at);
}

static inline void tp_keyed_put(struct tp_keyed *keyed, struct tp_keyed_slot entry)
{
	const uint32_t mask = (uint32_t)((1ull << keyed->n_bits) - 1);
	uint32_t at = entry.hash >> (32 - keyed->n_bits);

	while (keyed->slot[at & mask].row)
		at++;
	keyed->slot[at & mask] = entry;
}

/* False: out of memory. The same row may be added twice, and is found twice then. */
static inline bool tp_keyed_add(struct tp_keyed *keyed, uint32_t hash, uint32_t row)
{
	uint64_t n_slots = keyed->slot ? 1ull << keyed->n_bits : 0;

	if (keyed->n >= n_slots / 4 * 3) {
		struct tp_keyed more = {.n_bits = keyed->n_bits ? keyed->n_bits + 1 : 6,
					.n = keyed->n};

		if (more.n_bits > 31)
			return false;
		more.slot = calloc((size_t)1 << more.n_bits, sizeof(*more.slot));
		if (!more.slot)
			return false;
		for (uint64_t i = 0; i < n_slots; i++)
			if (keyed->slot[i].row)
				tp_keyed_put(&more, keyed->slot[i]);
		free(keyed->slot);
		*keyed = more;
	}
	tp_keyed_put(keyed, (struct tp_keyed_slot){hash, row + 1});
	keyed->n++;
	return true;
}

static inline void tp_keyed_free(struct tp_keyed *keyed)
{
	free(keyed->slot);
	*keyed = (struct tp_keyed){0};
}

#endif
