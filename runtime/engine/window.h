/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h - one window after the other, out of the ring and into its trace file
 *
 * Drain thread only; never two windows at a time. Which records belong to a window is said in
 * ring_layout.h: it goes by the time at which they ended.
 */
#ifndef TP_ENGINE_WINDOW_H
#define TP_ENGINE_WINDOW_H

#include <stdbool.h>

#include "runtime/engine/window_file.h"

/* Takes the writer's memory. 0 or -ENOMEM. */
int tp_window_init(const struct tp_window_spec *spec);

/*
 * Does what is due: opens the file of a window that has begun, writes blocks, finishes the
 * files of windows that are over, throws away what no window wants.
 * False: a window is over but its last records may still be on their way; call again in
 * about a millisecond.
 */
bool tp_window_serve(void);

/* The process ends: windows are all over, nothing more comes. */
void tp_window_finish(void);

/* The ring is cut: the open file has what passes wrote that were over before. */
void tp_window_lose(void);
/* In the child of fork: closes the parent's file. */
void tp_window_abandon(void);

#endif
