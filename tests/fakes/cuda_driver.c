/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_driver.c - cuInit, devices, contexts, modules, streams, events
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/cuda_call.h"
#include "tests/fakes/cuda_state.h"

static struct {
	pthread_mutex_t lock;
	pthread_once_t once;
	uint32_t is_up;			/* atomic; 1: initialising, 2: up */
	pthread_t initialiser;
	struct CUctx_st primary[FAKE_DEVICES_MAX];	/* made when number is not 0 */
	uint32_t n_contexts, n_streams, n_events, n_modules;
	struct CUfunc_st *functions;
} driver = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT, .n_streams = 12};

static __thread CUcontext current __attribute__((tls_model("initial-exec")));

/* ---- what is there ---- */

static void resource(CUpti_CallbackIdResource what, CUcontext context, uint32_t number,
		     void *handle)
{
	const struct fake_tool *tool = fake_tool();

	if (tool && !fake_is_forked())
		tool->resource(what, context, number, handle);
}

/* As the real driver: what it loads is told while nothing but cuInit has happened. */
static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*begin)(void);
	void *lib;

	if (!path || !*path)
		return;
	lib = dlopen(path, RTLD_NOW);
	if (!lib)
		return;
	*(void **)&begin = dlsym(lib, "InitializeInjection");
	if (begin)
		begin();
}

static void initialise(void)
{
	driver.initialiser = pthread_self();
	__atomic_store_n(&fake_gpu_driver.is_initialised, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&driver.is_up, 1, __ATOMIC_RELEASE);
	inject();
	__atomic_store_n(&driver.is_up, 2, __ATOMIC_RELEASE);
	resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, NULL, 0, NULL);
}

CU_CALL(cuInit, (unsigned int Flags), (Flags))
{
	if (__atomic_load_n(&driver.is_up, __ATOMIC_ACQUIRE) == 1 &&
	    pthread_equal(driver.initialiser, pthread_self()))
		return CUDA_ERROR_NOT_INITIALIZED;	/* called by what cuInit loads */
	if (fake_n_devices() == 0)
		return CUDA_ERROR_NO_DEVICE;
	pthread_once(&driver.once, initialise);
	return CUDA_SUCCESS;
}

static bool is_up(void)
{
	return __atomic_load_n(&driver.is_up, __ATOMIC_ACQUIRE) != 0;
}

static CUcontext primary_of(uint32_t device)
{
	struct CUctx_st *context = &driver.primary[device];
	bool is_new;

	pthread_mutex_lock(&driver.lock);
	is_new = !context->number;
	if (is_new) {
		context->device = device;
		context->number = ++driver.n_contexts;
	}
	pthread_mutex_unlock(&driver.lock);
	if (is_new)
		resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, context->number, NULL);
	return context;
}

CUcontext fake_context(void)
{
	if (!current)
		current = primary_of(0);
	return current;
}

CUcontext fake_current(void)
{
	return current;
}

uint32_t fake_contexts(struct CUctx_st *out, uint32_t cap)
{
	uint32_t n = 0;

	pthread_mutex_lock(&driver.lock);
	for (uint32_t i = 0; i < FAKE_DEVICES_MAX && n < cap; i++)
		if (driver.primary[i].number)
			out[n++] = driver.primary[i];
	pthread_mutex_unlock(&driver.lock);
	return n;
}

CU_CALL(cuDriverGetVersion, (int *driverVersion), (driverVersion))
{
	const char *set = getenv("FAKE_CUDA_DRIVER");

	*driverVersion = set && *set ? atoi(set) : 13000;
	return CUDA_SUCCESS;
}

