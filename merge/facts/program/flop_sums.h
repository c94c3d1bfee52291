/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flop_sums.h - floating-point operations of steps and of modules
 *
 * Of calls that begin in a recorded step, by process; of all calls, by the path of modules that they
 * are of: forward, and what the backward pass of their operators does. Memory: processes, paths.
 */
#ifndef TP_MERGE_FLOP_SUMS_H
#define TP_MERGE_FLOP_SUMS_H

#include "merge/model/fact.h"

/* Of a path of modules, with those inside; self: without. */
struct tp_flop_module {
	uint64_t forward, backward, self_forward, self_backward;
};

/* Its state; filled when the pass is over. */
struct tp_flop_sums {
	bool has_any;		/* a call was counted: input shapes were recorded */
	uint64_t n_unknown;	/* calls of which it isn't known how many operations they are */
	uint64_t *in_steps;	/* by tp_proc.at */
	struct tp_flop_module *module;	/* by path of tp_fact_origins_cut; n_modules of them */
	uint32_t n_modules;
	struct tp_flop_sums_in *in;
};

extern const struct tp_fact tp_fact_flop_sums;

/* 0, where nothing is known of it. */
struct tp_flop_module tp_flop_sums_module(const struct tp_flop_sums *sums, uint32_t path);

#endif
