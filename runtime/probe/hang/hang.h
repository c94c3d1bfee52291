/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang.h - a training that hangs says so, once: where each thread stands, and who waits for whom
 *
 * TRAINPROF_HANG. The drain thread looks once a second; all that it asks for in a healthy run is a few
 * words of memory. A rank that is late says in the run folder what goes on in it, so that the others
 * know that they wait for work and for no hang; when nothing goes on in any, the lowest rank that
 * hangs says why in three lines.
 */
#ifndef TP_PROBE_HANG_H
#define TP_PROBE_HANG_H

#include "runtime/engine/probe.h"

extern const struct tp_probe tp_hang_probe __attribute__((visibility("hidden")));

#endif
