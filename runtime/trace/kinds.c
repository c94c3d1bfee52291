/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.c - what records of a kind have in common, from their list
 */
#include "runtime/trace/kinds.h"

const bool tp_kind_is_span[256] = {
#define _(id, NAME, text, is_span, since) [id] = is_span,
#include "runtime/trace/records.def"
#undef _
};

const char *tp_kind_text(uint8_t kind)
{
	static const char *const texts[256] = {
#define _(id, NAME, text, is_span, since) [id] = text,
#include "runtime/trace/records.def"
#undef _
	};

	return texts[kind] ? texts[kind] : "";
}

const char *tp_devmem_kind_name(uint32_t kind)
{
	static const char *const name[TP_DEVMEM_N] = {
		[TP_DEVMEM_DEVICE] = "device", [TP_DEVMEM_POOL] = "pool",
		[TP_DEVMEM_MANAGED] = "managed", [TP_DEVMEM_PINNED] = "pinned",
		[TP_DEVMEM_REGISTERED] = "registered", [TP_DEVMEM_PHYSICAL] = "physical",
		[TP_DEVMEM_MAPPED] = "mapped", [TP_DEVMEM_RESERVED] = "reserved",
		[TP_DEVMEM_ARRAY] = "array", [TP_DEVMEM_IPC] = "ipc", [TP_DEVMEM_GRAPH] = "graph",
	};

	return kind < TP_DEVMEM_N && name[kind] ? name[kind] : "unknown";
}

const char *tp_tensor_category_title(enum tp_tensor_category category)
{
	static const char *const title[TP_TENSOR_N] = {
		[TP_TENSOR_UNKNOWN] = "unknown",
		[TP_TENSOR_PARAMETER] = "parameters",
		[TP_TENSOR_GRADIENT] = "gradients",
		[TP_TENSOR_OPTIMIZER] = "optimizer state",
		[TP_TENSOR_BUFFER] = "buffers",
		[TP_TENSOR_ACTIVATION] = "activations",
		[TP_TENSOR_INPUT] = "inputs",
		[TP_TENSOR_TEMPORARY] = "temporary",
		[TP_TENSOR_SHARDED_PARAMETER] = "sharded parameters",
		[TP_TENSOR_SHARDED_GRADIENT] = "sharded gradients",
		[TP_TENSOR_UNSHARDED_PARAMETER] = "unsharded parameters",
		[TP_TENSOR_UNSHARDED_GRADIENT] = "unsharded gradients",
		[TP_TENSOR_ALL_GATHER] = "all-gather buffers",
		[TP_TENSOR_REDUCE_SCATTER] = "reduce-scatter buffers",
	};

	return (uint32_t)category < TP_TENSOR_N ? title[category] : title[0];
}
