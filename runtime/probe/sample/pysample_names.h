/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_names.h - functions, files and lines of frames that were copied (pysample_frames.h)
 *
 * Only objects of the right type are taken for code and for names. One thread at a time uses it.
 */
#ifndef TP_PROBE_PYSAMPLE_NAMES_H
#define TP_PROBE_PYSAMPLE_NAMES_H

#include "runtime/probe/sample/pysample_frames.h"

/* With the interpreter's lock held, once. NULL, or why names cannot be read. */
const char *tp_pysample_names_init(const struct tp_pyframe_layout *layout);

/* Names the frames; *is_new becomes true where something was read for it. False: what was read is
 * no code, no name, or not the same twice. */
bool tp_pysample_names(struct tp_pysample_look *look, bool *is_new);

/* Is the frame's function called `name`, in a file whose path ends so? Also before there is a ring. */
bool tp_pysample_names_is(const struct tp_pysample_frame *frame, const char *name, const char *file_end);

/* Strings begin anew: another ring. */
void tp_pysample_forget(void);

#endif
