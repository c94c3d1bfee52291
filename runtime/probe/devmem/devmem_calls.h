/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_calls.h - a call of CUDA -> what it does to device memory
 *
 * Pure: parameters as CUPTI hands them to a callback, typed from NVIDIA's headers. What a
 * call gives out is read after it (the out parameters are set then), what it takes back is
 * read before it.
 */
#ifndef TP_PROBE_DEVMEM_CALLS_H
#define TP_PROBE_DEVMEM_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/probe/devmem/devmem.h"

enum tp_devmem_act {
	TP_ACT_NONE,
	TP_ACT_ALLOC,		/* of block */
	TP_ACT_CREATE,		/* of a handle: block.address */
	TP_ACT_RETAIN,		/* handle; block.address is mapped to it */
	TP_ACT_MAP,		/* block to handle */
	TP_ACT_UNMAP,		/* block.bytes from block.address on */
	TP_ACT_UNREGISTER,	/* block.address: of the program's own choice, so after the call */
	TP_ACT_FREE,		/* before the call, as all that follow */
	TP_ACT_RELEASE,		/* handle */
	TP_ACT_GRAPH_GONE,	/* handle */
};

struct tp_devmem_call {
	enum tp_devmem_act act;
	struct tp_devmem_block block;	/* device, context, correlation, caller: not touched */
	uint64_t handle;
};

/* The callbacks that are wanted: ids of the driver's functions (the first is cuMemAlloc_v2's), and,
 * in their place where CUPTI refuses that one, of the runtime's. 0: there is no i-th. */
uint32_t tp_devmem_call_id(bool is_runtime, uint32_t i);

/* It acts before the call; the others after it, when it succeeded. */
static inline bool tp_devmem_is_before(enum tp_devmem_act act)
{
	return act >= TP_ACT_FREE;
}

/*
 * What the call does; `is_after`: it has returned, out parameters may be read. An act that is
 * due at the other moment is given too, without what is not known yet; TP_ACT_NONE: none of ours.
 */
void tp_devmem_read_call(bool is_runtime, uint32_t id, const void *parameters, bool is_after,
			 struct tp_devmem_call *call);

#endif
