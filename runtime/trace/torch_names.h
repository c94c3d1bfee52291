/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_names.h - how the names begin that torch, its profiler and NCCL give to ranges, operators and
 * kernels, where something is known by them
 */
#ifndef TP_TORCH_NAMES_H
#define TP_TORCH_NAMES_H

#include "runtime/base/begins.h"

#define TP_NAME_PROFILER_STEP "ProfilerStep#"			/* then its number */
#define TP_NAME_LOADER "enumerate(DataLoader)#"			/* then its class and method */
#define TP_NAME_PIPE "enumerate(DataPipe)#"
#define TP_NAME_COMPILED "Torch-Compiled Region: "		/* then FRAME/NUMBER */
#define TP_NAME_OPTIMIZER "Optimizer.step#"
#define TP_NAME_ZERO_GRAD "Optimizer.zero_grad#"
#define TP_NAME_ENGINE "autograd::engine::"
#define TP_NAME_NODE TP_NAME_ENGINE "evaluate_function: "	/* then the node of autograd */
#define TP_NAME_AUTOGRAD "torch::autograd::"
#define TP_NAME_ACCUMULATE TP_NAME_AUTOGRAD "AccumulateGrad"
#define TP_NAME_FSDP "FSDP::"
#define TP_NAME_GLOO "gloo:"					/* ranges of collectives */
#define TP_NAME_NCCL "nccl:"
#define TP_NAME_NCCL_KERNEL "nccl"				/* "ncclDevKernel_AllReduce_.." */
#define TP_NAME_C10D "c10d::"					/* operators that ask for them */
#define TP_NAME_FUNCTIONAL "_c10d_functional::"			/* those of DTensor */

/* By which library a name is one of a collective, or of what asks for it. */
enum tp_comm_library {
	TP_COMM_BY_NONE,
	TP_COMM_BY_GLOO,	/* a range: from the call to its completion */
	TP_COMM_BY_NCCL,	/* a range: only the asking */
	TP_COMM_BY_KERNEL,	/* of NCCL */
	TP_COMM_BY_C10D,
};

/* n bytes that need no NUL behind them. */
static inline enum tp_comm_library tp_comm_library(const char *name, size_t n)
{
	if (tp_begins(name, n, TP_NAME_GLOO))
		return TP_COMM_BY_GLOO;
	if (tp_begins(name, n, TP_NAME_NCCL_KERNEL))
		return tp_begins(name, n, TP_NAME_NCCL) ? TP_COMM_BY_NCCL : TP_COMM_BY_KERNEL;
	return tp_begins(name, n, TP_NAME_C10D) ? TP_COMM_BY_C10D : TP_COMM_BY_NONE;
}

static inline bool tp_comm_is_range(const char *name, size_t n)
{
	enum tp_comm_library by = tp_comm_library(name, n);

	return by == TP_COMM_BY_GLOO || by == TP_COMM_BY_NCCL;
}

#endif
