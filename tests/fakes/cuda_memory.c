/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_memory.c - allocations: device memory is numbers, host memory is real
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/fakes/cuda_call.h"
#include "tests/fakes/cuda_state.h"

enum { N_CHAINS = 4096, KEPT = 64, ALIGN = 512 };
#define DEVICE_BASE 0x7e0000000000u

enum {
	HOST = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
	DEVICE = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
	ARRAY = CUPTI_ACTIVITY_MEMORY_KIND_ARRAY,
	MANAGED = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED,
	OTHER = 0,		/* VMM, IPC, registered: MEMORY2 does not know them */
};

struct block {
	struct block *next;
	uint64_t address, bytes, pool;
	uint32_t device, kind;
	bool is_mapped, is_on_device;
};

static struct {
	pthread_mutex_t lock;
	struct block *chain[N_CHAINS];
	struct block kept[KEPT];	/* given back: used again, last first */
	uint32_t n_kept;
	uint64_t next, next_pool;
	uint64_t used[FAKE_DEVICES_MAX];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER, .next = DEVICE_BASE, .next_pool = 0x1000};

static uint32_t chain_of(uint64_t address)
{
	return (uint32_t)((address >> 8) * 0x9e3779b1u % N_CHAINS);
}

uint64_t fake_used_bytes(uint32_t device)
{
	return device < FAKE_DEVICES_MAX ?
		       __atomic_load_n(&memory.used[device], __ATOMIC_RELAXED) : 0;
}

/* Under the lock. An address that was given back is given again: the last of that size. */
static uint64_t pick_address(uint64_t bytes)
{
	uint64_t address = memory.next;

	for (uint32_t i = memory.n_kept; i-- > 0;)
		if (memory.kept[i].bytes == bytes) {
			address = memory.kept[i].address;
			memory.kept[i] = memory.kept[--memory.n_kept];
			return address;
		}
	memory.next += (bytes + ALIGN) / ALIGN * ALIGN;
	return address;
}

static void tell(const struct block *block, bool is_release, CUstream stream, bool is_async)
{
	struct fake_memory what = {
		.is_release = is_release, .kind = block->kind, .is_async = is_async,
		.address = block->address, .bytes = block->bytes, .pool = block->pool,
		.device = block->device,
		.stream = fake_stream_of(stream)->number,
	};

	if (block->kind != OTHER)
		fake_gpu_driver.memory(&what);
}

/* Keeps `block` whose address is given, or is to be found. */
static CUresult keep(struct block *given)
{
	const struct fake_call *said = fake_said();
	struct block *block = malloc(sizeof(*block));
	uint64_t room = fake_device_number(given->device, "mem");
	uint32_t chain;

	pthread_mutex_lock(&memory.lock);
	if (given->is_on_device && memory.used[given->device] + given->bytes > room) {
		pthread_mutex_unlock(&memory.lock);
		free(block);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (said && said->address) {
		given->address = said->address;
		given->is_mapped = false;
	} else if (!given->address) {
		given->address = pick_address(given->bytes);
	}
	if (given->is_on_device)
		__atomic_add_fetch(&memory.used[given->device], given->bytes, __ATOMIC_RELAXED);
	*block = *given;
	chain = chain_of(block->address);
	block->next = memory.chain[chain];
	memory.chain[chain] = block;
	pthread_mutex_unlock(&memory.lock);
	return CUDA_SUCCESS;
}

static CUresult make(CUdeviceptr *address, struct block block, CUstream stream, bool is_async)
{
	CUresult result;

	block.device = fake_context()->device;
	result = keep(&block);
	if (result)
		return result;
	*address = block.address;
	tell(&block, false, stream, is_async);
	return CUDA_SUCCESS;
}

static CUresult make_on_device(CUdeviceptr *address, size_t bytes)
{
	return make(address, (struct block){.bytes = bytes, .kind = DEVICE, .is_on_device = true},
		    NULL, false);
}

/* Host memory that a program may touch. */
static CUresult make_real(void **address, size_t bytes, uint32_t kind)
{
	const struct fake_call *said = fake_said();
	struct block block = {.bytes = bytes, .kind = kind, .is_mapped = true};
	CUdeviceptr made = 0;
	CUresult result;
	void *pages = NULL;

	if (!said || !said->address) {
		pages = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages == MAP_FAILED)
			return CUDA_ERROR_OUT_OF_MEMORY;
		block.address = (uintptr_t)pages;
	}
	result = make(&made, block, NULL, false);
	*address = (void *)(uintptr_t)made;
	return result;
}

