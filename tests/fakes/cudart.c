/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudart.c - the stand-in for libcudart: devices, launches, streams, events, copies
 *
 * Each call makes its driver call inside, as the real one does; libcuda is loaded by the first.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/cudart_call.h"

enum { N_FUNCTIONS = 8192 };

struct fake_cu fake_cu;

static struct {
	pthread_once_t once;
	pthread_mutex_t lock;
	const struct fake_driver *driver;
	CUmodule module;
	struct {
		const void *host;		/* atomic; the key */
		CUfunction function;
		const char *name;
	} functions[N_FUNCTIONS];
} runtime = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static __thread bool is_ready __attribute__((tls_model("initial-exec")));
static __thread int wanted_device __attribute__((tls_model("initial-exec")));

static bool refuse(struct fake_api *api)
{
	api->failed = cudaErrorInsufficientDriver;
	return false;
}

static void ignore(struct fake_api *api, const void *returned)
{
}

static const struct fake_driver no_driver = {.attention = 1, .enter = refuse, .exit = ignore};

static void find_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	runtime.driver = lib ? dlsym(lib, FAKE_DRIVER_SYMBOL) : NULL;
	if (!runtime.driver) {
		runtime.driver = &no_driver;
		return;
	}
#define _(function) fake_cu.function = (__typeof__(&function))dlsym(lib, #function);
#include "tests/fakes/cudart_uses.def"
#undef _
}

const struct fake_driver *fake_cudart_driver(void)
{
	const struct fake_driver *driver = __atomic_load_n(&runtime.driver, __ATOMIC_ACQUIRE);

	if (__builtin_expect(driver != NULL, 1))
		return driver;
	pthread_once(&runtime.once, find_driver);
	return runtime.driver;
}

cudaError_t fake_cudart_ready(void)
{
	CUcontext context;
	CUresult result;

	if (__builtin_expect(is_ready, 1))
		return cudaSuccess;
	fake_cudart_driver();
	result = fake_cu.cuInit(0);
	if (!result)
		result = fake_cu.cuDevicePrimaryCtxRetain(&context, wanted_device);
	if (!result)
		result = fake_cu.cuCtxSetCurrent(context);
	is_ready = !result;
	return (cudaError_t)result;
}

/* ---- kernels: by the address of their stub ---- */

static uint32_t slot_of(const void *host)
{
	return (uint32_t)(((uintptr_t)host >> 4) * 0x9e3779b1u % N_FUNCTIONS);
}

static uint32_t find_slot(const void *host)
{
	uint32_t i = slot_of(host);
	const void *seen;

	while ((seen = __atomic_load_n(&runtime.functions[i].host, __ATOMIC_ACQUIRE)) &&
	       seen != host)
		i = (i + 1) % N_FUNCTIONS;
	return i;
}

static uint32_t add_function(const void *host)
{
	char name[512];
	Dl_info info;
	uint32_t i;

	if (dladdr(host, &info) && info.dli_sname && info.dli_saddr == host)
		snprintf(name, sizeof(name), "%s", info.dli_sname);
	else
		snprintf(name, sizeof(name), "kernel_%p", host);
	pthread_mutex_lock(&runtime.lock);
	if (!runtime.module)
		fake_cu.cuModuleLoadData(&runtime.module, "");
	i = find_slot(host);
	if (!runtime.functions[i].host) {
		fake_cu.cuModuleGetFunction(&runtime.functions[i].function, runtime.module, name);
		runtime.functions[i].name = strdup(name);
		__atomic_store_n(&runtime.functions[i].host, host, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&runtime.lock);
	return i;
}

CUfunction fake_cudart_function(const void *host)
{
	uint32_t i = find_slot(host);

	if (!__atomic_load_n(&runtime.functions[i].host, __ATOMIC_ACQUIRE))
		i = add_function(host);
	return runtime.functions[i].function;
}

const char *fake_cudart_symbol(const void *host)
{
	uint32_t i;

	if (fake_cudart_ready())
		return NULL;
	i = find_slot(host);
	if (!__atomic_load_n(&runtime.functions[i].host, __ATOMIC_ACQUIRE))
		i = add_function(host);
	return runtime.functions[i].name;
}

RT_LAUNCH(cudaLaunchKernel, v7000,
	  (const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
	   cudaStream_t stream),
	  (func, gridDim, blockDim, args, sharedMem, stream), fake_cudart_symbol(func))
{
	cudaError_t result = fake_cudart_ready();

	if (__builtin_expect(result != cudaSuccess, 0))
		return result;
	return (cudaError_t)fake_cu.cuLaunchKernel(fake_cudart_function(func), gridDim.x, gridDim.y,
						   gridDim.z, blockDim.x, blockDim.y, blockDim.z,
						   (unsigned int)sharedMem, stream, args, NULL);
}

RT_LAUNCH(cudaLaunchKernelExC, v11060,
	  (const cudaLaunchConfig_t *config, const void *func, void **args), (config, func, args),
	  fake_cudart_symbol(func))
{
	CUlaunchConfig driver = {
		.gridDimX = config->gridDim.x, .gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z, .blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y, .blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned int)config->dynamicSmemBytes, .hStream = config->stream,
	};
	cudaError_t result = fake_cudart_ready();

	return result ? result : (cudaError_t)fake_cu.cuLaunchKernelEx(
					 &driver, fake_cudart_function(func), args, NULL);
}

RT_CALL(cudaGraphLaunch, v10000, (cudaGraphExec_t graphExec, cudaStream_t stream),
	(graphExec, stream))
{
	return FAKE_CU(cuGraphLaunch(graphExec, stream));
}

