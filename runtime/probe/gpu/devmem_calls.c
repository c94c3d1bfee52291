/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_calls.c - a call of CUDA -> what it does to device memory
 *
 * Not heard: memory that a multicast object binds (it lives in its own handle as long as that
 * one does), textures that are mapped sparsely, what a memory pool keeps in reserve. Memory
 * nodes of a graph count from when they are added until the graph goes: the driver gives them
 * memory at a launch, and tells nobody.
 */
#include "runtime/probe/gpu/devmem_calls.h"

#include <string.h>

#include <cupti.h>

#define DRIVER(name) CUPTI_DRIVER_TRACE_CBID_##name
#define RUNTIME(name) CUPTI_RUNTIME_TRACE_CBID_##name

const uint32_t tp_devmem_driver_calls[] = {
	DRIVER(cuMemAlloc_v2), DRIVER(cuMemAllocPitch_v2), DRIVER(cuMemFree_v2),
	DRIVER(cuMemAllocManaged), DRIVER(cuMemAllocHost_v2), DRIVER(cuMemHostAlloc),
	DRIVER(cuMemHostAlloc_v2), DRIVER(cuMemFreeHost), DRIVER(cuMemHostRegister),
	DRIVER(cuMemHostRegister_v2), DRIVER(cuMemHostUnregister),
	DRIVER(cuMemAllocAsync), DRIVER(cuMemAllocAsync_ptsz), DRIVER(cuMemFreeAsync),
	DRIVER(cuMemFreeAsync_ptsz), DRIVER(cuMemAllocFromPoolAsync),
	DRIVER(cuMemAllocFromPoolAsync_ptsz), DRIVER(cuMemPoolImportPointer),
	DRIVER(cuMemAddressReserve), DRIVER(cuMemAddressFree), DRIVER(cuMemCreate),
	DRIVER(cuMemRelease), DRIVER(cuMemMap), DRIVER(cuMemUnmap),
	DRIVER(cuMemImportFromShareableHandle), DRIVER(cuMemRetainAllocationHandle),
	DRIVER(cuMulticastCreate), DRIVER(cuIpcOpenMemHandle), DRIVER(cuIpcOpenMemHandle_v2),
	DRIVER(cuIpcCloseMemHandle), DRIVER(cuArrayCreate_v2), DRIVER(cuArray3DCreate_v2),
	DRIVER(cuArrayDestroy), DRIVER(cuMipmappedArrayCreate), DRIVER(cuMipmappedArrayDestroy),
	DRIVER(cuGraphAddMemAllocNode), DRIVER(cuGraphAddNode), DRIVER(cuGraphAddNode_v2),
	DRIVER(cuGraphDestroy), 0,
};

const uint32_t tp_devmem_runtime_calls[] = {
	RUNTIME(cudaMalloc_v3020), RUNTIME(cudaMallocPitch_v3020), RUNTIME(cudaFree_v3020),
	RUNTIME(cudaMallocHost_v3020), RUNTIME(cudaHostAlloc_v3020), RUNTIME(cudaFreeHost_v3020),
	RUNTIME(cudaHostRegister_v4000), RUNTIME(cudaHostUnregister_v4000),
	RUNTIME(cudaMallocManaged_v6000), RUNTIME(cudaMallocAsync_v11020),
	RUNTIME(cudaMallocAsync_ptsz_v11020), RUNTIME(cudaFreeAsync_v11020),
	RUNTIME(cudaFreeAsync_ptsz_v11020), RUNTIME(cudaMallocFromPoolAsync_v11020),
	RUNTIME(cudaMallocFromPoolAsync_ptsz_v11020), 0,
};

