/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h - the probe of host memory: what TRAINPROF_HEAP asks for, of the malloc hooks
 *
 * The parts: heap_count.h (calls and bytes alive, always), heap_event.h (records, in windows),
 * heap_sample.h (which blocks are recorded when not all are), heap_map.h (mappings).
 */
#ifndef TP_PROBE_HEAP_H
#define TP_PROBE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/probe.h"

extern const struct tp_probe tp_heap_probe;

/* The hooks see nothing (another malloc stands before ours): said when the session opens. */
void tp_heap_set_off(const char *why);
/* Bytes alive cannot be told, why; or are not wanted, or this process never trains. */
void tp_heap_set_live_off(const char *why);
void tp_heap_stop_live(void);
/* Blocks of C++'s operators are not seen, why. */
void tp_heap_set_new_off(const char *why);

#endif
