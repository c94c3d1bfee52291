/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator.h - what the caching allocator keeps of a device beside what is in tensors, what others
 * have of it, and allocations that failed
 *
 * From TOTALS records (allocated, reserved) and the driver's counters. Reserved less allocated is
 * not in use: kept for later, or in pieces that are too small.
 *
 * Memory: devices of processes, and the first allocations that failed.
 */
#ifndef TP_MERGE_ALLOCATOR_H
#define TP_MERGE_ALLOCATOR_H

#include "merge/facts/tensor/memcat.h"

struct tp_allocator_moment {
	int64_t ns;
	uint64_t step;			/* number in the run; TP_NO_STEP */
	int64_t allocated, reserved;
};

/* A device of a process whose allocator reserves. */
struct tp_allocator_device {
	const struct tp_proc *proc;
	uint32_t device;
	struct tp_allocator_moment fullest, largest, widest;	/* most allocated, most reserved,
								 * most of it not in use */
	uint64_t n_grown, n_shrunk;	/* how often it asked the driver, and gave back */
	int64_t grown_bytes, shrunk_bytes;
	/* What others have, at most; -1: nobody said. exact: other processes'; else with what this
	 * one has beside its allocator. */
	int64_t others_bytes, others_ns;
	bool is_exact;
	int64_t total_bytes;		/* of the device; -1: nobody said */
};

/* Torch could not allocate. */
struct tp_allocator_oom {
	const struct tp_proc *proc;
	uint32_t device;
	int64_t ns;
	uint64_t step;
	int64_t asked_bytes, allocated, reserved;	/* -1: nobody said */
	int64_t others_bytes, total_bytes;
	uint32_t name;			/* row of tp_names: the operator; TP_NO_NAME */
	struct tp_origin origin;
	uint32_t pin;			/* of its device's track; UINT32_MAX: not kept */
};

struct tp_allocator;

struct tp_allocator *tp_allocator_new(const struct tp_run *run);
void tp_allocator_free(struct tp_allocator *allocator);
/* STEP, TOTALS and COUNTER; others are ignored. */
void tp_allocator_event(struct tp_allocator *allocator, const struct tp_event *event);
/* What others have of a device now: of the counter that came last; false: it says nothing. */
bool tp_allocator_others(const struct tp_allocator *allocator, const struct tp_event *event,
			 uint32_t *device, int64_t *bytes);
/* A MARK for which tp_allocator_is_oom. What the caller knows of it is filled in by him; NULL: out of
 * memory, or there were too many. */
bool tp_allocator_is_oom(const struct tp_event *event);
struct tp_allocator_oom *tp_allocator_oom(struct tp_allocator *allocator,
					  const struct tp_event *event);

const struct tp_allocator_device *tp_allocator_devices(const struct tp_allocator *allocator,
						       uint32_t *n);
/* In order of time; *n_all with those that were not kept. */
const struct tp_allocator_oom *tp_allocator_ooms(const struct tp_allocator *allocator, uint32_t *n,
						 uint64_t *n_all);
bool tp_allocator_is_incomplete(const struct tp_allocator *allocator);	/* out of memory */

#endif
