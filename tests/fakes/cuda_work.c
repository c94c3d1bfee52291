/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_work.c - calls that cause work on the device: launches, copies, sets
 */
#include "tests/fakes/cuda_call.h"
#include "tests/fakes/cuda_state.h"

/* Somebody listens, and fake_gpu_next did not say what is done instead. */
static inline bool is_needed(void)
{
	return __builtin_expect(__atomic_load_n(&fake_gpu_driver.wanted_kinds, __ATOMIC_RELAXED) != 0,
				0) && !fake_said();
}

static CUresult do_work(struct fake_work *work, CUstream stream, uint32_t module)
{
	fake_work(work, fake_stream_of(stream), module);
	return CUDA_SUCCESS;
}

CU_LAUNCH(cuLaunchKernel,
	  (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
	   unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
	   unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra),
	  (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
	   kernelParams, extra), f->name)
{
	if (!is_needed())
		return CUDA_SUCCESS;
	struct fake_work work = {
		.kind = FAKE_KERNEL, .name = f->name, .grid = { gridDimX, gridDimY, gridDimZ },
		.block = { blockDimX, blockDimY, blockDimZ }, .registers = 32,
		.shared_dynamic = sharedMemBytes,
	};

	return do_work(&work, hStream, f->module);
}

CU_LAUNCH(cuLaunchKernelEx,
	  (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra),
	  (config, f, kernelParams, extra), f->name)
{
	if (!is_needed())
		return CUDA_SUCCESS;
	struct fake_work work = {
		.kind = FAKE_KERNEL, .name = f->name,
		.grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
		.block = { config->blockDimX, config->blockDimY, config->blockDimZ },
		.registers = 32, .shared_dynamic = config->sharedMemBytes,
	};

	return do_work(&work, config->hStream, f->module);
}

CU_CALL(cuGraphLaunch, (CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream))
{
	if (!is_needed())
		return CUDA_SUCCESS;
	struct fake_work work = { .kind = FAKE_GRAPH, .graph = (uint32_t)(uintptr_t)hGraphExec };

	return do_work(&work, hStream, 0);
}

/* ---- copies ---- */

static CUresult copy(uint8_t kind, uint8_t from, uint8_t to, size_t bytes, CUstream stream,
		     bool is_async)
{
	if (!is_needed())
		return CUDA_SUCCESS;
	struct fake_work work = {
		.kind = FAKE_MEMCPY, .copy_kind = kind, .from_kind = from, .to_kind = to,
		.bytes = bytes, .is_async = is_async,
	};

	return do_work(&work, stream, 0);
}

enum {
	PAGEABLE = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
	DEVICE = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
};

CU_CALL(cuMemcpyHtoD_v2, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount),
	(dstDevice, srcHost, ByteCount))
{
	return copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, PAGEABLE, DEVICE, ByteCount, NULL, false);
}

CU_CALL(cuMemcpyDtoH_v2, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount),
	(dstHost, srcDevice, ByteCount))
{
	return copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, DEVICE, PAGEABLE, ByteCount, NULL, false);
}

CU_CALL(cuMemcpyDtoD_v2, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
	(dstDevice, srcDevice, ByteCount))
{
	return copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, DEVICE, DEVICE, ByteCount, NULL, false);
}

CU_CALL(cuMemcpyHtoDAsync_v2,
	(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream),
	(dstDevice, srcHost, ByteCount, hStream))
{
	return copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, PAGEABLE, DEVICE, ByteCount, hStream, true);
}

CU_CALL(cuMemcpyDtoHAsync_v2,
	(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
	(dstHost, srcDevice, ByteCount, hStream))
{
	return copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, DEVICE, PAGEABLE, ByteCount, hStream, true);
}

CU_CALL(cuMemcpyDtoDAsync_v2,
	(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
	(dstDevice, srcDevice, ByteCount, hStream))
{
	return copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, DEVICE, DEVICE, ByteCount, hStream, true);
}

CU_CALL(cuMemcpyPeerAsync,
	(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
	 size_t ByteCount, CUstream hStream),
	(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream))
{
	if (!is_needed())
		return CUDA_SUCCESS;
	struct fake_work work = {
		.kind = FAKE_MEMCPY, .copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
		.from_kind = DEVICE, .to_kind = DEVICE, .bytes = ByteCount, .is_async = 1,
		.from_device = srcContext->device, .to_device = dstContext->device,
	};

	return do_work(&work, hStream, 0);
}

CU_CALL(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream),
	(dst, src, ByteCount, hStream))
{
	return copy(CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN, DEVICE, DEVICE, ByteCount, hStream, true);
}

/* ---- sets ---- */

static CUresult set(uint32_t value, size_t bytes, CUstream stream, bool is_async)
{
	if (!is_needed())
		return CUDA_SUCCESS;
	struct fake_work work = {
		.kind = FAKE_MEMSET, .value = value, .bytes = bytes, .to_kind = DEVICE,
		.is_async = is_async,
	};

	return do_work(&work, stream, 0);
}

CU_CALL(cuMemsetD8_v2, (CUdeviceptr dstDevice, unsigned char uc, size_t N), (dstDevice, uc, N))
{
	return set(uc, N, NULL, false);
}

CU_CALL(cuMemsetD32_v2, (CUdeviceptr dstDevice, unsigned int ui, size_t N), (dstDevice, ui, N))
{
	return set(ui, N * 4, NULL, false);
}

CU_CALL(cuMemsetD8Async, (CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream),
	(dstDevice, uc, N, hStream))
{
	return set(uc, N, hStream, true);
}

CU_CALL(cuMemsetD32Async, (CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream),
	(dstDevice, ui, N, hStream))
{
	return set(ui, N * 4, hStream, true);
}
