/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - threads of ours in a program that does not know of them
 *
 * All signals are blocked in them: they must never run a handler of the program.
 */
#ifndef TP_BASE_THREAD_H
#define TP_BASE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Detached, with a small stack. 0 or -errno. */
int tp_thread_start(void *(*run)(void *));
/* In the thread itself: its name, and whether it is patient. */
void tp_thread_introduce(const char *name, bool is_patient);
/* In the thread itself: a patient one does not take the processor from others, it starts when a core is
 * free or at the scheduler's next tick, a few ms later. */
void tp_thread_set_patient(bool is_patient);
/* Processor time of the calling thread; 0: not known. */
uint64_t tp_thread_cpu_ns(void);
/* Waits until thread `tid` of this process, which ends, is gone for the kernel, too. */
void tp_thread_await_gone(uint32_t tid);

#endif
