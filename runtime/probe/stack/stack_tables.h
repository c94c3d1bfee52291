/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_tables.h - takes pages of unwind tables out of the process again
 *
 * libunwind looks for a rule all over a library's tables (.eh_frame), and the kernel maps
 * sixteen pages for each one that is read: a training's memory would seem to grow by a dozen MiB of
 * torch's tables, which are files' pages and of no use to the program.
 */
#ifndef TP_PROBE_STACK_TABLES_H
#define TP_PROBE_STACK_TABLES_H

#include "runtime/probe/stack/stack_objects.h"

/* Of one library. It must stay mapped meanwhile: code of it is on this thread's stack. */
void tp_stack_tables_drop(const struct tp_stack_object *object);
/* Of all that there are. Drain thread: takes the loader's lock, so that none goes. */
void tp_stack_tables_drop_all(void);

#endif
