/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_at.h - memory at the start and the end of each call of ranges that were asked for
 *
 * As MemProfiler of finetuning-scheduler tells it for decorated functions: tensors by category, and
 * what the process had of the kernel (sampled.h). Calls are counted by name from 1, of those that are
 * recorded.
 *
 * Memory: calls of these ranges.
 */
#ifndef TP_MERGE_MEMORY_AT_H
#define TP_MERGE_MEMORY_AT_H

#include "merge/facts/tensor/moments.h"
#include "merge/facts/tensor/sampled.h"
#include "merge/facts/time/names.h"

/* Parameters of the fact: names, commas between them; a range is asked for when one of them is part of
 * its name, whatever the case. NULL: those that the run was recorded with (TRAINPROF_MEMORY_AT), else all. */
struct tp_memory_at_params {
	const char *names;
};

struct tp_memory_at_point {
	int64_t ns;
	const struct tp_moment *tensors;
	struct tp_sampled process;
};

struct tp_memory_at_call {
	const struct tp_proc *proc;
	uint32_t name;			/* row of the names */
	uint64_t number;
	struct tp_memory_at_point start, end;
	const struct tp_moment *peak;	/* when most tensor memory was live between them */
};

enum { TP_MEMORY_AT_NONE = UINT32_MAX };

struct tp_memory_at;

extern const struct tp_fact tp_fact_memory_at;

/* While events come: the call that a process is in, the outermost of them, by its place in
 * tp_memory_at_calls; TP_MEMORY_AT_NONE. */
uint32_t tp_memory_at_open(const struct tp_memory_at *at, uint32_t proc);
/* After the end; in order of their starts. Those that reach out of their window are left out. */
const struct tp_memory_at_call *tp_memory_at_calls(const struct tp_memory_at *at, uint32_t *n);
/* What was asked for; NULL: all ranges. */
const char *tp_memory_at_asked(const struct tp_memory_at *at);
/* "0.training_step.2.start", of a call of tp_memory_at_calls; as MemProfiler names them. Returns buf. */
enum { TP_MEMORY_AT_KEY = 512 };
const char *tp_memory_at_key(char buf[TP_MEMORY_AT_KEY], const struct tp_memory_at *at,
			     const struct tp_memory_at_call *call, bool is_end);
/* A process that was started without a launcher is rank 0. */
int tp_memory_at_rank(const struct tp_memory_at_call *call);
const struct tp_names *tp_memory_at_names(const struct tp_memory_at *at);
bool tp_memory_at_has_tensors(const struct tp_memory_at *at);

#endif
