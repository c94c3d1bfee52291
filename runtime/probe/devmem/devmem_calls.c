/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_calls.c - a call of CUDA -> what it does to device memory
 *
 * Not heard: memory that a multicast object binds (it lives in its own handle as long as that
 * one does), textures that are mapped sparsely, what a memory pool keeps in reserve. Memory
 * nodes of a graph count from when they are added until the graph goes: the driver gives them
 * memory at a launch, and tells nobody.
 */
#include "runtime/probe/devmem/devmem_calls.h"

#include <stddef.h>
#include <string.h>

#include <cupti.h>

/* A member of a call's parameters; all that are read have 8 bytes. */
struct member {
	uint8_t how;		/* enum how */
	uint8_t at;
};
enum how { NOT_THERE, IN_IT, WHERE_IT_POINTS };	/* the last: given out by the call */

/* What a call's members do not say by themselves, but what they point to (row.of). */
enum more {
	MORE_NOTHING,
	MORE_PHYSICAL,		/* CUmemAllocationProp */
	MORE_MULTICAST,		/* CUmulticastObjectProp */
	MORE_ARRAY,		/* CUDA_ARRAY_DESCRIPTOR */
	MORE_ARRAY_3D,		/* CUDA_ARRAY3D_DESCRIPTOR */
	MORE_MIPMAPS,		/* the same, of several levels */
	MORE_MEM_NODE,		/* CUDA_MEM_ALLOC_NODE_PARAMS */
	MORE_ANY_NODE,		/* CUgraphNodeParams */
};

struct row {
	uint32_t id;		/* CUPTI's number of the function */
	uint8_t act, kind, more;
	bool is_async, has_no_device;
	struct member address, bytes, times;	/* `bytes` is of one, where there is `times` */
	struct member pool, graph, handle, of;
};

/* cuda.h has macros of some of the names: they are pasted at once, never handed on. */
#define AT(type, member, what)                                                             \
	(offsetof(type, member) + 0 * sizeof(char[sizeof(what) == 8 ? 1 : -1]))
