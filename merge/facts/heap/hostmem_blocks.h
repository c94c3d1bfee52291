/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_blocks.h - the blocks of host memory that a process has, by address
 *
 * Open addressing, linear probing, removal by shifting back: its size follows what is alive.
 * Zeroed is empty.
 */
#ifndef TP_MERGE_HOSTMEM_BLOCKS_H
#define TP_MERGE_HOSTMEM_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct tp_hostmem_block {
	uint64_t address, bytes;
	uint32_t row;		/* plus one; 0: no block */
	uint32_t nth;		/* of its thread's allocations, modulo 2^32 */
	uint32_t step;		/* of the process's recorded ones, from 1 on; 0: in none */
	uint16_t thread;
	bool is_sampled;
};

struct tp_hostmem_blocks {
	struct tp_hostmem_block *slot;
	uint32_t n, n_slots;	/* a power of two */
};

/* NULL: none there. Until the next put or take. */
struct tp_hostmem_block *tp_hostmem_block_at(const struct tp_hostmem_blocks *blocks,
					     uint64_t address);
/* None is there; row is not 0. False: out of memory. */
bool tp_hostmem_block_put(struct tp_hostmem_blocks *blocks, const struct tp_hostmem_block *block);
/* `block` is what tp_hostmem_block_at returned. */
void tp_hostmem_block_take(struct tp_hostmem_blocks *blocks, struct tp_hostmem_block *block);
void tp_hostmem_blocks_free(struct tp_hostmem_blocks *blocks);

#endif