CU_CALL(cuDeviceGetCount, (int *count), (count))
{
	*count = (int)fake_n_devices();
	return is_up() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CU_CALL(cuDeviceGet, (CUdevice *device, int ordinal), (device, ordinal))
{
	if (!is_up())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (ordinal < 0 || (uint32_t)ordinal >= fake_n_devices())
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CU_CALL(cuDeviceGetName, (char *name, int len, CUdevice dev), (name, len, dev))
{
	snprintf(name, (size_t)len, "%s", fake_device_value((uint32_t)dev, "name"));
	return CUDA_SUCCESS;
}

CU_CALL(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice dev), (bytes, dev))
{
	*bytes = fake_device_number((uint32_t)dev, "mem");
	return CUDA_SUCCESS;
}

CU_CALL(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice dev), (uuid, dev))
{
	memcpy(uuid->bytes, "fake-gpu-uuid-00", 16);
	uuid->bytes[15] = (char)('0' + dev);
	return CUDA_SUCCESS;
}

CU_CALL(cuDeviceGetPCIBusId, (char *pciBusId, int len, CUdevice dev), (pciBusId, len, dev))
{
	snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", 0x10 + dev);
	return CUDA_SUCCESS;
}

CU_CALL(cuDeviceGetAttribute, (int *pi, CUdevice_attribute attrib, CUdevice dev), (pi, attrib, dev))
{
	static const struct { CUdevice_attribute attribute; const char *key; } keys[] = {
		{ CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "sms" },
		{ CU_DEVICE_ATTRIBUTE_CLOCK_RATE, "clock_khz" },
		{ CU_DEVICE_ATTRIBUTE_WARP_SIZE, "warp" },
		{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, "max_threads_sm" },
		{ CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, "max_regs_sm" },
		{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, "max_smem_sm" },
		{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, "max_threads_block" },
		{ CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, "max_regs_block" },
		{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, "max_smem_block" },
		{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, "max_smem_optin" },
	};
	const char *capability = fake_device_value((uint32_t)dev, "cc");

	*pi = 0;
	if (attrib == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
		*pi = atoi(capability);
	else if (attrib == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
		*pi = strchr(capability, '.') ? atoi(strchr(capability, '.') + 1) : 0;
	else if (attrib == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
		*pi = 0x10 + dev;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].attribute == attrib)
			*pi = (int)fake_device_number((uint32_t)dev, keys[i].key);
	return CUDA_SUCCESS;
}

/* ---- contexts ---- */

CU_CALL(cuDevicePrimaryCtxRetain, (CUcontext *pctx, CUdevice dev), (pctx, dev))
{
	if (!is_up())
		return CUDA_ERROR_NOT_INITIALIZED;
	*pctx = primary_of((uint32_t)dev);
	return CUDA_SUCCESS;
}

CU_CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice dev), (dev))
{
	return CUDA_SUCCESS;
}

CU_CALL(cuDevicePrimaryCtxGetState, (CUdevice dev, unsigned int *flags, int *active),
	(dev, flags, active))
{
	*flags = 0;
	*active = driver.primary[dev].number != 0;
	return CUDA_SUCCESS;
}

CU_CALL(cuCtxCreate_v4,
	(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev),
	(pctx, ctxCreateParams, flags, dev))
{
	CUcontext context;

	if (!is_up())
		return CUDA_ERROR_NOT_INITIALIZED;
	context = calloc(1, sizeof(*context));
	context->device = (uint32_t)dev;
	context->number = __atomic_add_fetch(&driver.n_contexts, 1, __ATOMIC_RELAXED);
	*pctx = current = context;
	resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, context->number, NULL);
	return CUDA_SUCCESS;
}

CU_CALL(cuCtxDestroy_v2, (CUcontext ctx), (ctx))
{
	resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, ctx, ctx->number, NULL);
	if (current == ctx)
		current = NULL;
	if (ctx < driver.primary || ctx >= driver.primary + FAKE_DEVICES_MAX)
		free(ctx);
	return CUDA_SUCCESS;
}

CU_CALL(cuCtxGetCurrent, (CUcontext *pctx), (pctx))
{
	*pctx = current;
	return CUDA_SUCCESS;
}

CU_CALL(cuCtxSetCurrent, (CUcontext ctx), (ctx))
{
	current = ctx;
	return CUDA_SUCCESS;
}

CU_CALL(cuCtxGetDevice, (CUdevice *device), (device))
{
	*device = (CUdevice)fake_context()->device;
	return CUDA_SUCCESS;
}

