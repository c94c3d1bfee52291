/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_times.h - calls that gave work to devices, by their name: how long each took, how long
 * after it its work began, how long that ran
 *
 * A call that started many pieces of work (a graph's) counts once, and until the first of them.
 * One thread. Memory: 1 KB and more for each name.
 */
#ifndef TP_MERGE_LAUNCH_TIMES_H
#define TP_MERGE_LAUNCH_TIMES_H

#include "merge/facts/time/launches.h"
#include "merge/facts/time/names.h"
#include "merge/kit/spread.h"

struct tp_launch_times_row {
	uint32_t name;		/* of names */
	struct tp_spread call_ns;
	struct tp_spread wait_ns; /* from the end of a call to the start of its first work */
	uint64_t n_work, n_shorter; /* pieces; those that ran for less than their call */
	int64_t work_ns;
};

struct tp_launch_times {
	struct tp_names *names;	/* its own: a row each */
	struct tp_launch_times_row *row;
	uint32_t cap_rows;
	bool is_incomplete;	/* memory ran out */
};

/* A struct tp_launch_times. */
extern const struct tp_fact tp_fact_launch_times;

#endif
