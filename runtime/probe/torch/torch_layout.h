/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_layout.h - where the fields of torch's objects are, measured in this process
 *
 * We make a few RecordFunctions and tensors of our own with known contents and search them.
 * A field that is not found exactly once is unknown; only what depends on it is off. No read
 * leaves an object that we made, except through pointers that were checked to be readable.
 */
#ifndef TP_PROBE_TORCH_LAYOUT_H
#define TP_PROBE_TORCH_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/probe/torch/torch_abi.h"

/* Byte offsets. 0: not known (no field lies at 0: the vtable does). */
struct tp_torch_record_layout {
	uint16_t scope;		/* u8 */
	uint16_t thread;	/* u64, torch's own number of the thread */
	uint16_t text;		/* char *, of the std::string or the FunctionSchema * */
	uint16_t text_length;	/* u64, in new strings; 0 in the old ones that share a buffer */
	uint16_t text_is_schema;/* u8 */
	uint16_t sequence;	/* i64, -1: none */
	uint16_t forward_thread;/* u64 */
	uint16_t is_async;	/* u8 */
	uint16_t inputs;	/* IValue *, u64 count */
};

struct tp_torch_tensor_layout {
	uint16_t sizes;		/* u64 count, then the sizes in line or a pointer to them */
	uint16_t dtype;		/* u16 */
	uint16_t list;		/* in a list object: begin and end of its IValues */
	uint8_t tag_tensor, tag_int, tag_list; /* of IValue, u32 at 8 */
	uint8_t tag_scalar_first, tag_scalar_last;
};

enum {
	TP_TORCH_INLINE_SIZES = 5,	/* more dimensions: a pointer */
	TP_TORCH_IVALUE_BYTES = 16,
	TP_TORCH_MAX_DIMS = 64,
};

struct tp_torch_layout {
	struct tp_torch_record_layout record;
	struct tp_torch_tensor_layout tensor;
	const void *undefined;		/* as in struct tp_torch_abi */
	/* Why something is off; NULL: it is on. */
	const char *off_all, *off_names, *off_sequence, *off_forward, *off_async, *off_threads,
		*off_shapes;
};

/* want_shapes: call two operators to measure tensors, too. */
void tp_torch_layout_measure(struct tp_torch_layout *layout, const struct tp_torch_abi *abi,
			     bool want_shapes);

/* The searches, on bytes alone: offset of the only match in objects[0..n-1], or 0. */
uint16_t tp_torch_find_u64(const void *const *objects, const uint64_t *values, uint32_t n,
			   uint32_t from, uint32_t to);
uint16_t tp_torch_find_u8(const void *const *objects, const uint8_t *values, uint32_t n,
			  uint32_t from, uint32_t to);

#endif
