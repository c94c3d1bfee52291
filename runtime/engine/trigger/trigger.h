/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger.h - what opens a window beside the schedule, on all ranks at the same step numbers
 *
 * A signal, a request (request.h), or what the rank's own steps and memory show (watch.h). The
 * drain thread of the rank where it happens proposes a window that lies a little ahead (proposal.h). All
 * drain threads look for the next proposal every 100 ms (when only requests can come every second, and in
 * great jobs less often: POLLS_A_SECOND in trigger.c) and tell the session, which opens the window
 * at the boundary. The training never waits and no message is sent. A rank for which the step has
 * begun already records the rest, says so and counts it.
 *
 * What comes before the window of the last trigger is over opens no other, and is told why. Ranks
 * that do not share the run folder (DIR on disks of the nodes) do not hear of each other.
 *
 * Children that fork makes keep the signal's handler, where it does nothing but call the program's;
 * programs that are started have none.
 */
#ifndef TP_ENGINE_TRIGGER_H
#define TP_ENGINE_TRIGGER_H

#include <stdint.h>

#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/config/rank.h"
#include "runtime/engine/trigger/ops.h"

/* A session opens. `dir`: the folder that the ranks of the run share; is kept, not copied. */
void tp_trigger_open(const struct tp_config *config, const struct tp_rank *rank, const char *dir,
		     const struct tp_trigger_ops *ops);
/* Drain thread: sees to it when it is time. Returns when to call again, in ns from now;
 * UINT64_MAX: there is no trigger. */
uint64_t tp_trigger_look(uint64_t mono_ns);
/* Drain thread: why the window that begins with this step was opened; "": by the schedule. */
const char *tp_trigger_why(uint64_t first_step);
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
