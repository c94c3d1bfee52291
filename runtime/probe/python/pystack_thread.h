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
#include "runtime/probe/python/pystack_names.h"

enum {
	TP_PYSTACK_FRAMES = 2048,	/* of one stack; what is outside of them is cut off */
	TP_PYSTACK_THREADS = 256,	/* alive at a time */
	TP_PYSTACK_MARKS = 1024,
};

/* A frame that was read. */
struct tp_pystack_frame {
	const char *frame;		/* its address */
	const char *code, *at;		/* of the interpreter's own: NULL */
	const char *module;		/* whose call it is (nnmodule.h), or NULL */
	struct tp_pystack_name name;	/* once named; of the interpreter's own: all 0 */
	/* Numbers in the thread's tree: of the stack outside of it, with it, and with its module,
	 * too. They belong together whatever runs meanwhile. The last two: 0, not numbered. */
	uint32_t outer, bare, stack;
	uint16_t kind;			/* bytes of the frame: owner, is_entry */
	uint8_t flags;			/* with which it was numbered */
	bool is_named, is_hidden;
	bool has_moved;			/* not named, but was: at another instruction of this code */
};

struct tp_pystack_thread {
	uint32_t tid;			/* atomic; 0: nobody's */
	uint32_t tree_generation;	/* that the numbers belong to */
	uint32_t ring_generation;	/* that the strings belong to */
	uint32_t n;			/* frames known, outermost first */
	uint32_t n_left;		/* those behind them, up to here, were, and have returned:
					 * called again from the same place they are the same */
	uint32_t n_unmapped;		/* when the pages were asked about */
	uint32_t n_walks;
	const char *beyond;		/* what the outermost one names as its outer one */
	uint16_t mark[TP_PYSTACK_MARKS]; /* where a frame may be found, by address */
	struct tp_pystack_frame frame[TP_PYSTACK_FRAMES];
	struct tp_pystack_frame fresh[TP_PYSTACK_FRAMES]; /* innermost first, while walking */
	struct tp_pystack_names names;
};

extern __thread struct tp_pystack_thread *tp_pystack_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Cold side of the next. */
struct tp_pystack_thread *tp_pystack_thread_find(void);
/* This thread's own. NULL: no memory, or too many threads. Guard held. */
static inline struct tp_pystack_thread *tp_pystack_thread(void)
{
	return tp_likely(tp_pystack_self != NULL) ? tp_pystack_self : tp_pystack_thread_find();
}
/* Frames of this thread's last stack, innermost first: how many, at most `most`. Guard held. */
uint32_t tp_pystack_names_now(struct tp_pystack_name *name, uint32_t most);
/* Strings begin anew: nothing is known any more. */
void tp_pystack_thread_forget(struct tp_pystack_thread *thread);
/* In the child of fork: only this thread is left. Async-signal-safe. */
void tp_pystack_thread_forked(void);

#endif
