/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_heap.h - the malloc hooks, as the constructor sees them
 */
#ifndef TP_PRELOAD_HOOK_HEAP_H
#define TP_PRELOAD_HOOK_HEAP_H

#include <stdbool.h>

/* Does the program's malloc come here? Not when it has one linked in, or preloads one before
 * this library: then the hooks see nothing. */
bool tp_hook_heap_is_first(void);

#endif
