/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample.h - samples: the Python stacks of all threads, taken by the drain thread now and then
 *
 * RECORD=samples, in windows, TRAINPROF_SAMPLE_HZ times a second, or else as often as takes half a percent
 * of a core, and 2 ms of each window; the time between two rounds is drawn from half to one and a half of
 * the period, so that they do not beat with the steps. Each sample carries the time since the last round, so
 * a round that comes late weighs more.
 */
#ifndef TP_PROBE_PYSAMPLE_H
#define TP_PROBE_PYSAMPLE_H

#include "runtime/engine/probe.h"

extern const struct tp_probe tp_pysample_probe __attribute__((visibility("hidden")));

/* With the interpreter's lock held and a Python frame on the stack, once. NULL, or why there are no
 * samples. */
const char *tp_pysample_init(void);
/* It said NULL. */
bool tp_pysample_can_read(void);
/* Drain thread: samples are wanted, and can be taken now. */
bool tp_pysample_is_ready(void);

#endif
