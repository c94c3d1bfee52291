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
#include "merge/model/table.h"

struct tp_launch_times_row;

struct tp_launch_times {	/* zeroed, then with names, is empty */
	struct tp_names *names;	/* its own: a row each; launches.h's owner of a call is its row */
	struct tp_launch_times_row *row;
	uint32_t cap_rows;
	bool is_incomplete;	/* memory ran out */
};

/* Work with the call that started it, as tp_launches_each hands it on. */
void tp_launch_times_add(struct tp_launch_times *times, const struct tp_event *work,
			 const struct tp_launch_call *call);
/* A table, the calls that took longest first; nothing when there are none. */
void tp_launch_times_print(struct tp_launch_times *times, struct tp_out *out);
void tp_launch_times_free(struct tp_launch_times *times);

#endif
