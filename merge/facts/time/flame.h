/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.h - stacks and what they cost as one tree, the way flame graphs and profiles show them
 *
 * A node is a place called from the places above it. Processes are the outermost places when
 * there is more than one. What would be too many nodes for any reader is folded: branches below
 * a share of the whole become one "(other)" each, whose name says so. Memory: nodes, up to a limit
 * beyond which what is left of a stack is such a node, too. One thread.
 */
#ifndef TP_MERGE_FLAME_H
#define TP_MERGE_FLAME_H

#include "merge/facts/origin/stacks.h"

enum tp_flame_unit {
	TP_FLAME_BYTES,
	TP_FLAME_NS,
	TP_FLAME_COUNT,
};

struct tp_flame_cost {
	const char *word;	/* "peak": of names of files and of limits */
	const char *title;	/* "bytes at the peak" */
	const char *type;	/* "peak_space": as pprof's sample types are called */
	enum tp_flame_unit unit;
	bool is_extra;		/* for formats that have all in one file; no graph of its own */
};

/* What a tree is made of: stacks, what each costs in each process. A test can make them by hand. */
struct tp_flame_rows {
	const struct tp_run *run;
	uint32_t n_rows;
	const char *what;	/* "host memory" */
	const struct tp_flame_cost *cost;
	uint32_t n_costs;
	uint64_t sample_bytes;	/* mean distance of samples: costs are estimates; 0: exact */
	void (*row)(const void *of, uint32_t at, uint32_t *proc, uint32_t *stack);
	uint64_t (*value)(const void *of, uint32_t at, uint32_t cost);
	/* The row whose stack is the outer part of this one's, of which `frames` then gives the rest
	 * only; TP_FLAME_NO_ROW: no part of it is. NULL: of none. */
	uint32_t (*around)(const void *of, uint32_t at);
	const void *of;		/* given to these three */
	/* As tp_stacks_frames. */
	uint32_t (*frames)(const void *stacks, uint32_t stack, struct tp_frame *frame,
			   uint32_t max);
	const void *stacks;
};

enum tp_flame_by {		/* when two frames are the same place */
	TP_FLAME_BY_FUNCTION,
	TP_FLAME_BY_LINE,
	TP_FLAME_BY_ADDRESS,
};

enum { TP_FLAME_TITLE_MAX = 4096 };
#define TP_FLAME_NO_ROW UINT32_MAX

enum tp_place_kind {
	TP_PLACE_FRAME,
	TP_PLACE_PROCESS,
	TP_PLACE_CUT,		/* callers that are not known */
	TP_PLACE_OTHER,		/* small branches */
	TP_PLACE_REST,		/* stacks that came when the tree was full */
};

struct tp_flame_place {
	enum tp_place_kind kind;
	/* Of frames as in struct tp_frame, with what `by` does not tell apart left out. */
	const char *function, *file, *module;
	uint64_t offset;
	uint32_t line, function_id;
	bool is_python, is_inlined;
};

struct tp_flame;

/* nodes_max: of what is given out, for each cost. NULL: out of memory. */
struct tp_flame *tp_flame_new(const struct tp_flame_rows *rows, enum tp_flame_by by,
			      uint32_t nodes_max);
void tp_flame_free(struct tp_flame *flame);

uint32_t tp_flame_places(const struct tp_flame *flame);
const struct tp_flame_place *tp_flame_place(const struct tp_flame *flame, uint32_t at);

/*
 * What people call a place; not to be trusted. n bytes at the result, which is in `buf` or lives as
 * long as the stacks.
 */
const char *tp_flame_title(const struct tp_flame *flame, uint32_t at,
			   char buf[TP_FLAME_TITLE_MAX], uint32_t *n);

/* place: the outermost first. value: of the costs that were asked for, in their order. */
typedef void tp_flame_fn(void *ctx, const uint32_t *place, uint32_t n_places,
			 const uint64_t *value);
/*
 * Calls `each` for each stack with costs [first .. first + n), branch by branch, the largest
 * first. 0 or -ENOMEM.
 */
int tp_flame_each(struct tp_flame *flame, uint32_t first, uint32_t n, tp_flame_fn *each,
		  void *ctx);
uint64_t tp_flame_total(const struct tp_flame *flame, uint32_t cost_at);

#endif
