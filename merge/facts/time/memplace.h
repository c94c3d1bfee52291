/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memplace.h - where a block of tensor memory was allocated or freed: in which part of a step, in
 * which operator
 *
 * Memory: spans that are open, names.
 */
#ifndef TP_MERGE_MEMPLACE_H
#define TP_MERGE_MEMPLACE_H

#include "merge/facts/time/names.h"
#include "merge/model/model.h"

enum tp_born {
	TP_BORN_OTHER,		/* no graph was recorded: before it, after it, without it */
	TP_BORN_FORWARD,	/* also what is computed again inside the backward pass */
	TP_BORN_BACKWARD,
	TP_BORN_OPTIMIZER,
	TP_BORN_ZERO_GRAD,
	TP_BORN_LOADER,
};

/* Which of FSDP's ranges. */
enum tp_sharing { TP_SHARING_NONE, TP_SHARING_ALL_GATHER, TP_SHARING_COPY_OUT, TP_SHARING_REDUCE };

struct tp_place {
	enum tp_born born;
	enum tp_sharing sharing;
	const char *group;	/* of parameters, of FSDP's: its name, "" where it has none */
	int64_t sharing_end_ns;	/* of FSDP's range */
	bool is_accumulated;	/* in a node AccumulateGrad */
	bool is_collective;	/* in an operator of c10d: it is the collective's own */
	int64_t work_end_ns;	/* of the outermost operator of that phase */
	int64_t operator_end_ns; /* the same, inside a node of the backward pass */
	uint32_t name;		/* row of tp_names: the operator; TP_NO_NAME: none */
	uint32_t inner, parent;	/* the innermost one, whatever the phase, and the one around that */
};

struct tp_memplace;

struct tp_memplace *tp_memplace_new(void);
void tp_memplace_free(struct tp_memplace *places);
const struct tp_names *tp_memplace_names(const struct tp_memplace *places);

/* No more events. Then: calls of a process by row of tp_names, for the first *n; an operator whose
 * only child has its own name counts as one with it (nest.h). */
void tp_memplace_end(struct tp_memplace *places);
const uint64_t *tp_memplace_calls(const struct tp_memplace *places, uint32_t proc, uint32_t *n);

#define TP_REDUCE_SCATTER "c10d::_reduce_scatter_base_"

/* An OP or RANGE begins. */
struct tp_memplace_span {
	uint32_t name;
	bool is_node;		/* of the backward pass, or around one */
	bool is_optimizer;
	bool is_accumulate;	/* a node AccumulateGrad */
	/* FSDP takes the gradients of this group of parameters (tp_place.group), at that time;
	 * or TP_REDUCE_SCATTER: what was put together of these. NULL: no. */
	const char *group;
	int64_t group_ns;
	bool is_lost;		/* out of memory, or asynchronous: it is not noted */
};
struct tp_memplace_span tp_memplace_begin(struct tp_memplace *places,
					  const struct tp_event *event);

/* Where the event's thread is at its time. */
struct tp_place tp_memplace_find(struct tp_memplace *places, const struct tp_event *event);
/* Names of the spans open there, the innermost last, at most TP_MEMPLACE_SPANS of these. */
enum { TP_MEMPLACE_SPANS = 64 };
uint32_t tp_memplace_open(struct tp_memplace *places, const struct tp_event *event,
			  uint32_t name[TP_MEMPLACE_SPANS]);

#endif
