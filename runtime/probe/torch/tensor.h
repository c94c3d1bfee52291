/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.h - every block of tensor memory: what preload/hook_torch.c saw, as records
 *
 * Threads: any, inside allocators: no allocation, no system call but for a thread's first
 * record, no lock. Totals are kept for the whole run, records are made while armed.
 */
#ifndef TP_PROBE_TENSOR_H
#define TP_PROBE_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/probe.h"

extern const struct tp_probe tp_tensor_probe __attribute__((visibility("hidden")));

/* A block of the CPU allocator: after it was made, before it is given back. */
void tp_tensor_new(void *block, uint64_t n_bytes);
void tp_tensor_delete(void *block);

/*
 * What torch reports to its own profiler: blocks of devices, shared and mapped host memory.
 * n_bytes < 0: freed. type, index: torch's c10::Device. Reports from inside New and Delete
 * (tp_tensor_enter) repeat what those told and are left out.
 */
void tp_tensor_report(void *block, int64_t n_bytes, uint64_t allocated, uint64_t reserved,
		      int8_t type, int8_t index);
void tp_tensor_out_of_memory(int64_t n_bytes, uint64_t allocated, uint64_t reserved,
			     int8_t type, int8_t index);

struct tp_tensor_self {		/* of a thread */
	uint32_t inside;	/* depth of real New, Delete and OutOfMemory calls */
	bool is_owner;		/* of the sum of bytes alive */
};
extern __thread struct tp_tensor_self tp_tensor_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Around the real New, Delete and OutOfMemory. */
static inline void tp_tensor_enter(void)
{
	tp_tensor_self.inside++;
}

static inline void tp_tensor_leave(void)
{
	tp_tensor_self.inside--;
}

#endif