CU_CALL0(cuCtxSynchronize)
{
	struct fake_work sync = {
		.kind = FAKE_SYNC, .sync_kind = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE,
		.start_ns = fake_now(), .context = fake_context()->number,
		.stream = CUPTI_SYNCHRONIZATION_INVALID_VALUE,
		.event = CUPTI_SYNCHRONIZATION_INVALID_VALUE,
	};

	if (fake_said())
		return CUDA_SUCCESS;	/* as long as its caller took over it */
	fake_wait_until(fake_busy_until());
	sync.end_ns = fake_now();
	fake_work(&sync, NULL, 0);
	return CUDA_SUCCESS;
}

/* ---- modules ---- */

static CUresult load(CUmodule *module)
{
	*module = calloc(1, sizeof(**module));
	(*module)->number = __atomic_add_fetch(&driver.n_modules, 1, __ATOMIC_RELAXED);
	resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, fake_context(), (*module)->number, *module);
	return CUDA_SUCCESS;
}

CU_CALL(cuModuleLoadData, (CUmodule *module, const void *image), (module, image))
{
	return load(module);
}

CU_CALL(cuModuleLoad, (CUmodule *module, const char *fname), (module, fname))
{
	return load(module);
}

CU_CALL(cuModuleUnload, (CUmodule hmod), (hmod))
{
	const struct fake_tool *tool = fake_tool();

	resource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, fake_context(), hmod->number, hmod);
	if (tool)
		tool->unload(hmod->number);
	free(hmod);
	return CUDA_SUCCESS;
}

CU_CALL(cuModuleGetFunction, (CUfunction *hfunc, CUmodule hmod, const char *name),
	(hfunc, hmod, name))
{
	const char *known = fake_intern(name);
	struct CUfunc_st *function;

	pthread_mutex_lock(&driver.lock);
	for (function = driver.functions; function; function = function->next)
		if (function->name == known && function->module == hmod->number)
			break;
	if (!function) {
		function = calloc(1, sizeof(*function));
		*function = (struct CUfunc_st){driver.functions, known, hmod->number};
		driver.functions = function;
	}
	pthread_mutex_unlock(&driver.lock);
	*hfunc = function;
	return CUDA_SUCCESS;
}

CU_CALL(cuFuncGetName, (const char **name, CUfunction hfunc), (name, hfunc))
{
	*name = hfunc->name;
	return CUDA_SUCCESS;
}

/* ---- streams and events ---- */

static CUresult make_stream(CUstream *made)
{
	CUstream stream = calloc(1, sizeof(*stream));
	CUcontext context = fake_context();

	stream->number = __atomic_add_fetch(&driver.n_streams, 1, __ATOMIC_RELAXED);
	stream->context = context->number;
	stream->device = context->device;
	*made = stream;
	resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, context, stream->number, stream);
	return CUDA_SUCCESS;
}

CU_CALL(cuStreamCreate, (CUstream *phStream, unsigned int Flags), (phStream, Flags))
{
	return make_stream(phStream);
}

CU_CALL(cuStreamCreateWithPriority, (CUstream *phStream, unsigned int flags, int priority),
	(phStream, flags, priority))
{
	return make_stream(phStream);
}

CU_CALL(cuStreamDestroy_v2, (CUstream hStream), (hStream))
{
	resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, fake_context(), hStream->number, hStream);
	free(hStream);
	return CUDA_SUCCESS;
}

static uint64_t busy_of(CUstream stream)
{
	return __atomic_load_n(&fake_stream_of(stream)->busy_until, __ATOMIC_RELAXED);
}

CU_CALL(cuStreamSynchronize, (CUstream hStream), (hStream))
{
	struct CUstream_st *stream = fake_stream_of(hStream);
	struct fake_work sync = {
		.kind = FAKE_SYNC, .sync_kind = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
		.start_ns = fake_now(), .event = CUPTI_SYNCHRONIZATION_INVALID_VALUE,
	};

	if (fake_said())
		return CUDA_SUCCESS;
	fake_wait_until(busy_of(hStream));
	sync.end_ns = fake_now();
	fake_work(&sync, stream, 0);
	return CUDA_SUCCESS;
}

