/* SPDX-License-Identifier: Apache-2.0 */
/*
 * started.h - how the process was started and how it ended, for its ledger
 *
 * Lines "#fact KEY=VALUE": the command line, how long the process has run, the folder, and of the
 * environment what stands in a list of variables that hold no secret; at the end how long it ran after its
 * last step, and how it ended. The ledger has them, because each rank has one, also one that is killed before
 * its first window; what META says is not said here.
 */
#ifndef TP_ENGINE_STARTED_H
#define TP_ENGINE_STARTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/text.h"

/* A session opens, on a thread of the guest: the environment is the guest's. */
void tp_started_take(void);
/* Forgets it: a worker's ledger does not repeat what its rank's says. */
void tp_started_forget(void);
/* The session is closed: "exit", "exec", the name of a call or a signal; the text is kept as it is, and
 * read by the drain thread: nothing is copied that a sanitizer of the program's could call a race. */
void tp_started_end(const char *how);

/*
 * Appends an argument as a shell takes it. The value of one whose name says that it is a secret is
 * "***", also where that is the next argument (`hides_next`: false at the first); who logs in to an
 * address is asterisks.
 */
void tp_started_word(struct tp_text *out, const char *arg, bool *hides_next);

/* Appends the lines of the start, or those of the end; last_step_ns: when the last step ended, by
 * CLOCK_MONOTONIC; 0: there was none. */
void tp_started_put(struct tp_text *out);
void tp_started_put_end(struct tp_text *out, uint64_t last_step_ns);

enum { TP_STARTED_BYTES = 12288 };	/* of all lines, at most */

#endif
