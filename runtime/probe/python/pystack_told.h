/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_told.h - where in the program operators come from: the thread's Python stack and the
 * modules in it, told when they have changed
 *
 * A STACK record says where its thread is from then on. So the operators inside of an operator
 * cost a comparison: their thread has not moved on. Threads that run no Python (autograd's for
 * devices) make none.
 */
#ifndef TP_PROBE_PYSTACK_TOLD_H
#define TP_PROBE_PYSTACK_TOLD_H

#include <stdbool.h>
#include <stdint.h>

struct tp_text;

extern bool tp_pystack_told_is_on __attribute__((visibility("hidden")));

/* Once; `record` is tp_config.record, `stacks` tp_config.stacks. */
void tp_pystack_told_open(uint32_t record, uint32_t stacks);
void tp_pystack_told_arm(bool is_armed);

/* The window that is open, by its begin: what was told in another one is told again. */
uint64_t tp_pystack_told_window(void);

/*
 * An operator begins on this thread, at the time that this gives. is_inside: of another one, whose
 * frames are still the thread's own unless that one went on to run Python. Not in a hook of the
 * heap.
 */
uint64_t tp_pystack_told_operator(bool is_inside);
/* A module is called: `frame` of this thread is its call, whatever stands inside of it by now. */
void tp_pystack_told_call(const char *frame, uint64_t window);

void tp_pystack_told_report(struct tp_text *totals);
/* In the child of fork: async-signal-safe. */
void tp_pystack_told_forked(void);

#endif
