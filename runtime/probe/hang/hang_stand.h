/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_stand.h - where the threads of this process stand
 *
 * Read from outside while they run or wait: no thread is stopped or signalled, no lock is taken.
 * Drain thread.
 */
#ifndef TP_PROBE_HANG_STAND_H
#define TP_PROBE_HANG_STAND_H

#include "runtime/base/text.h"
#include "runtime/trace/hang.h"

/* Fills where, within, waits and is_idle for thread `tid`, and appends all threads for people: Python
 * stacks and open spans, innermost first, and what each waits for. */
void tp_hang_stand(uint32_t tid, struct tp_hang *hang, struct tp_text *threads);

/* The Python stack of thread `tid` as a number, and its innermost function; 0: not known. */
void tp_hang_stack_number(uint32_t tid, uint64_t *stack, uint64_t *function);

#endif
