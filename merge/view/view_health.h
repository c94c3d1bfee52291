/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_health.h - the parts of the view of health
 *
 * What is found is said in lines for people, and is rows of the table "health" for programs.
 */
#ifndef TP_MERGE_VIEW_HEALTH_H
#define TP_MERGE_VIEW_HEALTH_H

#include "merge/model/view.h"

struct tp_health {
	const struct tp_run *run;
	const struct tp_view_options *options;
	struct tp_out *out;
	struct tp_table *rows;	/* NULL: lines for people */
};

/* One thing that was found, a line; `what` is for rows. style: "red" something is lost, "yellow" a
 * warning, "green" all is well, "" a fact. */
void tp_health_say(struct tp_health *health, const char *style, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same with `what` before the text, in a column of its own. */
void tp_health_item(struct tp_health *health, const char *style, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Each returns how many there are. */
uint32_t tp_view_health_issues(struct tp_health *health);
uint32_t tp_view_health_windows(struct tp_health *health);
/* That the run hung, or had no memory left, and why: how often. */
uint32_t tp_view_health_hangs(struct tp_health *health);
void tp_view_health_hang_rows(const struct tp_health *health);
void tp_view_health_open(const struct tp_health *health);
/* What was asked for and is not there, and why: not a loss of data that was recorded. */
uint32_t tp_view_health_off(struct tp_health *health);
/* Clocks, call stacks, samples, what the profiler cost, options that were not at their defaults. */
void tp_view_health_cost(struct tp_health *health);

extern const struct tp_table_def tp_table_health, tp_table_windows, tp_table_open_spans,
	tp_table_hangs;

#endif
