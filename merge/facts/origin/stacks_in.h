/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks_in.h - the inside of tp_stacks: stacks.c collects, stacks_names.c names
 */
#ifndef TP_MERGE_STACKS_IN_H
#define TP_MERGE_STACKS_IN_H

#include "merge/facts/origin/stacks.h"
#include "merge/facts/origin/stacks_modules.h"
#include "merge/kit/keyed.h"
#include "merge/facts/origin/numbers.h"
#include "merge/symbols/symbols.h"
#include "runtime/base/hash.h"

/* A node's inner: a place or, of a JOINED one, the stack of Python frames; and these bits. */
#define NODE_JOINED 0x80000000u
#define NODE_ENTRY 0x40000000u
#define NODE_CUT 0x20000000u
#define INNER_MASK 0x1fffffffu

#define MODULE_NONE UINT32_MAX
#define NO_PLACE UINT32_MAX
enum { PLACE_MAX = 1 << 29 };

struct place {
	uint64_t value;		/* native: offset, in no module: address; Python: line */
	uint32_t of;		/* native: module or MODULE_NONE; Python: tp_string.same, 0: not known */
	uint32_t flags;		/* TP_FRAME_PYTHON, TP_FRAME_EXACT */
};

struct node {
	uint32_t outer, inner;
};

struct stacks_proc {
	struct tp_numbers numbers;	/* of stacks */
	uint32_t *module_of;		/* by tp_proc.module: tp_stacks.module plus one */
	uint64_t n_homeless;		/* frames in no module */
};

/* A function of a module; Python's have their strings. */
struct function {
	uint32_t module;
	const char *name;
	uint64_t offset;		/* of one without a name */
};

struct tp_stacks {
	const struct tp_run *run;
	struct stacks_proc *proc;	/* by tp_proc.at */
	struct tp_symbols_module *module;
	struct place *place;
	struct node *node;		/* 0: no stack; outer and joined ones have lower numbers */
	uint32_t n_modules, cap_modules, n_places, cap_places, n_nodes, cap_nodes;
	struct tp_keyed modules, places, nodes;
	const struct tp_string **python;/* by tp_string.same */
	uint32_t cap_python;
	uint64_t n_unknown, n_orphans;
	bool is_incomplete;		/* out of memory: some stacks are not known */

	/* stacks_names.c */
	struct tp_symbols *symbols;
	uint32_t *named;		/* by place: index in `asked` plus one */
	uint32_t cap_named;
	struct tp_symbols_place *asked;
	uint32_t *first_function;	/* by `asked`: its symbols' functions, in `function_of` */
	uint8_t *is_eval;		/* by `asked`: the interpreter's evaluation function */
	uint32_t n_asked, cap_asked;
	uint32_t *function_of;
	uint32_t n_function_of, cap_function_of;
	struct function *function;
	uint32_t n_functions, cap_functions;
	struct tp_keyed functions;
	char **trouble;
	uint32_t n_troubles, cap_troubles;
};

void tp_stacks_names_free(struct tp_stacks *stacks);

#endif
