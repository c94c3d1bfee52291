/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_inside.h - how this thread goes inside libunwind: aside, and alone
 *
 * Nobody knows how much of a guest's stack is left (that of a signal's handler may be 8 KiB all
 * together, that of a coroutine has bounds that only its program knows), so what needs some KiB
 * runs on a stack of ours. All signals wait meanwhile: no handler finds itself on that stack, and
 * none leaves libunwind by a long jump or by being cancelled.
 *
 * libunwind has locks of its own. A thread that forks waits until no thread of ours is inside.
 */
#ifndef TP_PROBE_STACK_INSIDE_H
#define TP_PROBE_STACK_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

struct tp_stack_thread;

/* Once, before the next. False: no fork handlers. */
bool tp_stack_inside_open(void);

/* Calls work(arg). False: not now, it was not called: another thread forks, or there is no memory.
 * Any thread, inside malloc; keeps errno. */
bool tp_stack_inside_run(void (*work)(void *arg), void *arg);

/* How often that was: its use leaves pages of tables in memory (stack_tables.h). */
uint32_t tp_stack_inside_uses(void);

/* Gives back the stack of a thread that is dead. */
void tp_stack_inside_shrink(struct tp_stack_thread *thread);

#endif
