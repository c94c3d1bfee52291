/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_yield.h - CUPTI has one user at a time, and the program's own comes first
 *
 * preload/hook_cupti.c stands before the functions by which another tool in this process
 * (torch.profiler's Kineto, a vendor's agent) takes CUPTI, and before those by which it lets
 * go. We flush, disable, unsubscribe, mark the gap, let it through; and take CUPTI again
 * when it is done. Calls of ours (this thread is inside one) pass.
 */
#ifndef TP_PROBE_CUPTI_YIELD_H
#define TP_PROBE_CUPTI_YIELD_H

#include <stdbool.h>
#include <stdint.h>

/* This thread calls CUPTI for us: our own hooks let it pass. */
extern __thread uint32_t tp_cupti_inside
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A foreign caller is about to take CUPTI; `who`: path of the calling library. Returns when
 * CUPTI is free of us. On the caller's thread. */
void tp_cupti_yield(const char *who);
/* The foreign user let go (unsubscribed, finalised, or disabled its last kind). */
void tp_cupti_resume(void);
/* Times yielded, and ns so far. */
void tp_cupti_yielded(uint32_t *times, uint64_t *ns);

#endif
