/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem.c - blocks of device memory: who is alive, and a record of each change
 *
 * Physical memory, whose handles and mappings refer to it, is devmem_physical.c's.
 */
#include "runtime/probe/devmem/devmem.h"

#include "runtime/base/clock.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/probe/devmem/devmem_blocks.h"
#include "runtime/probe/devmem/devmem_live.h"
#include "runtime/probe/devmem/devmem_sums.h"
#include "runtime/probe/devmem/devmem_table.h"
#include "runtime/probe/devmem/owner_objects.h"

uint32_t tp_devmem_by_cupti;

static bool is_wanted;

/* What this thread freed last, for the case that the real call fails. */
static __thread struct {
	struct tp_devmem_entry entry;
	struct tp_devmem_change change;
} freed __attribute__((tls_model("initial-exec")));

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

/* ---- told ---- */

void tp_devmem_alloc(const struct tp_devmem_block *block)
{
	struct tp_devmem_entry entry = {
		.key = block->address, .bytes = block->bytes, .other = block->graph,
		.world = world_of(block->kind),
		.context = block->context < 256 ? (uint8_t)block->context : 0,
	};
	struct tp_devmem_change change = {
		0, block->address, block->bytes, block->correlation, 0, TP_REC_DEVALLOC,
	};

	if (!block->address)
		return;
	tp_devmem_lock();
	tp_devmem_count(&tp_devmem_blocks.counts.n_allocs);
	change.cell = entry.cell = tp_devmem_block_cell(block);
	tp_devmem_keep(&entry);
	change.time = tp_clock_now();
	tp_devmem_unlock();
	tp_devmem_record(&change);
}

bool tp_devmem_free(uint64_t address, uint8_t kind, uint32_t correlation, const void *caller)
{
	struct tp_devmem_change change = { 0, address, 0, correlation, 0, TP_REC_DEVFREE };
	struct tp_devmem_entry *entry;

	freed.entry.world = TP_WORLD_NONE;
	if (!address)		/* legal, and common: cudaFree(0) */
		return false;
	tp_devmem_lock();
	tp_devmem_count(&tp_devmem_blocks.counts.n_frees);
	entry = tp_devmem_find(&tp_devmem_blocks.table, world_of(kind), address);
	if (entry) {
		freed.entry = *entry;
		change.bytes = entry->bytes;
		change.cell = entry->cell;
		tp_devmem_end_life(entry);
	} else {
		tp_devmem_free_unknown(&change, kind, caller);
	}
	change.time = tp_clock_now();
	freed.change = change;
	tp_devmem_unlock();
	tp_devmem_record(&change);
	return freed.entry.world != TP_WORLD_NONE;
}

void tp_devmem_unfree(void)
{
	if (freed.entry.world == TP_WORLD_NONE)
		return;
	tp_devmem_lock();
	tp_devmem_keep(&freed.entry);
	freed.change.time = tp_clock_now();
	tp_devmem_unlock();
	freed.entry.world = TP_WORLD_NONE;
	freed.change.kind = TP_REC_DEVALLOC;
	tp_devmem_record(&freed.change);
}

/* One block of a context or graph; false: there is none left. */
static bool end_one(uint32_t context, uint64_t graph, uint32_t correlation, uint32_t *from)
{
	struct tp_devmem_change change = { 0 };

	tp_devmem_lock();
	for (; *from < tp_devmem_blocks.table.cap && !change.kind; ++*from) {
		struct tp_devmem_entry *entry = &tp_devmem_blocks.table.entry[*from];

		if (!entry->world || (context ? entry->context != context
					      : entry->world != TP_WORLD_ADDRESS ||
							entry->other != graph))
			continue;
		change = (struct tp_devmem_change){ tp_clock_now(), entry->key, entry->bytes, correlation,
					  entry->cell, TP_REC_DEVFREE };
		tp_devmem_end_life(entry);
		--*from;	/* another one may have moved here */
	}
	tp_devmem_unlock();
	tp_devmem_record(&change);
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
	tp_devmem_lock();
	for (uint32_t i = 0; i < tp_devmem_blocks.table.cap; i++) {
		struct tp_devmem_entry *entry = &tp_devmem_blocks.table.entry[i];

		if (!entry->world || tp_devmem_cell[entry->cell].what.kind != kind)
			continue;
		tp_devmem_end_life(entry);
		i--;	/* another one may have moved here */
	}
	tp_devmem_unlock();
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

/* ---- the probe ---- */

static void forget_parent(void)
{
	tp_devmem_blocks_forked();
	tp_devmem_live_forked();
	tp_devmem_sums_forked();
	tp_owner_forked();
	tp_devmem_by_cupti = 0;
}

static int open_devmem(const struct tp_config *config)
{
	/* A fork before there was a session told nobody. */
	if (tp_devmem_is_parents())
		forget_parent();
	is_wanted = config->record & TP_RECORD_DEVMEM;
	if (is_wanted)
		tp_owner_refresh();
	tp_devmem_sums_open(config);
	return 0;
}

static void arm_devmem(void)
{
	tp_devmem_arm(is_wanted);
}

static void disarm_devmem(void)
{
	tp_devmem_arm(false);
	if (is_wanted)
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
