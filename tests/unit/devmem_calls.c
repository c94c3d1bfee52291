/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of CUDA, with the parameters that CUPTI would hand over: what they do to device memory. */
#include <criterion/criterion.h>

#include <string.h>

#include <cupti.h>

#include "runtime/probe/devmem/devmem_calls.h"

static struct tp_devmem_call read_at(bool is_runtime, uint32_t id, const void *parameters,
				     bool is_after)
{
	struct tp_devmem_call call = { .block = { .device = TP_DEVMEM_NO_DEVICE } };

	tp_devmem_read_call(is_runtime, id, parameters, is_after, &call);
	return call;
}

/* Driver's call `name`, after it returned. */
#define READ(name, ...)                                                                    \
	read_at(false, CUPTI_DRIVER_TRACE_CBID_##name, &(name##_params){ __VA_ARGS__ }, true)

#define EXPECT_BLOCK(call, a, k, ad, n)                                                    \
	do {                                                                               \
		cr_expect_eq((call).act, a);                                               \
		cr_expect_eq((call).block.kind, k);                                        \
		cr_expect_eq((call).block.address, (uint64_t)(ad));                        \
		cr_expect_eq((call).block.bytes, (uint64_t)(n));                           \
	} while (0)

Test(devmem_calls, allocations_and_frees)
{
	CUdeviceptr made = 0x7000;
	void *host = (void *)0x8000;
	size_t pitch = 512;
	struct tp_devmem_call call;

	call = READ(cuMemAlloc_v2, &made, 100);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_DEVICE, 0x7000, 100);
	call = READ(cuMemAllocPitch_v2, &made, &pitch, 500, 10, 4);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_DEVICE, 0x7000, 5120);
	call = READ(cuMemAllocManaged, &made, 9, 1);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_MANAGED, 0x7000, 9);
	call = READ(cuMemAllocHost_v2, &host, 8);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_PINNED, 0x8000, 8);
	call = READ(cuMemHostAlloc, &host, 8, 0);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_PINNED, 0x8000, 8);
	call = READ(cuMemHostRegister_v2, host, 7, 0);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_REGISTERED, 0x8000, 7);
	call = READ(cuMemHostUnregister, host);
	EXPECT_BLOCK(call, TP_ACT_UNREGISTER, TP_DEVMEM_REGISTERED, 0x8000, 0);
	call = READ(cuMemFree_v2, made);
	EXPECT_BLOCK(call, TP_ACT_FREE, TP_DEVMEM_DEVICE, 0x7000, 0);
	call = READ(cuMemFreeHost, host);
	EXPECT_BLOCK(call, TP_ACT_FREE, TP_DEVMEM_PINNED, 0x8000, 0);
}

Test(devmem_calls, stream_ordered_ones_and_pools)
{
	CUdeviceptr made = 0x7000;
	CUmemoryPool pool = (CUmemoryPool)0x99;
	struct tp_devmem_call call;

	call = READ(cuMemAllocAsync, &made, 100, NULL);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, 0x7000, 100);
	cr_expect(call.block.is_async && !call.block.pool);
	call = READ(cuMemAllocAsync_ptsz, &made, 100, NULL);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, 0x7000, 100);
	call = READ(cuMemAllocFromPoolAsync, &made, 100, pool, NULL);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, 0x7000, 100);
	cr_expect_eq(call.block.pool, 0x99);
	call = READ(cuMemFreeAsync_ptsz, made, NULL);
	EXPECT_BLOCK(call, TP_ACT_FREE, TP_DEVMEM_POOL, 0x7000, 0);
}

Test(devmem_calls, what_is_mapped)
{
	CUdeviceptr reserved = 0x7000;
	CUmemGenericAllocationHandle handle = 5;
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED };
	struct tp_devmem_call call;

	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = 3;
	call = READ(cuMemAddressReserve, &reserved, 1 << 30, 0, 0, 0);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_RESERVED, 0x7000, 1 << 30);
	call = READ(cuMemCreate, &handle, 2 << 20, &prop, 0);
	EXPECT_BLOCK(call, TP_ACT_CREATE, TP_DEVMEM_PHYSICAL, 5, 2 << 20);
	cr_expect_eq(call.block.device, 3);
	prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
	call = READ(cuMemCreate, &handle, 2 << 20, &prop, 0);
	EXPECT_BLOCK(call, TP_ACT_CREATE, TP_DEVMEM_PINNED, 5, 2 << 20);
	call = READ(cuMemMap, 0x7000, 2 << 20, 0, handle, 0);
	EXPECT_BLOCK(call, TP_ACT_MAP, TP_DEVMEM_MAPPED, 0x7000, 2 << 20);
	cr_expect_eq(call.handle, 5);
	call = READ(cuMemUnmap, 0x7000, 2 << 20);
	EXPECT_BLOCK(call, TP_ACT_UNMAP, TP_DEVMEM_MAPPED, 0x7000, 2 << 20);
	call = READ(cuMemRelease, handle);
	cr_expect(call.act == TP_ACT_RELEASE && call.handle == 5);
	call = READ(cuMemRetainAllocationHandle, &handle, (void *)0x7000);
	cr_expect(call.act == TP_ACT_RETAIN && call.handle == 5 && call.block.address == 0x7000);
	call = READ(cuMemAddressFree, reserved, 1 << 30);
	EXPECT_BLOCK(call, TP_ACT_FREE, TP_DEVMEM_RESERVED, 0x7000, 0);
}

