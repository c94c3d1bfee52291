/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_cuda.h - the cudaMalloc family by its names, for when CUPTI does not tell
 */
#ifndef TP_PRELOAD_HOOK_CUDA_H
#define TP_PRELOAD_HOOK_CUDA_H

struct tp_config;

/* From the constructor, where a session may come: from here on the hooks tell what they see, as
 * long as CUPTI does not; elsewhere they only forward. */
void tp_hook_cuda_init(const struct tp_config *config);

#endif
