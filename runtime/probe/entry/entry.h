/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.h - how the profiler learns that a process trains, and what it runs
 *
 * In Python the interpreter's audit hook tells the script and every import; no Python code
 * runs for it. When PyTorch is mapped a callback for user ranges is registered with it (no
 * file, no thread, no message), and the first thing that only a training does - a step of an
 * optimizer, a batch of a data loader, an autograd node - proves the process. The probes that see
 * it say so through proof.h. So launchers and tools that merely import torch leave no trace.
 */
#ifndef TP_PROBE_ENTRY_H
#define TP_PROBE_ENTRY_H

#include <stdbool.h>

struct tp_config;

/*
 * From the constructor, before tp_entry_install; `config` stays valid. With a schedule of
 * one window over everything, or with steps that no training event ends (a clock, a range),
 * a process is proved as soon as torch is there. Without this call it never is that early.
 */
void tp_entry_config(const struct tp_config *config);

/*
 * From the constructor. `proved` is called once in the life of the process, on the guest
 * thread that did the proof, possibly inside a callback of torch; `program` is
 * "file:/abs/train.py", "module:pkg.train", "command", "stdin", "spawn" (a child of
 * multiprocessing), or "native" (no Python here), and stays valid.
 * A process without Python's audit hook and without torch costs nothing.
 */
void tp_entry_install(void (*proved)(const char *program));

/*
 * For the allocator hooks: torch allocates host memory. In processes without an audit hook
 * that is how torch is found; and it is a safe moment for a worker's session to open: inside
 * torch, no lock of the C library's malloc is held, and a process that comes here is no helper
 * that is about to exec. (Opening takes no lock of Python's: other threads may hold locks of
 * torch and wait for that one.)
 */
void tp_entry_allocation(void);

/* The number of torch's threads is being set: the first thing that the worker of a data loader
 * does, with Python's lock held. */
void tp_entry_threads_set(void);

/* torch makes a store or a process group, on this thread: where ranks wait for each other. */
void tp_entry_joins(void);

/* The process ends by exit(): one line of LOG=info if it could have trained and was not seen to. */
void tp_entry_end(void);

#endif
