/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal.h - the handler of the trigger's signal
 *
 * The program's own handler is called after ours; one that it installs later is found at the next
 * tp_signal_install. One signal a process; drain thread, and session start and end.
 */
#ifndef TP_ENGINE_SIGNAL_H
#define TP_ENGINE_SIGNAL_H

#include <stdbool.h>

/* Ours, before the one that the program has now; again when it has installed another. 0: none. */
void tp_signal_install(int number);
/* Where nobody handles it, so that it does not kill. 0: none. */
void tp_signal_shield(int number);
/* The program's handler is back. */
void tp_signal_restore(void);
/* Did it come since the last call? */
bool tp_signal_take(void);
/* In the child of fork. */
void tp_signal_forked(void);

#endif
