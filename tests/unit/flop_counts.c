/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flop_counts.c - tests of floating-point operations by name and shapes: by hand, from the formulas'
 * meaning
 */
#include <criterion/criterion.h>
#include <string.h>

#include "merge/facts/compute/flop_counts.h"
#include "runtime/trace/trainprof_trace.h"

static struct tp_flop_shape shape(uint32_t n, const uint64_t *size)
{
	struct tp_flop_shape shape = {.n_dims = n};

	memcpy(shape.size, size, n * sizeof(*size));
	return shape;
}
#define SHAPE(...)                                                                                 \
	shape(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

static uint64_t count(enum tp_flop_kind kind, const struct tp_flop_inputs *inputs,
		      const struct tp_flop_shape *out, bool has_input_gradient)
{
	return tp_flop_count(&(struct tp_flop_call){kind, inputs, out, has_input_gradient});
}

Test(flop_counts, knows_who_does_the_work)
{
	cr_expect_eq(tp_flop_kind("aten::mm", 8), TP_FLOP_MM);
	cr_expect_eq(tp_flop_kind("aten::mmm", 9), TP_FLOP_NONE);
	cr_expect_eq(tp_flop_kind("aten::linear", 12), TP_FLOP_NONE, "it calls addmm");
	cr_expect_eq(tp_flop_kind("", 0), TP_FLOP_NONE);
}

Test(flop_counts, counts_products_of_matrices)
{
	struct tp_flop_inputs two = {.of = {SHAPE(3, 5), SHAPE(5, 7)}};
	struct tp_flop_inputs three = {.of = {SHAPE(7), SHAPE(3, 5), SHAPE(5, 7)}};
	struct tp_flop_inputs batch = {.of = {SHAPE(2, 3, 5), SHAPE(2, 5, 7)}};

	cr_expect_eq(count(TP_FLOP_MM, &two, NULL, false), 2 * 3 * 5 * 7);
	cr_expect_eq(count(TP_FLOP_ADDMM, &three, NULL, false), 2 * 3 * 5 * 7);
	cr_expect_eq(count(TP_FLOP_BMM, &batch, NULL, false), 2 * 2 * 3 * 5 * 7);
	cr_expect_eq(count(TP_FLOP_MM, &batch, NULL, false), 0, "three dimensions");
	two.of[1].size[0] = 6;
	cr_expect_eq(count(TP_FLOP_MM, &two, NULL, false), 0, "they do not fit");
}

Test(flop_counts, counts_attention_with_fewer_heads_of_keys)
{
	struct tp_flop_inputs in = {.of = {SHAPE(2, 8, 10, 4), SHAPE(2, 2, 12, 4), SHAPE(2, 2, 12, 6)}};
	struct tp_flop_inputs back = {.of = {SHAPE(2, 8, 10, 6), in.of[0], in.of[1], in.of[2]}};
	uint64_t scores = 2 * 8 * 2 * 10 * 4 * 12, weighed = 2 * 8 * 2 * 10 * 12 * 6;

	cr_expect_eq(count(TP_FLOP_ATTENTION, &in, NULL, false), scores + weighed);
	cr_expect_eq(count(TP_FLOP_ATTENTION_BACKWARD, &back, NULL, false), 3 * scores + 2 * weighed);
}

Test(flop_counts, counts_convolutions_by_what_they_give)
{
	struct tp_flop_inputs conv = {.of = {SHAPE(4, 6, 9, 9), SHAPE(8, 3, 3, 3)}};	/* two groups */
	struct tp_flop_shape out = SHAPE(4, 8, 7, 7);
	struct tp_flop_inputs back = {.of = {out, conv.of[0], conv.of[1]}};
	struct tp_flop_inputs up = {.of = {SHAPE(4, 6, 5, 5), SHAPE(6, 8, 4, 4)}};
	struct tp_flop_shape larger = SHAPE(4, 8, 10, 10);
	uint64_t once = 2 * 4 * 7 * 7 * 8 * 3 * 3 * 3;

	cr_expect_eq(count(TP_FLOP_CONV, &conv, &out, false), once);
	cr_expect_eq(count(TP_FLOP_CONV, &conv, NULL, false), 0, "not known");
	cr_expect_eq(count(TP_FLOP_CONV_BACKWARD, &back, NULL, false), once);
	cr_expect_eq(count(TP_FLOP_CONV_BACKWARD, &back, NULL, true), 2 * once);
	cr_expect_eq(count(TP_FLOP_CONV, &up, &larger, false), 2ull * 4 * 5 * 5 * 6 * 8 * 4 * 4,
		     "transposed: each point of the input");
}

Test(flop_counts, believes_no_shape)
{
	struct tp_flop_inputs huge = {.of = {SHAPE(1ull << 40, 1ull << 20), SHAPE(1ull << 20, 1ull << 40)}};
	static const uint8_t cut[] = {TP_SHAPE_TENSOR, 6, 2, 64};
	static const uint8_t deep[] = {TP_SHAPE_TENSOR, 6, 7, 1, 2, 3, 4, 5, 6, 7, TP_SHAPE_TENSOR, 6, 1, 9};
	static const uint8_t far[] = {TP_SHAPE_TENSOR_LIST, 1, TP_SHAPE_TENSOR, 6, 1, 9,
				      TP_SHAPE_TENSOR, 6, 1, 3};
	struct tp_flop_inputs inputs;

	cr_expect_eq(count(TP_FLOP_MM, &huge, NULL, false), 0);
	tp_flop_inputs(&inputs, (const char *)cut, sizeof(cut));
	cr_expect_eq(inputs.of[0].n_dims, 0);
	tp_flop_inputs(&inputs, (const char *)deep, sizeof(deep));
	cr_expect_eq(inputs.of[0].n_dims, 0, "too many dimensions");
	cr_expect_eq(inputs.of[1].n_dims, 1, "and the next one is read right");
	cr_expect_eq(inputs.of[1].size[0], 9);
	tp_flop_inputs(&inputs, (const char *)far, sizeof(far));
	cr_expect_eq(inputs.of[1].n_dims, 0, "not behind a list");
}
