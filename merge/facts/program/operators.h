/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators.h - time and tensor memory by operator, as torch's key_averages() counts them
 *
 * A row is a name, or a name and its input shapes, or its Python stack (of backward nodes that
 * of the forward operator; those inside of an operator have its). Self is a span's time
 * (memory) without that of the spans directly inside it on its thread; total is the whole. An operator that
 * only calls another overload of itself counts once (see nest.h). Spans that were open
 * when their window began or ended count with the part inside it; asynchronous spans (they
 * end on another thread) have no self time, as in torch. Times of all ranks and threads
 * are added.
 *
 * Where work was launched on devices: a row's device self is the time of kernels, copies and
 * sets launched while it was the innermost span, device total that of all launched inside it
 * (once, also where it encloses itself). CUDA calls are rows of their own, as in torch: their
 * time is not the operator's own. Memory: one row each, the distinct ways spans enclose each
 * other, never the events.
 *
 * One thread at a time.
 */
#ifndef TP_MERGE_OPERATORS_H
#define TP_MERGE_OPERATORS_H

#include "merge/facts/origin/module_origin.h"
#include "merge/facts/time/names.h"
#include "merge/model/fact.h"

/* Times in ns, memory in bytes, allocated less freed. */
struct tp_operator_row {
	uint32_t name;	 /* of tp_names */
	uint32_t shapes; /* tp_string.same; 0 when rows are not by shapes */
	uint32_t stack;	 /* 0 when rows are not by stack, or it is not known */
	const struct tp_string *inputs;
	uint64_t calls;	 /* 0: all its spans were taken in by their parents */
	int64_t self_ns, total_ns;
	int64_t self_bytes, total_bytes;
	int64_t self_device_bytes, total_device_bytes;	/* of these those on devices */
	int64_t device_self_ns, device_total_ns, tensor_self_ns, tensor_total_ns;
	/* Floating-point operations of its own (flop_counts.h); calls of which they are not known. */
	uint64_t flops, n_unknown_flops;
	/* A CUDA call; an operator that could use tensor cores, that has such a one inside. */
	bool is_call, is_eligible, encloses_eligible;
};

struct tp_operator_rows {
	const struct tp_operator_row *row;
	uint32_t n_rows;
	struct tp_names *names;
	struct tp_origins *origins;	/* NULL: rows are not by stack */
	int64_t device_ns, lost_device_ns; /* all; without a call that is known */
	uint64_t lost_blocks;		/* too many to keep: what frees them counts as 0 bytes */
	bool has_memory, has_device_memory, has_shapes, has_device, has_flops, is_incomplete;
};

/* Filled when the pass is over. When both were asked for before, other rows are made of theirs. */
const struct tp_operator_rows *tp_operators_want(struct tp_facts *facts, bool by_shape, bool by_stack);

#endif
