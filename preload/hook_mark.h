/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_mark.h - the ways by which a program's own marks come in, as the constructor sees them
 */
#ifndef TP_PRELOAD_HOOK_MARK_H
#define TP_PRELOAD_HOOK_MARK_H

#include <stdbool.h>

struct tp_config;

/* Is this library one of the program's own, and not loaded by a module that found its path in
 * NVTX_INJECTION64_PATH, in a process without the preload? */
bool tp_hook_mark_is_preloaded(void);

/* Modules that use NVTX find us from now on, unless another library is to have them. */
void tp_hook_mark_init(const struct tp_config *config);

#endif
