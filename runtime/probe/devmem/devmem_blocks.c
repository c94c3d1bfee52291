/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_blocks.c - the table of device memory, its sums and the records of changes, in one order
 */
#include "runtime/probe/devmem/devmem_blocks.h"

#include <string.h>
#include <unistd.h>

#include "runtime/base/arena.h"
#include "runtime/base/sync.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/devmem/devmem_live.h"
#include "runtime/probe/devmem/owner_objects.h"

struct tp_devmem_blocks tp_devmem_blocks;

static struct {
	struct tp_spin lock;
	uint32_t sequence;	/* atomic: odd while something changes */
	uint32_t is_armed;	/* atomic */
	pid_t pid;		/* whose table it is; 0: nobody's yet */
} devmem = { .lock = { .rank = TP_LOCK_DEVMEM } };

void tp_devmem_count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

void tp_devmem_record(const struct tp_devmem_change *change)
{
	struct tp_rec *rec;
	uint32_t name;

	if (!change->kind || !__atomic_load_n(&devmem.is_armed, __ATOMIC_RELAXED))
		return;
	name = tp_devmem_cell_name(change->cell);
	rec = tp_ring_reserve();
	if (!rec)
		return;
	rec->time = change->time;
	tp_rec_set_len(rec, change->bytes);
	rec->kind = change->kind;
	rec->flags = 0;
	rec->name = name;
	rec->link = change->correlation;
	rec->arg = change->address;
	tp_ring_commit();
}

void tp_devmem_arm(bool is_armed)
{
	__atomic_store_n(&devmem.is_armed, is_armed, __ATOMIC_RELEASE);
}

void tp_devmem_lock(void)
{
	tp_spin_lock(&devmem.lock);
	if (!devmem.pid)
		devmem.pid = getpid();
	/* Before what follows: sums are stored with release. */
	__atomic_store_n(&devmem.sequence, devmem.sequence + 1, __ATOMIC_RELAXED);
}

void tp_devmem_unlock(void)
{
	__atomic_store_n(&devmem.sequence, devmem.sequence + 1, __ATOMIC_RELEASE);
	tp_spin_unlock(&devmem.lock);
}

bool tp_devmem_read_begin(uint32_t *sequence)
{
	*sequence = __atomic_load_n(&devmem.sequence, __ATOMIC_ACQUIRE);
	return !(*sequence & 1);
}

bool tp_devmem_read_end(uint32_t sequence)
{
	/* After what was read: sums are loaded with acquire. */
	return __atomic_load_n(&devmem.sequence, __ATOMIC_RELAXED) == sequence;
}

bool tp_devmem_is_parents(void)
{
	return devmem.pid && devmem.pid != getpid();
}

void tp_devmem_blocks_forked(void)
{
	struct tp_devmem_table *table = &tp_devmem_blocks.table;

	/* Another thread of the parent may have had the lock. */
	atomic_store(&devmem.lock.held, 0);
	if (table->cap)
		tp_unmap(table->entry, table->cap * sizeof(*table->entry));
	memset(&tp_devmem_blocks, 0, sizeof(tp_devmem_blocks));
	devmem.sequence = 0;
	devmem.pid = 0;
	tp_devmem_arm(false);
}

/* ---- under the lock ---- */

uint16_t tp_devmem_block_cell(const struct tp_devmem_block *block)
{
	struct tp_devmem_what what = {
		.device = block->device, .kind = block->kind, .is_async = block->is_async,
		.pool = block->pool,
	};

	return tp_devmem_cell_of(&what, tp_owner_of(block->caller));
}

static void begin_life(const struct tp_devmem_entry *entry)
{
	tp_devmem_add(entry->cell, (int64_t)entry->bytes);
	tp_devmem_count(&tp_devmem_cell[entry->cell].n_allocs);
}

void tp_devmem_end_life(struct tp_devmem_entry *entry)
{
	tp_devmem_add(entry->cell, -(int64_t)entry->bytes);
	tp_devmem_count(&tp_devmem_cell[entry->cell].n_frees);
	tp_devmem_remove(&tp_devmem_blocks.table, entry);
}

bool tp_devmem_keep(const struct tp_devmem_entry *entry)
{
	struct tp_devmem_entry *old = tp_devmem_find(&tp_devmem_blocks.table, entry->world, entry->key);

	if (old) {
		tp_devmem_count(&tp_devmem_blocks.counts.n_replaced);
		tp_devmem_end_life(old);
	}
	if (!tp_devmem_put(&tp_devmem_blocks.table, entry)) {
		tp_devmem_count(&tp_devmem_blocks.counts.n_not_kept);
		return false;
	}
	begin_life(entry);
	return true;
}

void tp_devmem_free_unknown(struct tp_devmem_change *change, uint8_t kind, const void *caller)
{
	struct tp_devmem_block block = {
		.device = TP_DEVMEM_NO_DEVICE, .kind = kind, .caller = caller,
	};

	tp_devmem_count(&tp_devmem_blocks.counts.n_unknown);
	change->bytes = 0;
	change->cell = tp_devmem_block_cell(&block);
}

void tp_devmem_counts(struct tp_devmem_counts *counts)
{
	const struct tp_devmem_counts *now = &tp_devmem_blocks.counts;

	counts->n_allocs = __atomic_load_n(&now->n_allocs, __ATOMIC_RELAXED);
	counts->n_frees = __atomic_load_n(&now->n_frees, __ATOMIC_RELAXED);
	counts->n_unknown = __atomic_load_n(&now->n_unknown, __ATOMIC_RELAXED);
	counts->n_replaced = __atomic_load_n(&now->n_replaced, __ATOMIC_RELAXED);
	counts->n_not_kept = __atomic_load_n(&now->n_not_kept, __ATOMIC_RELAXED);
}
