/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_blocks.c - the blocks of host memory that a process has, by address
 */
#include "merge/facts/heap/hostmem_blocks.h"

#include <stdlib.h>

enum { SLOTS_AT_FIRST = 1024 };

static uint32_t home_of(const struct tp_hostmem_blocks *blocks, uint64_t address)
{
	return (uint32_t)((address >> 4 ^ address << 32) * 0x9e3779b97f4a7c15ull >> 32) &
	       (blocks->n_slots - 1);
}

struct tp_hostmem_block *tp_hostmem_block_at(const struct tp_hostmem_blocks *blocks,
					     uint64_t address)
{
	uint32_t at;

	if (!blocks->n)
		return NULL;
	for (at = home_of(blocks, address); blocks->slot[at].row;
	     at = (at + 1) & (blocks->n_slots - 1))
		if (blocks->slot[at].address == address)
			return &blocks->slot[at];
	return NULL;
}

static void put(struct tp_hostmem_blocks *blocks, const struct tp_hostmem_block *block)
{
	uint32_t at = home_of(blocks, block->address);

	while (blocks->slot[at].row)
		at = (at + 1) & (blocks->n_slots - 1);
	blocks->slot[at] = *block;
}

static bool double_slots(struct tp_hostmem_blocks *blocks)
{
	struct tp_hostmem_blocks more = {
		.n = blocks->n, .n_slots = blocks->n_slots ? blocks->n_slots * 2 : SLOTS_AT_FIRST,
	};

	if (!more.n_slots)
		return false;
	more.slot = calloc(more.n_slots, sizeof(*more.slot));
	if (!more.slot)
		return false;
	for (uint32_t i = 0; i < blocks->n_slots; i++)
		if (blocks->slot[i].row)
			put(&more, &blocks->slot[i]);
	free(blocks->slot);
	*blocks = more;
	return true;
}

bool tp_hostmem_block_put(struct tp_hostmem_blocks *blocks, const struct tp_hostmem_block *block)
{
	if (blocks->n >= blocks->n_slots / 3 * 2 && !double_slots(blocks))
		return false;
	put(blocks, block);
	blocks->n++;
	return true;
}

void tp_hostmem_block_take(struct tp_hostmem_blocks *blocks, struct tp_hostmem_block *block)
{
	const uint32_t mask = blocks->n_slots - 1;
	uint32_t hole = (uint32_t)(block - blocks->slot);

	for (uint32_t at = (hole + 1) & mask; blocks->slot[at].row; at = (at + 1) & mask) {
		uint32_t home = home_of(blocks, blocks->slot[at].address);

		/* It may move into the hole unless its home lies between the hole and it. */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			blocks->slot[hole] = blocks->slot[at];
			hole = at;
		}
	}
	blocks->slot[hole].row = 0;
	blocks->n--;
}

void tp_hostmem_blocks_free(struct tp_hostmem_blocks *blocks)
{
	free(blocks->slot);
	*blocks = (struct tp_hostmem_blocks){0};
}
