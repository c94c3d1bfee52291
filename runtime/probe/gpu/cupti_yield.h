/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_yield.h - CUPTI has one user at a time, and the program's own comes first
 *
 * preload/hook_cupti.c stands before the functions by which another tool in this process
 * (torch.profiler's Kineto, a vendor's agent) takes CUPTI, and before those by which it lets
 * go. We flush, disable, unsubscribe, mark the gap, let it through; and take CUPTI again
 * when it is done. Calls of ours (this thread is inside one) pass.
 *
 * Another tool is done when its kinds are off and what they recorded was flushed to it, or, if
 * it never asked for records, when its last subscription ended; or when it finalised CUPTI.
 * Kineto before August 2026 never unsubscribes: we go on beside its subscription, without one.
 * Who lets go of his kinds and never flushes is taken for done at a window's start a second
 * later: what he left would else come to us.
 */
#ifndef TP_PROBE_CUPTI_YIELD_H
#define TP_PROBE_CUPTI_YIELD_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

#include "runtime/probe/gpu/cupti_decode.h"

/* This thread calls CUPTI for us: our own hooks let it pass. */
extern __thread uint32_t tp_cupti_inside
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What another user calls. */
enum tp_cupti_act {
	TP_CUPTI_SUBSCRIBE,
	TP_CUPTI_UNSUBSCRIBE,
	TP_CUPTI_REGISTER,	/* buffers */
	TP_CUPTI_TIMESTAMP,	/* his clock; what CUPTI still holds for us would lose its times */
	TP_CUPTI_ENABLE,	/* a kind */
	TP_CUPTI_DISABLE,
	TP_CUPTI_FLUSH,
	TP_CUPTI_FINALIZE,
};
struct tp_cupti_call {
	enum tp_cupti_act act;
	CUpti_ActivityKind kind;			/* ENABLE, DISABLE */
	CUpti_BuffersCallbackRequestFunc requested;	/* REGISTER */
	CUpti_BuffersCallbackCompleteFunc completed;
	const char *who;	/* path of the calling library */
};
/* Before the real function, and after it. On the caller's thread. */
void tp_cupti_other_begins(const struct tp_cupti_call *call);
void tp_cupti_other_did(const struct tp_cupti_call *call, bool has_worked);

/* A foreign caller is about to take CUPTI; `who`: path of the calling library. Returns when
 * CUPTI is free of us. On the caller's thread. */
void tp_cupti_yield(const char *who);
/* The foreign user let go. CUPTI is taken again at the next tick in a window, or arm (in a window
 * at once, when he flushed). */
void tp_cupti_resume(void);
/*
 * NVIDIA's Python bindings of CUPTI (cupti-python) came into the process, by which torch.profiler's
 * _cuspy takes CUPTI, or JAX's plugin for CUDA: they look its functions up in the library, past our hooks, so
 * nobody knows when they let go. CUPTI is left to them for good. Any thread, also the drain's.
 */
void tp_cupti_look_for_bindings(void);
/* A window began, and another thread of ours is still busy with CUPTI: a gap, too. */
void tp_cupti_gap_late(void);
/* We have CUPTI (again). */
void tp_cupti_gap_over(void);
/* A window begins: is the foreign user done, though he did not say so? */
void tp_cupti_yield_look(void);

bool tp_cupti_has_other_subscriber(void);
/* Counts what others did: it is another number when it is worth asking again. */
uint32_t tp_cupti_other_came(void);

/* Drain thread: gaps of the window become marks in it. */
void tp_cupti_yield_mark(const struct tp_cupti_wanted *window);
/* Times yielded, and ns so far. */
void tp_cupti_yielded(uint32_t *times, uint64_t *ns);
/* Windows that had begun before we were ready, and for how long. */
void tp_cupti_unready(uint32_t *times, uint64_t *ns);
void tp_cupti_yield_forked(void);

#endif
