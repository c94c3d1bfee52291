/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem.c - blocks of device memory: who is alive, and a record of each change
 *
 * One spin lock around the table and the sums; records are made, and names looked up, after it
 * is given back. Physical memory (cuMemCreate) has a number of its own, because the program's
 * handle is given back, and used anew, while the memory lives on in its mappings.
 */
#include "runtime/probe/devmem/devmem.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/devmem/devmem_live.h"
#include "runtime/probe/devmem/devmem_sums.h"
#include "runtime/probe/devmem/devmem_table.h"
#include "runtime/probe/devmem/owner.h"

uint32_t tp_devmem_by_cupti;

static struct {
	struct tp_spin lock;
	struct tp_devmem_table table;
	uint32_t sequence;		/* atomic: odd while something changes */
	uint64_t last_number;		/* of physical memory */
	struct tp_devmem_counts counts;	/* atomic to readers */
	uint32_t is_armed;		/* atomic */
	bool is_wanted;
	pid_t pid;			/* whose table it is; 0: nobody's yet */
} devmem = { .lock = { .rank = TP_LOCK_DEVMEM } };

/* What a record says, taken along from under the lock. */
struct change {
	uint64_t time, address, bytes;
	uint32_t correlation;
	uint16_t cell;
	uint8_t kind;		/* TP_REC_DEVALLOC, TP_REC_DEVFREE; 0: none */
};

/* What this thread freed last, for the case that the real call fails. */
static __thread struct {
	struct tp_devmem_entry entry;
	struct tp_devmem_entry physical;
	struct change change;
} freed __attribute__((tls_model("initial-exec")));

static void count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static void record(const struct change *change)
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

static void lock(void)
{
	tp_spin_lock(&devmem.lock);
	if (!devmem.pid)
		devmem.pid = getpid();
	/* Before what follows: sums are stored with release. */
	__atomic_store_n(&devmem.sequence, devmem.sequence + 1, __ATOMIC_RELAXED);
}

static void unlock(void)
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

/* ---- under the lock: times are taken there too, so that records and sums have one order ---- */

static uint8_t world_of(uint8_t kind)
{
	switch (kind) {
	case TP_DEVMEM_MAPPED:
		return TP_WORLD_MAPPED;
	case TP_DEVMEM_RESERVED:
		return TP_WORLD_RESERVED;
	case TP_DEVMEM_ARRAY:
		return TP_WORLD_ARRAY;
	default:
		return TP_WORLD_ADDRESS;
	}
}

static uint16_t cell_of(const struct tp_devmem_block *block)
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
	count(&tp_devmem_cell[entry->cell].n_allocs);
}

/* Out of the sums and of the table. */
static void end_life(struct tp_devmem_entry *entry)
{
	tp_devmem_add(entry->cell, -(int64_t)entry->bytes);
	count(&tp_devmem_cell[entry->cell].n_frees);
	tp_devmem_remove(&devmem.table, entry);
}

static bool keep(const struct tp_devmem_entry *entry)
{
	struct tp_devmem_entry *old = tp_devmem_find(&devmem.table, entry->world, entry->key);

	if (old) {
		count(&devmem.counts.n_replaced);
		end_life(old);
	}
	if (!tp_devmem_put(&devmem.table, entry)) {
		count(&devmem.counts.n_not_kept);
		return false;
	}
	begin_life(entry);
	return true;
}

/* The physical memory of that number has a handle or mapping less. */
static void unref(uint64_t number, uint32_t correlation, struct change *change)
{
	struct tp_devmem_entry *physical =
		tp_devmem_find(&devmem.table, TP_WORLD_PHYSICAL, number);

	if (!physical || --physical->n_refs)
		return;
	*change = (struct change){ tp_clock_now(), physical->other, physical->bytes, correlation,
				   physical->cell, TP_REC_DEVFREE };
	freed.physical = *physical;
	end_life(physical);
}

/* ---- told ---- */

void tp_devmem_alloc(const struct tp_devmem_block *block)
{
	struct tp_devmem_entry entry = {
		.key = block->address, .bytes = block->bytes, .other = block->graph,
		.world = world_of(block->kind),
		.context = block->context < 256 ? (uint8_t)block->context : 0,
	};
	struct change change = { 0, block->address, block->bytes, block->correlation, 0,
				 TP_REC_DEVALLOC };

	if (!block->address)
		return;
	lock();
	count(&devmem.counts.n_allocs);
	change.cell = entry.cell = cell_of(block);
	keep(&entry);
	change.time = tp_clock_now();
	unlock();
	record(&change);
}

