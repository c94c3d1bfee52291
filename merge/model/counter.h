/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter.h - counters that the merge computes, as events like those that a trace has
 */
#ifndef TP_MERGE_COUNTER_H
#define TP_MERGE_COUNTER_H

#include "merge/model/model.h"

/* Name, NUL, unit, NUL, group; numbers of strings that no run has, each taken once. */
enum { TP_COUNTER_HEAP = 1, TP_COUNTER_HEAP_RATE, TP_COUNTER_GPU, TP_COUNTER_SM };
#define TP_COUNTER_NAME(text, number)                                                      \
	{.kind = TP_STRING_COUNTER, .n_bytes = sizeof(text) - 1, .bytes = (text),              \
	 .same = UINT32_MAX - (number)}

/* instance: of a device its id, else 0. */
static inline struct tp_event tp_counter_at(const struct tp_proc *proc,
					    const struct tp_string *name, uint32_t instance,
					    int64_t ns, uint64_t value)
{
	static const struct tp_thread no_thread;
	static const struct tp_string none;

	return (struct tp_event){
	    .proc = proc, .thread = &no_thread, .kind = TP_REC_COUNTER, .name = name,
	    .shapes = &none, .detail = &none, .link = instance, .begin_ns = ns, .end_ns = ns,
	    .arg = value,
	};
}

#endif
