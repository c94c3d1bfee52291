/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.h - collectives as NCCL sees them: this library as its profiler plugin
 *
 * preload/hook_nccl.c has the symbols that NCCL looks for; what it calls comes here. A mask of
 * wanted events is set at the edges of windows, and 0 outside them: then NCCL does not even
 * call. That a communicator is made proves no training: servers for inference make them, too.
 */
#ifndef TP_PROBE_NCCL_H
#define TP_PROBE_NCCL_H

#include <stdint.h>

#include "runtime/engine/probe.h"
#include "runtime/probe/nccl/nccl_comm.h"

extern const struct tp_probe tp_nccl_probe __attribute__((visibility("hidden")));

/* From the constructor, where a session may come and TRAINPROF_RECORD has "comm": communicators
 * are taken. Without this call NCCL is told that nothing is wanted. */
void tp_nccl_allow(void);
/* From the constructor: NCCL will load that plugin, not this library. */
void tp_nccl_taken(const char *plugin);

/* A communicator is made: the context for its events, 0: none are wanted. Any thread. */
uint32_t tp_nccl_open(const struct tp_nccl_who *who, int *mask);
void tp_nccl_close(uint32_t context);

#endif
