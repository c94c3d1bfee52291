/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpumem.h - device memory over time: alive by device, kind and who asked for it; its peak
 *
 * From DEVALLOC and DEVFREE records, put right by the counters that the probe writes when a
 * window begins and whenever they change: what was alive before the window is in those only.
 * Beside them what the driver (NVML) and PyTorch say of the same device.
 *
 * Memory: a row for each combination of process, device, kind and library, and for each recorded
 * step and device; never events.
 */
#ifndef TP_MERGE_GPUMEM_H
#define TP_MERGE_GPUMEM_H

#include "merge/model/fact.h"

struct tp_gpumem_row {
	uint32_t gpu;		/* index of tp_gpumem_gpu */
	uint8_t kind;		/* enum tp_devmem_kind */
	char library[64];	/* its file's name, cut; "" : not known */
	int64_t live_bytes, at_peak;	/* now; when all of the device was at its peak */
	int64_t at_lift;	/* at the highest point while no counter had come */
	bool has_base;
	uint64_t n_allocs, n_frees, alloc_bytes;
};

struct tp_gpumem_step {
	uint32_t gpu, window;
	uint64_t step;		/* number in the run */
	uint64_t n_allocs, n_frees, alloc_bytes, free_bytes;
	int64_t peak_bytes;
	bool is_relative;	/* to the window's start: what was alive then is not known */
};

/* A device of a process. Bytes; -1: nobody said. */
struct tp_gpumem_device {
	const struct tp_proc *proc;
	uint32_t device;
	int64_t live_bytes;	/* of the kinds that take memory of the device */
	int64_t peak_bytes, peak_ns;
	uint64_t peak_step;	/* number in the run */
	bool has_peak, is_peak_in_step;
	uint64_t n_allocs, n_frees;
	uint64_t n_unknown;	/* frees of blocks of which the probe did not know */
	int64_t total_bytes, used_bytes, own_bytes;	/* by the driver: all; this process */
	int64_t unattributed_bytes;
	int64_t torch_allocated, torch_reserved;	/* the last ones */
	uint32_t window;
	uint32_t step_row;	/* of the step in progress, plus one; 0: none yet */
	bool has_base;		/* live_bytes is absolute; else since the window's start */
};

struct tp_gpumem;

extern const struct tp_fact tp_fact_gpumem;

const struct tp_gpumem_device *tp_gpumem_devices(const struct tp_gpumem *mem, uint32_t *n);
const struct tp_gpumem_row *tp_gpumem_rows(const struct tp_gpumem *mem, uint32_t *n);
const struct tp_gpumem_step *tp_gpumem_steps(const struct tp_gpumem *mem, uint32_t *n);
bool tp_gpumem_is_incomplete(const struct tp_gpumem *mem);	/* out of memory */

/* It takes memory of the device for itself. */
bool tp_gpumem_is_on_device(uint8_t kind);

#endif
