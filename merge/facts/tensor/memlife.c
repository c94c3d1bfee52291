/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memlife.c - a block of tensor memory: what it was for, when, and in words
 */
#include "merge/facts/tensor/memlife.h"

#include "merge/kit/sum.h"

uint32_t tp_life_parts(const struct tp_life *life, struct tp_life part[TP_LIFE_PARTS])
{
	const int64_t since_ns = tp_add(life->begin_ns, life->temporary_ns);

	part[0] = *life;
	if (since_ns <= life->begin_ns)
		return 1;
	part[0].category = TP_TENSOR_TEMPORARY;
	part[0].end_ns = since_ns;
	part[1] = *life;
	part[1].begin_ns = since_ns;
	return 2;
}

const char *tp_memcat_word(enum tp_tensor_category category)
{
	static const char *const word[TP_TENSOR_N] = {
		[TP_TENSOR_UNKNOWN] = "unknown",
		[TP_TENSOR_PARAMETER] = "parameter",
		[TP_TENSOR_GRADIENT] = "gradient",
		[TP_TENSOR_OPTIMIZER] = "optimizer_state",
		[TP_TENSOR_BUFFER] = "buffer",
		[TP_TENSOR_ACTIVATION] = "activation",
		[TP_TENSOR_INPUT] = "input",
		[TP_TENSOR_TEMPORARY] = "temporary",
		[TP_TENSOR_SHARDED_PARAMETER] = "sharded_parameter",
		[TP_TENSOR_SHARDED_GRADIENT] = "sharded_gradient",
		[TP_TENSOR_UNSHARDED_PARAMETER] = "unsharded_parameter",
		[TP_TENSOR_UNSHARDED_GRADIENT] = "unsharded_gradient",
		[TP_TENSOR_ALL_GATHER] = "all_gather",
		[TP_TENSOR_REDUCE_SCATTER] = "reduce_scatter",
	};

	return (uint32_t)category < TP_TENSOR_N ? word[category] : word[0];
}
