/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.h - samples of Python stacks: by what their thread was doing, function and line
 *
 * What a sample stands for is the time since the one before it. Where its thread was is told by the
 * spans around it: inside an operator, waiting for data, or neither. The program's own Python inside a
 * node of the backward pass (a hook, the backward() of an autograd.Function) is in neither.
 * Memory: distinct stacks of each place, then functions.
 */
#ifndef TP_MERGE_SAMPLES_H
#define TP_MERGE_SAMPLES_H

#include "merge/facts/origin/stacks.h"
#include "merge/facts/time/flame.h"
#include "merge/kit/tally.h"
#include "merge/model/fact.h"

enum tp_samples_where {
	TP_SAMPLES_OPERATOR,	/* the training thread, inside an operator */
	TP_SAMPLES_DATA,	/* the training thread, waiting for the data loader */
	TP_SAMPLES_GAP,		/* the training thread, outside both */
	TP_SAMPLES_OUTSIDE,	/* the training thread, in no step */
	TP_SAMPLES_WORKER,	/* a worker process */
	TP_SAMPLES_OTHER,	/* another thread of the rank */
	TP_SAMPLES_N
};
const char *tp_samples_where_text(enum tp_samples_where where);	/* "training", "worker", ... */

struct tp_samples_sum {
	uint64_t n, running, waiting;	/* samples; of those whose state is known */
	uint64_t wants_lock;		/* of those that waited: for the interpreter's lock */
	uint64_t collects;		/* Python collected garbage */
	int64_t ns;
};
void tp_samples_add(struct tp_samples_sum *to, const struct tp_samples_sum *from);

/* n samples more on the frame's line, of a row of the caller's: *most gets the frame when its line has more
 * now than *line_n, which then is how many. */
void tp_samples_count_line(struct tp_tally *lines, uint32_t row, const struct tp_frame *frame, uint64_t n,
			   uint64_t *line_n, struct tp_frame *most);

/* A stack in one place of a process. */
struct tp_samples_met {
	uint32_t stack;		/* stacks.h */
	uint32_t proc;		/* tp_proc.at */
	enum tp_samples_where where;
	struct tp_samples_sum sum;
};

/* A function, in one place. */
struct tp_samples_row {
	enum tp_samples_where where;
	struct tp_frame frame;	/* its line: the one with most samples of its own, else of all */
	struct tp_samples_sum self, total;
	uint64_t line_n;	/* samples of its own on that line */
};

struct tp_samples {
	struct tp_samples_row *row;	/* by own samples, most first */
	uint32_t n_rows;
	struct tp_samples_sum all[TP_SAMPLES_N];
	uint64_t n_collecting;		/* steps in which the training thread was met collecting garbage */
	const struct tp_run *run;
	const struct tp_stacks *stacks;
	struct tp_samples_met *met;
	uint32_t n_met;
};

/* Filled when the pass is over. */
const struct tp_samples *tp_samples_want(struct tp_facts *facts);

/* All of them as stacks, whole, for flame graphs; when the pass is over. */
struct tp_flame_rows tp_samples_flame(const struct tp_samples *samples);

/* The function with most samples of its own there; NULL: there are none. Its share is
 * row->self.n of all[where].n. */
const struct tp_samples_row *tp_samples_top(const struct tp_samples *samples,
					    enum tp_samples_where where);

#endif
