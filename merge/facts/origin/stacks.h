/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.h - the call stacks of a run: read from FRAME events, shared by all processes, named
 * at the end
 *
 * A frame is a place: (file of code, offset) or (Python function, file, line). Equal places of
 * different processes, windows and load addresses are one; so are equal stacks. Names come from
 * symbols.h, once for each place that is asked for.
 *
 * Memory: places and distinct stacks, never events.
 */
#ifndef TP_MERGE_STACKS_H
#define TP_MERGE_STACKS_H

#include "merge/model/fact.h"

struct tp_stacks;

extern const struct tp_fact tp_fact_stacks;

/* The stack that a HEAPALLOC, MAP or UNMAP names: below tp_stacks_count; 0: none, or not known
 * (then counted). Equal for equal stacks of the whole run. */
uint32_t tp_stacks_of(struct tp_stacks *stacks, const struct tp_event *event);
uint32_t tp_stacks_count(const struct tp_stacks *stacks);	/* numbers are below it */
uint64_t tp_stacks_unknown(const struct tp_stacks *stacks);	/* events whose stack is not there */
uint64_t tp_stacks_orphans(const struct tp_stacks *stacks);	/* frames whose outer one is not */

struct tp_frame {
	const char *function;	/* demangled; "" : not known */
	const char *file;	/* source file; "" : not known */
	const char *module;	/* path of the code's file; "" : none, or Python */
	uint64_t offset;	/* address in that file's own numbering; Python: 0 */
	uint32_t line;		/* 0: not known */
	uint32_t function_id;	/* equal: the same function of the same module or file */
	bool is_python, is_inlined;
	bool is_cut;		/* what is outside it is not known */
};

/* By the last part of its qualified name: "__next__" of "Iter.__next__". */
bool tp_frame_is_called(const struct tp_frame *frame, const char *name);

/*
 * Reads symbols for these stacks (those numbers n for which wanted[n] is not 0; NULL: of all), says
 * how far it is on a terminal. Before tp_stacks_frames. 0 or -ENOMEM.
 */
int tp_stacks_resolve(struct tp_stacks *stacks, const uint8_t *wanted);

/*
 * Frames of a stack, innermost first, inlined ones before what they are inlined into, Python's
 * in the places of the interpreter's own. Writes at most `max` of them, returns how many there
 * are. Texts live as long as `stacks`.
 */
uint32_t tp_stacks_frames(const struct tp_stacks *stacks, uint32_t stack, struct tp_frame *frame,
			  uint32_t max);

/*
 * The tree of stacks, for those who ask the same of many: the stack outside the innermost place
 * has a lower number, 0 is none. A joined one has no place, but two stacks: of native frames and
 * of Python's; both have lower numbers.
 */
bool tp_stacks_joined(const struct tp_stacks *stacks, uint32_t stack, uint32_t *native,
		      uint32_t *python);
uint32_t tp_stacks_outer(const struct tp_stacks *stacks, uint32_t stack);
uint32_t tp_stacks_place(const struct tp_stacks *stacks, uint32_t stack);	/* its number */
uint32_t tp_stacks_places(const struct tp_stacks *stacks);	/* numbers are below it */
/* Frames of the innermost place: those inlined, and what they are inlined into. */
uint32_t tp_stacks_innermost(const struct tp_stacks *stacks, uint32_t stack,
			     struct tp_frame *frame, uint32_t max);
/* The innermost place is in the evaluation function of the interpreter. */
bool tp_stacks_is_eval(const struct tp_stacks *stacks, uint32_t stack);

/* Why names are missing: a line for each file of code, "" at the end; see symbols.h. */
const char *tp_stacks_trouble(const struct tp_stacks *stacks, uint32_t at);

#endif
