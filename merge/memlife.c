/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memlife.c - what tensor memory is for, in words
 */
#include "merge/memlife.h"

const char *tp_memcat_title(enum tp_tensor_category category)
{
	static const char *const title[TP_TENSOR_N] = {
		[TP_TENSOR_UNKNOWN] = "unknown",
		[TP_TENSOR_PARAMETER] = "parameters",
		[TP_TENSOR_GRADIENT] = "gradients",
		[TP_TENSOR_OPTIMIZER] = "optimizer state",
		[TP_TENSOR_BUFFER] = "buffers",
		[TP_TENSOR_ACTIVATION] = "activations",
		[TP_TENSOR_INPUT] = "inputs",
		[TP_TENSOR_TEMPORARY] = "temporary",
		[TP_TENSOR_SHARDED_PARAMETER] = "sharded parameters",
		[TP_TENSOR_SHARDED_GRADIENT] = "sharded gradients",
		[TP_TENSOR_UNSHARDED_PARAMETER] = "unsharded parameters",
		[TP_TENSOR_UNSHARDED_GRADIENT] = "unsharded gradients",
		[TP_TENSOR_ALL_GATHER] = "all-gather buffers",
		[TP_TENSOR_REDUCE_SCATTER] = "reduce-scatter buffers",
	};

	return (uint32_t)category < TP_TENSOR_N ? title[category] : title[0];
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
