/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flop_counts.c - floating-point operations of one call
 */
#include "merge/facts/compute/flop_counts.h"

#include <string.h>

#include "merge/model/scalar.h"
#include "merge/model/shapes_in.h"

static const struct {
	const char *op;
	enum tp_flop_kind kind;
} ops[] = {
	{"aten::mm", TP_FLOP_MM},
	{"aten::_scaled_mm", TP_FLOP_MM},
	{"aten::addmm", TP_FLOP_ADDMM},
	{"aten::bmm", TP_FLOP_BMM},
	{"aten::baddbmm", TP_FLOP_BADDBMM},
	{"aten::_scaled_dot_product_flash_attention", TP_FLOP_ATTENTION},
	{"aten::_scaled_dot_product_flash_attention_for_cpu", TP_FLOP_ATTENTION},
	{"aten::_scaled_dot_product_efficient_attention", TP_FLOP_ATTENTION},
	{"aten::_scaled_dot_product_cudnn_attention", TP_FLOP_ATTENTION},
	{"aten::_scaled_dot_product_flash_attention_backward", TP_FLOP_ATTENTION_BACKWARD},
	{"aten::_scaled_dot_product_flash_attention_for_cpu_backward", TP_FLOP_ATTENTION_BACKWARD},
	{"aten::_scaled_dot_product_efficient_attention_backward", TP_FLOP_ATTENTION_BACKWARD},
	{"aten::_scaled_dot_product_cudnn_attention_backward", TP_FLOP_ATTENTION_BACKWARD},
	{"aten::convolution", TP_FLOP_CONV},
	{"aten::convolution_backward", TP_FLOP_CONV_BACKWARD},
};

enum tp_flop_kind tp_flop_kind(const char *op, uint32_t n_bytes)
{
	for (uint32_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strlen(ops[i].op) == n_bytes && !memcmp(ops[i].op, op, n_bytes))
			return ops[i].kind;
	return TP_FLOP_NONE;
}

/* ---- shapes ---- */

/* Of numbers from a file: 0 when one is, or when the product does not fit. */
static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? 0 : product;
}

static uint64_t product_from(const struct tp_flop_shape *shape, uint32_t first)
{
	uint64_t product = 1;

	for (uint32_t i = first; i < shape->n_dims; i++)
		product = times(product, shape->size[i]);
	return product;
}

static void take_tensor(struct tp_shapes_in *in, const struct tp_shapes_item *item,
			struct tp_flop_shape *shape, uint64_t *bytes)
{
	for (uint32_t i = 0; i < item->n; i++) {
		uint64_t size = tp_shapes_size(in);

		if (i < TP_FLOP_DIMS)
			shape->size[i] = size;
	}
	shape->n_dims = item->n <= TP_FLOP_DIMS ? item->n : 0;
	*bytes = times(product_from(shape, 0), tp_scalar_bytes(item->dtype));
}

void tp_flop_inputs(struct tp_flop_inputs *inputs, const char *bytes, uint32_t n_bytes)
{
	struct tp_shapes_in in = tp_shapes_open(bytes, n_bytes);
	struct tp_shapes_item item;

	*inputs = (struct tp_flop_inputs){0};
	for (uint32_t i = 0; i < TP_FLOP_INPUTS && tp_shapes_next(&in, &item); i++) {
		if (item.what == TP_SHAPE_TENSOR)
			take_tensor(&in, &item, &inputs->of[i], &inputs->bytes[i]);
		else if (item.what != TP_SHAPE_NONE && item.what != TP_SHAPE_SCALAR)
			break;
	}
	if (in.is_bad)
		*inputs = (struct tp_flop_inputs){0};
}

/* ---- products and attention ---- */

static uint64_t of_product(uint64_t m, uint64_t k, uint64_t n)
{
	return times(times(times(m, k), n), 2);
}

