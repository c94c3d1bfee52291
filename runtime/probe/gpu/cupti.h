/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti.h - GPU kernels, copies, sets, synchronisations, CUDA calls, graphs and CUPTI's own
 * overhead, through CUPTI's activity API
 *
 * CUPTI is taken (subscribed, attributes set, buffers registered) when the driver initialises:
 * tp_cupti_inject, or at the session's opening when that was earlier. Kinds are enabled at
 * arm and disabled at disarm; between windows none is on. Completed buffers are decoded by
 * the drain thread (tick, settle). Someone else's use of CUPTI comes first: cupti_yield.h.
 * A forked child never calls CUPTI again.
 */
#ifndef TP_PROBE_CUPTI_H
#define TP_PROBE_CUPTI_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/probe.h"

struct tp_config;

extern const struct tp_probe tp_cupti_probe __attribute__((visibility("hidden")));

/* From the constructor, where a session may come; `config` stays valid. */
void tp_cupti_allow(const struct tp_config *config);
/* From the constructor: the injection variable belongs to someone else, named by that path. */
void tp_cupti_injection_taken(const char *path);
/* The driver initialises (InitializeInjection): before any context. On a guest thread. */
void tp_cupti_inject(void);
/* A hang: what the devices have not done is asked for, and comes with the next ticks: cupti_queue.h.
 * Drain thread; nothing happens outside windows. What is under way is recorded without its times. */
void tp_cupti_ask_queues(void);
/* CUDA is about to be torn down, the process ends: CUPTI is not called again. */
void tp_cupti_end(void);

#endif
