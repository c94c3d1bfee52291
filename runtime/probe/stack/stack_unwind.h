/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_unwind.h - libunwind: the source of rules and the judge of walks
 *
 * Nothing here opens a descriptor or is a cancellation point; what of the guest's stack it takes is
 * a few words (stack_inside.h).
 */
#ifndef TP_PROBE_STACK_UNWIND_H
#define TP_PROBE_STACK_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/sync.h"

struct tp_stack_frame;
struct tp_stack_walk;

/* NULL, or why there is no libunwind. */
const char *tp_stack_unwind_open(void);

/* The rule (stack_rules.h) for code that goes on at `pc`, without an epoch. 0: not now. */
uint64_t tp_stack_unwind_learn(uint64_t pc, bool is_exact);
/* Is this address in the code of a library or of the program? */
bool tp_stack_unwind_has_object(uint64_t pc);

/*
 * libunwind's own walk, innermost frame first, beginning with the caller of the function that has
 * this frame address: slow. `walk` tells which memory may be read. Returns the frames, `most` at
 * most; 0: it did not get there.
 */
uint32_t tp_stack_unwind_walk(struct tp_stack_walk *walk, const void *frame,
			      struct tp_stack_frame *out, uint32_t most);
/* The same, a third of the time: by what it remembers, and so wrong now and then. */
uint32_t tp_stack_unwind_quick(struct tp_stack_walk *walk, const void *frame,
			       struct tp_stack_frame *out, uint32_t most);

/* What libunwind remembers is of libraries that are gone. */
void tp_stack_unwind_forget(void);

#endif