Test(devmem_calls, arrays_have_the_size_of_what_they_hold)
{
	CUarray array = (CUarray)0x33;
	CUmipmappedArray levels = (CUmipmappedArray)0x44;
	CUDA_ARRAY_DESCRIPTOR flat = {
		.Width = 10, .Height = 0, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2,
	};
	CUDA_ARRAY3D_DESCRIPTOR deep = {
		.Width = 4, .Height = 4, .Depth = 4, .Format = CU_AD_FORMAT_HALF, .NumChannels = 1,
	};
	struct tp_devmem_call call;

	call = READ(cuArrayCreate_v2, &array, &flat);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_ARRAY, 0x33, 80);
	call = READ(cuArray3DCreate_v2, &array, &deep);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_ARRAY, 0x33, 128);
	call = READ(cuMipmappedArrayCreate, &levels, &deep, 3);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_ARRAY, 0x44, 128 + 16 + 2);
	call = READ(cuArrayDestroy, array);
	EXPECT_BLOCK(call, TP_ACT_FREE, TP_DEVMEM_ARRAY, 0x33, 0);
}

Test(devmem_calls, graphs)
{
	CUgraph graph = (CUgraph)0x55;
	CUDA_MEM_ALLOC_NODE_PARAMS node = { .bytesize = 64, .dptr = 0x7000 };
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	struct tp_devmem_call call;

	node.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	node.poolProps.location.id = 1;
	call = READ(cuGraphAddMemAllocNode, NULL, graph, NULL, 0, &node);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_GRAPH, 0x7000, 64);
	cr_expect(call.block.graph == 0x55 && call.block.device == 1);
	any.alloc.bytesize = 32;
	any.alloc.dptr = 0x8000;
	call = READ(cuGraphAddNode_v2, NULL, graph, NULL, NULL, 0, &any);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_GRAPH, 0x8000, 32);
	any.type = CU_GRAPH_NODE_TYPE_KERNEL;
	cr_expect_eq(READ(cuGraphAddNode_v2, NULL, graph, NULL, NULL, 0, &any).act, TP_ACT_NONE);
	call = READ(cuGraphDestroy, graph);
	cr_expect(call.act == TP_ACT_GRAPH_GONE && call.handle == 0x55);
}

Test(devmem_calls, nothing_is_read_that_is_not_there_yet)
{
	cuMemAlloc_v2_params bad = { (CUdeviceptr *)0x10, 100 };
	struct tp_devmem_call call;

	/* Out parameters of a call that has not returned, or failed, may be anything. */
	call = read_at(false, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &bad, false);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_DEVICE, 0, 100);
	cr_expect_eq(READ(cuMemAlloc_v2, NULL, 100).block.address, 0);
	cr_expect_eq(READ(cuMemCreate, NULL, 1, NULL, 0).block.address, 0);
	cr_expect_eq(READ(cuArrayCreate_v2, NULL, NULL).block.bytes, 0);
	cr_expect_eq(READ(cuGraphAddMemAllocNode, NULL, NULL, NULL, 0, NULL).act, TP_ACT_NONE);
	cr_expect_eq(READ(cuMulticastCreate, NULL, NULL).block.bytes, 0);
	cr_expect_eq(read_at(false, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, NULL, true).act, TP_ACT_NONE);
	cr_expect_eq(READ(cuInit, 0).act, TP_ACT_NONE);
	cr_expect_eq(read_at(false, 100000, &bad, true).act, TP_ACT_NONE);
}

/* Every call that is asked for is understood, and at one of the two moments it acts. */
Test(devmem_calls, each_heard_call_does_something)
{
	static const uint64_t zeros[32];

	for (uint32_t i = 0, id; (id = tp_devmem_call_id(false, i)); i++) {
		bool is_graph = id == CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode ||
				id == CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2 ||
				id == CUPTI_DRIVER_TRACE_CBID_cuGraphAddMemAllocNode;

		cr_expect(is_graph || read_at(false, id, zeros, true).act != TP_ACT_NONE, "%u", id);
	}
	for (uint32_t i = 0, id; (id = tp_devmem_call_id(true, i)); i++)
		cr_expect(read_at(true, id, zeros, true).act != TP_ACT_NONE, "%u", id);
}

Test(devmem_calls, the_runtime_says_the_same_as_the_driver)
{
	void *made = (void *)0x7000;
	size_t pitch = 512;
	struct tp_devmem_call call;

#define READ_R(name, ...)                                                                  \
	read_at(true, CUPTI_RUNTIME_TRACE_CBID_##name, &(name##_params){ __VA_ARGS__ }, true)
	call = READ_R(cudaMalloc_v3020, &made, 100);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_DEVICE, 0x7000, 100);
	call = READ_R(cudaMallocPitch_v3020, &made, &pitch, 500, 10);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_DEVICE, 0x7000, 5120);
	call = READ_R(cudaHostAlloc_v3020, &made, 100, 0);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_PINNED, 0x7000, 100);
	call = READ_R(cudaMallocManaged_v6000, &made, 100, 1);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_MANAGED, 0x7000, 100);
	call = READ_R(cudaMallocFromPoolAsync_v11020, &made, 100, (cudaMemPool_t)0x99, NULL);
	EXPECT_BLOCK(call, TP_ACT_ALLOC, TP_DEVMEM_POOL, 0x7000, 100);
	cr_expect_eq(call.block.pool, 0x99);
	call = READ_R(cudaFree_v3020, made);
	EXPECT_BLOCK(call, TP_ACT_FREE, TP_DEVMEM_DEVICE, 0x7000, 0);
	call = READ_R(cudaFreeAsync_v11020, made, NULL);
	EXPECT_BLOCK(call, TP_ACT_FREE, TP_DEVMEM_POOL, 0x7000, 0);
	call = READ_R(cudaHostUnregister_v4000, made);
	EXPECT_BLOCK(call, TP_ACT_UNREGISTER, TP_DEVMEM_REGISTERED, 0x7000, 0);
}
