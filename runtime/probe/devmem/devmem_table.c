/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_table.c - the blocks of device memory that are alive, by address or handle
 */
#include "runtime/probe/devmem/devmem_table.h"

#include <stddef.h>

#include "runtime/base/arena.h"

enum { FIRST_PLACES = 4096 };	/* 160 KiB: what a training with a caching allocator needs */

static uint32_t place_of(const struct tp_devmem_table *table, uint8_t world, uint64_t key)
{
	uint64_t h = (key ^ (uint64_t)world << 56) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 32) & (table->cap - 1);
}

struct tp_devmem_entry *tp_devmem_find(struct tp_devmem_table *table, uint8_t world, uint64_t key)
{
	uint32_t at;

	if (!table->n)
		return NULL;
	for (at = place_of(table, world, key); table->entry[at].world;
	     at = (at + 1) & (table->cap - 1))
		if (table->entry[at].key == key && table->entry[at].world == world)
			return &table->entry[at];
	return NULL;
}

static struct tp_devmem_entry *store(struct tp_devmem_table *table,
				     const struct tp_devmem_entry *entry)
{
	uint32_t at = place_of(table, entry->world, entry->key);

	while (table->entry[at].world)
		at = (at + 1) & (table->cap - 1);
	table->entry[at] = *entry;
	return &table->entry[at];
}

static bool grow(struct tp_devmem_table *table)
{
	struct tp_devmem_table larger = { .cap = table->cap ? table->cap * 2 : FIRST_PLACES };
	void *mapping = tp_map_memory(larger.cap * sizeof(*larger.entry), 0);

	if (mapping == MAP_FAILED)
		return false;
	larger.entry = mapping;
	for (uint32_t i = 0; i < table->cap; i++)
		if (table->entry[i].world)
			store(&larger, &table->entry[i]);
	if (table->cap)
		tp_unmap(table->entry, table->cap * sizeof(*table->entry));
	table->entry = larger.entry;
	table->cap = larger.cap;
	return true;
}

struct tp_devmem_entry *tp_devmem_put(struct tp_devmem_table *table,
				      const struct tp_devmem_entry *entry)
{
	if (table->n >= TP_DEVMEM_BLOCKS_MAX)
		return NULL;
	if (table->n >= table->cap / 4 * 3 && !grow(table))
		return NULL;
	table->n++;
	return store(table, entry);
}

void tp_devmem_remove(struct tp_devmem_table *table, struct tp_devmem_entry *entry)
{
	uint32_t mask = table->cap - 1, hole = (uint32_t)(entry - table->entry), at = hole;

	for (;;) {
		uint32_t home;

		at = (at + 1) & mask;
		if (!table->entry[at].world)
			break;
		home = place_of(table, table->entry[at].world, table->entry[at].key);
		/* It may move into the hole unless its home lies between the hole and it. */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			table->entry[hole] = table->entry[at];
			hole = at;
		}
	}
	table->entry[hole].world = TP_WORLD_NONE;
	table->n--;
}
