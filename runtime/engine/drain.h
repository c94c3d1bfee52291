/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h - the one thread that we start: records from the ring to trace files
 *
 * It sleeps on tp_ring_bell. Inside windows it wakes every 100 ms to let probes tick, and
 * writes when a full block waits or half of the ring is used; at the end of a window at once;
 * outside windows it wakes once a second for the step ledger. What is not yet written is safe
 * in the ring, so there is no reason to write small blocks early.
 *
 * END text of a trace: the writer's own lines (events, lost, dropped, blocks), then
 * window, begin, end (ticks), first_step, steps, epoch, in_epoch, step_source, late (records
 * that came after their window's file was closed, so far), names_lost, windows_lost,
 * drain_cpu_ns (of this window), stall_ns (of the training thread when the window ended),
 * and what the probes report.
 */
#ifndef TP_ENGINE_DRAIN_H
#define TP_ENGINE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/text.h"
#include "runtime/engine/config.h"
#include "runtime/engine/naming.h"
#include "runtime/engine/probe.h"
#include "runtime/trace/ledger.h"
#include "runtime/trace/trainprof_trace.h"

struct tp_drain_spec {
	const struct tp_config *config;
	const struct tp_probe *const *probes;	/* NULL-terminated */
	const struct tp_naming *naming;		/* window, epoch and batch are set per file */
	const char *dir;			/* run folder, absolute */
	const char *ledger_path;
	struct tp_file_head file_head;		/* window is set per file */
	void (*describe)(struct tp_text *meta);	/* appends the process's META lines */
	struct tp_arena *arena;
};

/* Takes its memory and starts the thread. The ring is open. 0 or -errno. */
int tp_drain_start(const struct tp_drain_spec *spec);
/* Everything that is in the ring goes to files, then the thread ends. Waits at most
 * `timeout_ms`; false: it was not done by then. */
bool tp_drain_stop(uint32_t timeout_ms);
/* In the child of fork: there is no thread. */
void tp_drain_forked(void);

/* What the boundary that ended window `window` cost the training thread. */
void tp_drain_note_stall(uint32_t window, uint64_t ticks);
/* A window was due, but TP_RING_WINDOWS earlier ones are not written yet. */
void tp_drain_note_lost_window(void);

#endif
