/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem.h - host memory over time: who holds it at the peak, what stays, what comes and goes
 *
 * HEAPALLOC and HEAPFREE are paired by address, in time order; where two threads' clocks put a
 * free behind the allocation that reused its address, the two are told apart. Sampled events
 * count for what they stand for, with the standard error of each estimate. MAP and UNMAP are
 * accounted for apart, by kind. Memory: live blocks and stacks, never events.
 *
 * A window starts from zero, because what was allocated before was not recorded, unless
 * the window begins where the one before it ended. So the figures are those of the blocks that
 * were allocated in windows: live bytes count from the window's start.
 */
#ifndef TP_MERGE_HOSTMEM_H
#define TP_MERGE_HOSTMEM_H

#include "merge/facts/origin/stacks.h"
#include "merge/model/model.h"

enum { TP_HOSTMEM_TEMPORARY = 1 };	/* freed before so many more allocations of its thread: as
					 * heaptrack counts; the view's own N may differ */
enum { TP_HOSTMEM_SIZES = 48 };		/* classes of a histogram: size class c holds sizes whose
					 * floor(log2) is c; 0 bytes go to class 0 */

/* Of one stack in one process. Estimates when the process was sampled. */
struct tp_hostmem_row {
	uint32_t stack;			/* of stacks.h */
	uint32_t proc;			/* tp_proc.at */
	uint64_t n_allocs, alloc_bytes;
	uint64_t peak_blocks, peak_bytes;	/* alive when the process held most */
	uint64_t end_blocks, end_bytes;		/* alive at the end of the last window */
	/* Of those: allocated in a step, and still there when two more steps had ended. */
	uint64_t leaked_blocks, leaked_bytes;
	uint32_t n_leaked_steps;		/* steps in which they were allocated */
	uint64_t n_temporary, temporary_bytes;	/* not known of sampled processes: 0 */
	double error_bytes;		/* standard error of alloc_bytes; 0: exact */
};

struct tp_hostmem_step {
	uint32_t proc, window;
	uint64_t step;			/* number in the run */
	uint64_t n_allocs, n_frees, alloc_bytes, free_bytes;
	int64_t begin_live, end_live, peak_live;	/* bytes */
	int64_t begin_ns, end_ns;
};

/* What the process itself counts of its memory, in bytes; -1: it did not. */
enum tp_hostmem_counter {
	TP_HOSTMEM_RSS,		/* resident */
	TP_HOSTMEM_PSS,		/* pages that several processes have, divided among them */
	TP_HOSTMEM_PRIVATE,	/* resident pages that nobody else has */
	TP_HOSTMEM_SHARED,	/* resident pages of files, and shared ones */
	TP_HOSTMEM_LIVE,	/* blocks of the heap, by its counters: from before the windows, too */
	TP_HOSTMEM_COUNTERS
};
struct tp_hostmem_counted {
	int64_t first, last, most;
	int64_t at_peak;	/* the last one before the heap's peak, else the first one */
};

struct tp_hostmem_proc {
	const struct tp_proc *proc;
	uint64_t n_allocs, n_frees, n_reallocs, alloc_bytes, n_temporary;
	double error_bytes;		/* standard error of alloc_bytes */
	uint64_t sample_bytes;		/* sampled: mean distance of samples */
	uint64_t n_unknown_frees;	/* of blocks from before the window */
	uint64_t n_late_frees;		/* came after the allocation that reused their address */
	uint64_t n_missed_frees;	/* never came, though the address was reused */
	uint64_t leaked_bytes, leaked_blocks;
	uint64_t live_bytes, live_blocks, peak_bytes, peak_blocks;
	int64_t peak_ns;
	uint64_t peak_step;		/* number in the run */
	bool is_peak_in_step, is_sampled;
	uint64_t size_count[TP_HOSTMEM_SIZES], size_bytes[TP_HOSTMEM_SIZES];
	/* By enum tp_mapping_kind: mapped bytes now, at most, at the heap's peak, and calls. */
	uint64_t mapped[TP_MAPPING_N], mapped_peak[TP_MAPPING_N], mapped_at_peak[TP_MAPPING_N];
	uint64_t n_maps[TP_MAPPING_N];
	uint64_t unknown_unmap_bytes;	/* of what was mapped before the window */
	struct tp_hostmem_counted counted[TP_HOSTMEM_COUNTERS];
	int64_t begin_ns, end_ns;	/* of all its windows */
	uint32_t n_windows;		/* that started from zero */
};

struct tp_hostmem;

/* The ledgers of a run; is_plain: without stacks, steps and
 * mappings, for who asks only how much there is. */
struct tp_hostmem *tp_hostmem_want(struct tp_facts *facts, bool is_plain);

/* Before the end: what is alive now, and how many allocations there were so far. */
int64_t tp_hostmem_live_now(const struct tp_hostmem *mem, const struct tp_proc *proc);
uint64_t tp_hostmem_allocs_now(const struct tp_hostmem *mem, const struct tp_proc *proc);
const struct tp_hostmem_proc *tp_hostmem_procs(const struct tp_hostmem *mem, uint32_t *n);
const struct tp_hostmem_row *tp_hostmem_rows(const struct tp_hostmem *mem, uint32_t *n);
const struct tp_hostmem_step *tp_hostmem_steps(const struct tp_hostmem *mem, uint32_t *n);
/* Its stacks; tp_stacks_resolve is the reader's to call. */
struct tp_stacks *tp_hostmem_stacks(const struct tp_hostmem *mem);
bool tp_hostmem_is_incomplete(const struct tp_hostmem *mem);	/* out of memory */

#endif
