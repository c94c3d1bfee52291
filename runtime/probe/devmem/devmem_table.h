/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_table.h - the blocks of device memory that are alive, by address or handle
 *
 * Open addressing in a mapping of its own that doubles until TP_DEVMEM_BLOCKS_MAX blocks are
 * alive (32 MiB then, 64 for the moment of doubling); removal by shifting back, so a table that
 * lives for weeks does not fill with graves. No lock of its own: devmem_blocks.c has one. Nothing is
 * allocated from the guest's malloc.
 */
#ifndef TP_PROBE_DEVMEM_TABLE_H
#define TP_PROBE_DEVMEM_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_DEVMEM_BLOCKS_MAX = 3 << 18 };	/* 786,432: three quarters of 2^20 places */

/* Addresses and handles are numbers of several worlds, in which equal ones are no relatives. */
enum tp_devmem_world {
	TP_WORLD_NONE,		/* an empty place */
	TP_WORLD_ADDRESS,	/* device, pool, managed, pinned, registered, IPC, graph */
	TP_WORLD_HANDLE,	/* cuMemCreate's; names a TP_WORLD_PHYSICAL by its number */
	TP_WORLD_PHYSICAL,	/* by our own number: handles come back while it is mapped */
	TP_WORLD_MAPPED,
	TP_WORLD_RESERVED,
	TP_WORLD_ARRAY,
};

struct tp_devmem_entry {
	uint64_t key;
	uint64_t bytes;
	uint64_t other;		/* HANDLE, MAPPED: number of the physical memory; graph memory:
				 * its graph; PHYSICAL: the handle that it was made with */
	uint32_t n_refs;	/* HANDLE: references; PHYSICAL: handles and mappings */
	uint16_t cell;		/* whose it is: devmem_live.h */
	uint8_t world;		/* enum tp_devmem_world */
	uint8_t context;	/* dies with this one; 0: with none, or not known */
};

struct tp_devmem_table {
	struct tp_devmem_entry *entry;
	uint32_t n, cap;	/* cap: 0, or a power of two */
};

/* NULL: it is not there. Valid until the next put or remove. */
struct tp_devmem_entry *tp_devmem_find(struct tp_devmem_table *table, uint8_t world, uint64_t key);
/* There is none like it. NULL: too many, or no memory. */
struct tp_devmem_entry *tp_devmem_put(struct tp_devmem_table *table,
				      const struct tp_devmem_entry *entry);
void tp_devmem_remove(struct tp_devmem_table *table, struct tp_devmem_entry *entry);

#endif
