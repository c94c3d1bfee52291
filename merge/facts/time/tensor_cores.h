/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_cores.h - whether a kernel uses tensor cores, by its name; whether an operator could
 *
 * The names are those of torch-tb-profiler 0.4.3, and, beyond it, those of Hopper's and
 * Blackwell's kernels (wgmma, tcgen05, sm90/sm100 tensor operations), which it does not know.
 */
#ifndef TP_MERGE_TENSOR_CORES_H
#define TP_MERGE_TENSOR_CORES_H

#include <stdbool.h>
#include <stdint.h>

bool tp_tensor_cores_used(const char *kernel, uint32_t n_bytes);
/* A product or convolution in float32 that does without, though its plugin's name may count as one. */
bool tp_tensor_cores_missed(const char *kernel, uint32_t n_bytes);
/* By operator name ("aten::mm"): torch-tb-profiler's list. */
bool tp_tensor_cores_eligible(const char *op, uint32_t n_bytes);

#endif
