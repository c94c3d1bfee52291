/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt.h - what happened in one step: events kept, in lanes (threads, streams), with what lies
 * in what and what started what
 *
 * The step is chosen from the ledgers before the events come: the slowest that was recorded, of
 * those asked for; when ranks were asked for, the same step of the others, too. Without ledgers it
 * is the first step that comes, or, when none does, all there is.
 *
 * Memory: TP_EXCERPT_MOST events, whatever the size of the trace.
 */
#ifndef TP_MERGE_EXCERPT_H
#define TP_MERGE_EXCERPT_H

#include "merge/facts/origin/module_origin.h"
#include "merge/facts/program/step_timeline.h"

enum {
	TP_EXCERPT_STEPS = 8,		/* of as many processes */
	TP_EXCERPT_MOST = 1 << 19,	/* events kept, of all of them */
	TP_EXCERPT_NONE = UINT32_MAX,	/* no row */
};

struct tp_excerpt_step {
	const struct tp_proc *proc;
	uint64_t index;
	int64_t begin_ns, end_ns;
	bool is_step;		/* else: all there is */
	uint32_t n_of;		/* it is the slowest of so many; 0: it was not chosen so */
	uint32_t first, n;	/* its rows */
};

struct tp_excerpt_row {
	const struct tp_thread *thread;
	const struct tp_queue *queue;	/* NULL: on the host */
	const struct tp_string *name, *shapes;	/* name: not of modules */
	int64_t begin_ns, end_ns;
	int64_t device_ns;		/* work started by it and by what lies in it */
	int64_t delay_ns;		/* work: from its call's begin; -1: not known */
	uint32_t outer;			/* the row that it lies in, or that started it */
	uint32_t depth;
	uint32_t correlation;		/* 0: none */
	uint32_t stack, path;		/* of tp_origins */
	uint32_t id;			/* the order in which they came: excerpt.c's */
	uint8_t step, lane;		/* lane: enum tp_step_lane */
	uint8_t kind, flags;		/* of the event; a call of a module has kind NNMODULE */
	bool is_backward;
};

struct tp_excerpt;

/* `steps`: a list of numbers, which outlives it; NULL: all. When the pass is over, rows are final, by
 * step, lane, time; the outer ones first. */
struct tp_excerpt *tp_excerpt_want(struct tp_facts *facts, const char *steps);

uint32_t tp_excerpt_steps(const struct tp_excerpt *excerpt);
const struct tp_excerpt_step *tp_excerpt_step(const struct tp_excerpt *excerpt, uint32_t i);
const struct tp_excerpt_row *tp_excerpt_rows(const struct tp_excerpt *excerpt);
uint64_t tp_excerpt_left_out(const struct tp_excerpt *excerpt);	/* events: too many, or no memory */
struct tp_origins *tp_excerpt_origins(const struct tp_excerpt *excerpt);

/* Both lie in one lane. */
bool tp_excerpt_is_one_lane(const struct tp_excerpt_row *a, const struct tp_excerpt_row *b);
/* The word that rows for programs have for it: "operator", "kernel", "data wait"... */
const char *tp_excerpt_category(const struct tp_excerpt_row *row);
/* Nothing but waiting: for data, for a device, for other ranks. */
bool tp_excerpt_is_wait(const struct tp_excerpt_row *row);

#endif
