/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_hook.h - a C audit hook of the interpreter that can be taken out again
 *
 * As long as any hook is there, the interpreter builds a tuple of arguments for every audited
 * event, and id() is one: copy.deepcopy() takes a fifth longer. Python has no call to remove
 * a hook, so it is taken off the interpreter's list.
 */
#ifndef TP_PROBE_AUDIT_HOOK_H
#define TP_PROBE_AUDIT_HOOK_H

#include <stdbool.h>

/* `hook`'s last argument is of no use to it. False: no interpreter, or it refused. */
bool tp_audit_hook_add(int (*hook)(const char *event, void *args, void *own));
/* With the interpreter's lock held, also inside the hook. False: it stays, and costs. */
bool tp_audit_hook_remove(void);

#endif
