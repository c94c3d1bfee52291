/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flop_counts.h - floating-point operations of one call, from its name and the shapes of its inputs
 *
 * A multiplication and an addition are two. The formulas are those of torch/utils/flop_counter.py
 * (torch 2.13): products of matrices, convolutions, scaled dot-product attention, forward and
 * backward. Beyond it: attention on the CPU, and the gradient of a grouped convolution's weight
 * without the products between groups, which are not made. Only operators that do the work are
 * counted (aten::addmm), not those that call them (aten::linear). Causal masks are not looked at.
 *
 * Shapes are not trusted: what makes no sense, or does not fit 64 bits, is 0.
 */
#ifndef TP_MERGE_FLOP_COUNTS_H
#define TP_MERGE_FLOP_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

enum tp_flop_kind {
	TP_FLOP_NONE,
	TP_FLOP_MM,		/* inputs 0, 1 */
	TP_FLOP_ADDMM,		/* inputs 1, 2 */
	TP_FLOP_BMM,
	TP_FLOP_BADDBMM,
	TP_FLOP_ATTENTION,	/* query, key, value */
	TP_FLOP_ATTENTION_BACKWARD,	/* gradient, query, key, value */
	TP_FLOP_CONV,		/* input, weight; what it gives is not among the inputs */
	TP_FLOP_CONV_BACKWARD,	/* gradient, input, weight */
};

/* By operator name without its overload ("aten::mm"). */
enum tp_flop_kind tp_flop_kind(const char *op, uint32_t n_bytes);

enum { TP_FLOP_DIMS = 5, TP_FLOP_INPUTS = 4 };

struct tp_flop_shape {
	uint32_t n_dims;	/* 0: no tensor, or of more than TP_FLOP_DIMS */
	uint64_t size[TP_FLOP_DIMS];
};

struct tp_flop_inputs {
	struct tp_flop_shape of[TP_FLOP_INPUTS];
	uint64_t bytes[TP_FLOP_INPUTS];	/* 0: not known */
};

/* The first inputs of a SHAPES string. */
void tp_flop_inputs(struct tp_flop_inputs *inputs, const char *bytes, uint32_t n_bytes);

struct tp_flop_call {
	enum tp_flop_kind kind;
	const struct tp_flop_inputs *inputs;
	const struct tp_flop_shape *out;	/* of a convolution: its result */
	bool has_input_gradient;		/* of a convolution backward: it was wanted */
};
uint64_t tp_flop_count(const struct tp_flop_call *call);

#endif
