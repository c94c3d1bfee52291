/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem.h - every block of device, pinned, managed and mapped memory below the framework
 *
 * Told by CUPTI's callbacks (cupti_calls.c), or, without CUPTI, by the cudaMalloc family's
 * names (preload/hook_cuda.c). A table of live blocks gives the size of what is freed and
 * the live bytes by device, kind and owner's library at any time; records (DEVALLOC, DEVFREE)
 * are made in windows. The table has a cap; beyond it blocks are counted, not kept.
 *
 * What was allocated or freed while nobody told us is not known: a free of an unknown address
 * is counted, a block at an address that is taken replaces the one that was there.
 *
 * Threads: any. No allocation; a short spin lock. errno is kept.
 */
#ifndef TP_PROBE_DEVMEM_H
#define TP_PROBE_DEVMEM_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/probe.h"
#include "runtime/trace/trainprof_trace.h"

extern const struct tp_probe tp_devmem_probe __attribute__((visibility("hidden")));

#define TP_DEVMEM_NO_DEVICE 0xffffffffu

struct tp_devmem_block {
	uint64_t address;	/* or handle (TP_DEVMEM_PHYSICAL) */
	uint64_t bytes;
	uint64_t pool;
	uint64_t graph;		/* TP_DEVMEM_GRAPH: the graph whose node it is */
	uint32_t device;	/* TP_DEVMEM_NO_DEVICE: not known */
	uint32_t context;	/* CUPTI's number; the block dies with it; 0: with none */
	uint32_t correlation;
	uint8_t kind;		/* enum tp_devmem_kind */
	bool is_async;
	const void *caller;	/* an address in the code that asked for it, NULL: not known */
};

/* It exists now. */
void tp_devmem_alloc(const struct tp_devmem_block *block);
/*
 * It is about to be given back: before the real call, because once it is free another thread
 * may be given the address. `kind` need only be of the same sort (an address of the device or of
 * pinned memory, a reservation, an array). True: the block was known.
 */
bool tp_devmem_free(uint64_t address, uint8_t kind, uint32_t correlation, const void *caller);
/* The real call failed: what this thread freed last is there still. */
void tp_devmem_unfree(void);

/*
 * cuMemCreate and its like. `block` has the handle as address and is there as long as there is
 * a reference to the handle, or a mapping. Handles come back while such a mapping lives.
 */
void tp_devmem_create(const struct tp_devmem_block *block);
/* One more reference to the handle of what is mapped at that address. */
void tp_devmem_retain(uint64_t handle, uint64_t mapped_at);
void tp_devmem_release(uint64_t handle, uint32_t correlation, const void *caller);
void tp_devmem_unrelease(void);
/* `block`: address, bytes, kind TP_DEVMEM_MAPPED; its device is that of what is mapped. */
void tp_devmem_map(const struct tp_devmem_block *block, uint64_t handle);
/* All mappings from address on, bytes long. */
void tp_devmem_unmap(uint64_t address, uint64_t bytes, uint32_t correlation, const void *caller);

/* With a context, or a graph, go its blocks. */
void tp_devmem_context_gone(uint32_t context);
void tp_devmem_graph_gone(uint64_t graph, uint32_t correlation);

/* Blocks of that kind came and went unheard: what is known of them is out of date, and dropped. */
void tp_devmem_forget(uint8_t kind);

/* CUPTI tells: who else could, keeps silent. */
extern uint32_t tp_devmem_by_cupti __attribute__((visibility("hidden")));
static inline bool tp_devmem_is_told(void)
{
	return __atomic_load_n(&tp_devmem_by_cupti, __ATOMIC_RELAXED) != 0;
}

/* Live bytes of a kind (0: all that take device memory) on a device. */
uint64_t tp_devmem_live(uint32_t device, uint8_t kind);

/*
 * Reading many sums as they were at one moment: begin (false: something changes just now, try
 * again), read, end (false: something changed meanwhile, what was read is nothing).
 */
bool tp_devmem_read_begin(uint32_t *sequence);
bool tp_devmem_read_end(uint32_t sequence);

struct tp_devmem_counts {
	uint64_t n_allocs, n_frees;
	uint64_t n_unknown;	/* frees of what was not known */
	uint64_t n_replaced;	/* blocks that vanished unseen: their address came again */
	uint64_t n_not_kept;	/* blocks for which the table had no room */
};
void tp_devmem_counts(struct tp_devmem_counts *counts);

#endif