#define IN(name, member) {IN_IT, AT(name##_params, member, ((name##_params *)0)->member)}
#define OUT(name, member)                                                                  \
	{WHERE_IT_POINTS, AT(name##_params, member, *((name##_params *)0)->member)}
#define DRIVER(name, does, sort, ...)                                                      \
	{CUPTI_DRIVER_TRACE_CBID_##name, TP_ACT_##does, TP_DEVMEM_##sort, __VA_ARGS__}
#define RUNTIME(name, does, sort, ...)                                                     \
	{CUPTI_RUNTIME_TRACE_CBID_##name, TP_ACT_##does, TP_DEVMEM_##sort, __VA_ARGS__}

/* The first is the one by which it is told whether CUPTI hears the driver. */
static const struct row driver_rows[] = {
	/* Of the device */
	DRIVER(cuMemAlloc_v2, ALLOC, DEVICE, .address = OUT(cuMemAlloc_v2, dptr),
	       .bytes = IN(cuMemAlloc_v2, bytesize)),
	DRIVER(cuMemAllocPitch_v2, ALLOC, DEVICE, .address = OUT(cuMemAllocPitch_v2, dptr),
	       .bytes = OUT(cuMemAllocPitch_v2, pPitch), .times = IN(cuMemAllocPitch_v2, Height)),
	DRIVER(cuMemFree_v2, FREE, DEVICE, .address = IN(cuMemFree_v2, dptr)),
	DRIVER(cuMemAllocManaged, ALLOC, MANAGED, .address = OUT(cuMemAllocManaged, dptr),
	       .bytes = IN(cuMemAllocManaged, bytesize)),

	/* Of the host; the second of cuMemHostAlloc has no structure of its own */
	DRIVER(cuMemAllocHost_v2, ALLOC, PINNED, .address = OUT(cuMemAllocHost_v2, pp),
	       .bytes = IN(cuMemAllocHost_v2, bytesize)),
	DRIVER(cuMemHostAlloc, ALLOC, PINNED, .address = OUT(cuMemHostAlloc, pp),
	       .bytes = IN(cuMemHostAlloc, bytesize)),
	DRIVER(cuMemHostAlloc_v2, ALLOC, PINNED, .address = OUT(cuMemHostAlloc, pp),
	       .bytes = IN(cuMemHostAlloc, bytesize)),
	DRIVER(cuMemFreeHost, FREE, PINNED, .address = IN(cuMemFreeHost, p)),
	DRIVER(cuMemHostRegister, ALLOC, REGISTERED, .address = IN(cuMemHostRegister, p),
	       .bytes = IN(cuMemHostRegister, bytesize)),
	DRIVER(cuMemHostRegister_v2, ALLOC, REGISTERED, .address = IN(cuMemHostRegister_v2, p),
	       .bytes = IN(cuMemHostRegister_v2, bytesize)),
	DRIVER(cuMemHostUnregister, UNREGISTER, REGISTERED,
	       .address = IN(cuMemHostUnregister, p)),

	/* In the order of a stream, and pools */
	DRIVER(cuMemAllocAsync, ALLOC, POOL, .is_async = true,
	       .address = OUT(cuMemAllocAsync, dptr), .bytes = IN(cuMemAllocAsync, bytesize)),
	DRIVER(cuMemAllocAsync_ptsz, ALLOC, POOL, .is_async = true,
	       .address = OUT(cuMemAllocAsync_ptsz, dptr),
	       .bytes = IN(cuMemAllocAsync_ptsz, bytesize)),
	DRIVER(cuMemFreeAsync, FREE, POOL, .address = IN(cuMemFreeAsync, dptr)),
	DRIVER(cuMemFreeAsync_ptsz, FREE, POOL, .address = IN(cuMemFreeAsync_ptsz, dptr)),
	DRIVER(cuMemAllocFromPoolAsync, ALLOC, POOL, .is_async = true,
	       .address = OUT(cuMemAllocFromPoolAsync, dptr),
	       .bytes = IN(cuMemAllocFromPoolAsync, bytesize),
	       .pool = IN(cuMemAllocFromPoolAsync, pool)),
	DRIVER(cuMemAllocFromPoolAsync_ptsz, ALLOC, POOL, .is_async = true,
	       .address = OUT(cuMemAllocFromPoolAsync_ptsz, dptr),
	       .bytes = IN(cuMemAllocFromPoolAsync_ptsz, bytesize),
	       .pool = IN(cuMemAllocFromPoolAsync_ptsz, pool)),
	DRIVER(cuMemPoolImportPointer, ALLOC, IPC,
	       .address = OUT(cuMemPoolImportPointer, ptr_out),
	       .pool = IN(cuMemPoolImportPointer, pool)),

	/* Addresses, and what is mapped there; the multicast ones are for memory of others */
	DRIVER(cuMemAddressReserve, ALLOC, RESERVED, .has_no_device = true,
	       .address = OUT(cuMemAddressReserve, ptr), .bytes = IN(cuMemAddressReserve, size)),
	DRIVER(cuMemAddressFree, FREE, RESERVED, .address = IN(cuMemAddressFree, ptr)),
	DRIVER(cuMemCreate, CREATE, PHYSICAL, .address = OUT(cuMemCreate, handle),
	       .bytes = IN(cuMemCreate, size), .more = MORE_PHYSICAL,
	       .of = IN(cuMemCreate, prop)),
	DRIVER(cuMemRelease, RELEASE, PHYSICAL, .address = IN(cuMemRelease, handle),
	       .handle = IN(cuMemRelease, handle)),
	DRIVER(cuMemMap, MAP, MAPPED, .address = IN(cuMemMap, ptr), .bytes = IN(cuMemMap, size),
	       .handle = IN(cuMemMap, handle)),
	DRIVER(cuMemUnmap, UNMAP, MAPPED, .address = IN(cuMemUnmap, ptr),
	       .bytes = IN(cuMemUnmap, size)),
	DRIVER(cuMemImportFromShareableHandle, CREATE, IPC,
	       .address = OUT(cuMemImportFromShareableHandle, handle)),
	DRIVER(cuMemRetainAllocationHandle, RETAIN, PHYSICAL,
	       .address = IN(cuMemRetainAllocationHandle, addr),
	       .handle = OUT(cuMemRetainAllocationHandle, handle)),
	DRIVER(cuMulticastCreate, CREATE, RESERVED, .has_no_device = true,
	       .address = OUT(cuMulticastCreate, mcHandle), .more = MORE_MULTICAST,
	       .of = IN(cuMulticastCreate, prop)),
	DRIVER(cuIpcOpenMemHandle, ALLOC, IPC, .address = OUT(cuIpcOpenMemHandle, pdptr)),
	DRIVER(cuIpcOpenMemHandle_v2, ALLOC, IPC, .address = OUT(cuIpcOpenMemHandle_v2, pdptr)),
	DRIVER(cuIpcCloseMemHandle, FREE, IPC, .address = IN(cuIpcCloseMemHandle, dptr)),

	/* Arrays */
	DRIVER(cuArrayCreate_v2, ALLOC, ARRAY, .address = OUT(cuArrayCreate_v2, pHandle),
	       .more = MORE_ARRAY, .of = IN(cuArrayCreate_v2, pAllocateArray)),
	DRIVER(cuArray3DCreate_v2, ALLOC, ARRAY, .address = OUT(cuArray3DCreate_v2, pHandle),
	       .more = MORE_ARRAY_3D, .of = IN(cuArray3DCreate_v2, pAllocateArray)),
	DRIVER(cuArrayDestroy, FREE, ARRAY, .address = IN(cuArrayDestroy, hArray)),
	DRIVER(cuMipmappedArrayCreate, ALLOC, ARRAY,
	       .address = OUT(cuMipmappedArrayCreate, pHandle), .more = MORE_MIPMAPS,
	       .of = IN(cuMipmappedArrayCreate, pMipmappedArrayDesc)),
	DRIVER(cuMipmappedArrayDestroy, FREE, ARRAY,
	       .address = IN(cuMipmappedArrayDestroy, hMipmappedArray)),

	/* Graphs */
	DRIVER(cuGraphAddMemAllocNode, ALLOC, GRAPH, .graph = IN(cuGraphAddMemAllocNode, hGraph),
	       .more = MORE_MEM_NODE, .of = IN(cuGraphAddMemAllocNode, nodeParams)),
	DRIVER(cuGraphAddNode, ALLOC, GRAPH, .graph = IN(cuGraphAddNode, hGraph),
	       .more = MORE_ANY_NODE, .of = IN(cuGraphAddNode, nodeParams)),
	DRIVER(cuGraphAddNode_v2, ALLOC, GRAPH, .graph = IN(cuGraphAddNode_v2, hGraph),
	       .more = MORE_ANY_NODE, .of = IN(cuGraphAddNode_v2, nodeParams)),
	DRIVER(cuGraphDestroy, GRAPH_GONE, GRAPH, .handle = IN(cuGraphDestroy, hGraph)),
};

static const struct row runtime_rows[] = {
	RUNTIME(cudaMalloc_v3020, ALLOC, DEVICE, .address = OUT(cudaMalloc_v3020, devPtr),
		.bytes = IN(cudaMalloc_v3020, size)),
	RUNTIME(cudaMallocPitch_v3020, ALLOC, DEVICE,
		.address = OUT(cudaMallocPitch_v3020, devPtr),
		.bytes = OUT(cudaMallocPitch_v3020, pitch),
		.times = IN(cudaMallocPitch_v3020, height)),
	RUNTIME(cudaFree_v3020, FREE, DEVICE, .address = IN(cudaFree_v3020, devPtr)),
	RUNTIME(cudaMallocHost_v3020, ALLOC, PINNED, .address = OUT(cudaMallocHost_v3020, ptr),
		.bytes = IN(cudaMallocHost_v3020, size)),
	RUNTIME(cudaHostAlloc_v3020, ALLOC, PINNED, .address = OUT(cudaHostAlloc_v3020, pHost),
		.bytes = IN(cudaHostAlloc_v3020, size)),
	RUNTIME(cudaFreeHost_v3020, FREE, PINNED, .address = IN(cudaFreeHost_v3020, ptr)),
	RUNTIME(cudaHostRegister_v4000, ALLOC, REGISTERED,
		.address = IN(cudaHostRegister_v4000, ptr),
		.bytes = IN(cudaHostRegister_v4000, size)),
	RUNTIME(cudaHostUnregister_v4000, UNREGISTER, REGISTERED,
		.address = IN(cudaHostUnregister_v4000, ptr)),
	RUNTIME(cudaMallocManaged_v6000, ALLOC, MANAGED,
		.address = OUT(cudaMallocManaged_v6000, devPtr),
		.bytes = IN(cudaMallocManaged_v6000, size)),
	RUNTIME(cudaMallocAsync_v11020, ALLOC, POOL, .is_async = true,
		.address = OUT(cudaMallocAsync_v11020, devPtr),
		.bytes = IN(cudaMallocAsync_v11020, size)),
	RUNTIME(cudaMallocAsync_ptsz_v11020, ALLOC, POOL, .is_async = true,
		.address = OUT(cudaMallocAsync_ptsz_v11020, devPtr),
		.bytes = IN(cudaMallocAsync_ptsz_v11020, size)),
	RUNTIME(cudaFreeAsync_v11020, FREE, POOL, .address = IN(cudaFreeAsync_v11020, devPtr)),
	RUNTIME(cudaFreeAsync_ptsz_v11020, FREE, POOL,
		.address = IN(cudaFreeAsync_ptsz_v11020, devPtr)),
	RUNTIME(cudaMallocFromPoolAsync_v11020, ALLOC, POOL, .is_async = true,
		.address = OUT(cudaMallocFromPoolAsync_v11020, ptr),
		.bytes = IN(cudaMallocFromPoolAsync_v11020, size),
		.pool = IN(cudaMallocFromPoolAsync_v11020, memPool)),
	RUNTIME(cudaMallocFromPoolAsync_ptsz_v11020, ALLOC, POOL, .is_async = true,
		.address = OUT(cudaMallocFromPoolAsync_ptsz_v11020, ptr),
		.bytes = IN(cudaMallocFromPoolAsync_ptsz_v11020, size),
		.pool = IN(cudaMallocFromPoolAsync_ptsz_v11020, memPool)),
};

#define N_OF(rows) (sizeof(rows) / sizeof((rows)[0]))

static const struct row *get_row(bool is_runtime, uint32_t i)
{
	if (is_runtime)
		return i < N_OF(runtime_rows) ? &runtime_rows[i] : NULL;
	return i < N_OF(driver_rows) ? &driver_rows[i] : NULL;
}

uint32_t tp_devmem_call_id(bool is_runtime, uint32_t i)
{
	const struct row *row = get_row(is_runtime, i);

	return row ? row->id : 0;
}

/* They are few, and those that are called often stand first. */
static const struct row *find_row(bool is_runtime, uint32_t id)
{
	const struct row *row;

	for (uint32_t i = 0; (row = get_row(is_runtime, i)); i++) {
		if (row->id == id)
			return row;
	}
	return NULL;
}

/* What a call gives out is known when it has returned. */
static uint64_t get(const void *parameters, struct member member, bool is_after)
{
	uint64_t value = 0;
	const void *from = (const char *)parameters + member.at;

	if (member.how == WHERE_IT_POINTS) {
		const void *const *out = from;

		from = is_after ? *out : NULL;
	}
	if (member.how != NOT_THERE && from)
		memcpy(&value, from, sizeof(value));
	return value;
}

static uint32_t format_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 1;
	}
}

/* Without the padding that the driver adds. */
static uint64_t array_bytes(size_t width, size_t height, size_t depth, CUarray_format format,
			    unsigned channels, unsigned levels)
{
	uint64_t sum = 0;

	for (; levels; levels--) {
		sum += (uint64_t)width * (height ? height : 1) * (depth ? depth : 1) *
		       format_bytes(format) * channels;
		width = width > 1 ? width / 2 : width;
		height = height > 1 ? height / 2 : height;
		depth = depth > 1 ? depth / 2 : depth;
	}
	return sum;
}

static uint64_t array_3d_bytes(const CUDA_ARRAY3D_DESCRIPTOR *array, unsigned levels)
{
	return array_bytes(array->Width, array->Height, array->Depth, array->Format,
			   array->NumChannels, levels);
}

static void add_physical(struct tp_devmem_block *block, const CUmemAllocationProp *prop)
{
	if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		block->device = (uint32_t)prop->location.id;
	else
		block->kind = TP_DEVMEM_PINNED;
}

static void add_node(struct tp_devmem_block *block, uint64_t address, size_t bytes,
		     const CUmemPoolProps *pool, bool is_after)
{
	block->address = is_after ? address : 0;
	block->bytes = bytes;
	if (pool->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		block->device = (uint32_t)pool->location.id;
}

/* `of` may be NULL: what the call would say there is not known then. */
static void add_more(enum more more, const void *of, const void *parameters, bool is_after,
		     struct tp_devmem_call *call)
{
	const CUDA_ARRAY_DESCRIPTOR *array = of;
	const CUDA_MEM_ALLOC_NODE_PARAMS *node = of;
	const CUgraphNodeParams *any = of;
	struct tp_devmem_block *block = &call->block;

	/* Other nodes of graphs are no memory. */
	if ((more == MORE_MEM_NODE && !node) ||
	    (more == MORE_ANY_NODE && (!any || any->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)))
		call->act = TP_ACT_NONE;
	if (!of || call->act == TP_ACT_NONE)
		return;
	switch (more) {
	case MORE_PHYSICAL:
		add_physical(block, of);
		break;
	case MORE_MULTICAST:
		block->bytes = ((const CUmulticastObjectProp *)of)->size;
		break;
	case MORE_ARRAY:
		block->bytes = array_bytes(array->Width, array->Height, 0, array->Format,
					   array->NumChannels, 1);
		break;
	case MORE_ARRAY_3D:
		block->bytes = array_3d_bytes(of, 1);
		break;
	case MORE_MIPMAPS:
		block->bytes = array_3d_bytes(
			of, ((const cuMipmappedArrayCreate_params *)parameters)->numMipmapLevels);
		break;
	case MORE_MEM_NODE:
		add_node(block, node->dptr, node->bytesize, &node->poolProps, is_after);
		break;
	case MORE_ANY_NODE:
		add_node(block, any->alloc.dptr, any->alloc.bytesize, &any->alloc.poolProps,
			 is_after);
		break;
	case MORE_NOTHING:
		break;
	}
}

void tp_devmem_read_call(bool is_runtime, uint32_t id, const void *parameters, bool is_after,
			 struct tp_devmem_call *call)
{
	const struct row *row = parameters ? find_row(is_runtime, id) : NULL;
	struct tp_devmem_block *block = &call->block;

	call->act = row ? row->act : TP_ACT_NONE;
	if (call->act == TP_ACT_NONE)
		return;
	block->kind = row->kind;
	block->address = get(parameters, row->address, is_after);
	block->bytes = get(parameters, row->bytes, is_after);
	if (row->times.how != NOT_THERE)
		block->bytes *= get(parameters, row->times, is_after);
	if (row->is_async)
		block->is_async = true;
	if (row->has_no_device)
		block->device = TP_DEVMEM_NO_DEVICE;
	if (row->pool.how != NOT_THERE)
		block->pool = get(parameters, row->pool, is_after);
	if (row->graph.how != NOT_THERE)
		block->graph = get(parameters, row->graph, is_after);
	if (row->handle.how != NOT_THERE)
		call->handle = get(parameters, row->handle, is_after);
	if (row->more != MORE_NOTHING)
		add_more(row->more, (const void *)(uintptr_t)get(parameters, row->of, is_after),
			 parameters, is_after, call);
}
