/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_physical.c - physical memory (cuMemCreate), its handles and mappings
 *
 * It has a number of its own, because the program's handle is given back, and used anew, while the memory
 * lives on in its mappings.
 */
#include "runtime/probe/devmem/devmem.h"

#include "runtime/base/clock.h"
#include "runtime/probe/devmem/devmem_blocks.h"
#include "runtime/probe/devmem/devmem_live.h"
#include "runtime/probe/devmem/devmem_table.h"

static uint64_t last_number;	/* under the lock */

/* What this thread released last, for the case that the real call fails. */
static __thread struct {
	struct tp_devmem_entry handle;
	struct tp_devmem_entry physical;	/* that ended with it */
	struct tp_devmem_change change;
} released __attribute__((tls_model("initial-exec")));

/* The physical memory of that number has a handle or mapping less. */
static void unref(uint64_t number, uint32_t correlation, struct tp_devmem_change *change)
{
	struct tp_devmem_entry *physical =
		tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_PHYSICAL, number);

	if (!physical || --physical->n_refs)
		return;
	*change = (struct tp_devmem_change){ tp_clock_now(), physical->other, physical->bytes, correlation,
				   physical->cell, TP_REC_DEVFREE };
	released.physical = *physical;
	tp_devmem_end_life(physical);
}

/* The handle was given back unseen: what it named may live on in its mappings. */
static void drop_handle(uint64_t handle, struct tp_devmem_change *change)
{
	struct tp_devmem_entry *old = tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_HANDLE, handle);
	uint64_t number;

	if (!old)
		return;
	tp_devmem_count(&tp_devmem_blocks.counts.n_replaced);
	number = old->other;
	tp_devmem_remove(&tp_devmem_blocks.table, old);
	unref(number, 0, change);
}

void tp_devmem_create(const struct tp_devmem_block *block)
{
	struct tp_devmem_entry physical = {
		.bytes = block->bytes, .other = block->address, .n_refs = 1,
		.world = TP_WORLD_PHYSICAL,
	};
	struct tp_devmem_entry handle = {
		.key = block->address, .n_refs = 1, .world = TP_WORLD_HANDLE,
	};
	struct tp_devmem_change change = {
		0, block->address, block->bytes, block->correlation, 0, TP_REC_DEVALLOC,
	};
	struct tp_devmem_change dropped = { 0 };

	tp_devmem_lock();
	tp_devmem_count(&tp_devmem_blocks.counts.n_allocs);
	drop_handle(block->address, &dropped);
	physical.key = handle.other = ++last_number;
	change.cell = physical.cell = tp_devmem_block_cell(block);
	if (tp_devmem_keep(&physical) && !tp_devmem_put(&tp_devmem_blocks.table, &handle)) {
		tp_devmem_count(&tp_devmem_blocks.counts.n_not_kept);
		tp_devmem_end_life(tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_PHYSICAL, physical.key));
	}
	change.time = tp_clock_now();
	tp_devmem_unlock();
	tp_devmem_record(&dropped);
	tp_devmem_record(&change);
}

/* One more reference to the handle of that physical memory, which may have none now. */
static void ref_handle(uint64_t handle, uint64_t number)
{
	struct tp_devmem_entry *known = tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_HANDLE, handle);
	struct tp_devmem_entry entry = {
		.key = handle, .other = number, .n_refs = 1, .world = TP_WORLD_HANDLE,
	};

	if (known) {
		known->n_refs++;
		return;
	}
	if (tp_devmem_put(&tp_devmem_blocks.table, &entry))
		tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_PHYSICAL, number)->n_refs++;
}

void tp_devmem_retain(uint64_t handle, uint64_t mapped_at)
{
	struct tp_devmem_entry *mapped;

	tp_devmem_lock();
	mapped = tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_MAPPED, mapped_at);
	if (mapped && tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_PHYSICAL, mapped->other))
		ref_handle(handle, mapped->other);
	tp_devmem_unlock();
}

