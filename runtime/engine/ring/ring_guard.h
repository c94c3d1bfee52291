/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_guard.h - a ring that somebody cuts short kills nobody
 *
 * To touch a page of a mapping behind the file's end is SIGBUS. While a ring is open, memory of this process
 * only takes the place of such pages, in a handler: the thread that met one goes on, and the drain ends
 * recording in its next round. Any other SIGBUS does what it does without us: the default action.
 *
 * Not where it cannot be done without a change for the program: one that handles or ignores the signal keeps
 * its own, whenever it installs it, and a thread that blocks it is killed by the kernel.
 */
#ifndef TP_ENGINE_RING_GUARD_H
#define TP_ENGINE_RING_GUARD_H

#include <stdbool.h>

/* Drain thread, each round: there is a handler of ours where the program has none. */
void tp_ring_guard_watch(void);
/* The ring is closed, or lost, or the parent's: the default action is back, where ours still stands. */
void tp_ring_guard_end(void);
/* Memory of this process only in the place of the whole ring; every address stays valid throughout. False:
 * errno says why not. */
bool tp_ring_guard_cover(void);
/* A page of this process's ring was missing once. Any thread. */
bool tp_ring_guard_has_met(void);

#endif