/* What was never made is an invalid value, as a pointer freed twice is. */
static CUresult drop(uint64_t address, CUstream stream, bool is_async)
{
	struct block *block, **at;

	if (!address)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&memory.lock);
	for (at = &memory.chain[chain_of(address)]; (block = *at); at = &block->next)
		if (block->address == address)
			break;
	if (block) {
		*at = block->next;
		if (block->is_on_device)
			__atomic_sub_fetch(&memory.used[block->device], block->bytes,
					   __ATOMIC_RELAXED);
		if (block->address >= DEVICE_BASE && block->address < memory.next &&
		    !block->is_mapped && memory.n_kept < KEPT)
			memory.kept[memory.n_kept++] = *block;
	}
	pthread_mutex_unlock(&memory.lock);
	if (!block)
		return CUDA_ERROR_INVALID_VALUE;
	tell(block, true, stream, is_async);
	if (block->is_mapped)
		munmap((void *)(uintptr_t)block->address, block->bytes ? block->bytes : 1);
	free(block);
	return CUDA_SUCCESS;
}

/* ---- device and host ---- */

CU_CALL(cuMemGetInfo_v2, (size_t *free, size_t *total), (free, total))
{
	uint32_t device = fake_context()->device;

	*total = fake_device_number(device, "mem");
	*free = *total - fake_used_bytes(device);
	return CUDA_SUCCESS;
}

CU_CALL(cuMemAlloc_v2, (CUdeviceptr *dptr, size_t bytesize), (dptr, bytesize))
{
	return make_on_device(dptr, bytesize);
}

CU_CALL(cuMemAllocPitch_v2,
	(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
	 unsigned int ElementSizeBytes),
	(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes))
{
	*pPitch = (WidthInBytes + ALIGN - 1) / ALIGN * ALIGN;
	return make_on_device(dptr, *pPitch * Height);
}

CU_CALL(cuMemFree_v2, (CUdeviceptr dptr), (dptr))
{
	return drop(dptr, NULL, false);
}

CU_CALL(cuMemAllocManaged, (CUdeviceptr *dptr, size_t bytesize, unsigned int flags),
	(dptr, bytesize, flags))
{
	void *address;
	CUresult result = make_real(&address, bytesize, MANAGED);

	*dptr = (uintptr_t)address;
	return result;
}

CU_CALL(cuMemAllocHost_v2, (void **pp, size_t bytesize), (pp, bytesize))
{
	return make_real(pp, bytesize, HOST);
}

CU_CALL(cuMemHostAlloc, (void **pp, size_t bytesize, unsigned int Flags), (pp, bytesize, Flags))
{
	return make_real(pp, bytesize, HOST);
}

CU_CALL(cuMemFreeHost, (void *p), (p))
{
	return drop((uintptr_t)p, NULL, false);
}

CU_CALL(cuMemHostRegister_v2, (void *p, size_t bytesize, unsigned int Flags), (p, bytesize, Flags))
{
	struct block block = {.address = (uintptr_t)p, .bytes = bytesize, .kind = OTHER};
	CUdeviceptr same;

	return make(&same, block, NULL, false);
}

CU_CALL(cuMemHostUnregister, (void *p), (p))
{
	return drop((uintptr_t)p, NULL, false);
}

/* ---- pools ---- */

static void tell_pool(uint32_t operation, uint64_t pool)
{
	struct fake_memory what = {.is_pool = true, .kind = operation, .pool = pool,
				   .device = fake_context()->device};

	fake_gpu_driver.memory(&what);
}

CU_CALL(cuMemPoolCreate, (CUmemoryPool *pool, const CUmemPoolProps *poolProps), (pool, poolProps))
{
	uint64_t made = __atomic_add_fetch(&memory.next_pool, 0x1000, __ATOMIC_RELAXED);

	*pool = (CUmemoryPool)(uintptr_t)made;
	tell_pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, made);
	return CUDA_SUCCESS;
}

CU_CALL(cuMemPoolDestroy, (CUmemoryPool pool), (pool))
{
	tell_pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED, (uintptr_t)pool);
	return CUDA_SUCCESS;
}

CU_CALL(cuMemPoolTrimTo, (CUmemoryPool pool, size_t minBytesToKeep), (pool, minBytesToKeep))
{
	tell_pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED, (uintptr_t)pool);
	return CUDA_SUCCESS;
}

