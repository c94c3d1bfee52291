/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsdp_report.h - memory of a sharded model in each call of ranges: at the peak, and module by module
 *
 * The files and words of MemProfiler, which has FSDPMemTracker of PyTorch print them:
 * fsdp_mem_rank_<rank>_<range>_<call>.log. Bytes are those of all devices of a process.
 */
#ifndef TP_MERGE_FSDP_REPORT_H
#define TP_MERGE_FSDP_REPORT_H

#include "merge/facts/tensor/module_memory.h"

/* The call has shards of parameters: tensors of FSDP2. */
bool tp_fsdp_report_is_sharded(const struct tp_memory_at_call *call);
/* The number-th call of tp_memory_at_calls into `folder`; modules down to `depth`. 0, or -errno after a
 * message. */
int tp_fsdp_report_write(const char *folder, const struct tp_run *run, const struct tp_memory_at *at,
			 const struct tp_module_memories *memories, uint32_t number, uint32_t depth);

#endif
