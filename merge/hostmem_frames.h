/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_frames.h - which frame of a stack tells a reader most, and how frames are shown
 *
 * Pure functions. A stack is n frames, innermost first; a result of n: there is none.
 */
#ifndef TP_MERGE_HOSTMEM_FRAMES_H
#define TP_MERGE_HOSTMEM_FRAMES_H

#include "merge/stacks.h"

/* The innermost line of the program's own Python code; where there is none, the innermost of any
 * Python code; without Python, the native frame below. */
uint32_t tp_hostmem_telling_frame(const struct tp_frame *frame, uint32_t n);
uint32_t tp_hostmem_python_frame(const struct tp_frame *frame, uint32_t n);
/* The innermost native one that is not part of an allocator; else one with a name, else any. */
uint32_t tp_hostmem_native_frame(const struct tp_frame *frame, uint32_t n);
/* The same, and not of the layers through which PyTorch's functions get their memory. */
uint32_t tp_hostmem_asking_frame(const struct tp_frame *frame, uint32_t n);

/* Of the interpreter itself: between two functions of Python it says nothing. */
bool tp_hostmem_is_glue(const struct tp_frame *frame);

enum tp_hostmem_show {
	TP_HOSTMEM_SHORT,	/* "train.py:42 step", "at::native::add (libtorch_cpu)" */
	TP_HOSTMEM_LONG,	/* "torch/nn/functional.py:7 relu", "f code.c:12 (libx.so.1)" */
	TP_HOSTMEM_WHOLE,	/* for programs: nothing left out of paths and names */
};
/* Of C++, people do not see parameters, results and what templates are made of. Into buf, returned;
 * not to be trusted. */
const char *tp_hostmem_show_frame(char *buf, uint32_t cap, const struct tp_frame *frame,
				  enum tp_hostmem_show how);

#endif
