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

/* Of the interpreter itself: between two functions of Python it says nothing. */
bool tp_hostmem_is_glue(const struct tp_frame *frame);

/*
 * For people: "train.py:42 step", "at::empty (libtorch_cpu)", C++ without parameters; is_long:
 * whole paths of Python's files, lines of native code. Into buf, returned; not to be trusted.
 */
const char *tp_hostmem_show_frame(char *buf, uint32_t cap, const struct tp_frame *frame,
				  bool is_long);

#endif
