/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memjudge.c - what a block of tensor memory was for, by its life
 */
#include "merge/facts/tensor/memjudge.h"

enum tp_tensor_category tp_memjudge(const struct tp_memcase *of)
{
	const bool is_brief = of->end_ns <= of->born->work_end_ns;
	const bool is_kept = of->now.n_steps - of->then.n_steps > 1;
	const bool is_optimized = of->now.n_optimizers > of->then.n_optimizers;
	const bool is_before_nodes = of->then.n_nodes == of->then.n_nodes_at_step;

	switch (of->born->sharing) {
	case TP_SHARING_ALL_GATHER:
		return TP_TENSOR_ALL_GATHER;
	case TP_SHARING_COPY_OUT:
		return is_brief ? TP_TENSOR_ALL_GATHER : TP_TENSOR_UNSHARDED_PARAMETER;
	case TP_SHARING_REDUCE:
		return is_optimized ? TP_TENSOR_SHARDED_GRADIENT : TP_TENSOR_REDUCE_SCATTER;
	case TP_SHARING_NONE:
		break;
	}
	switch (of->born->born) {
	case TP_BORN_LOADER:
		return TP_TENSOR_INPUT;
	case TP_BORN_FORWARD:
		if (is_brief)
			return TP_TENSOR_TEMPORARY;
		/* What leaves its operator is a result of the forward pass, kept for the backward
		 * pass or not: torch's tools count so. */
		return is_kept ? TP_TENSOR_UNKNOWN : TP_TENSOR_ACTIVATION;
	case TP_BORN_BACKWARD:
		if (of->died && of->died->sharing == TP_SHARING_REDUCE)
			return TP_TENSOR_UNSHARDED_GRADIENT;
		return is_optimized ? TP_TENSOR_GRADIENT : TP_TENSOR_TEMPORARY;
	case TP_BORN_OPTIMIZER:
		return is_brief ? TP_TENSOR_TEMPORARY : TP_TENSOR_OPTIMIZER;
	case TP_BORN_ZERO_GRAD:
		return is_brief ? TP_TENSOR_TEMPORARY : TP_TENSOR_GRADIENT;
	case TP_BORN_OTHER:
		break;
	}
	if (is_brief)
		return TP_TENSOR_TEMPORARY;
	if (is_kept)
		return TP_TENSOR_UNKNOWN;
	return is_before_nodes && of->now.n_nodes > of->then.n_nodes ? TP_TENSOR_INPUT
								     : TP_TENSOR_TEMPORARY;
}