void tp_devmem_release(uint64_t handle, uint32_t correlation, const void *caller)
{
	struct tp_devmem_entry *entry;
	struct tp_devmem_change change = { 0 };

	released.handle.world = TP_WORLD_NONE;
	released.physical.world = TP_WORLD_NONE;
	tp_devmem_lock();
	tp_devmem_count(&tp_devmem_blocks.counts.n_frees);
	entry = tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_HANDLE, handle);
	if (!entry) {
		change = (struct tp_devmem_change){ 0, handle, 0, correlation, 0, TP_REC_DEVFREE };
		change.time = tp_clock_now();
		tp_devmem_free_unknown(&change, TP_DEVMEM_PHYSICAL, caller);
	} else {
		released.handle = *entry;
		if (!--entry->n_refs) {
			tp_devmem_remove(&tp_devmem_blocks.table, entry);
			unref(released.handle.other, correlation, &change);
		}
	}
	released.change = change;
	tp_devmem_unlock();
	tp_devmem_record(&change);
}

void tp_devmem_unrelease(void)
{
	struct tp_devmem_change change = { 0 };

	if (released.handle.world == TP_WORLD_NONE)
		return;
	tp_devmem_lock();
	if (released.physical.world != TP_WORLD_NONE) {
		released.physical.n_refs = 0;
		if (tp_devmem_keep(&released.physical)) {
			change = released.change;
			change.time = tp_clock_now();
			change.kind = TP_REC_DEVALLOC;
		}
	}
	if (tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_PHYSICAL, released.handle.other))
		ref_handle(released.handle.key, released.handle.other);
	tp_devmem_unlock();
	released.handle.world = TP_WORLD_NONE;
	tp_devmem_record(&change);
}

void tp_devmem_map(const struct tp_devmem_block *block, uint64_t handle)
{
	struct tp_devmem_entry entry = {
		.key = block->address, .bytes = block->bytes, .world = TP_WORLD_MAPPED,
	};
	struct tp_devmem_change change = {
		0, block->address, block->bytes, block->correlation, 0, TP_REC_DEVALLOC,
	};
	struct tp_devmem_block with_device = *block;
	struct tp_devmem_entry *named, *physical = NULL;

	tp_devmem_lock();
	tp_devmem_count(&tp_devmem_blocks.counts.n_allocs);
	named = tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_HANDLE, handle);
	if (named)
		physical = tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_PHYSICAL, named->other);
	if (physical) {
		entry.other = physical->key;
		with_device.device = tp_devmem_cell[physical->cell].what.device;
	}
	change.cell = entry.cell = tp_devmem_block_cell(&with_device);
	/* Looked up again: putting may have moved it. */
	if (tp_devmem_keep(&entry) && physical)
		tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_PHYSICAL, entry.other)->n_refs++;
	change.time = tp_clock_now();
	tp_devmem_unlock();
	tp_devmem_record(&change);
}

/* The mapping that begins at address; returns its bytes, 0: there is none. */
static uint64_t unmap_one(uint64_t address, uint32_t correlation)
{
	struct tp_devmem_change mapped = { 0, address, 0, correlation, 0, TP_REC_DEVFREE };
	struct tp_devmem_change physical = { 0 };
	struct tp_devmem_entry *entry;
	uint64_t number;

	tp_devmem_lock();
	entry = tp_devmem_find(&tp_devmem_blocks.table, TP_WORLD_MAPPED, address);
	if (entry) {
		tp_devmem_count(&tp_devmem_blocks.counts.n_frees);
		mapped.time = tp_clock_now();
		mapped.bytes = entry->bytes;
		mapped.cell = entry->cell;
		number = entry->other;
		tp_devmem_end_life(entry);
		unref(number, correlation, &physical);
	}
	tp_devmem_unlock();
	if (!entry)
		return 0;
	tp_devmem_record(&mapped);
	tp_devmem_record(&physical);
	return mapped.bytes;
}

void tp_devmem_unmap(uint64_t address, uint64_t bytes, uint32_t correlation, const void *caller)
{
	uint64_t end = address + bytes, at = address;

	while (at < end) {
		uint64_t n = unmap_one(at, correlation);

		if (!n)
			break;
		at += n;
	}
	if (at < end)		/* what is there was mapped before we came */
		tp_devmem_free(at, TP_DEVMEM_MAPPED, correlation, caller);
}