CU_CALL(cuDeviceGetDefaultMemPool, (CUmemoryPool *pool_out, CUdevice dev), (pool_out, dev))
{
	*pool_out = (CUmemoryPool)(uintptr_t)(0x100 + (uint32_t)dev);
	return CUDA_SUCCESS;
}

static CUresult make_in_pool(CUdeviceptr *address, size_t bytes, uint64_t pool, CUstream stream)
{
	return make(address, (struct block){.bytes = bytes, .kind = DEVICE, .pool = pool,
					    .is_on_device = true}, stream, true);
}

CU_CALL(cuMemAllocAsync, (CUdeviceptr *dptr, size_t bytesize, CUstream hStream),
	(dptr, bytesize, hStream))
{
	return make_in_pool(dptr, bytesize, 0x100 + fake_context()->device, hStream);
}

CU_CALL(cuMemAllocFromPoolAsync,
	(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream),
	(dptr, bytesize, pool, hStream))
{
	return make_in_pool(dptr, bytesize, (uintptr_t)pool, hStream);
}

CU_CALL(cuMemFreeAsync, (CUdeviceptr dptr, CUstream hStream), (dptr, hStream))
{
	return drop(dptr, hStream, true);
}

/* ---- virtual memory ---- */

CU_CALL(cuMemAddressReserve,
	(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
	 unsigned long long flags),
	(ptr, size, alignment, addr, flags))
{
	return make(ptr, (struct block){.bytes = size, .kind = OTHER}, NULL, false);
}

CU_CALL(cuMemAddressFree, (CUdeviceptr ptr, size_t size), (ptr, size))
{
	return drop(ptr, NULL, false);
}

CU_CALL(cuMemCreate,
	(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
	 unsigned long long flags),
	(handle, size, prop, flags))
{
	CUdeviceptr made = 0;
	CUresult result = make(&made, (struct block){.bytes = size, .kind = OTHER,
						     .is_on_device = true}, NULL, false);

	*handle = made;
	return result;
}

CU_CALL(cuMemRelease, (CUmemGenericAllocationHandle handle), (handle))
{
	return drop(handle, NULL, false);
}

CU_CALL(cuMemImportFromShareableHandle,
	(CUmemGenericAllocationHandle *handle, void *osHandle, CUmemAllocationHandleType shHandleType),
	(handle, osHandle, shHandleType))
{
	CUdeviceptr made = 0;
	CUresult result = make(&made, (struct block){.bytes = 1 << 21, .kind = OTHER}, NULL, false);

	*handle = made;
	return result;
}

CU_CALL(cuMemMap,
	(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
	 unsigned long long flags),
	(ptr, size, offset, handle, flags))
{
	return CUDA_SUCCESS;
}

CU_CALL(cuMemUnmap, (CUdeviceptr ptr, size_t size), (ptr, size))
{
	return CUDA_SUCCESS;
}

CU_CALL(cuMemSetAccess, (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count),
	(ptr, size, desc, count))
{
	return CUDA_SUCCESS;
}

/* ---- arrays, other processes ---- */

CU_CALL(cuArrayCreate_v2, (CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray),
	(pHandle, pAllocateArray))
{
	size_t height = pAllocateArray->Height ? pAllocateArray->Height : 1;
	struct block block = {
		.bytes = pAllocateArray->Width * height * pAllocateArray->NumChannels * 4,
		.kind = ARRAY, .is_on_device = true,
	};
	CUdeviceptr made = 0;
	CUresult result = make(&made, block, NULL, false);

	*pHandle = (CUarray)(uintptr_t)made;
	return result;
}

CU_CALL(cuArrayDestroy, (CUarray hArray), (hArray))
{
	return drop((uintptr_t)hArray, NULL, false);
}

CU_CALL(cuIpcGetMemHandle, (CUipcMemHandle *pHandle, CUdeviceptr dptr), (pHandle, dptr))
{
	memset(pHandle, 0, sizeof(*pHandle));
	memcpy(pHandle->reserved, &dptr, sizeof(dptr));
	return CUDA_SUCCESS;
}

CU_CALL(cuIpcOpenMemHandle_v2, (CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags),
	(pdptr, handle, Flags))
{
	return make(pdptr, (struct block){.bytes = 1 << 21, .kind = OTHER}, NULL, false);
}

CU_CALL(cuIpcCloseMemHandle, (CUdeviceptr dptr), (dptr))
{
	return drop(dptr, NULL, false);
}
