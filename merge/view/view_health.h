/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_health.h - the parts of the view of health
 */
#ifndef TP_MERGE_VIEW_HEALTH_H
#define TP_MERGE_VIEW_HEALTH_H

#include "merge/model/view.h"

/* Each returns how many there are. */
uint32_t tp_view_health_issues(const struct tp_run *run, const struct tp_view_options *options,
			       struct tp_out *out);
uint32_t tp_view_health_windows(const struct tp_run *run, const struct tp_view_options *options,
				struct tp_out *out);
uint32_t tp_view_health_open(const struct tp_run *run, const struct tp_view_options *options,
			     struct tp_out *out);
/* What was asked for and is not there, and why: not a loss of data that was recorded. */
uint32_t tp_view_health_off(const struct tp_run *run, struct tp_out *out);
/* Clocks, call stacks, samples, what the profiler cost, options that were not at their defaults. */
void tp_view_health_cost(const struct tp_run *run, struct tp_out *out);

#endif
