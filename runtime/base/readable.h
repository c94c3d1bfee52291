/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readable.h - may this memory be read? The kernel is asked
 *
 * By a system call that copies a set of signals from there before it refuses everything else
 * about the call; abseil's symbolizer and others do the same. Threads: any, also in handlers of
 * signals. errno is kept. About 100 ns: for set-up and cold paths.
 */
#ifndef TP_BASE_READABLE_H
#define TP_BASE_READABLE_H

#include <stdbool.h>

/* True when the 8 bytes at `p` can be read. */
bool tp_is_readable(const void *p);

#endif
