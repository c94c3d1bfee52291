/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_map.h - the hooks of mmap and its like, as the constructor sees them
 */
#ifndef TP_PRELOAD_HOOK_MAP_H
#define TP_PRELOAD_HOOK_MAP_H

/* Finds the real ones; until then the kernel is asked directly. */
void tp_hook_map_init(void);

#endif
