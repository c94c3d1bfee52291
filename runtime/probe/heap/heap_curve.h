/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_curve.h - the malloc counters over time, as COUNTER records
 *
 * Drain thread only. So a curve exists without a clock on the hot path, whether blocks are
 * recorded or not.
 */
#ifndef TP_PROBE_HEAP_CURVE_H
#define TP_PROBE_HEAP_CURVE_H

#include <stdint.h>

/* A sample at `now` (ticks). The first one, and one after a pause longer than `pause_ms`, is only
 * a base for the rates of the next. */
void tp_heap_curve_sample(uint64_t now, uint32_t pause_ms);
void tp_heap_curve_forked(void);

#endif
