/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_thread.h - what a thread read of its Python frames last
 *
 * Each thread its own, in memory from mmap of which only what is used is touched; that of a
 * dead thread is taken over. Initial-exec TLS: this runs inside malloc.
 */
#ifndef TP_PROBE_PYSTACK_THREAD_H
#define TP_PROBE_PYSTACK_THREAD_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/sync.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/python/pystack_names.h"

enum {
	TP_PYSTACK_FRAMES = 2048,	/* of one stack; what is outside of them is cut off */
	TP_PYSTACK_THREADS = 256,	/* alive at a time */
	TP_PYSTACK_MARKS = 1024,
	TP_PYSTACK_WALKS = 512,		/* after so many that met a new frame pages are asked about again */
};

/* Of the ring, of which none is: what the thread knows is looked at anew, and told again. */
#define TP_PYSTACK_NO_TURN UINT32_MAX

/*
 * A frame that was read: what is compared with memory, and the number. Short, since it is read for each
 * stack, and the training has filled the caches in between; its name is in its place
 * (pystack_names.h).
 */
struct tp_pystack_frame {
	const char *frame;		/* its address */
	const char *code;		/* of the interpreter's own: NULL */
	uint32_t at;			/* its instruction, as far as it tells those of one code apart */
	uint32_t stack;			/* number of the stack with it and its module; 0: to be read */
	uint32_t outer;			/* of the stack outside of it, to which `stack` belongs */
	uint16_t kind;			/* bytes of the frame: owner, is_entry */
	uint8_t flags;			/* with which it was numbered */
	bool is_call;			/* of a module (nnmodule.h): the thread has it */
};
_Static_assert(sizeof(struct tp_pystack_frame) == 32, "two in a cache line");

/* What the thread told last, in the window of which turn (pyplace.c). */
struct tp_pystack_told {
	const char *frame, *at;		/* its newest one then */
	uint32_t stack, turn;
};

struct tp_stack_tree;

struct tp_pystack_thread {
	/* A cache line, which each operator reads. */
	uint32_t window_turn, epoch;	/* of the ring and of trees, when `tree` was looked at */
	uint64_t changes;		/* of tp_pystack_how, likewise */
	uint64_t stamp;			/* how many codes had died, and above it how often numbers began anew:
					 * never 0 */
	uint32_t n;			/* frames known, outermost first */
	uint32_t n_left;		/* those behind them, up to here, were, and have returned:
					 * called again from the same place they are the same */
	const char *beyond;		/* what the outermost one names as its outer one */
	struct tp_pystack_told told;
	struct tp_pystack_frame frame[TP_PYSTACK_FRAMES] __attribute__((aligned(TP_CACHE_LINE)));
	uint16_t mark[TP_PYSTACK_MARKS]; /* where a frame may be found, by address */
	const char *module[TP_PYSTACK_FRAMES];	/* of those that are calls of one */
	const char *fresh[TP_PYSTACK_FRAMES];	/* addresses, innermost first, while walking */
	uint32_t tid;			/* atomic; 0: nobody's */
	uint32_t ring_generation;	/* that the strings belong to */
	uint32_t tree_generation;	/* that the numbers belong to; 0: none do */
	uint32_t n_walks;
	struct tp_stack_tree *tree;	/* this thread's */
	struct tp_pystack_names names;
};
_Static_assert(offsetof(struct tp_pystack_thread, frame) == TP_CACHE_LINE, "one cache line before");

/* This thread's own, if it has one. */
static inline struct tp_pystack_thread *tp_pystack_self(void)
{
	return tp_ring_self.kept[TP_KEPT_PYSTACK];
}

/* Cold side of the next. */
TP_COLD struct tp_pystack_thread *tp_pystack_thread_find(void);
/* This thread's own. NULL: no memory, or too many threads. Guard held. */
static inline struct tp_pystack_thread *tp_pystack_thread(void)
{
	struct tp_pystack_thread *thread = tp_pystack_self();

	return tp_likely(thread != NULL) ? thread : tp_pystack_thread_find();
}
/* Strings begin anew: nothing is known any more. */
void tp_pystack_thread_forget(struct tp_pystack_thread *thread);
/* In the child of fork: only this thread is left. Async-signal-safe. */
void tp_pystack_thread_forked(void);

#endif