static void free_unknown(struct change *change, uint8_t kind, const void *caller)
{
	struct tp_devmem_block block = {
		.device = TP_DEVMEM_NO_DEVICE, .kind = kind, .caller = caller,
	};

	count(&devmem.counts.n_unknown);
	change->bytes = 0;
	change->cell = cell_of(&block);
}

bool tp_devmem_free(uint64_t address, uint8_t kind, uint32_t correlation, const void *caller)
{
	struct change change = { 0, address, 0, correlation, 0, TP_REC_DEVFREE };
	struct tp_devmem_entry *entry;

	freed.entry.world = TP_WORLD_NONE;
	if (!address)		/* legal, and common: cudaFree(0) */
		return false;
	lock();
	count(&devmem.counts.n_frees);
	entry = tp_devmem_find(&devmem.table, world_of(kind), address);
	if (entry) {
		freed.entry = *entry;
		change.bytes = entry->bytes;
		change.cell = entry->cell;
		end_life(entry);
	} else {
		free_unknown(&change, kind, caller);
	}
	change.time = tp_clock_now();
	freed.change = change;
	unlock();
	record(&change);
	return freed.entry.world != TP_WORLD_NONE;
}

void tp_devmem_unfree(void)
{
	if (freed.entry.world == TP_WORLD_NONE)
		return;
	lock();
	keep(&freed.entry);
	freed.change.time = tp_clock_now();
	unlock();
	freed.entry.world = TP_WORLD_NONE;
	freed.change.kind = TP_REC_DEVALLOC;
	record(&freed.change);
}

/* The handle was given back unseen: what it named may live on in its mappings. */
static void drop_handle(uint64_t handle, struct change *change)
{
	struct tp_devmem_entry *old = tp_devmem_find(&devmem.table, TP_WORLD_HANDLE, handle);
	uint64_t number;

	if (!old)
		return;
	count(&devmem.counts.n_replaced);
	number = old->other;
	tp_devmem_remove(&devmem.table, old);
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
	struct change change = { 0, block->address, block->bytes, block->correlation, 0,
				 TP_REC_DEVALLOC };
	struct change dropped = { 0 };

	lock();
	count(&devmem.counts.n_allocs);
	drop_handle(block->address, &dropped);
	physical.key = handle.other = ++devmem.last_number;
	change.cell = physical.cell = cell_of(block);
	if (keep(&physical) && !tp_devmem_put(&devmem.table, &handle)) {
		count(&devmem.counts.n_not_kept);
		end_life(tp_devmem_find(&devmem.table, TP_WORLD_PHYSICAL, physical.key));
	}
	change.time = tp_clock_now();
	unlock();
	record(&dropped);
	record(&change);
}

/* One more reference to the handle of that physical memory, which may have none now. */
static void ref_handle(uint64_t handle, uint64_t number)
{
	struct tp_devmem_entry *known = tp_devmem_find(&devmem.table, TP_WORLD_HANDLE, handle);
	struct tp_devmem_entry entry = {
		.key = handle, .other = number, .n_refs = 1, .world = TP_WORLD_HANDLE,
	};

	if (known) {
		known->n_refs++;
		return;
	}
	if (tp_devmem_put(&devmem.table, &entry))
		tp_devmem_find(&devmem.table, TP_WORLD_PHYSICAL, number)->n_refs++;
}

void tp_devmem_retain(uint64_t handle, uint64_t mapped_at)
{
	struct tp_devmem_entry *mapped;

	lock();
	mapped = tp_devmem_find(&devmem.table, TP_WORLD_MAPPED, mapped_at);
	if (mapped && tp_devmem_find(&devmem.table, TP_WORLD_PHYSICAL, mapped->other))
		ref_handle(handle, mapped->other);
	unlock();
}

void tp_devmem_release(uint64_t handle, uint32_t correlation, const void *caller)
{
	struct tp_devmem_entry *entry;
	struct change change = { 0 };

	freed.entry.world = TP_WORLD_NONE;
	freed.physical.world = TP_WORLD_NONE;
	lock();
	count(&devmem.counts.n_frees);
	entry = tp_devmem_find(&devmem.table, TP_WORLD_HANDLE, handle);
	if (!entry) {
		change = (struct change){ 0, handle, 0, correlation, 0, TP_REC_DEVFREE };
		change.time = tp_clock_now();
		free_unknown(&change, TP_DEVMEM_PHYSICAL, caller);
	} else {
		freed.entry = *entry;
		if (!--entry->n_refs) {
			tp_devmem_remove(&devmem.table, entry);
			unref(freed.entry.other, correlation, &change);
		}
	}
	freed.change = change;
	unlock();
	record(&change);
}

