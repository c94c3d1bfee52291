/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pynow.h - the Python stack of one thread at this moment, for reports
 */
#ifndef TP_PROBE_PYNOW_H
#define TP_PROBE_PYNOW_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"
#include "runtime/probe/sample/pysample_read.h"

/* A frame's names; valid as long as the ring. */
struct tp_pynow_place {
	const char *function, *file;	/* not terminated */
	uint32_t n_function, n_file;
	uint32_t line;			/* 0: not known */
};

/* The stack of thread `tid` of this process. False: it runs no Python, or cannot be read. Drain thread. */
bool tp_pynow_stack(uint32_t tid, struct tp_pysample_look *look);
/* Its stack has a frame of one of these functions (NULL ends them), in a file whose path ends so. One look,
 * which counts for a thread that waits; needs no ring. Drain thread, or nobody is it yet. */
bool tp_pynow_is_inside(uint32_t tid, const char *const *functions, const char *file_end);
/* Any thread, from here on. False: the frame is the interpreter's own, or has no names. */
bool tp_pynow_frame(const struct tp_pysample_frame *frame, struct tp_pynow_place *place);
/* The same of a PYFRAME string. */
bool tp_pynow_string(uint32_t string, uint32_t line, struct tp_pynow_place *place);
/* Of Python or of a package that was installed, not of the program itself. */
bool tp_pynow_is_library(const struct tp_pynow_place *place);
/* "function (file:line)"; is_short: without the file's folders. */
void tp_pynow_put(struct tp_text *out, const struct tp_pynow_place *place, bool is_short);

#endif
