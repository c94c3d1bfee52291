/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - two runs side by side: what each took per step, name by name
 *
 * Everything is per recorded step, so runs of different length compare. A name stands for the
 * same thing in both. One thread.
 */
#ifndef TP_MERGE_DIFF_H
#define TP_MERGE_DIFF_H

#include "merge/facts/heap/heapstacks.h"
#include "merge/facts/program/overview.h"
#include "merge/facts/time/module_times.h"
#include "merge/facts/time/step_parts.h"
#include "merge/input/options.h"

/* A recorded step; of several ranks the one that took longest. */
struct tp_diff_step {
	uint64_t index;
	int64_t ns;
};

enum tp_diff_place { TP_DIFF_HOST, TP_DIFF_DEVICE, TP_DIFF_PLACES };

/* By name. */
struct tp_diff_kernels {
	struct tp_names *names;
	struct tp_overview_row *row;	/* by names' row; self_ns: on the device */
	uint32_t cap;
	int64_t ns;
};

/* One run's figures. */
struct tp_diff_side {
	const struct tp_overview *overview;
	const struct tp_diff_kernels *kernels;
	const struct tp_step_parts *parts;
	const struct tp_heap_rows *heap;	/* host memory by stack */
	const struct tp_module_times *modules;
	/* After tp_diff_end. */
	struct tp_overview_sums sums;
	int64_t *step_ns;		/* of all recorded steps, sorted */
	uint32_t n_steps;
	int64_t *bare_ns;		/* of the others, sorted; NULL: a part of the run was asked for */
	uint32_t n_bare;
	bool is_bare;			/* the length of steps is told by those, see tp_diff_choose_steps */
	struct tp_diff_step *step;	/* by index */
	uint32_t n_indices;
	int64_t peak_bytes[TP_DIFF_PLACES]; /* most tensor memory in any of them */
	bool is_peak_absolute[TP_DIFF_PLACES];
	bool is_incomplete;
	double heap_total[TP_HEAP_FIGURES];	/* of all its rows */
};

/* A sum over all recorded steps, for one of them. */
static inline double tp_diff_per_step(const struct tp_diff_side *side, int64_t ns)
{
	return side->n_steps ? (double)ns / side->n_steps : 0;
}

/* Wants what is compared; then, when that run's pass is over, sums it up. chosen: what was asked for. */
void tp_diff_begin(struct tp_diff_side *side, struct tp_facts *facts);
void tp_diff_end(struct tp_diff_side *side, const struct tp_fuse_options *chosen);
void tp_diff_free(struct tp_diff_side *side);

/* When both were summed up: the length of steps is told by those that were not recorded where both runs have
 * many more of them, since nothing makes them longer; else by recorded ones. */
void tp_diff_choose_steps(struct tp_diff_side *base, struct tp_diff_side *now);
/* A percentile of the lengths of those. */
int64_t tp_diff_length(const struct tp_diff_side *side, double percent);

/* A name in one of them or in both; figures of all recorded steps. */
struct tp_diff_row {
	const char *name;
	uint32_t n_name;
	struct tp_overview_row base, now;
	double change_ns;		/* per step: now - base */
	double device_change_ns;
};

/* Rows of both, by name; malloc'ed. NULL: none, or out of memory. */
struct tp_diff_row *tp_diff_operators(const struct tp_diff_side *base,
				      const struct tp_diff_side *now, uint32_t *n);
struct tp_diff_row *tp_diff_kernels(const struct tp_diff_side *base,
				    const struct tp_diff_side *now, uint32_t *n);
/* By how much their own time changed, of devices or of the host, the most first. */
void tp_diff_sort(struct tp_diff_row *row, uint32_t n, bool is_by_device);

/*
 * Zeroed, it becomes one after the other: pairs of steps that are set beside each other, in
 * their order: those of the same number, or, when the two have no number in common (two windows
 * of a run), the first with the first. False: no more of them.
 */
struct tp_diff_pair {
	const struct tp_diff_step *base, *now;
	uint32_t at[2];		/* where to go on */
	bool is_by_number;
};
bool tp_diff_next(const struct tp_diff_side *base, const struct tp_diff_side *now,
		  struct tp_diff_pair *pair);

/* A step's, on average. */
double tp_diff_part_ns(const struct tp_diff_side *side, enum tp_part part);
double tp_diff_part_device_ns(const struct tp_diff_side *side, enum tp_part part);

/* ---- diff_modules.c ---- */

enum tp_diff_which { TP_DIFF_BASE, TP_DIFF_NOW };

/* A module of one tree or of both; times of a step, of forward and backward with inner ones. */
struct tp_diff_module {
	uint32_t path[2];	/* by tp_diff_which, of the side's paths; 0: it has none */
	uint32_t outer, depth;	/* 1: outermost */
	struct tp_diff_module_time {
		double calls, forward_ns, backward_ns, device_ns;
		double self_ns;	/* without the modules that it calls */
	} time[2];
};

/* In the order of the tree, outer ones first; to be freed. */
struct tp_diff_module *tp_diff_modules(const struct tp_diff_side *base, const struct tp_diff_side *now,
				       uint32_t *n);

/* ---- diff_places.c ---- */

/* A function of the user's in one run or in both, by samples or by its source lines. */
struct tp_diff_function {
	const char *function, *file;
	uint32_t n_function;		/* bytes */
	uint32_t line;			/* the one that changed most, in the direction of the whole */
	bool is_line;			/* that line alone */
	struct tp_diff_time {
		double ns;		/* per step */
		double wait_ns;		/* of it in calls of CUDA that wait for the device; of lines only */
		uint64_t n_samples;	/* of samples only */
	} time[2];			/* by tp_diff_which */
	/* While they are joined. */
	uint32_t more_line, less_line;
	double more_ns, less_ns;
};

enum tp_diff_samples {
	TP_DIFF_STEPS,		/* of the training thread, in steps */
	TP_DIFF_OUTSIDE,	/* the same, without those inside operators */
	TP_DIFF_WORKERS
};

/* What changed most first; to be freed. has_gaps: with the time before their operators. */
struct tp_diff_function *tp_diff_functions(const struct tp_diff_side *base, const struct tp_diff_side *now,
					   enum tp_diff_samples which, uint32_t *n);
struct tp_diff_function *tp_diff_lines(const struct tp_diff_side *base, const struct tp_diff_side *now,
				       bool has_gaps, uint32_t *n);
/* Of samples: there are enough of them to say that it changed. */
bool tp_diff_is_certain(const struct tp_diff_function *row);

/* ---- diff_limits.c ---- */

/* --fail-if "step>5%,heap-peak>10%": is it of that form? */
bool tp_diff_is_limit(const char *text);
/* Says each limit that is passed, or that the runs cannot tell; true: at least one is. */
bool tp_diff_is_worse(const struct tp_diff_side *base, const struct tp_diff_side *now,
		      const char *limits, struct tp_out *out);

#endif
