/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_walk.h - the return addresses of this thread, most of them by not having changed
 *
 * A thread keeps its last stack, outermost frame first, each frame with its number. A new walk
 * steps outwards by the rules of stack_rules.h until it comes to a frame that was there the last
 * time; when all words that the last walk read further out still hold what they held, the rest
 * is the same: it is read from the same words by the same rules. So this is no guess.
 *
 * Only memory of the stack is read: on the thread's own stack by its bounds, elsewhere (a
 * coroutine's, a signal handler's) page by page after asking the kernel, and nothing is kept.
 */
#ifndef TP_PROBE_STACK_WALK_H
#define TP_PROBE_STACK_WALK_H

#include <stdbool.h>
#include <stdint.h>

struct tp_stack_thread;

enum {
	/* Frames; a deeper stack has its inner ones only, TP_STACK_CUT of them. */
	TP_STACK_DEPTH = 8192,
	TP_STACK_CUT = 1024,
};

enum {	/* tp_stack_frame.flags */
	TP_STACK_EXACT = 1,	/* pc is the next instruction, not a return address */
	TP_STACK_USES_BP = 2,	/* the next frame out was found with rbp */
	TP_STACK_NEEDS_BP = 4,	/* so was one further out, with the same rbp */
	TP_STACK_BY_MEMORY = 8,	/* the CFA was read from memory other than the slots below */
	TP_STACK_GUESS = 16,	/* the next frame out is a guess: code without unwind information */
};

struct tp_stack_frame {
	uint64_t cfa;		/* stack pointer when it goes on; its pc lies at cfa - 8 */
	uint64_t pc;		/* where it goes on */
	uint64_t bp;		/* rbp then */
	uint32_t number;	/* of the stack with this innermost frame */
	int32_t bp_at : 24;	/* bp was read at cfa + 8 * bp_at; 0: it is that of the frame inside */
	uint32_t flags : 8;
};

struct tp_stack_walk {
	struct tp_stack_frame *kept;	/* outermost first */
	struct tp_stack_frame *fresh;	/* of the walk in progress, innermost first */
	uint32_t n_kept, kept_room, fresh_room;
	uint32_t n_fresh;
	uint32_t n_reused;		/* of kept, by the last walk: its stack is these, then fresh */
	uint32_t generation;		/* of the numbers in kept: stack_tree.h */
	uint64_t low, top;		/* the thread's own stack as far as it is known; 0: not yet */
	uint64_t page_low, page_end;	/* elsewhere: readable in this walk */
	uint64_t gap;			/* a page between another stack and our own; 0: not known */
	bool is_slow;			/* a walk differed from libunwind's: only that is believed */
	uint32_t until_check, check_gap;	/* walks */
	/* Only the thread writes, the drain thread reads: atomic. */
	uint64_t n_walks, n_stepped, n_frames, n_checked, n_mismatched, n_cut, n_unknown, n_slow;
	uint64_t n_skipped;
};

/* The stack of the caller of the function with this frame address as a number; see stack.h. */
uint32_t tp_stack_walk(struct tp_stack_thread *thread, uint64_t time, const void *frame);

/* There is no room for it where this thread stands. */
void tp_stack_walk_skip(struct tp_stack_walk *walk);

/* Another thread has it now: its stack is not known. */
void tp_stack_walk_reset(struct tp_stack_walk *walk);
/* Gives the memory back. */
void tp_stack_walk_shrink(struct tp_stack_walk *walk);

#endif
