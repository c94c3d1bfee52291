/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frameworks.h - RECORD=frameworks: the hooks, callbacks, events and algorithms of Lightning, of the
 * Hugging Face Trainer and of Composer as ranges
 *
 * These are calls within Python that nothing outside Python can see. So, where it was asked
 * for, and only there, functions of these frameworks are replaced by ones that call them inside
 * a range (frameworks.py). What is not as expected is left alone, and said.
 */
#ifndef TP_PROBE_FRAMEWORKS_H
#define TP_PROBE_FRAMEWORKS_H

#include <stdbool.h>

extern bool tp_frameworks_is_due __attribute__((visibility("hidden")));

/* RECORD has the word. Once, when the probes open. */
void tp_frameworks_want(void);
/*
 * Something happens that only a training does, by when its framework is there: does it, once. On a
 * thread that runs Python, without locks of ours; takes the interpreter's.
 */
void tp_frameworks_attach(void);

static inline void tp_frameworks_seen(void)
{
	if (__builtin_expect(__atomic_load_n(&tp_frameworks_is_due, __ATOMIC_RELAXED), 0))
		tp_frameworks_attach();
}

#endif
