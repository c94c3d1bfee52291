/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_unwind.h - libunwind: the source of rules and the judge of walks
 *
 * Found at run time and never linked: linked, it would catch the program's C++ exceptions. It asks
 * dl_iterate_phdr where the unwind tables are, whose lock may be held by a thread that waits
 * for memory; so as long as this thread is inside, preload/hook_dl.c answers that question from
 * here, without a lock.
 *
 * libunwind has locks of its own. A thread that forks waits until no thread of ours is inside.
 */
#ifndef TP_PROBE_STACK_UNWIND_H
#define TP_PROBE_STACK_UNWIND_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
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
 * this frame address: slow. Returns the frames, `most` at most; 0: it did not get there.
 */
uint32_t tp_stack_unwind_walk(const void *frame, struct tp_stack_frame *out, uint32_t most);
/* Its quick one of this thread, all frames from inside of itself outwards, for comparing. The
 * frames of walk->kept and fresh tell which libraries it may meet. Returns their number. */
int tp_stack_unwind_quick(const struct tp_stack_walk *walk, void **pc, int most);

/* What libunwind remembers is of libraries that are gone. */
void tp_stack_unwind_forget(void);
/* How often it was used: its use leaves pages of tables in memory (stack_tables.h). */
uint32_t tp_stack_unwind_uses(void);

/* Not 0: this thread is inside. */
extern __thread uint32_t tp_stack_unwind_inside
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
/* dl_iterate_phdr for such a thread. */
int tp_stack_unwind_objects(int (*each)(struct dl_phdr_info *, size_t, void *), void *ctx);

#endif
