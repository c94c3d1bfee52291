/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.h - what records of a kind have in common; the names of kinds of memory
 */
#ifndef TP_KINDS_H
#define TP_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/trainprof_trace.h"

/* By enum tp_rec_kind: its `len` is a duration; false, too, for kinds that are not known. */
extern const bool tp_kind_is_span[256];

/* "operator", "kernel" ...; "" of those that are not known. */
const char *tp_kind_text(uint8_t kind);

/*
 * Classes of kinds. Of CUDA: calls, what devices do, blocks of their memory. Of a device: what it
 * does. Work: what keeps it busy.
 */
static inline bool tp_kind_is_cuda(uint8_t kind)
{
	return kind >= TP_REC_CALL && kind <= TP_REC_DEVFREE;
}

static inline bool tp_kind_is_device(uint8_t kind)
{
	return kind >= TP_REC_KERNEL && kind <= TP_REC_GRAPH;
}

static inline bool tp_kind_is_work(uint8_t kind)
{
	return tp_kind_is_device(kind) && kind != TP_REC_SYNC;
}

static inline bool tp_kind_is_nccl(uint8_t kind)
{
	return kind == TP_REC_COLL || kind == TP_REC_XFER;
}

/* Where what comes next on the thread comes from: they have no time of their own. */
static inline bool tp_kind_is_stack(uint8_t kind)
{
	return kind == TP_REC_FRAME || kind == TP_REC_STACK || kind == TP_REC_NNMODULE;
}

/* Host memory with the frames of its stacks: their order is that in which they were recorded. */
static inline bool tp_kind_is_heap(uint8_t kind)
{
	return (kind >= TP_REC_HEAPALLOC && kind <= TP_REC_FRAME) || kind == TP_REC_STACK;
}

/* Their arg holds a SHAPES string. */
static inline bool tp_kind_has_shapes(uint8_t kind)
{
	return kind == TP_REC_OP || kind == TP_REC_RANGE;
}

/* Ticks; of a kind without a duration its time. */
static inline uint64_t tp_rec_end(const struct tp_rec *rec)
{
	return rec->time + (tp_kind_is_span[rec->kind] ? tp_rec_len(rec) : 0);
}

/* By the flags of a record of this kind. Only those of torch's own say TP_F_ASYNC: of other kinds the
 * bit means something else. */
static inline bool tp_kind_is_async(uint8_t kind, uint8_t flags)
{
	return flags & TP_F_ASYNC && (tp_kind_has_shapes(kind) || kind == TP_REC_STEP);
}

/* "parameters", "optimizer state"; "unknown". */
const char *tp_tensor_category_title(enum tp_tensor_category category);

/* Of enum tp_devmem_kind: "device", "pinned" ...; "unknown". */
const char *tp_devmem_kind_name(uint32_t kind);

#endif
