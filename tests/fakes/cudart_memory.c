/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudart_memory.c - the stand-in for libcudart: allocations, copies, sets
 */
#include "tests/fakes/cudart_call.h"

static CUdeviceptr address(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}

/* ---- allocations ---- */

RT_CALL(cudaMemGetInfo, v3020, (size_t *free, size_t *total), (free, total))
{
	return FAKE_CU(cuMemGetInfo_v2(free, total));
}

RT_CALL(cudaMalloc, v3020, (void **devPtr, size_t size), (devPtr, size))
{
	return FAKE_CU(cuMemAlloc_v2((CUdeviceptr *)devPtr, size));
}

RT_CALL(cudaMallocPitch, v3020, (void **devPtr, size_t *pitch, size_t width, size_t height),
	(devPtr, pitch, width, height))
{
	return FAKE_CU(cuMemAllocPitch_v2((CUdeviceptr *)devPtr, pitch, width, height, 4));
}

RT_CALL(cudaFree, v3020, (void *devPtr), (devPtr))
{
	return FAKE_CU(cuMemFree_v2(address(devPtr)));
}

RT_CALL(cudaMallocManaged, v6000, (void **devPtr, size_t size, unsigned int flags),
	(devPtr, size, flags))
{
	return FAKE_CU(cuMemAllocManaged((CUdeviceptr *)devPtr, size, flags));
}

RT_CALL(cudaMallocHost, v3020, (void **ptr, size_t size), (ptr, size))
{
	return FAKE_CU(cuMemHostAlloc(ptr, size, 0));
}

RT_CALL(cudaHostAlloc, v3020, (void **pHost, size_t size, unsigned int flags), (pHost, size, flags))
{
	return FAKE_CU(cuMemHostAlloc(pHost, size, flags));
}

RT_CALL(cudaFreeHost, v3020, (void *ptr), (ptr))
{
	return FAKE_CU(cuMemFreeHost(ptr));
}

RT_CALL(cudaHostRegister, v4000, (void *ptr, size_t size, unsigned int flags), (ptr, size, flags))
{
	return FAKE_CU(cuMemHostRegister_v2(ptr, size, flags));
}

RT_CALL(cudaHostUnregister, v4000, (void *ptr), (ptr))
{
	return FAKE_CU(cuMemHostUnregister(ptr));
}

RT_CALL(cudaMallocAsync, v11020, (void **devPtr, size_t size, cudaStream_t hStream),
	(devPtr, size, hStream))
{
	return FAKE_CU(cuMemAllocAsync((CUdeviceptr *)devPtr, size, hStream));
}

RT_CALL(cudaMallocFromPoolAsync, v11020,
	(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream),
	(ptr, size, memPool, stream))
{
	return FAKE_CU(cuMemAllocFromPoolAsync((CUdeviceptr *)ptr, size, memPool, stream));
}

RT_CALL(cudaFreeAsync, v11020, (void *devPtr, cudaStream_t hStream), (devPtr, hStream))
{
	return FAKE_CU(cuMemFreeAsync(address(devPtr), hStream));
}

RT_CALL(cudaMemPoolCreate, v11020, (cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps),
	(memPool, poolProps))
{
	return FAKE_CU(cuMemPoolCreate(memPool, (const CUmemPoolProps *)poolProps));
}

RT_CALL(cudaMemPoolDestroy, v11020, (cudaMemPool_t memPool), (memPool))
{
	return FAKE_CU(cuMemPoolDestroy(memPool));
}

RT_CALL(cudaMemPoolTrimTo, v11020, (cudaMemPool_t memPool, size_t minBytesToKeep),
	(memPool, minBytesToKeep))
{
	return FAKE_CU(cuMemPoolTrimTo(memPool, minBytesToKeep));
}

RT_CALL(cudaDeviceGetDefaultMemPool, v11020, (cudaMemPool_t *memPool, int device), (memPool, device))
{
	return FAKE_CU(cuDeviceGetDefaultMemPool(memPool, device));
}

RT_CALL(cudaMallocArray, v3020,
	(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
	 unsigned int flags),
	(array, desc, width, height, flags))
{
	CUDA_ARRAY_DESCRIPTOR what = {.Width = width, .Height = height, .NumChannels = 1};

	return FAKE_CU(cuArrayCreate_v2((CUarray *)array, &what));
}

RT_CALL(cudaFreeArray, v3020, (cudaArray_t array), (array))
{
	return FAKE_CU(cuArrayDestroy((CUarray)array));
}

RT_CALL(cudaIpcOpenMemHandle, v4010,
	(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags), (devPtr, handle, flags))
{
	CUipcMemHandle same;

	__builtin_memcpy(&same, &handle, sizeof(same));
	return FAKE_CU(cuIpcOpenMemHandle_v2((CUdeviceptr *)devPtr, same, flags));
}

RT_CALL(cudaIpcCloseMemHandle, v4010, (void *devPtr), (devPtr))
{
	return FAKE_CU(cuIpcCloseMemHandle(address(devPtr)));
}

/* ---- copies and sets ---- */

RT_CALL(cudaMemcpy, v3020, (void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
	(dst, src, count, kind))
{
	if (kind == cudaMemcpyHostToDevice)
		return FAKE_CU(cuMemcpyHtoD_v2(address(dst), src, count));
	if (kind == cudaMemcpyDeviceToHost)
		return FAKE_CU(cuMemcpyDtoH_v2(dst, address(src), count));
	return FAKE_CU(cuMemcpyDtoD_v2(address(dst), address(src), count));
}

RT_CALL(cudaMemcpyAsync, v3020,
	(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream),
	(dst, src, count, kind, stream))
{
	if (kind == cudaMemcpyHostToDevice)
		return FAKE_CU(cuMemcpyHtoDAsync_v2(address(dst), src, count, stream));
	if (kind == cudaMemcpyDeviceToHost)
		return FAKE_CU(cuMemcpyDtoHAsync_v2(dst, address(src), count, stream));
	if (kind == cudaMemcpyDeviceToDevice)
		return FAKE_CU(cuMemcpyDtoDAsync_v2(address(dst), address(src), count, stream));
	return FAKE_CU(cuMemcpyAsync(address(dst), address(src), count, stream));
}

RT_CALL(cudaMemset, v3020, (void *devPtr, int value, size_t count), (devPtr, value, count))
{
	return FAKE_CU(cuMemsetD8_v2(address(devPtr), (unsigned char)value, count));
}

RT_CALL(cudaMemsetAsync, v3020, (void *devPtr, int value, size_t count, cudaStream_t stream),
	(devPtr, value, count, stream))
{
	return FAKE_CU(cuMemsetD8Async(address(devPtr), (unsigned char)value, count, stream));
}