/* A value that the call gives out at `at`, of 64 bits whatever its type. */
static uint64_t out(const void *at, bool is_after)
{
	uint64_t value = 0;

	if (is_after && at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static void set(struct tp_devmem_call *call, enum tp_devmem_act act, uint8_t kind,
		uint64_t address, uint64_t bytes)
{
	call->act = act;
	call->block.kind = kind;
	call->block.address = address;
	call->block.bytes = bytes;
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

static void create(struct tp_devmem_call *call, const cuMemCreate_params *p, bool is_after)
{
	const CUmemLocation *location = p->prop ? &p->prop->location : NULL;

	set(call, TP_ACT_CREATE, TP_DEVMEM_PHYSICAL, out(p->handle, is_after), p->size);
	if (!location)
		return;
	if (location->type == CU_MEM_LOCATION_TYPE_DEVICE)
		call->block.device = (uint32_t)location->id;
	else
		call->block.kind = TP_DEVMEM_PINNED;
}

static void graph_node(struct tp_devmem_call *call, CUgraph graph, uint64_t address, size_t bytes,
		       const CUmemPoolProps *pool)
{
	set(call, TP_ACT_ALLOC, TP_DEVMEM_GRAPH, address, bytes);
	call->block.graph = (uintptr_t)graph;
	if (pool->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		call->block.device = (uint32_t)pool->location.id;
}

static void any_graph_node(struct tp_devmem_call *call, CUgraph graph,
			   const CUgraphNodeParams *node, bool is_after)
{
	if (node && node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		graph_node(call, graph, is_after ? node->alloc.dptr : 0, node->alloc.bytesize,
			   &node->alloc.poolProps);
}

/* One function, its parameters as `p`. (cuda.h has macros of some of the names: pasted at once.) */
#define CASE(name) case CUPTI_DRIVER_TRACE_CBID_##name: {                                  \
	const name##_params *p = parameters;
#define CASE_R(name) case CUPTI_RUNTIME_TRACE_CBID_##name: {                               \
	const name##_params *p = parameters;
#define END break; }

static void read_driver(uint32_t id, const void *parameters, bool is_after,
			struct tp_devmem_call *call)
{
	switch (id) {
	CASE(cuMemAlloc_v2)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_DEVICE, out(p->dptr, is_after), p->bytesize);
	END
	CASE(cuMemAllocPitch_v2)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_DEVICE, out(p->dptr, is_after),
		    out(p->pPitch, is_after) * p->Height);
	END
	CASE(cuMemFree_v2)
		set(call, TP_ACT_FREE, TP_DEVMEM_DEVICE, p->dptr, 0);
	END
	CASE(cuMemAllocManaged)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_MANAGED, out(p->dptr, is_after), p->bytesize);
	END
	CASE(cuMemAllocHost_v2)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_PINNED, out(p->pp, is_after), p->bytesize);
	END
	case DRIVER(cuMemHostAlloc_v2):		/* has no structure of its own */
	CASE(cuMemHostAlloc)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_PINNED, out(p->pp, is_after), p->bytesize);
	END
	CASE(cuMemFreeHost)
		set(call, TP_ACT_FREE, TP_DEVMEM_PINNED, (uintptr_t)p->p, 0);
	END
	CASE(cuMemHostRegister)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_REGISTERED, (uintptr_t)p->p, p->bytesize);
	END
	CASE(cuMemHostRegister_v2)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_REGISTERED, (uintptr_t)p->p, p->bytesize);
	END
	CASE(cuMemHostUnregister)
		set(call, TP_ACT_UNREGISTER, TP_DEVMEM_REGISTERED, (uintptr_t)p->p, 0);
	END
	CASE(cuMemAllocAsync)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, out(p->dptr, is_after), p->bytesize);
		call->block.is_async = true;
	END
	CASE(cuMemAllocAsync_ptsz)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, out(p->dptr, is_after), p->bytesize);
		call->block.is_async = true;
	END
	CASE(cuMemFreeAsync)
		set(call, TP_ACT_FREE, TP_DEVMEM_POOL, p->dptr, 0);
	END
	CASE(cuMemFreeAsync_ptsz)
		set(call, TP_ACT_FREE, TP_DEVMEM_POOL, p->dptr, 0);
	END
	CASE(cuMemAllocFromPoolAsync)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, out(p->dptr, is_after), p->bytesize);
		call->block.is_async = true;
		call->block.pool = (uintptr_t)p->pool;
	END
	CASE(cuMemAllocFromPoolAsync_ptsz)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, out(p->dptr, is_after), p->bytesize);
		call->block.is_async = true;
		call->block.pool = (uintptr_t)p->pool;
	END
	CASE(cuMemPoolImportPointer)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_IPC, out(p->ptr_out, is_after), 0);
		call->block.pool = (uintptr_t)p->pool;
	END
	CASE(cuMemAddressReserve)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_RESERVED, out(p->ptr, is_after), p->size);
		call->block.device = TP_DEVMEM_NO_DEVICE;
	END
	CASE(cuMemAddressFree)
		set(call, TP_ACT_FREE, TP_DEVMEM_RESERVED, p->ptr, 0);
	END
	CASE(cuMemCreate)
		create(call, p, is_after);
	END
	CASE(cuMemRelease)
		set(call, TP_ACT_RELEASE, TP_DEVMEM_PHYSICAL, p->handle, 0);
		call->handle = p->handle;
	END
	CASE(cuMemMap)
		set(call, TP_ACT_MAP, TP_DEVMEM_MAPPED, p->ptr, p->size);
		call->handle = p->handle;
	END
	CASE(cuMemUnmap)
		set(call, TP_ACT_UNMAP, TP_DEVMEM_MAPPED, p->ptr, p->size);
	END
	CASE(cuMemImportFromShareableHandle)
		set(call, TP_ACT_CREATE, TP_DEVMEM_IPC, out(p->handle, is_after), 0);
	END
	CASE(cuMemRetainAllocationHandle)
		set(call, TP_ACT_RETAIN, TP_DEVMEM_PHYSICAL, (uintptr_t)p->addr, 0);
		call->handle = out(p->handle, is_after);
	END
	CASE(cuMulticastCreate)
		/* Addresses for memory of others. */
		set(call, TP_ACT_CREATE, TP_DEVMEM_RESERVED, out(p->mcHandle, is_after),
		    p->prop ? p->prop->size : 0);
		call->block.device = TP_DEVMEM_NO_DEVICE;
	END
	CASE(cuIpcOpenMemHandle)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_IPC, out(p->pdptr, is_after), 0);
	END
	CASE(cuIpcOpenMemHandle_v2)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_IPC, out(p->pdptr, is_after), 0);
	END
	CASE(cuIpcCloseMemHandle)
		set(call, TP_ACT_FREE, TP_DEVMEM_IPC, p->dptr, 0);
	END
	CASE(cuArrayCreate_v2)
		const CUDA_ARRAY_DESCRIPTOR *a = p->pAllocateArray;

		set(call, TP_ACT_ALLOC, TP_DEVMEM_ARRAY, out(p->pHandle, is_after),
		    a ? array_bytes(a->Width, a->Height, 0, a->Format, a->NumChannels, 1) : 0);
	END
	CASE(cuArray3DCreate_v2)
		const CUDA_ARRAY3D_DESCRIPTOR *a = p->pAllocateArray;

		set(call, TP_ACT_ALLOC, TP_DEVMEM_ARRAY, out(p->pHandle, is_after),
		    a ? array_bytes(a->Width, a->Height, a->Depth, a->Format, a->NumChannels, 1) : 0);
	END
	CASE(cuArrayDestroy)
		set(call, TP_ACT_FREE, TP_DEVMEM_ARRAY, (uintptr_t)p->hArray, 0);
	END
	CASE(cuMipmappedArrayCreate)
		const CUDA_ARRAY3D_DESCRIPTOR *a = p->pMipmappedArrayDesc;

		set(call, TP_ACT_ALLOC, TP_DEVMEM_ARRAY, out(p->pHandle, is_after),
		    a ? array_bytes(a->Width, a->Height, a->Depth, a->Format, a->NumChannels,
				    p->numMipmapLevels)
		      : 0);
	END
	CASE(cuMipmappedArrayDestroy)
		set(call, TP_ACT_FREE, TP_DEVMEM_ARRAY, (uintptr_t)p->hMipmappedArray, 0);
	END
	CASE(cuGraphAddMemAllocNode)
		if (p->nodeParams)
			graph_node(call, p->hGraph, is_after ? p->nodeParams->dptr : 0,
				   p->nodeParams->bytesize, &p->nodeParams->poolProps);
	END
	CASE(cuGraphAddNode)
		any_graph_node(call, p->hGraph, p->nodeParams, is_after);
	END
	CASE(cuGraphAddNode_v2)
		any_graph_node(call, p->hGraph, p->nodeParams, is_after);
	END
	CASE(cuGraphDestroy)
		call->act = TP_ACT_GRAPH_GONE;
		call->handle = (uintptr_t)p->hGraph;
	END
	default:
		break;
	}
}

