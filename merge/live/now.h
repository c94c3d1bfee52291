/* SPDX-License-Identifier: Apache-2.0 */
/*
 * now.h - what a running job does now: a row for each rank, or for groups of them
 *
 * Made anew after each look (follow.h) from figures of the last seconds; screen.c shows them,
 * metrics.c has the ranks themselves.
 */
#ifndef TP_MERGE_NOW_H
#define TP_MERGE_NOW_H

#include "merge/live/follow.h"
#include "merge/model/table.h"

/* A rank now. */
struct tp_live_now {
	const struct tp_follow_rank *rank;
	double steps_a_second;
	double step_ns, data_wait_ns, optimizer_ns;	/* of a step, mean of the last seconds */
};

/* Ranks that are shown in one row, one after the other by number. */
struct tp_live_row {
	int32_t first, last;		/* numbers */
	uint32_t n, n_alive, n_ended, n_hosts;
	const char *host;		/* of the first */
	uint64_t step_low, step_high;	/* finished steps */
	uint32_t epoch;
	double steps_a_second;		/* least */
	double step_ns, data_wait_ns, optimizer_ns; /* mean */
	const struct tp_live_now *slowest;	/* by data wait and time of steps; NULL: no step yet */
	uint64_t live, peak, device_live, device_peak; /* most of them */
	uint64_t dropped;
	uint32_t n_windows;		/* traces in the folder, least */
	uint8_t phase;			/* of the first; where a ring is there */
	bool has_phase;
};

struct tp_live {
	const struct tp_follow *follow;
	struct tp_live_now *now;	/* shown ranks, by number */
	struct tp_live_row *row;
	uint32_t n, n_rows, cap, cap_rows;
	struct tp_live_row all;		/* of all of them */
	int64_t rate[TP_FOLLOW_LOOKS];	/* steps of all ranks at each look, oldest first */
	uint32_t n_rates;
	bool has_device;
};

enum { TP_LIVE_LOOKS = 10 };	/* "now" is the time of so many */

/* At most `most` rows. False: memory is out, what is there is of the look before. */
bool tp_live_update(struct tp_live *live, const struct tp_follow *follow, uint32_t most);
void tp_live_free(struct tp_live *live);

/* "3", "0-63" */
const char *tp_live_name(char buf[32], const struct tp_live_row *row);
/* Rows of struct tp_live_row; ctx: struct tp_live. */
extern const struct tp_table_def tp_table_live;

#endif
