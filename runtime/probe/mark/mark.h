/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.h - ranges, marks, counters and steps that the program itself tells us of, through
 * NVTX (mark_nvtx.c) or preload/trainprof.h
 *
 * They become RANGE, MARK and COUNTER records while a window is open. Outside windows a
 * call is two loads and a branch, unless TRAINPROF_STEP names a range: then names are compared
 * all the time. A range that begins outside a window is not recorded. One that a window
 * leaves open is, as the program's other ranges are: in the window it began in and in the one
 * it ended in.
 *
 * Ranges of a thread (push, pop) nest for each domain; how those of two domains lie to each
 * other does not matter. The others (start, stop) may end on any thread and have TP_F_ASYNC.
 *
 * Threads: any. Not in signal handlers. errno is kept. Nothing blocks.
 */
#ifndef TP_PROBE_MARK_H
#define TP_PROBE_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/sync.h"
#include "runtime/engine/probe.h"
#include "runtime/probe/mark/mark_names.h"

extern const struct tp_probe tp_mark_probe __attribute__((visibility("hidden")));

/* Why the calls are looked at now; 0: they are not. */
enum tp_mark_mode {
	TP_MARK_ARMED = 1,	/* a window is open */
	TP_MARK_WATCH = 2,	/* the end of a range ends a step */
};
extern uint32_t tp_mark_mode __attribute__((visibility("hidden")));

/* Ranges of this thread that are open and were seen to begin. */
extern __thread uint32_t tp_mark_depth
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Before all but push and pop. */
static inline bool tp_mark_is_on(void)
{
	return tp_unlikely(__atomic_load_n(&tp_mark_mode, __ATOMIC_RELAXED) != 0);
}

/* Before push and pop: what was begun in a window has to end after it too. */
static inline bool tp_mark_is_nesting(void)
{
	return tp_mark_is_on() || tp_unlikely(tp_mark_depth != 0);
}

void tp_mark_push(const struct tp_mark_name *name);
void tp_mark_pop(const struct tp_mark_entry *domain);

/* Never 0. TP_MARK_NOTHING: it is not recorded, and stop has nothing to do. */
enum { TP_MARK_NOTHING = 1 };
uint64_t tp_mark_start(const struct tp_mark_name *name);
void tp_mark_stop(uint64_t id);

/* value: an int64_t, or with is_double the bytes of a double. */
void tp_mark_instant(const struct tp_mark_name *name, uint64_t value, bool is_double);
void tp_mark_counter(const char *name, const char *unit, double value);
/* A step of the training ended; in a process that has not proved to train, this does. */
void tp_mark_step(void);

/* From the constructor: NVTX is someone else's, who is named by that path. */
void tp_mark_nvtx_taken(const char *path);
/* From the constructor, where a session may come: modules may be attached to. */
void tp_mark_nvtx_allow(void);
/*
 * A module that uses NVTX asks for functions: `get_table` is its NvtxGetExportTableFunc_t.
 * 1, or 0: it does without us. Once per module, also by several threads at the same time.
 */
int tp_mark_nvtx_attach(const void *(*get_table)(uint32_t id));

#endif
