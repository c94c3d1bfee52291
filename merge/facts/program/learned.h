/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learned.h - layers that run in steps, with and without a backward pass
 *
 * An operator that uses parameters learns if a node of the backward pass in the same step goes back to it:
 * has a number of autograd's from its own on, below that of the next such operator of its thread. Where there
 * is no such node in a step all that record one are taken to learn, as the pass may come later; where the
 * next one has its number it recorded none: it is frozen, and counted nowhere.
 * Charged to source lines: figures GRAD_CALLS, NO_GRAD_CALLS and NO_GRAD of sites.h.
 * Memory: layers and nodes of a step.
 */
#ifndef TP_MERGE_LEARNED_H
#define TP_MERGE_LEARNED_H

#include <stdint.h>

struct tp_event;
struct tp_sites;
struct tp_learned;	/* of a process */

/* Calls that learn, and that do not; of the latter those that recorded a gradient all the same. */
struct tp_learned_calls {
	uint64_t n_with, n_without, n_forgotten;
};

struct tp_learned *tp_learned_make(void);
void tp_learned_free(struct tp_learned *learned);

/* In the order of events: an outermost operator with parameters, its kind and who is charged for it; a node
 * of the backward pass; the end of a step, whose calls are added to those of their kinds. */
void tp_learned_layer(struct tp_learned *learned, const struct tp_event *event, uint32_t kind, uint32_t tag);
void tp_learned_node(struct tp_learned *learned, const struct tp_event *event);
void tp_learned_step(struct tp_learned *learned, struct tp_sites *sites, struct tp_learned_calls *by_kind);

#endif
