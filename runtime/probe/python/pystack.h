/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack.h - the Python frames of this thread as a stack
 *
 * Read from the interpreter's own frames without its lock and without allocating: only the
 * thread itself changes them, and what stands on its stack is alive, names of functions and
 * files included. CPython 3.9 to 3.14; every offset is compared with the public API in this
 * very process before it is used (3.13 on: with _Py_DebugOffsets, too).
 */
#ifndef TP_PROBE_PYSTACK_H
#define TP_PROBE_PYSTACK_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/probe/stack/stack.h"

struct tp_pystack_name;
struct tp_text;

/* With the interpreter's lock held and a Python frame on the stack, once (entry.c). NULL: frames
 * can be read; else why not. */
const char *tp_pystack_init(void);
/* tp_pystack_init has been called and succeeded. */
bool tp_pystack_is_on(void);

/* What stacks hold: frames, where modules are called, or both. At first: frames. */
void tp_pystack_hold(bool frames, bool modules);
/*
 * The stack of Python frames of this thread, in this thread's tree (stack_tree.h). 0: it runs no
 * Python, or dropped. Guard held. What the thread read last is kept, so that a frame that did
 * not change costs a comparison.
 */
uint32_t tp_pystack_take(uint64_t time);

/* Of the stack that this thread took last: frames of programs, innermost first: how many, at most
 * `most`. While it still stands there; guard held. */
uint32_t tp_pystack_names_now(struct tp_pystack_name *name, uint32_t most);

/* How stacks of events get these frames. */
extern const struct tp_stack_frames tp_pystack_frames __attribute__((visibility("hidden")));

/* Something was unmapped, from any thread: what was there to read may not be any more. */
void tp_pystack_unmapped(void);
void tp_pystack_report(struct tp_text *totals);
void tp_pystack_forked(void);

#endif