/* ---- devices ---- */

RT_CALL(cudaDriverGetVersion, v3020, (int *driverVersion), (driverVersion))
{
	return (cudaError_t)fake_cu.cuDriverGetVersion(driverVersion);
}

RT_CALL(cudaRuntimeGetVersion, v3020, (int *runtimeVersion), (runtimeVersion))
{
	*runtimeVersion = 13000;
	return cudaSuccess;
}

RT_CALL(cudaGetDeviceCount, v3020, (int *count), (count))
{
	return FAKE_CU(cuDeviceGetCount(count));
}

RT_CALL(cudaGetDevice, v3020, (int *device), (device))
{
	return FAKE_CU(cuCtxGetDevice(device));
}

RT_CALL(cudaSetDevice, v3020, (int device), (device))
{
	wanted_device = device;
	is_ready = false;
	return fake_cudart_ready();
}

RT_CALL(cudaDeviceGetAttribute, v5000, (int *value, enum cudaDeviceAttr attr, int device),
	(value, attr, device))
{
	return FAKE_CU(cuDeviceGetAttribute(value, (CUdevice_attribute)attr, device));
}

static int attribute(CUdevice_attribute which, int device)
{
	int value = 0;

	fake_cu.cuDeviceGetAttribute(&value, which, device);
	return value;
}

RT_CALL(cudaGetDeviceProperties, v12000, (struct cudaDeviceProp *prop, int device), (prop, device))
{
	cudaError_t result = fake_cudart_ready();

	if (result)
		return result;
	memset(prop, 0, sizeof(*prop));
	fake_cu.cuDeviceGetName(prop->name, sizeof(prop->name), device);
	fake_cu.cuDeviceTotalMem_v2(&prop->totalGlobalMem, device);
	fake_cu.cuDeviceGetUuid_v2(&prop->uuid, device);
	prop->major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	prop->minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	prop->multiProcessorCount = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	prop->warpSize = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE, device);
	prop->maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
	prop->maxThreadsPerMultiProcessor =
		attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device);
	prop->regsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, device);
	prop->regsPerMultiprocessor =
		attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, device);
	prop->sharedMemPerBlock =
		(size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, device);
	prop->sharedMemPerBlockOptin =
		(size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
	prop->sharedMemPerMultiprocessor =
		(size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, device);
	prop->pciBusID = attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
	return cudaSuccess;
}

RT_CALL0(cudaDeviceSynchronize, v3020)
{
	return FAKE_CU(cuCtxSynchronize());
}

/* Of cuda_profiler_api.h, which the wheels lack. */
cudaError_t CUDARTAPI cudaProfilerStart(void);
cudaError_t CUDARTAPI cudaProfilerStop(void);

RT_CALL0(cudaProfilerStart, v4000)
{
	return fake_cudart_ready();
}

RT_CALL0(cudaProfilerStop, v4000)
{
	return fake_cudart_ready();
}

RT_CALL0(cudaGetLastError, v3020)
{
	return cudaSuccess;
}

/* ---- streams and events ---- */

RT_CALL(cudaStreamCreate, v3020, (cudaStream_t *pStream), (pStream))
{
	return FAKE_CU(cuStreamCreate(pStream, 0));
}

RT_CALL(cudaStreamCreateWithFlags, v5000, (cudaStream_t *pStream, unsigned int flags),
	(pStream, flags))
{
	return FAKE_CU(cuStreamCreate(pStream, flags));
}

RT_CALL(cudaStreamCreateWithPriority, v5050,
	(cudaStream_t *pStream, unsigned int flags, int priority), (pStream, flags, priority))
{
	return FAKE_CU(cuStreamCreateWithPriority(pStream, flags, priority));
}

RT_CALL(cudaStreamDestroy, v5050, (cudaStream_t stream), (stream))
{
	return FAKE_CU(cuStreamDestroy_v2(stream));
}

RT_CALL(cudaStreamSynchronize, v3020, (cudaStream_t stream), (stream))
{
	return FAKE_CU(cuStreamSynchronize(stream));
}

RT_CALL(cudaStreamQuery, v3020, (cudaStream_t stream), (stream))
{
	return FAKE_CU(cuStreamQuery(stream));
}

RT_CALL(cudaStreamWaitEvent, v3020,
	(cudaStream_t stream, cudaEvent_t event, unsigned int flags), (stream, event, flags))
{
	return FAKE_CU(cuStreamWaitEvent(stream, event, flags));
}

RT_CALL(cudaEventCreate, v3020, (cudaEvent_t *event), (event))
{
	return FAKE_CU(cuEventCreate(event, 0));
}

RT_CALL(cudaEventCreateWithFlags, v3020, (cudaEvent_t *event, unsigned int flags), (event, flags))
{
	return FAKE_CU(cuEventCreate(event, flags));
}

RT_CALL(cudaEventDestroy, v3020, (cudaEvent_t event), (event))
{
	return FAKE_CU(cuEventDestroy_v2(event));
}

RT_CALL(cudaEventRecord, v3020, (cudaEvent_t event, cudaStream_t stream), (event, stream))
{
	return FAKE_CU(cuEventRecord(event, stream));
}

RT_CALL(cudaEventSynchronize, v3020, (cudaEvent_t event), (event))
{
	return FAKE_CU(cuEventSynchronize(event));
}

RT_CALL(cudaEventQuery, v3020, (cudaEvent_t event), (event))
{
	return FAKE_CU(cuEventQuery(event));
}
