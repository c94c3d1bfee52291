/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_stacks.h - where operators of a torch.profiler trace were called from: FRAME, STACK and
 * NNMODULE records from its calls of Python and of nn.Modules ("python_function"), or from the
 * "Call stack" that older versions wrote with each operator
 *
 * The line of a frame is what the file has: of a call of Python the function's first one. Functions
 * of C are no frames. A module is called by its class and number ("Linear_0"): its name in the
 * model is not in the file. Memory: TP_KINETO_RUN items, and the distinct stacks that are asked
 * for.
 */
#ifndef TP_MERGE_KINETO_STACKS_H
#define TP_MERGE_KINETO_STACKS_H

#include "merge/kineto/kineto_event.h"
#include "merge/kineto/kineto_order.h"
#include "merge/kit/keyed.h"

struct tp_kineto_records;
struct tp_rec;

struct tp_kineto_stacks {
	struct tp_kineto_order order;
	bool is_wanted;			/* there is a frame */
	struct tp_kineto_on *thread;	/* by slot */
	uint32_t cap_threads;
	struct tp_kineto_place *place;	/* by raw string */
	uint32_t cap_places;
	struct tp_kineto_node *node;	/* 0: no stack */
	uint32_t n_nodes, cap_nodes;
	struct tp_keyed nodes;
	uint32_t *stack_of;		/* node plus one, by raw string of a whole "Call stack" */
	uint32_t cap_stacks;
	uint32_t n_numbers, n_modules;	/* given out */
	uint64_t n_lost;		/* frames for which there was no room */
};

void tp_kineto_stacks_init(struct tp_kineto_stacks *stacks, const char *path);
void tp_kineto_stacks_free(struct tp_kineto_stacks *stacks);

/* A python_function. False: it lacks what it needs. */
bool tp_kineto_stacks_call(struct tp_kineto_records *records, const struct tp_kineto_event *event,
			   uint16_t slot, uint64_t begin, uint64_t len);
/* An operator or a call of CUDA, which is `rec`. */
void tp_kineto_stacks_ask(struct tp_kineto_records *records, const struct tp_kineto_event *event,
			  const struct tp_rec *rec, uint16_t slot);
/* All have been read: their records are put. 0 or -errno. */
int tp_kineto_stacks_end(struct tp_kineto_records *records);

#endif
