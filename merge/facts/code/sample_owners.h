/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_owners.h - whose code the samples met: functions that the user wrote, by the stage of loading
 *
 * A sample belongs to the innermost function of its stack that is neither the standard library's nor
 * installed: what such a function has others do is its own work. Comprehensions and lambdas are part of
 * the function that they stand in. Samples of torch's own code between that function and the innermost
 * one are told apart: that is what calling torch costs.
 *
 * Memory: functions.
 */
#ifndef TP_MERGE_SAMPLE_OWNERS_H
#define TP_MERGE_SAMPLE_OWNERS_H

#include "merge/facts/code/load_stage.h"
#include "merge/facts/code/samples.h"

struct tp_sample_owner {
	enum tp_samples_where where;
	enum tp_load_stage stage;
	bool is_in_torch;	/* in torch's code that it called; never in a loader, nor what saves */
	struct tp_frame frame;	/* function "": none of the stack is the user's; its line: most samples */
	struct tp_samples_sum sum;
	uint64_t line_n;
	const struct tp_inside_row *inside;	/* inside.h; NULL: none */
};

/* A function of the user's with all that it calls: samples of the training thread, in steps. */
struct tp_sample_caller {
	struct tp_frame frame;		/* its line: most samples of the first kind */
	uint64_t n_gap, n_operators;	/* between operators, without torch's own code nor the collecting of
					 * garbage; inside operators */
	uint64_t line_n;
};

struct tp_sample_owners {
	struct tp_sample_owner *row;	/* most samples first */
	uint32_t n_rows;
	struct tp_sample_caller *caller;	/* in no order */
	uint32_t n_callers;
	struct tp_samples_sum stage[TP_SAMPLES_N][TP_LOAD_N];
	const struct tp_samples *samples;
};

/* Filled when the pass is over. */
const struct tp_sample_owners *tp_sample_owners_want(struct tp_facts *facts);

/* The row with most samples there that is the user's; NULL: there is none. */
const struct tp_sample_owner *tp_sample_owners_top(const struct tp_sample_owners *owners,
						   enum tp_samples_where where, enum tp_load_stage stage);

/* The row of what there is nobody's of the user's, but in a library's; NULL: there is none. */
const struct tp_sample_owner *tp_sample_owners_library(const struct tp_sample_owners *owners,
						       enum tp_samples_where where, enum tp_load_stage stage);

/* "train.py:12 decode" of the innermost function, "train.py:9 main > trainer.py:80 Trainer.log" where most of
 * its samples are in a library's, and that alone where no function is the user's; buf is returned. */
const char *tp_sample_owner_show(char *buf, size_t cap, const struct tp_sample_owner *owner);

#endif
