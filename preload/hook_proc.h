/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_proc.h - what happens to a session when its process forks, ends or becomes another
 */
#ifndef TP_PRELOAD_HOOK_PROC_H
#define TP_PRELOAD_HOOK_PROC_H

#include <stdbool.h>

/*
 * In the constructor of a process that may become a training process: finds the real
 * functions (a child of vfork must not look for them) and registers the fork handlers.
 */
void tp_hook_proc_init(void);

/* The session is open: it ends with exit() from here on, before what was set up earlier
 * (libtorch's own statics) is torn down. */
void tp_hook_proc_at_exit(void);

/* There is a session, and it is this process's: not a child of vfork. Async-signal-safe. */
bool tp_hook_proc_is_owner(void);

/* The process is about to forbid itself system calls, by this call: its session ends, and one that has
 * none yet joins no rank. Nothing in a child of vfork. */
void tp_hook_proc_restrict(const char *call);

#endif
