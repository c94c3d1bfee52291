/* SPDX-License-Identifier: Apache-2.0 */
/*
 * habits.h - how a program uses its GPU in its steps: what it waits for, allocates, copies
 *
 * Sums; the rules of the overview (overview_advice.c) judge them.
 */
#ifndef TP_MERGE_HABITS_H
#define TP_MERGE_HABITS_H

#include "merge/model/model.h"

struct tp_habits {
	uint64_t n_waits;	/* calls that return when the device has come so far */
	int64_t wait_ns;
	uint64_t n_allocs;	/* cudaMalloc, cudaFree and their like */
	int64_t alloc_ns;
	uint64_t n_host_allocs;	/* of memory of the host that is pinned */
	int64_t host_alloc_ns;
	uint64_t n_pageable;	/* copies between the host's memory that is not pinned and the device */
	int64_t pageable_ns, pageable_back_ns;	/* all; those from the device */
	uint64_t n_kernels, n_graph_kernels;	/* launched by a graph of them */
	int64_t kernel_ns;
};

/* A CALL in a step that is not inside another one. */
void tp_habits_call(struct tp_habits *habits, const struct tp_event *event);
/* A KERNEL or MEMCPY launched in a step, by a call of that name. */
void tp_habits_work(struct tp_habits *habits, const struct tp_event *event,
		    const struct tp_string *call);
/* Of a call's name: see n_allocs, n_host_allocs. */
bool tp_habits_is_alloc(const struct tp_string *name);
/* A MEMCPY that n_pageable counts. */
bool tp_habits_is_pageable(const struct tp_event *event);
/* Of a call's name: see n_waits. */
bool tp_habits_is_wait(const struct tp_string *name);

#endif