static void read_runtime(uint32_t id, const void *parameters, bool is_after,
			 struct tp_devmem_call *call)
{
	switch (id) {
	CASE_R(cudaMalloc_v3020)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_DEVICE, out(p->devPtr, is_after), p->size);
	END
	CASE_R(cudaMallocPitch_v3020)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_DEVICE, out(p->devPtr, is_after),
		    out(p->pitch, is_after) * p->height);
	END
	CASE_R(cudaFree_v3020)
		set(call, TP_ACT_FREE, TP_DEVMEM_DEVICE, (uintptr_t)p->devPtr, 0);
	END
	CASE_R(cudaMallocHost_v3020)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_PINNED, out(p->ptr, is_after), p->size);
	END
	CASE_R(cudaHostAlloc_v3020)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_PINNED, out(p->pHost, is_after), p->size);
	END
	CASE_R(cudaFreeHost_v3020)
		set(call, TP_ACT_FREE, TP_DEVMEM_PINNED, (uintptr_t)p->ptr, 0);
	END
	CASE_R(cudaHostRegister_v4000)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_REGISTERED, (uintptr_t)p->ptr, p->size);
	END
	CASE_R(cudaHostUnregister_v4000)
		set(call, TP_ACT_UNREGISTER, TP_DEVMEM_REGISTERED, (uintptr_t)p->ptr, 0);
	END
	CASE_R(cudaMallocManaged_v6000)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_MANAGED, out(p->devPtr, is_after), p->size);
	END
	CASE_R(cudaMallocAsync_v11020)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, out(p->devPtr, is_after), p->size);
		call->block.is_async = true;
	END
	CASE_R(cudaMallocAsync_ptsz_v11020)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, out(p->devPtr, is_after), p->size);
		call->block.is_async = true;
	END
	CASE_R(cudaFreeAsync_v11020)
		set(call, TP_ACT_FREE, TP_DEVMEM_POOL, (uintptr_t)p->devPtr, 0);
	END
	CASE_R(cudaFreeAsync_ptsz_v11020)
		set(call, TP_ACT_FREE, TP_DEVMEM_POOL, (uintptr_t)p->devPtr, 0);
	END
	CASE_R(cudaMallocFromPoolAsync_v11020)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, out(p->ptr, is_after), p->size);
		call->block.is_async = true;
		call->block.pool = (uintptr_t)p->memPool;
	END
	CASE_R(cudaMallocFromPoolAsync_ptsz_v11020)
		set(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, out(p->ptr, is_after), p->size);
		call->block.is_async = true;
		call->block.pool = (uintptr_t)p->memPool;
	END
	default:
		break;
	}
}

void tp_devmem_read_call(bool is_runtime, uint32_t id, const void *parameters, bool is_after,
			 struct tp_devmem_call *call)
{
	call->act = TP_ACT_NONE;
	if (!parameters)
		return;
	if (is_runtime)
		read_runtime(id, parameters, is_after, call);
	else
		read_driver(id, parameters, is_after, call);
}
