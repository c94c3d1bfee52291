/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators_in.h - the inside of operators.h: operators.c makes rows of events, operators_coarser.c of
 * finer rows
 */
#ifndef TP_MERGE_OPERATORS_IN_H
#define TP_MERGE_OPERATORS_IN_H

#include "merge/facts/compute/flops.h"
#include "merge/facts/program/operators.h"
#include "merge/facts/tensor/span_bytes.h"
#include "merge/facts/time/launches.h"
#include "merge/facts/time/paths.h"
#include "merge/kit/keyed.h"

/* Device time launched on a path of rows. */
struct tp_operator_launched {
	int64_t ns, tensor_ns;
};

/* What tells rows from each other beside their names. */
struct tp_operators_by {
	bool shape, stack;
};

/* Of an open span. */
struct tp_operator_open {
	uint32_t row;
	uint32_t path;	/* of the operators from the outermost in to it; TP_NO_PATH: not looked up yet */
};

struct tp_operator_last {
	uint32_t shapes, stack;
	uint32_t row;	/* plus one */
};

struct tp_operators {
	struct tp_operator_rows pub;
	struct tp_spans *spans;
	const struct tp_span_bytes *tensors;
	struct tp_flops *flops;
	struct tp_tally flop_calls;	/* by row */
	struct tp_launches *launches;
	struct tp_launch_notes path_of; /* of calls: where they were made */
	struct tp_paths paths;
	struct tp_operator_launched *launched; /* by number of the path */
	uint32_t cap_launched;
	struct tp_operator_open *open;	/* by tp_nest_span.slot */
	uint32_t cap_open;
	struct tp_operator_row *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed rows; /* by name, shapes and stack */
	/* By name: its row that was met last, which most often is met again. */
	struct tp_operator_last *last;
	uint32_t cap_last;
	struct tp_operators_by by;
	const struct tp_operators *finest;	/* what these rows are made of; NULL: of events */
};

extern const struct tp_fact tp_fact_operators;

/* The row of this key: a new one has nothing but it. Valid until the next one is asked for. */
struct tp_operator_row *tp_operators_row(struct tp_operators *operators, uint32_t name,
					 uint32_t shapes, uint32_t stack);
/* Time of devices from the paths of `from` to the rows that row_of says of its rows; their calls are
 * known. Each row of a path gets it once. */
void tp_operators_share_out(struct tp_operators *operators, const struct tp_operators *from,
			    const uint32_t *row_of);
void tp_operators_free(void *operators);

#endif
