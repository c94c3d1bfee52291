/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_guard.h - a ring that somebody cuts short kills nobody
 *
 * To touch a page of a mapping behind the file's end is SIGBUS. While a ring is open, memory of this process
 * only takes the place of such pages, in a handler: the thread that met one goes on, and the drain ends
 * recording in its next round. Any other SIGBUS does what it does without us: the program's handler is
 * called, or the default action taken.
 *
 * Not where it cannot be done without a change for the program: a handler that it installs later keeps its
 * place, for it may call ours, and then ours must not call it; an ignored signal stays ignored; and a thread
 * that blocks it is killed by the kernel.
 */
#ifndef TP_ENGINE_RING_GUARD_H
#define TP_ENGINE_RING_GUARD_H

#include <stdbool.h>

/* Drain thread, each round: there is a handler of ours, before the one that the program had when the ring was
 * opened, if any. */
void tp_ring_guard_watch(void);
/* The ring is closed, or lost, or the parent's: the program's is back, where ours still stands. */
void tp_ring_guard_end(void);
/* Memory of this process only in the place of the whole ring; every address stays valid throughout. False:
 * errno says why not. */
bool tp_ring_guard_cover(void);
/* A page of this process's ring was missing once. Any thread. */
bool tp_ring_guard_has_met(void);

#endif
