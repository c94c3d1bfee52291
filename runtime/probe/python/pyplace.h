/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyplace.h - where in the program operators come from: the thread's Python stack and the
 * modules in it, told when they have changed
 *
 * A STACK record says where its thread is from then on. So the operators inside an operator
 * cost a comparison: their thread has not moved on. Threads that run no Python (autograd's for
 * devices) make none.
 */
#ifndef TP_PROBE_PYPLACE_H
#define TP_PROBE_PYPLACE_H

#include <stdbool.h>
#include <stdint.h>

struct tp_text;

extern bool tp_pyplace_is_on __attribute__((visibility("hidden")));

/* Once; `record` is tp_config.record, `stacks` tp_config.stacks. */
void tp_pyplace_open(uint32_t record, uint32_t stacks);
void tp_pyplace_arm(bool is_armed);

/*
 * An operator begins on this thread, at the time that this gives. is_inside: of another one, whose
 * frames are still the thread's own unless that one went on to run Python. Not in a hook of the
 * heap.
 */
uint64_t tp_pyplace_operator(bool is_inside);

void tp_pyplace_report(struct tp_text *totals);
/* In the child of fork: async-signal-safe. */
void tp_pyplace_forked(void);

#endif
