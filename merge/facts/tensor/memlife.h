/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memlife.h - a block of tensor memory whose life is known, and what it was for
 */
#ifndef TP_MERGE_MEMLIFE_H
#define TP_MERGE_MEMLIFE_H

#include "merge/facts/origin/module_origin.h"
#include "merge/facts/time/memplace.h"
#include "runtime/trace/kinds.h"

/* A block whose life is known. */
struct tp_life {
	const struct tp_proc *proc;
	uint32_t device, window;
	uint64_t address;
	int64_t bytes;
	int64_t begin_ns, end_ns;	/* of a block from before: its window's start; alive: its end */
	enum tp_tensor_category category;
	int64_t temporary_ns;		/* so long it was temporary, before it was that; to its end
					 * at most, 0 or less: never */
	enum tp_born born;
	bool is_older, is_alive;	/* from before the window; there at its end */
	/* Freed before the operator that needed it ended, or a collective's own: no tensor. */
	bool is_internal;
	bool is_sum;			/* no block: all from before that nobody named */
	uint32_t name;			/* row of tp_names: the operator; TP_NO_NAME: not known */
	uint32_t inner, parent;		/* the same: innermost, and the one around it */
	struct tp_origin origin;	/* of it: line and module; of tp_memcat_origins */
	const struct tp_string *label;	/* the tensor's name; NULL: none */
	uint64_t step;			/* in which it was born; TP_NO_STEP */
};
#define TP_NO_STEP UINT64_MAX

/* The same life in parts in each of which it had one category: how many. */
enum { TP_LIFE_PARTS = 2 };
uint32_t tp_life_parts(const struct tp_life *life, struct tp_life part[TP_LIFE_PARTS]);

/* For fields of rows: "parameter", "optimizer_state"; for people tp_tensor_category_title. */
const char *tp_memcat_word(enum tp_tensor_category category);

#endif
