/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h - one window after the other, out of the ring and into its trace file
 *
 * Drain thread only; never two windows at a time. Which records belong to a window is said in
 * ring_layout.h: it goes by the time at which they ended.
 *
 * END text of a trace: the writer's own lines (events, lost, dropped, blocks), then
 * window, begin, end (ticks), first_step, steps, epoch, in_epoch, step_source, late (records
 * that came after their window's file was closed, so far), names_lost, windows_lost,
 * stall_ns (of the training thread when the window ended), what became of triggers, what the
 * probes report, drain_cpu_ns (of this window), and unsaid, once for each message so far that found
 * no standard error any more.
 */
#ifndef TP_ENGINE_WINDOW_H
#define TP_ENGINE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/naming/naming.h"
#include "runtime/engine/probe.h"
#include "runtime/trace/trainprof_trace.h"

struct tp_window_spec {
	const struct tp_config *config;
	const struct tp_probe *const *probes;	/* NULL-terminated */
	const struct tp_naming *naming;		/* window, epoch and batch are set per file */
	struct tp_folder *folder;		/* of the run */
	struct tp_file_head file_head;		/* window is set per file */
	void (*describe)(struct tp_text *meta);	/* appends the process's META lines */
	struct tp_arena *arena;
};

/* Takes the writer's memory. 0 or -ENOMEM. */
int tp_window_init(const struct tp_window_spec *spec);

/*
 * Does what is due: opens the file of a window that has begun, writes blocks, finishes the
 * files of windows that are over, throws away what no window wants.
 * False: a window is over but its last records may still be on their way; call again in
 * about a millisecond.
 */
bool tp_window_serve(void);

/* Shows probes that look at records (tp_probe.see) those that are in no file yet. */
void tp_window_show(void);

/* The process ends: windows are all over, nothing more comes. */
void tp_window_finish(void);

/* In the child of fork: closes the parent's file. */
void tp_window_abandon(void);

#endif
