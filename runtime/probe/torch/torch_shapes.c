/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_shapes.c - shapes and types of an operator's inputs, packed into one interned string
 *
 * Reads torch's own objects where torch_layout.c found their fields. Everything that does
 * not look right - an undefined tensor, more dimensions than can be, a size that is a
 * symbol - becomes an item without a shape; nothing but inputs and sizes is followed.
 */
#include "runtime/probe/torch/torch_shapes.h"

#include "runtime/base/varint.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/torch/torch_state.h"

enum {
	BLOB_MAX = 512,
	LIST_MAX = 64,		/* of a list of tensors */
};

struct packer {
	uint8_t *out;
	uint32_t n, cap;
};

static bool has_room(const struct packer *packer, uint32_t n)
{
	return packer->n + n <= packer->cap;
}

static void put_varint(struct packer *packer, uint64_t v)
{
	packer->n += tp_varint_bytes(packer->out + packer->n, v);
}

/* The item of one tensor. False: no room; nothing was written. */
static bool put_tensor(struct packer *packer, const struct tp_torch_layout *layout,
		       const char *tensor)
{
	const struct tp_torch_tensor_layout *at = &layout->tensor;
	const int64_t *sizes;
	uint64_t n_dims;
	uint32_t start = packer->n;

	/* One byte at least; room for more is looked at when its size is known. */
	if (!has_room(packer, 1))
		return false;
	if (!tensor || tensor == layout->undefined) {
		packer->out[packer->n++] = TP_SHAPE_NONE;
		return true;
	}
	n_dims = tp_torch_u64(tensor, at->sizes);
	if (n_dims > TP_TORCH_MAX_DIMS) {
		packer->out[packer->n++] = TP_SHAPE_NONE;
		return true;
	}
	if (!has_room(packer, 3 + 10 * (uint32_t)n_dims))
		return false;
	packer->out[packer->n++] = TP_SHAPE_TENSOR;
	packer->out[packer->n++] = (uint8_t)tp_torch_u16(tensor, at->dtype);
	packer->out[packer->n++] = (uint8_t)n_dims;
	sizes = n_dims > TP_TORCH_INLINE_SIZES ?
			(const int64_t *)(uintptr_t)tp_torch_u64(tensor, at->sizes + 8) :
			(const int64_t *)(const void *)(tensor + at->sizes + 8);
	for (uint64_t i = 0; i < n_dims; i++) {
		if (sizes[i] < 0) {
			/* A symbol, while a compiler traces: there is no shape to tell. */
			packer->n = start;
			packer->out[packer->n++] = TP_SHAPE_NONE;
			return true;
		}
		put_varint(packer, (uint64_t)sizes[i]);
	}
	return true;
}

static bool put_list(struct packer *packer, const struct tp_torch_layout *layout,
		     const char *list)
{
	const struct tp_torch_tensor_layout *at = &layout->tensor;
	const char *begin = list ? tp_torch_ptr(list, at->list) : NULL;
	const char *end = list ? tp_torch_ptr(list, at->list + 8u) : NULL;
	uint32_t start = packer->n;
	uint32_t tag, count_at;
	uint64_t n;

	if (!has_room(packer, 2))
		return false;
	if (end < begin || (end - begin) % TP_TORCH_IVALUE_BYTES) {
		packer->out[packer->n++] = TP_SHAPE_NONE;
		return true;
	}
	if (begin == end) {
		/* No element tells of what; hardly ever of tensors. */
		packer->out[packer->n++] = TP_SHAPE_SCALAR_LIST;
		return true;
	}
	n = (uint64_t)(end - begin) / TP_TORCH_IVALUE_BYTES;
	tag = tp_torch_u32(begin, 8);
	if (tag >= at->tag_scalar_first && tag <= at->tag_scalar_last) {
		packer->out[packer->n++] = TP_SHAPE_SCALAR_LIST;
		return true;
	}
	/* Lists of tensors, also of tensors that may be None: told by any element. */
	for (uint64_t i = 0; tag != at->tag_tensor && i < n && i < LIST_MAX; i++)
		tag = tp_torch_u32(begin, (uint32_t)i * TP_TORCH_IVALUE_BYTES + 8);
	if (tag != at->tag_tensor) {
		packer->out[packer->n++] = TP_SHAPE_NONE;
		return true;
	}
	packer->out[packer->n++] = TP_SHAPE_TENSOR_LIST;
	count_at = packer->n++;
	packer->out[count_at] = 0;
	for (uint64_t i = 0; i < n && i < LIST_MAX; i++) {
		const char *value = begin + i * TP_TORCH_IVALUE_BYTES;
		const char *tensor = tp_torch_u32(value, 8) == at->tag_tensor ?
					     tp_torch_ptr(value, 0) : NULL;

		if (!put_tensor(packer, layout, tensor)) {
			packer->n = start;
			return false;
		}
		packer->out[count_at]++;
	}
	return true;
}

uint32_t tp_torch_shapes_pack(const struct tp_torch_layout *layout, const void *inputs,
			      uint64_t n_inputs, uint8_t *out, uint32_t cap)
{
	const struct tp_torch_tensor_layout *at = &layout->tensor;
	/* One byte is kept for the mark that not everything is there. */
	struct packer packer = { .out = out, .cap = cap - 1 };

	for (uint64_t i = 0; i < n_inputs; i++) {
		const char *value = (const char *)inputs + i * TP_TORCH_IVALUE_BYTES;
		uint32_t tag = tp_torch_u32(value, 8);
		bool fits;

		if (tag == at->tag_tensor) {
			fits = put_tensor(&packer, layout, tp_torch_ptr(value, 0));
		} else if (tag == at->tag_list) {
			fits = put_list(&packer, layout, tp_torch_ptr(value, 0));
		} else {
			fits = has_room(&packer, 1);
			if (fits)
				out[packer.n++] = tag >= at->tag_scalar_first &&
								  tag <= at->tag_scalar_last ?
							  TP_SHAPE_SCALAR : TP_SHAPE_NONE;
		}
		if (!fits) {
			out[packer.n++] = TP_SHAPE_CUT;
			break;
		}
	}
	return packer.n;
}

uint32_t tp_torch_shapes(const void *rf)
{
	const struct tp_torch_layout *layout = &tp_torch.layout;
	const void *inputs = tp_torch_ptr(rf, layout->record.inputs);
	uint64_t n_inputs = tp_torch_u64(rf, layout->record.inputs + 8u);
	uint8_t blob[BLOB_MAX];

	if (!inputs || n_inputs == 0)
		return 0;
	return tp_intern(TP_STRING_SHAPES, blob,
			 tp_torch_shapes_pack(layout, inputs, n_inputs, blob, sizeof(blob)));
}
