/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_memory.h - tensor memory of each nn.Module, by category: when it was called, at most while
 * it ran, when it had returned; forward and backward apart
 *
 * As torch's MemTracker tells it module by module, but for all of the process: what is alive then,
 * not what the module made. Forward is a call that was told (a STACK with TP_STACK_CALL); what is
 * computed again inside of the backward pass is part of that. Backward is from the first autograd
 * node that the module made to the last.
 *
 * Memory: paths of modules, blocks that are alive, and what is open.
 */
#ifndef TP_MERGE_MODULE_MEMORY_H
#define TP_MERGE_MODULE_MEMORY_H

#include "merge/facts/tensor/memory_at.h"

enum tp_module_pass { TP_PASS_FORWARD, TP_PASS_BACKWARD, TP_PASS_N };

/* Of a path of modules, in a pass: of the call with the highest peak. */
struct tp_module_memory {
	uint64_t n_calls;
	int64_t kept_bytes;	/* sum over calls of what there was more after than before */
	const struct tp_moment *entry, *peak, *exit;	/* NULL: of no call */
	int64_t entry_ns, peak_ns, exit_ns;
};

struct tp_module_memories;

/* Without parameters; with those of memory_at.h, for calls of these ranges, too. */
extern const struct tp_fact tp_fact_module_memories, tp_fact_module_memories_at;

/* By path of the origins' paths. */
struct tp_module_memory tp_module_memories_at(const struct tp_module_memories *memories,
					      uint32_t path, enum tp_module_pass pass);
/* Of tp_fact_module_memories_at: of the calls that began in the call-th of tp_memory_at_calls. */
struct tp_module_memory tp_module_memories_in(const struct tp_module_memories *memories, uint32_t call,
					      uint32_t path, enum tp_module_pass pass);
const struct tp_module_paths *tp_module_memories_paths(const struct tp_module_memories *memories);
bool tp_module_memories_has_any(const struct tp_module_memories *memories);
bool tp_module_memories_has_categories(const struct tp_module_memories *memories);
bool tp_module_memories_is_incomplete(const struct tp_module_memories *memories);

#endif
