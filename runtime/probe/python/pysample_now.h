/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_now.h - the Python stack of one thread at this moment, for reports
 */
#ifndef TP_PROBE_PYSAMPLE_NOW_H
#define TP_PROBE_PYSAMPLE_NOW_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/probe/python/pysample_read.h"

/* A frame's names; valid as long as the ring. */
struct tp_pysample_place {
	const char *function, *file;	/* not terminated */
	uint32_t n_function, n_file;
	uint32_t line;			/* 0: not known */
};

/* The stack of thread `tid` of this process. False: it runs no Python, or cannot be read. Drain thread. */
bool tp_pysample_of(uint32_t tid, struct tp_pysample_look *look);
/* False: the frame is the interpreter's own, or has no names. */
bool tp_pysample_place(const struct tp_pysample_frame *frame, struct tp_pysample_place *place);

#endif
