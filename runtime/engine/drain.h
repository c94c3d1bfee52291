/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h - the one thread that we start: records from the ring to trace files
 *
 * It sleeps on tp_ring_bell. Inside windows it wakes every 100 ms to let probes tick, and
 * writes when a full block waits or half of the ring is used; at the end of a window at once;
 * outside windows it wakes once a second for the step ledger. What is not yet written is safe
 * in the ring, so there is no reason to write small blocks early.
 */
#ifndef TP_ENGINE_DRAIN_H
#define TP_ENGINE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/window.h"

/* Takes its memory and starts the thread. The ring is open. 0 or -errno. */
int tp_drain_start(const struct tp_window_spec *spec, const char *ledger_path);
/* Everything that is in the ring goes to files, then the thread ends. Waits at most
 * `timeout_ms`; false: it was not done by then; it goes on, and ends our threads when it is. */
bool tp_drain_stop(uint32_t timeout_ms);
/* In the child of fork: there is no thread. */
void tp_drain_forked(void);

#endif
