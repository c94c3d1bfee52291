/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_read.h - the Python stack of any thread, with names, read from outside while it runs
 *
 * What is copied may be torn (pysample_frames.h). So a stack counts when the thread has not run
 * meanwhile, or when a second look finds the same functions.
 */
#ifndef TP_PROBE_PYSAMPLE_READ_H
#define TP_PROBE_PYSAMPLE_READ_H

#include "runtime/probe/sample/pysample_frames.h"
#include "runtime/probe/sample/pysample_state.h"

/* With the interpreter's lock held, once, after tp_pystack_init's check of `layout`. NULL, or why
 * nothing can be read. */
const char *tp_pysample_read_init(const struct tp_pyframe_layout *layout);

/*
 * The frames of the thread whose state stands at `state` and whose processor time was taken before,
 * with names. UNNAMED: without, because all is as in the look whose digest is in look->digest.
 * n 0: it runs no Python.
 */
enum tp_pysample_found {
	TP_PYSAMPLE_DISCARDED,	/* what was read was not the same twice, or impossible */
	TP_PYSAMPLE_NAMED,
	TP_PYSAMPLE_UNNAMED,
};
enum tp_pysample_found tp_pysample_look(const char *state, const struct tp_pysample_state *kernel,
					struct tp_pysample_hint *hint, struct tp_pysample_look *look);

#endif