void tp_devmem_unrelease(void)
{
	struct change change = { 0 };

	if (freed.entry.world == TP_WORLD_NONE)
		return;
	lock();
	if (freed.physical.world != TP_WORLD_NONE) {
		freed.physical.n_refs = 0;
		if (keep(&freed.physical)) {
			change = freed.change;
			change.time = tp_clock_now();
			change.kind = TP_REC_DEVALLOC;
		}
	}
	if (tp_devmem_find(&devmem.table, TP_WORLD_PHYSICAL, freed.entry.other))
		ref_handle(freed.entry.key, freed.entry.other);
	unlock();
	freed.entry.world = TP_WORLD_NONE;
	record(&change);
}

void tp_devmem_map(const struct tp_devmem_block *block, uint64_t handle)
{
	struct tp_devmem_entry entry = {
		.key = block->address, .bytes = block->bytes, .world = TP_WORLD_MAPPED,
	};
	struct change change = { 0, block->address, block->bytes, block->correlation, 0,
				 TP_REC_DEVALLOC };
	struct tp_devmem_block with_device = *block;
	struct tp_devmem_entry *named, *physical = NULL;

	lock();
	count(&devmem.counts.n_allocs);
	named = tp_devmem_find(&devmem.table, TP_WORLD_HANDLE, handle);
	if (named)
		physical = tp_devmem_find(&devmem.table, TP_WORLD_PHYSICAL, named->other);
	if (physical) {
		entry.other = physical->key;
		with_device.device = tp_devmem_cell[physical->cell].what.device;
	}
	change.cell = entry.cell = cell_of(&with_device);
	/* Looked up again: putting may have moved it. */
	if (keep(&entry) && physical)
		tp_devmem_find(&devmem.table, TP_WORLD_PHYSICAL, entry.other)->n_refs++;
	change.time = tp_clock_now();
	unlock();
	record(&change);
}

