/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_file.h - the trace file of a window: its name, what stands around the records, failures to write
 *
 * Drain thread only; never two files at a time.
 *
 * END text of a trace: the writer's own lines (events, lost, dropped, blocks), then
 * window, begin, end (ticks), first_step, steps, epoch, in_epoch, step_source, late (records
 * that came after their window's file was closed, so far), names_lost, windows_lost,
 * stall_ns (of the training thread when the window ended), what became of triggers, what the
 * probes report, drain_cpu_ns (of this window), and unsaid, once for each message so far that found
 * no standard error any more.
 */
#ifndef TP_ENGINE_WINDOW_FILE_H
#define TP_ENGINE_WINDOW_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/naming/naming.h"
#include "runtime/engine/probe.h"
#include "runtime/trace/trainprof_trace.h"
#include "runtime/trace/writer.h"

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
int tp_window_file_init(const struct tp_window_spec *spec);

/* Opens the file of the window. Where that can't be, it is said, and there is none. */
void tp_window_file_open(uint32_t window);
/* NULL: no file is open. */
struct tp_writer *tp_window_file_writer(void);
/* What a call of the writer returned: a failure is said and counted. */
void tp_window_file_wrote(int err);
/* What the trace says about devices and code: in each file, whether an event names it or not. */
void tp_window_file_loose(void);
/* The window is over, and nothing more comes for it. */
void tp_window_file_close(uint32_t window);

/* A pass is in the file, and the ring was whole. */
void tp_window_file_keep(void);
/* The ring is cut: closes the file after the last pass that was kept. */
void tp_window_file_lose(void);
/* In the child of fork: closes the parent's file. */
void tp_window_file_abandon(void);
/* The process ends: how many windows could not be written. */
void tp_window_file_say_lost(void);

/* Ticks of `ns`, by the anchors at the start and now; waits if those are too close. */
uint64_t tp_window_file_ticks(uint64_t ns);

#endif
