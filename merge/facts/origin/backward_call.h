/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backward_call.h - what runs inside nodes of the backward pass
 */
#ifndef TP_MERGE_BACKWARD_CALL_H
#define TP_MERGE_BACKWARD_CALL_H

#include <stdbool.h>

#include "merge/model/fact.h"

struct tp_stacks;

/* An operator that torch's engine makes of a node: the call of it, or the node itself. */
bool tp_backward_is_node(const struct tp_event *event);

/*
 * The program's innermost line in this stack runs inside a node, as the backward() of an
 * autograd.Function and hooks do: it is not the one that called loss.backward(). Names have been read.
 */
bool tp_backward_is_inside(const struct tp_stacks *stacks, uint32_t stack);

#endif
