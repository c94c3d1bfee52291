/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_nccl.h - how NCCL finds its profiler
 */
#ifndef TP_PRELOAD_HOOK_NCCL_H
#define TP_PRELOAD_HOOK_NCCL_H

struct tp_config;

/* From the constructor, in processes in which a training may come to be. */
void tp_hook_nccl_init(const struct tp_config *config);

#endif