static uint64_t count_mm(const struct tp_flop_shape *a, const struct tp_flop_shape *b)
{
	if (a->n_dims != 2 || b->n_dims != 2 || a->size[1] != b->size[0])
		return 0;
	return of_product(a->size[0], a->size[1], b->size[1]);
}

static uint64_t count_bmm(const struct tp_flop_shape *a, const struct tp_flop_shape *b)
{
	if (a->n_dims != 3 || b->n_dims != 3 || a->size[0] != b->size[0] || a->size[2] != b->size[1])
		return 0;
	return times(a->size[0], of_product(a->size[1], a->size[2], b->size[2]));
}

/* Batch, heads, sequence, width: scores, and what they weigh. Backward computes the scores again, and
 * the gradients of query, key, scores and value. */
static uint64_t count_attention(const struct tp_flop_shape *input, bool is_backward)
{
	const struct tp_flop_shape *query = input, *key = input + 1, *value = input + 2;
	uint64_t heads, scores, weighed;

	if (query->n_dims != 4 || key->n_dims != 4 || value->n_dims != 4 ||
	    query->size[0] != key->size[0] || query->size[3] != key->size[3] ||
	    key->size[2] != value->size[2])
		return 0;
	heads = times(query->size[0], query->size[1]);
	scores = times(heads, of_product(query->size[2], query->size[3], key->size[2]));
	weighed = times(heads, of_product(query->size[2], key->size[2], value->size[3]));
	if (!scores || !weighed || (scores | weighed) >> 60)
		return 0;
	return is_backward ? 3 * scores + 2 * weighed : scores + weighed;
}

/* ---- convolutions ---- */

/* The weight of a transposed one has the input's channels first. Where both could be, the larger of
 * the two images is the result of a transposed one. */
static bool is_transposed(const struct tp_flop_shape *input, const struct tp_flop_shape *weight,
			  const struct tp_flop_shape *out)
{
	if (out->size[1] != weight->size[0])
		return true;
	return input->size[1] == weight->size[0] && product_from(out, 2) > product_from(input, 2);
}

static bool is_convolution(const struct tp_flop_shape *input, const struct tp_flop_shape *weight,
			   const struct tp_flop_shape *out)
{
	return input->n_dims >= 3 && input->n_dims == weight->n_dims && input->n_dims == out->n_dims &&
	       input->size[0] == out->size[0] &&
	       (out->size[1] == weight->size[0] || input->size[1] == weight->size[0]);
}

/* Each weight meets each point of the result, of a transposed one of the input: once for each sample.
 * The gradients of input and weight are as many products each. */
static uint64_t count_convolution(const struct tp_flop_shape *input, const struct tp_flop_shape *weight,
				  const struct tp_flop_shape *out)
{
	const struct tp_flop_shape *image;

	if (!out || !is_convolution(input, weight, out))
		return 0;
	image = is_transposed(input, weight, out) ? input : out;
	return times(times(times(product_from(image, 2), product_from(weight, 0)), input->size[0]), 2);
}

uint64_t tp_flop_count(const struct tp_flop_call *call)
{
	const struct tp_flop_shape *of = call->inputs->of;

	switch (call->kind) {
	case TP_FLOP_MM:
		return count_mm(&of[0], &of[1]);
	case TP_FLOP_ADDMM:
		return count_mm(&of[1], &of[2]);
	case TP_FLOP_BMM:
		return count_bmm(&of[0], &of[1]);
	case TP_FLOP_BADDBMM:
		return count_bmm(&of[1], &of[2]);
	case TP_FLOP_ATTENTION:
		return count_attention(of, false);
	case TP_FLOP_ATTENTION_BACKWARD:
		return count_attention(of + 1, true);
	case TP_FLOP_CONV:
		return count_convolution(&of[0], &of[1], call->out);
	case TP_FLOP_CONV_BACKWARD:
		return times(count_convolution(&of[1], &of[2], &of[0]), call->has_input_gradient ? 2 : 1);
	case TP_FLOP_NONE:
		break;
	}
	return 0;
}
