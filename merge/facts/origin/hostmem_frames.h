/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_frames.h - which frame of a stack tells a reader most, and how frames are shown
 *
 * Most telling is the innermost line of the program's own Python code; where there is none, the
 * innermost of any Python code; without Python, the innermost native function that is not part of
 * an allocator. All stacks are looked at together: each is its outer one and a frame.
 */
#ifndef TP_MERGE_HOSTMEM_FRAMES_H
#define TP_MERGE_HOSTMEM_FRAMES_H

#include "merge/facts/origin/stacks.h"

struct tp_hostmem_choice;

/* Names have been read. NULL: out of memory. */
struct tp_hostmem_choice *tp_hostmem_choice_new(const struct tp_stacks *stacks);
void tp_hostmem_choice_free(struct tp_hostmem_choice *choice);

enum tp_hostmem_frame {
	TP_HOSTMEM_TELLING,
	TP_HOSTMEM_PYTHON,	/* the innermost of Python */
	TP_HOSTMEM_NATIVE,	/* the innermost native one that is not part of an allocator */
	TP_HOSTMEM_ASKING,	/* the same, inside all Python, and none of the layers through which
				 * PyTorch's functions get their memory */
	TP_HOSTMEM_N_FRAMES
};
/* That frame of a stack. False: it has none. */
bool tp_hostmem_choose(const struct tp_hostmem_choice *choice, uint32_t stack,
		       enum tp_hostmem_frame which, struct tp_frame *frame);

/* The same for one stack, given as its frames: index of n, innermost first; n: none. */
uint32_t tp_hostmem_telling_frame(const struct tp_frame *frame, uint32_t n);
uint32_t tp_hostmem_native_frame(const struct tp_frame *frame, uint32_t n);

/* Of the interpreter itself: between two functions of Python it says nothing. */
bool tp_hostmem_is_glue(const struct tp_frame *frame);

enum tp_hostmem_show {
	TP_HOSTMEM_SHORT,	/* "models/gpt.py:42 step" (tp_show_file()), "at::native::add (libtorch_cpu)" */
	TP_HOSTMEM_LONG,	/* "torch/nn/functional.py:7 relu", "f code.c:12 (libx.so.1)" */
	TP_HOSTMEM_WHOLE,	/* for programs: nothing left out of paths and names */
};
/* Of C++, people do not see parameters, results and what templates are made of. Into buf, returned;
 * not to be trusted. */
const char *tp_hostmem_show_frame(char *buf, uint32_t cap, const struct tp_frame *frame,
				  enum tp_hostmem_show how);

/* The most telling frame of a stack (0: none), where that is Python's; false: it is not. Names have
 * been read. The same into buf, cut; "" where it is not. */
bool tp_hostmem_find_line(const struct tp_stacks *stacks, uint32_t stack, struct tp_frame *line);
bool tp_hostmem_show_line(const struct tp_stacks *stacks, uint32_t stack,
			  enum tp_hostmem_show how, char *buf, uint32_t cap);

#endif
