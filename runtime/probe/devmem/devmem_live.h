/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_live.h - how much device memory is alive, by device, kind and who asked for it
 *
 * A cell is a combination that has occurred; it stays for the life of the process. Cells are
 * made and changed under devmem.c's lock; everybody may read them without, at any time.
 */
#ifndef TP_PROBE_DEVMEM_LIVE_H
#define TP_PROBE_DEVMEM_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/trainprof_trace.h"

enum {
	TP_DEVMEM_CELLS = 1024,		/* the first stands for all that find no room */
	TP_DEVMEM_DEVICES = 64,		/* whose sums are kept */
};

struct tp_devmem_cell {
	struct tp_devmem_what what;
	uint16_t owner;			/* owner.h */
	uint16_t line;			/* first cell of the same device, kind and owner */
	uint64_t name;			/* atomic: ring's generation << 32 | interned string */
	uint64_t live, peak;		/* atomic: bytes */
	uint64_t n_allocs, n_frees;	/* atomic */
};
extern struct tp_devmem_cell tp_devmem_cell[TP_DEVMEM_CELLS]
	__attribute__((visibility("hidden")));

/* Cells in use: all below are whole. */
uint32_t tp_devmem_n_cells(void);
/* Under the lock. Made when it is not there; 0 when there are too many. */
uint16_t tp_devmem_cell_of(const struct tp_devmem_what *what, uint16_t owner);
/* Under the lock. `bytes` more (less, when negative) are alive. */
void tp_devmem_add(uint16_t cell, int64_t bytes);

/* Its string, TP_STRING_DEVMEM, of the ring that is open now; not under the lock. */
uint32_t tp_devmem_cell_name(uint16_t cell);

/* It takes memory of the device for itself. */
bool tp_devmem_is_on_device(uint8_t kind);
/* Sum over the kinds that do, now and at its highest; false: nothing was ever seen there. */
bool tp_devmem_sum(uint32_t device, uint64_t *live, uint64_t *peak);
/* In the child of fork. */
void tp_devmem_live_forked(void);

#endif
