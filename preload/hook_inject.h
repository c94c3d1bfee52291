/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_inject.h - how the CUDA driver finds us
 */
#ifndef TP_PRELOAD_HOOK_INJECT_H
#define TP_PRELOAD_HOOK_INJECT_H

struct tp_config;

/* From the constructor, in processes in which a training may come to be; `config` stays valid. */
void tp_hook_inject_init(const struct tp_config *config);

#endif
