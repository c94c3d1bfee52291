/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_table.h - a thread with a descriptor table of its own
 *
 * A program may close any descriptor at any time, also one that is not its own, and be given
 * the same number for a file of its own a moment later. Whoever asks first whether a number
 * still is what it was can only make it rare that bytes go to a wrong file. So descriptors of
 * ours are opened in the table of a thread that shares everything with the program but that:
 * there the program cannot close one, nor see one, nor miss a number.
 *
 * Whatever uses a descriptor runs on that thread, one call at a time, while the caller waits.
 * Where the kernel or a sandbox refuses such a table, calls run on the thread that makes them, in
 * the program's table; own_fd.h then asks before each use.
 *
 * Threads: any, not in a signal handler. Messages of a call are written when it is over, by its
 * caller: descriptor 2 is another one here.
 */
#ifndef TP_BASE_OWN_TABLE_H
#define TP_BASE_OWN_TABLE_H

#include <stdint.h>

/* The thread's name: other processes find its descriptors by it. */
#define TP_OWN_TABLE_THREAD "trainprof-files"

/* Starts the thread. 0; -errno: there is none, calls run where they are made. */
int tp_own_table_start(void);
/* Runs fn(arg) and returns what it returns. From within a call: at once. Keeps errno. */
int tp_own_table_call(int (*fn)(void *arg), void *arg);
/* Ends the thread; what is open in its table is closed. */
void tp_own_table_stop(void);
/* In the child of fork: the thread and its table are the parent's. */
void tp_own_table_forked(void);

/* Names the table in which a call would run now; 0: the program's. Never the same twice. */
uint32_t tp_own_table_id(void);
/* Processor time of the thread so far. */
uint64_t tp_own_table_cpu_ns(void);

#endif
