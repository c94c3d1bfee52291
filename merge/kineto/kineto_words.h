/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_words.h - the words of torch.profiler's traces: categories, steps, properties
 * of devices. Pure.
 */
#ifndef TP_MERGE_KINETO_WORDS_H
#define TP_MERGE_KINETO_WORDS_H

#include "merge/kit/json_in.h"
#include "runtime/trace/trainprof_trace.h"

enum tp_kineto_category {
	TP_KINETO_NONE,		/* none, or one that is not read */
	TP_KINETO_OP,
	TP_KINETO_ANNOTATION,
	TP_KINETO_RUNTIME,
	TP_KINETO_DRIVER,
	TP_KINETO_KERNEL,
	TP_KINETO_MEMCPY,
	TP_KINETO_MEMSET,
	TP_KINETO_SYNC,
	TP_KINETO_OVERHEAD,
	TP_KINETO_PYTHON,	/* a call of Python, or of an nn.Module */
	TP_KINETO_SEEN,		/* says nothing that others do not */
};

enum tp_kineto_category tp_kineto_category(const struct tp_json_text *category);
bool tp_kineto_begins(const struct tp_json_text *text, const char *with);
/* "ProfilerStep#12" -> 12. */
bool tp_kineto_step(const struct tp_json_text *name, uint32_t *step);

/* One object of deviceProperties -> the lines of a TP_STRING_DEVICE. Their length; 0: none. */
uint32_t tp_kineto_device(struct tp_json_in *in, char *out, uint32_t cap);

#endif
