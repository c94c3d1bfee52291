/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_blocks.h - the table of device memory, its sums and the records of changes, in one order
 *
 * One spin lock around the table and the sums; records are made, and names looked up, after it is given
 * back. Times are taken under the lock, so that records and sums have one order. Of devmem.c and
 * devmem_physical.c only.
 */
#ifndef TP_PROBE_DEVMEM_BLOCKS_H
#define TP_PROBE_DEVMEM_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/probe/devmem/devmem.h"
#include "runtime/probe/devmem/devmem_table.h"

/* Under the lock. */
extern struct tp_devmem_blocks {
	struct tp_devmem_table table;
	struct tp_devmem_counts counts;	/* atomic to readers */
} tp_devmem_blocks __attribute__((visibility("hidden")));

/* What a record says, taken along from under the lock. */
struct tp_devmem_change {
	uint64_t time, address, bytes;
	uint32_t correlation;
	uint16_t cell;
	uint8_t kind;		/* TP_REC_DEVALLOC, TP_REC_DEVFREE; 0: none */
};

void tp_devmem_lock(void);
void tp_devmem_unlock(void);
/* Without the lock: nothing, where there is no change or recording is not armed. */
void tp_devmem_record(const struct tp_devmem_change *change);
void tp_devmem_arm(bool is_armed);

/* The table is that of the parent of this process. */
bool tp_devmem_is_parents(void);
/* In the child of fork: nothing is known, recording is not armed. */
void tp_devmem_blocks_forked(void);

/* ---- under the lock ---- */

void tp_devmem_count(uint64_t *counter);
/* The cell of what such a block is and who asked for it. */
uint16_t tp_devmem_block_cell(const struct tp_devmem_block *block);
/* Into the table and the sums, in the place of what is there under that key. False: the table is full, and
 * that is counted. */
bool tp_devmem_keep(const struct tp_devmem_entry *entry);
/* Out of the sums and of the table. */
void tp_devmem_end_life(struct tp_devmem_entry *entry);
/* What is given back is not in the table: counted, and `change` says it. */
void tp_devmem_free_unknown(struct tp_devmem_change *change, uint8_t kind, const void *caller);

#endif
