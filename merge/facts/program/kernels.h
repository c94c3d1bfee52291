/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the kernels of all devices: how often, how long, how well they fill a device
 *
 * A row is a name; or a name with its grid, block, registers and shared memory; or a name and the
 * innermost operator around its launch (where there is none, the innermost range). Figures are those
 * of torch-tb-profiler's kernel view: blocks per SM and occupancy are means weighted by time.
 * Memory: rows (about 500 bytes each).
 */
#ifndef TP_MERGE_KERNELS_H
#define TP_MERGE_KERNELS_H

#include "merge/facts/time/names.h"
#include "merge/kit/spread.h"
#include "merge/model/fact.h"

enum { TP_KERNEL_NO_OPERATOR = 0xffffffff };

struct tp_kernel_key {
	uint32_t name;	   /* of names: kernels of a name share a row */
	uint32_t operator; /* of names; TP_KERNEL_NO_OPERATOR */
	uint32_t grid[3], block[3], registers, shared;
};

struct tp_kernel_row {
	struct tp_kernel_key key;
	bool uses_tensor_cores;
	/* Sums of figure times duration, and of durations of those whose figure is known. */
	double blocks_ns, blocks_known_ns, occupancy_ns, known_ns;
	struct tp_spread ns;
};

struct tp_kernel_rows {
	const struct tp_kernel_row *row;	/* in order of their first */
	uint32_t n_rows;
	struct tp_names *names;
	uint64_t n_reported;	/* kernels whose occupancy is the estimate of the trace's own profiler */
	bool is_incomplete;
};

/* Filled when the pass is over. When both were asked for before, other rows are made of theirs. */
const struct tp_kernel_rows *tp_kernels_want(struct tp_facts *facts, bool by_grid, bool by_operator);

#endif
