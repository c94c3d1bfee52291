/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.h - which of the program's lists, dicts, sets, deques and caches grow from step to step, by name
 *
 * At the start and the end of windows, on the thread that trains, in its Python: sizes of what the program's
 * own code can reach (keep_walk.h), compared with the time before. No code of the program's runs, no
 * reference stays. One look takes 0.1 to 2 ms as a rule, 5 ms at most. From the fifth on they are taken
 * only when a hundred times as long has gone by since the last one, from the 17th on a thousand times. What
 * grows is in the ledger (trainprof-trace(5), "grows.N").
 */
#ifndef TP_PROBE_KEEP_H
#define TP_PROBE_KEEP_H

#include "runtime/engine/probe.h"

extern const struct tp_probe tp_keep_probe __attribute__((visibility("hidden")));

#endif
