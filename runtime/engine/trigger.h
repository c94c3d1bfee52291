/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger.h - a signal that opens a window on all ranks of a run, at the same step numbers
 *
 * One rank gets the signal. Its drain thread proposes a window that lies a little ahead, as a small
 * file in the run folder: "trigger.0", the next one "trigger.1" ("trigger.restart2.0" after two
 * restarts). A file appears whole and under a name that was free (link(2)), so of several proposals
 * made at the same time one stands, and the ranks that lost take it for theirs. All drain threads
 * look for the next file every 100 ms (in great jobs less often: POLLS_A_SECOND in trigger.c) and
 * tell the session, which opens the window at the boundary. The training never waits and no message
 * is sent. A rank for which the step has begun already records the rest, says so and counts it.
 *
 * A signal that comes before the window of the last one is over opens no other. Ranks that do not
 * share the run folder (DIR on disks of the nodes) do not hear of each other.
 *
 * The program's own handler of the signal is called after ours; one that it installs later is
 * found at the next look. Children that fork makes keep our handler, where it does nothing but
 * that; programs that are started have none.
 */
#ifndef TP_ENGINE_TRIGGER_H
#define TP_ENGINE_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/config/rank.h"

/* A session opens. `dir`: the folder that the ranks of the run share; is kept, not copied. */
void tp_trigger_open(const struct tp_config *config, const struct tp_rank *rank, const char *dir);
/* Drain thread: sees to it when it is time. Returns when to call again, in ns from now;
 * UINT64_MAX: there is no trigger. */
uint64_t tp_trigger_look(uint64_t mono_ns);
/* Drain thread, END text: what became of the triggers so far. */
void tp_trigger_report(struct tp_text *totals);
/* The session is over: the program's handler is back. */
void tp_trigger_close(void);
/* In the child of fork. */
void tp_trigger_forked(void);

/* A launcher, or a process that works for a rank: the signal, sent to all of them, must not
 * kill it. Does nothing where the program has a handler. */
void tp_trigger_shield(const struct tp_config *config);

#endif