/* The mapping that begins at address; returns its bytes, 0: there is none. */
static uint64_t unmap_one(uint64_t address, uint32_t correlation)
{
	struct change mapped = { 0, address, 0, correlation, 0, TP_REC_DEVFREE };
	struct change physical = { 0 };
	struct tp_devmem_entry *entry;
	uint64_t number;

	lock();
	entry = tp_devmem_find(&devmem.table, TP_WORLD_MAPPED, address);
	if (entry) {
		count(&devmem.counts.n_frees);
		mapped.time = tp_clock_now();
		mapped.bytes = entry->bytes;
		mapped.cell = entry->cell;
		number = entry->other;
		end_life(entry);
		unref(number, correlation, &physical);
	}
	unlock();
	if (!entry)
		return 0;
	record(&mapped);
	record(&physical);
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

/* One block of a context or graph; false: there is none left. */
static bool end_one(uint32_t context, uint64_t graph, uint32_t correlation, uint32_t *from)
{
	struct change change = { 0 };

	lock();
	for (; *from < devmem.table.cap && !change.kind; ++*from) {
		struct tp_devmem_entry *entry = &devmem.table.entry[*from];

		if (!entry->world || (context ? entry->context != context
					      : entry->world != TP_WORLD_ADDRESS ||
							entry->other != graph))
			continue;
		change = (struct change){ tp_clock_now(), entry->key, entry->bytes, correlation,
					  entry->cell, TP_REC_DEVFREE };
		end_life(entry);
		--*from;	/* another one may have moved here */
	}
	unlock();
	record(&change);
	return change.kind != 0;
}

void tp_devmem_context_gone(uint32_t context)
{
	uint32_t from = 0;

	if (!context || context > 255)
		return;
	while (end_one(context, 0, 0, &from))
		;
}

void tp_devmem_graph_gone(uint64_t graph, uint32_t correlation)
{
	uint32_t from = 0;

	if (!graph)
		return;
	while (end_one(0, graph, correlation, &from))
		;
}

void tp_devmem_forget(uint8_t kind)
{
	uint64_t live = 0;

	for (uint32_t i = 0, n = tp_devmem_n_cells(); i < n; i++)
		if (tp_devmem_cell[i].what.kind == kind)
			live += __atomic_load_n(&tp_devmem_cell[i].live, __ATOMIC_RELAXED);
	if (!live)
		return;
	lock();
	for (uint32_t i = 0; i < devmem.table.cap; i++) {
		struct tp_devmem_entry *entry = &devmem.table.entry[i];

		if (!entry->world || tp_devmem_cell[entry->cell].what.kind != kind)
			continue;
		end_life(entry);
		i--;	/* another one may have moved here */
	}
	unlock();
}

/* ---- asked ---- */

uint64_t tp_devmem_live(uint32_t device, uint8_t kind)
{
	uint64_t sum = 0, peak;

	if (!kind && tp_devmem_sum(device, &sum, &peak))
		return sum;
	for (uint32_t i = 0, n = tp_devmem_n_cells(); i < n; i++) {
		const struct tp_devmem_cell *cell = &tp_devmem_cell[i];

		if (cell->what.device == device &&
		    (kind ? cell->what.kind == kind : tp_devmem_is_on_device(cell->what.kind)))
			sum += __atomic_load_n(&cell->live, __ATOMIC_RELAXED);
	}
	return sum;
}

void tp_devmem_counts(struct tp_devmem_counts *counts)
{
	const struct tp_devmem_counts *now = &devmem.counts;

	counts->n_allocs = __atomic_load_n(&now->n_allocs, __ATOMIC_RELAXED);
	counts->n_frees = __atomic_load_n(&now->n_frees, __ATOMIC_RELAXED);
	counts->n_unknown = __atomic_load_n(&now->n_unknown, __ATOMIC_RELAXED);
	counts->n_replaced = __atomic_load_n(&now->n_replaced, __ATOMIC_RELAXED);
	counts->n_not_kept = __atomic_load_n(&now->n_not_kept, __ATOMIC_RELAXED);
}

/* ---- the probe ---- */

static void forget_parent(void)
{
	/* The table is the parent's; what it holds is not this process's. Another thread of the
	 * parent may have had the lock. */
	atomic_store(&devmem.lock.held, 0);
	if (devmem.table.cap)
		munmap(devmem.table.entry, devmem.table.cap * sizeof(*devmem.table.entry));
	memset(&devmem.table, 0, sizeof(devmem.table));
	memset(&devmem.counts, 0, sizeof(devmem.counts));
	devmem.sequence = 0;
	devmem.pid = 0;
	tp_devmem_live_forked();
	tp_devmem_sums_forked();
	tp_owner_forked();
	__atomic_store_n(&devmem.is_armed, 0, __ATOMIC_RELEASE);
	tp_devmem_by_cupti = 0;
}

static int open_devmem(const struct tp_config *config)
{
	/* A fork before there was a session told nobody. */
	if (devmem.pid && devmem.pid != getpid())
		forget_parent();
	devmem.is_wanted = config->record & TP_RECORD_DEVMEM;
	if (devmem.is_wanted)
		tp_owner_refresh();
	tp_devmem_sums_open(config);
	return 0;
}

static void arm_devmem(void)
{
	__atomic_store_n(&devmem.is_armed, devmem.is_wanted, __ATOMIC_RELEASE);
}

static void disarm_devmem(void)
{
	__atomic_store_n(&devmem.is_armed, 0, __ATOMIC_RELEASE);
	if (devmem.is_wanted)
		tp_devmem_sums_keep();
}

static void report_devmem(struct tp_text *totals)
{
	struct tp_devmem_counts counts;

	tp_devmem_counts(&counts);
	if (!counts.n_allocs && !counts.n_frees)
		return;
	tp_text_fmt(totals,
		    "devmem.allocs=%lu\ndevmem.frees=%lu\ndevmem.unknown_frees=%lu\n"
		    "devmem.replaced=%lu\ndevmem.not_kept=%lu\n",
		    (unsigned long)counts.n_allocs, (unsigned long)counts.n_frees,
		    (unsigned long)counts.n_unknown, (unsigned long)counts.n_replaced,
		    (unsigned long)counts.n_not_kept);
	tp_devmem_sums_report(totals);
}

const struct tp_probe tp_devmem_probe = {
	.name = "devmem",
	.open = open_devmem,
	.arm = arm_devmem,
	.disarm = disarm_devmem,
	.period_ms = tp_devmem_sums_period_ms,
	.tick = tp_devmem_sums_tick,
	.settle = tp_devmem_sums_settle,
	.report = report_devmem,
	.forked = forget_parent,
	.close = disarm_devmem,
};