CU_CALL(cuStreamQuery, (CUstream hStream), (hStream))
{
	return busy_of(hStream) > fake_now() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CU_CALL(cuStreamWaitEvent, (CUstream hStream, CUevent hEvent, unsigned int Flags),
	(hStream, hEvent, Flags))
{
	struct CUstream_st *stream = fake_stream_of(hStream);
	struct fake_work sync = {
		.kind = FAKE_SYNC,
		.sync_kind = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
		.event = hEvent->number, .event_correlation = hEvent->correlation,
	};

	if (fake_said())
		return CUDA_SUCCESS;
	if (hEvent->at > __atomic_load_n(&stream->busy_until, __ATOMIC_RELAXED))
		__atomic_store_n(&stream->busy_until, hEvent->at, __ATOMIC_RELAXED);
	sync.start_ns = sync.end_ns = fake_now();
	fake_work(&sync, stream, 0);
	return CUDA_SUCCESS;
}

CU_CALL(cuEventCreate, (CUevent *phEvent, unsigned int Flags), (phEvent, Flags))
{
	*phEvent = calloc(1, sizeof(**phEvent));
	(*phEvent)->number = __atomic_add_fetch(&driver.n_events, 1, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

CU_CALL(cuEventDestroy_v2, (CUevent hEvent), (hEvent))
{
	free(hEvent);
	return CUDA_SUCCESS;
}

CU_CALL(cuEventRecord, (CUevent hEvent, CUstream hStream), (hEvent, hStream))
{
	struct CUstream_st *stream = fake_stream_of(hStream);
	const struct fake_api *api = fake_outermost();
	const struct fake_tool *tool = fake_tool();

	hEvent->correlation = api ? api->correlation : 0;
	hEvent->at = __atomic_load_n(&stream->busy_until, __ATOMIC_RELAXED);
	if (tool && fake_wants(&fake_gpu_driver, CUPTI_ACTIVITY_KIND_CUDA_EVENT))
		tool->event(hEvent->correlation, stream->context, stream->number, hEvent->number);
	return CUDA_SUCCESS;
}

CU_CALL(cuEventSynchronize, (CUevent hEvent), (hEvent))
{
	struct fake_work sync = {
		.kind = FAKE_SYNC, .sync_kind = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
		.start_ns = fake_now(), .context = fake_context()->number,
		.stream = CUPTI_SYNCHRONIZATION_INVALID_VALUE,
		.event = hEvent->number, .event_correlation = hEvent->correlation,
	};

	if (fake_said())
		return CUDA_SUCCESS;
	fake_wait_until(hEvent->at);
	sync.end_ns = fake_now();
	fake_work(&sync, NULL, 0);
	return CUDA_SUCCESS;
}

CU_CALL(cuEventQuery, (CUevent hEvent), (hEvent))
{
	return hEvent->at > fake_now() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

/* ---- finding all these ---- */

CU_CALL(cuGetProcAddress_v2, (const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
			      CUdriverProcAddressQueryResult *symbolStatus),
	(symbol, pfn, cudaVersion, flags, symbolStatus))
{
	static const char *const endings[] = { "", "_v2", "_v3", "_v4" };
	static void *self;
	char name[128];
	Dl_info info;

	if (!self && dladdr((void *)cuGetProcAddress_v2, &info))
		self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	*pfn = NULL;
	for (int i = 3; i >= 0 && !*pfn; i--) {
		snprintf(name, sizeof(name), "%s%s", symbol, endings[i]);
		*pfn = dlsym(self, name);
	}
	if (symbolStatus)
		*symbolStatus = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS :
				       CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CU_CALL(cuGetErrorName, (CUresult error, const char **pStr), (error, pStr))
{
	*pStr = error ? "CUDA_ERROR_OF_THE_FAKE" : "CUDA_SUCCESS";
	return CUDA_SUCCESS;
}

CU_CALL(cuGetErrorString, (CUresult error, const char **pStr), (error, pStr))
{
	*pStr = error ? "an error of the fake" : "no error";
	return CUDA_SUCCESS;
}
