/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyhooks.h - what makes all of Python slow: hooks of its allocator, and of its lines and calls
 *
 * tracemalloc, the checks of PYTHONMALLOC=debug (or -X dev) and memory profilers stand between Python and its
 * allocator of objects; debuggers, coverage and cProfile are called for each line or call. Looked at where a
 * window that records operators begins, on the thread that trains, with Python's lock: some us, no line of
 * Python. Windows are counted in the totals (trainprof-trace(5), "python.").
 */
#ifndef TP_PROBE_PYHOOKS_H
#define TP_PROBE_PYHOOKS_H

#include "runtime/engine/probe.h"

extern const struct tp_probe tp_pyhooks_probe __attribute__((visibility("hidden")));

#endif
