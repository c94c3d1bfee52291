/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_thread.h - what a thread keeps for its stacks: the tree of numbers, the last walk
 *
 * The records stand in a list that only grows. Nobody gives one back: a thread's last malloc may
 * come after every destructor, so a newcomer takes a record whose owner the kernel does not know
 * any more, and the drain thread takes big memory from such. All memory is raw mmap.
 */
#ifndef TP_PROBE_STACK_THREAD_H
#define TP_PROBE_STACK_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/sync.h"
#include "runtime/probe/stack/stack_tree.h"
#include "runtime/probe/stack/stack_walk.h"

struct tp_stack_thread {
	uint32_t tid;			/* atomic: the owner; 0: nobody's */
	uint32_t reserved;
	struct tp_stack_thread *next;	/* never changes once in the list */
	char *aside;			/* stack_inside.h; NULL: none yet */
	struct tp_stack_tree tree;
	struct tp_stack_walk walk;
} __attribute__((aligned(TP_CACHE_LINE)));

extern __thread struct tp_stack_thread *tp_stack_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Cold side of the next. NULL: no memory. */
TP_COLD struct tp_stack_thread *tp_stack_thread_take(void);
static inline struct tp_stack_thread *tp_stack_thread(void)
{
	return tp_likely(tp_stack_self != NULL) ? tp_stack_self : tp_stack_thread_take();
}

/* Drain thread: takes back what dead threads left. */
void tp_stack_thread_reap(void);
/* In the child of fork: all records but this thread's are nobody's. Async-signal-safe. */
void tp_stack_thread_forked(void);

/* Calls `each` for all records, of the living and the dead. */
void tp_stack_thread_each(void (*each)(void *ctx, struct tp_stack_thread *thread), void *ctx);

/* Zeroed pages, NULL: none. Not by mmap(): that name is the heap probe's, too. Keep errno. */
void *tp_stack_map(size_t bytes);
void tp_stack_unmap(void *memory, size_t bytes);

#endif
