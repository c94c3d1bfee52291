/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_records.h - records of a window, out of the ring and into the file that is open for it
 *
 * Drain thread only. Which records belong to a window is said in ring_layout.h: it goes by the time at
 * which they ended. Where no file is open they are counted as dropped.
 */
#ifndef TP_ENGINE_WINDOW_RECORDS_H
#define TP_ENGINE_WINDOW_RECORDS_H

#include <stdint.h>

#include "runtime/engine/probe.h"

/* probes: NULL-terminated; they are shown what is written (tp_probe.see). */
void tp_window_records_init(const struct tp_probe *const *probes);

/* The window has not begun: what is in the ring, nobody wants. */
void tp_window_records_before(uint32_t window);
/* What has come of the window so far. */
void tp_window_records_take(uint32_t window);
/* The window is over: the rest of it, and what is still open. */
void tp_window_records_last(uint32_t window);

/* Shows probes that look at records (tp_probe.see) those that are in no file yet. */
void tp_window_records_show(void);

/* Records that came after their window's file was closed, so far. */
uint64_t tp_window_records_late(void);

#endif
