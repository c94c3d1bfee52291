/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_origin.h - where in the program an event comes from: its Python stack and its path of
 * modules; of what the backward pass does, those of the forward pass
 *
 * What a thread's last STACK told holds for all that it does. A node of the backward pass, and
 * what is inside it, has the origin of the forward operator that made it (links.h), as long as
 * the thread has not gone on to run Python in there (hooks, recomputed activations).
 *
 * Memory: stacks, paths, threads, and what links.h keeps.
 */
#ifndef TP_MERGE_MODULE_ORIGIN_H
#define TP_MERGE_MODULE_ORIGIN_H

#include "merge/facts/origin/module_paths.h"
#include "merge/facts/origin/stacks.h"

struct tp_origin {
	uint32_t stack;		/* of tp_origins_stacks; 0: none, or not known */
	uint32_t path;		/* of tp_origins_paths; 0: of no module, or not known */
	bool is_backward;
};

struct tp_origins;

/* Of events as they were recorded, and of those cut to their windows: who has another event than these
 * asks of the same kind. */
extern const struct tp_fact tp_fact_origins, tp_fact_origins_cut;

/* Where the event's thread is at the event's start. */
struct tp_origin tp_origins_of(struct tp_origins *origins, const struct tp_event *event);
/* The OP that was given last lies in no other one of its thread. */
bool tp_origins_is_outermost(const struct tp_origins *origins, const struct tp_event *event);
struct tp_stacks *tp_origins_stacks(const struct tp_origins *origins);
struct tp_module_paths *tp_origins_paths(const struct tp_origins *origins);
bool tp_origins_has_any(const struct tp_origins *origins);	/* a STACK was seen */
bool tp_origins_is_incomplete(const struct tp_origins *origins);	/* out of memory */

#endif
