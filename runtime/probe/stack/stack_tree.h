/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_tree.h - numbers for stacks: (outer stack, frame) -> stack
 *
 * One tree a thread, so that no lock is needed; numbers are unique in the process. A tree is
 * only a memory of what the trace has already: it is emptied when it is full, when a window
 * begins (a file must be whole in itself), when a library was unmapped. Then the same stack
 * gets a new number.
 */
#ifndef TP_PROBE_STACK_TREE_H
#define TP_PROBE_STACK_TREE_H

#include <stdbool.h>
#include <stdint.h>

extern uint32_t tp_stack_epoch __attribute__((visibility("hidden")));	/* atomic */

struct tp_stack_tree {
	struct tp_stack_node *node;	/* open addressing; NULL: none yet */
	uint32_t mask;			/* slots - 1 */
	uint32_t n_nodes;
	uint32_t turn;			/* window_turn of the ring, and ... */
	uint32_t epoch;			/* ... the epoch of the process when it was emptied last */
	uint32_t generation;		/* counts how often it was, for those two; never 0 */
	uint32_t next_number, end_number;	/* of the block that this thread gives out */
};

/*
 * This thread's tree, made if need be, fit for an event of `time` (0: of now, here and below).
 * NULL: no memory, or recording is off. *generation changes when numbers that were given out
 * before may not be used any more (another window); whoever keeps numbers compares it. Guard
 * held.
 */
struct tp_stack_tree *tp_stack_tree(uint64_t time, uint32_t *generation);

/*
 * The stack `outer` (0: none) with one frame more inside; flags, name and arg are those of its
 * FRAME record, which is put into the ring when the stack is new. 0: the ring is full (dropped
 * and counted).
 */
uint32_t tp_stack_tree_child(struct tp_stack_tree *tree, uint32_t outer, uint32_t flags,
			     uint32_t name, uint64_t arg, uint64_t time);

/* From the next event on, all trees of the process are empty: addresses mean something else, or
 * the process is another one. Async-signal-safe. */
void tp_stack_tree_begin_anew(void);
/* Changes whenever tp_stack_tree_begin_anew was called. */
static inline uint32_t tp_stack_tree_epoch(void)
{
	return __atomic_load_n(&tp_stack_epoch, __ATOMIC_ACQUIRE);
}
/* What dead threads had, or a table that is not needed: gives the memory back. */
void tp_stack_tree_shrink(struct tp_stack_tree *tree);

#endif
