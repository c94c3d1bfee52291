/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem.h - every block of device, pinned, managed and mapped memory below the framework
 *
 * Told by CUPTI's callbacks (cupti_calls.c), or, without CUPTI, by the cudaMalloc family's
 * names (preload/hook_cuda.c). A table of live blocks gives the size of what is freed and
 * the live bytes by device, kind and owner's library at any time; records (DEVALLOC, DEVFREE)
 * are made in windows. The table has a cap; beyond it blocks are counted, not kept.
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

struct tp_devmem_block {
	uint64_t address;	/* or handle (TP_DEVMEM_PHYSICAL) */
	uint64_t bytes;
	uint64_t pool;
	uint32_t device;	/* 0xffffffff: not known */
	uint32_t correlation;
	uint8_t kind;		/* enum tp_devmem_kind */
	bool is_async;
	const void *caller;	/* an address in the code that asked for it, NULL: not known */
};

/* It exists now. */
void tp_devmem_alloc(const struct tp_devmem_block *block);
/* It is about to be given back (before the real call), or was (async). */
void tp_devmem_free(uint64_t address, uint8_t kind, uint32_t correlation, const void *caller);

/* Live bytes of a kind (0: all that take device memory) on a device. */
uint64_t tp_devmem_live(uint32_t device, uint8_t kind);

#endif
