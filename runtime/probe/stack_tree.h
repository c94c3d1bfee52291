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

struct tp_stack_tree;

/*
 * This thread's tree, made if need be. NULL: no memory, or recording is off. *generation
 * changes when numbers that were given out before may not be used any more (another window);
 * whoever keeps numbers compares it. Guard held.
 */
struct tp_stack_tree *tp_stack_tree(uint32_t *generation);

/*
 * The stack `outer` (0: none) with one frame more inside; flags, name and arg are those of its
 * FRAME record, which is put into the ring when the stack is new. 0: the ring is full (dropped
 * and counted).
 */
uint32_t tp_stack_tree_child(struct tp_stack_tree *tree, uint32_t outer, uint32_t flags,
			     uint32_t name, uint64_t arg, uint64_t time);

#endif
