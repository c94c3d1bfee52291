/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life.h - the life of one profiled process: opens the ring, the probes, the session and the
 * drain thread, ends everything in order
 *
 * The top of the engine: it alone knows all of its parts. States: none (pass-through process)
 * -> open -> closed. Nothing exists (no file, thread or message) before tp_session_open.
 */
#ifndef TP_ENGINE_LIFE_H
#define TP_ENGINE_LIFE_H

#include <stdbool.h>

#include "runtime/engine/config/config.h"
#include "runtime/engine/probe.h"

/*
 * The process is a training process. `probes` is NULL-terminated and stays valid. Opens the
 * probes, the ring, the drain thread. `program` is what runs, for META ("file:/x/train.py").
 * Idempotent and safe to race: one caller wins, the others return at once.
 * After tp_worker_join() it follows its rank.
 * 0, or -errno: nothing will be recorded, said in one line; the guest goes on.
 */
int tp_session_open(const struct tp_config *config, const struct tp_probe *const *probes,
		    const char *program);
/* Process end, from exit handlers, _exit, quick_exit, exec*: closes the window in progress and
 * its file, waiting at most ~2 s for the drain. `how`: "exit", "_exit", "exec", ...; a text that stays. */
void tp_session_close(const char *how);
/* The same, of a program that ends with this status, or by this signal (negative). Not 0: what the flight
 * recorder holds is written, too. */
void tp_session_fail(const char *how, int status);

/* fork: before (parent), after in parent, after in child. See preload/hook_proc.c. */
void tp_session_before_fork(void);
void tp_session_after_fork(bool in_child);

#endif
