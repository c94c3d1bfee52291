/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_comm.h - the parts of the view of communication
 */
#ifndef TP_MERGE_VIEW_COMM_H
#define TP_MERGE_VIEW_COMM_H

#include "merge/facts/comm/comm.h"
#include "merge/model/view.h"

struct tp_comm_shown {
	const struct tp_run *run;
	const struct tp_view_options *options;
	const struct tp_comm *comm;
	const struct tp_comm_rank *rank;
	uint32_t n_ranks;
	const struct tp_comm_verdict *verdict;
	struct tp_out *out;
};

extern const struct tp_table_def tp_table_collectives, tp_table_comm_groups, tp_table_comm_ranks,
	tp_table_comm_steps;

/* view_comm_rows.c: by kind and size; by group. */
void tp_view_comm_collectives(const struct tp_comm_shown *shown);
void tp_view_comm_groups(const struct tp_comm_shown *shown);
/* view_comm_ranks.c: each rank; who was late in which step, drawn on a terminal; as rows. */
void tp_view_comm_ranks(const struct tp_comm_shown *shown);
void tp_view_comm_heat(const struct tp_comm_shown *shown);
void tp_view_comm_steps(const struct tp_comm_shown *shown);

#endif
