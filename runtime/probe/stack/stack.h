/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.h - the call stack of this thread as one number
 *
 * Stacks are numbered as the trace has them (FRAME in trainprof_trace.h): equal stacks of a
 * thread and window have equal numbers mostly, the same number is the same stack always. The
 * FRAME records that a number needs are in the ring before it is returned.
 *
 * Runs inside malloc: no allocation but raw mmap, no lock of the loader, of the allocator or of
 * ours that another thread could hold for long; errno kept. The caller holds the guard, so that
 * nothing below comes back to a hook. Threads: each its own state, in initial-exec TLS.
 */
#ifndef TP_PROBE_STACK_H
#define TP_PROBE_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct tp_text;

/* Frames that are not read here but by a room above: Python's. */
struct tp_stack_frames {
	uint32_t (*take)(uint64_t time);	/* of this thread, in its tree; 0: none */
	void (*report)(struct tp_text *totals);
	void (*forked)(void);			/* async-signal-safe */
};

/*
 * Once, when the session opens: the program's own frames, `others`, or both; NULL: no others. What
 * cannot be read is said with tp_probe_off() ("stacks") and left out.
 */
void tp_stack_open(bool is_native, const struct tp_stack_frames *others);

/*
 * The stack of the function whose frame address (__builtin_frame_address(0), of a function that
 * keeps a frame pointer) is `frame`, without that function itself: its caller's is the
 * innermost frame. `time` is that of the event it is for. 0: none (off, or dropped and
 * counted).
 */
uint32_t tp_stack_take(uint64_t time, const void *frame);

/* A library was unmapped: rules for its code are forgotten, numbers begin anew. Any thread. */
void tp_stack_unmapped(void);
/* Drain thread, now and then. */
void tp_stack_tick(void);
/* "stack.walks=...\n" and the like: walks, frames, rules learnt, checked, differing, cut. */
void tp_stack_report(struct tp_text *totals);
/* In the child of fork: async-signal-safe. */
void tp_stack_forked(void);

#endif
