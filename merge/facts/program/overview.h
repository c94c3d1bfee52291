/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.h - the figures of the overview, collected event by event
 *
 * overview.c collects, the view prints (merge/view/overview/overview.h).
 * Memory: steps, names, threads, live blocks.
 */
#ifndef TP_MERGE_OVERVIEW_H
#define TP_MERGE_OVERVIEW_H

#include "merge/facts/code/cores.h"
#include "merge/facts/compute/device_clocks.h"
#include "merge/facts/code/sample_owners.h"
#include "merge/facts/code/sites.h"
#include "merge/facts/comm/comm.h"
#include "merge/facts/comm/comm_rounds.h"
#include "merge/facts/compute/device_use.h"
#include "merge/facts/heap/worker_heap.h"
#include "merge/facts/program/last.h"
#include "merge/facts/program/no_work.h"
#include "merge/facts/program/waits.h"
#include "merge/facts/program/waste.h"
#include "merge/facts/tensor/memcurve.h"
#include "merge/facts/time/gpu_time.h"
#include "merge/facts/time/habits.h"
#include "merge/facts/time/spans.h"
#include "merge/facts/time/step_times.h"
#include "merge/model/view.h"

enum { TP_NO_ROW = 0xffffffff };

/* Most tensor memory seen inside one recorded step, and where. Rows are names'. */
struct tp_overview_peak {
	uint64_t step;
	int64_t live_bytes;
	bool is_absolute;	/* else counted from the window's begin */
	uint64_t n_unknown;	/* frees in the step of blocks whose size is not known */
	uint32_t inside;	/* innermost span */
	uint32_t of;		/* outermost other one, TP_NO_ROW: none */
	int64_t device_bytes;	/* most on any one device */
	bool is_device_absolute;
};

struct tp_overview_proc {
	const struct tp_breakdown *breakdown;
	struct tp_overview_peak *peak;	/* parallel to breakdown.step */
	uint32_t cap_peaks;
	uint32_t failed_step;	/* counted from 1: the last in which an allocation failed */
	int64_t failed_until_ns;
	const struct tp_step_row *ledger;
	uint32_t n_ledger;
	uint64_t n_events;
};

struct tp_overview_row {	/* by name */
	uint64_t calls;
	int64_t self_ns, total_ns;
	int64_t device_ns;	/* of work that was launched with it as the innermost operator */
	bool is_call;		/* of CUDA */
};

struct tp_overview {
	struct tp_step_times *times;
	struct tp_names *names;		/* those of the spans */
	struct tp_waste *waste;
	struct tp_spans *spans;
	struct tp_memcurve *memory;
	struct tp_launches *launches;
	struct tp_launch_notes owner_of, site_of;	/* of calls */
	const struct tp_gpu_time *gpu;
	const struct tp_no_work *no_work;
	uint64_t n_idle_launches;	/* of kernels, without any work */
	/* In a run's first step libraries are loaded, plans made, memory is taken for all steps. */
	struct tp_habits habits, first_habits;	/* after it; in it */
	uint64_t n_first_steps;		/* recorded: the first of their process in the run */
	struct tp_device_use use;
	int64_t wait_ns[TP_WAIT_N], first_wait_ns[TP_WAIT_N];	/* of both habits' wait_ns */
	const struct tp_comm *comm;	/* NULL: a single rank */
	const struct tp_comm_rounds *rounds;	/* NULL: likewise */
	struct tp_sites *sites;
	const struct tp_sample_owners *owners;
	const struct tp_cores *cores;
	const struct tp_device_clocks *clocks;
	const struct tp_worker_heap *workers;
	const struct tp_last *last;	/* by tp_proc.at; NULL: nobody died */
	struct tp_overview_proc *proc;	/* by tp_proc.at */
	uint32_t n_procs;
	struct tp_overview_row *row;	/* by names' row */
	uint32_t cap_rows;
	uint64_t n_events;
	/* Allocations that failed: how many, and the first of them. */
	uint64_t n_failed, failed_bytes;
	uint32_t failed_inside;		/* names' row, TP_NO_ROW: not known */
	uint64_t n_failed_steps;	/* recorded ones with any; */
	int64_t failed_ns;		/* from their start to the last one */
	bool is_incomplete;		/* memory ran out here, in the merge */
};

/* All recorded steps together. */
struct tp_overview_sums {
	int64_t ns[TP_CAT_N], all_ns;
	uint64_t n_steps;
	uint32_t n_procs;	/* that have recorded steps */
};

/* Its state is a struct tp_overview. */
extern const struct tp_fact tp_fact_overview;

/* The line of the ledger with that number; NULL: none. */
const struct tp_step_row *tp_overview_ledger(const struct tp_overview_proc *proc,
					     uint64_t index);

static inline int64_t tp_overview_step_ns(const struct tp_step_time *step)
{
	return step->end_ns - step->begin_ns;
}

void tp_overview_sum(struct tp_overview_sums *sums, const struct tp_breakdown *breakdown);

#endif
