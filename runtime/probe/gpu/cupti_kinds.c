/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_kinds.c - two tables: kinds of records, and calls that are not worth one
 *
 * Enabling a kind forgets which of its calls were switched off, so that comes after, each time.
 * Kernels carry correlation ids only while calls are recorded: RUNTIME stands first.
 *
 * Of the driver's API only what launches or copies is wanted: the runtime's own calls into the
 * driver are not reported, and those of others (cuBLAS, cuDNN and Triton launch by the driver's API)
 * begin device work. So the kind is on and its other calls are off, one by one (half a microsecond
 * each). To enable those few without the kind is documented, and gives nothing once there is a context
 * (CUPTI 13.0, seen on an H200). CUPTI before 12.5 has calls all or none: there both kinds are on as
 * they are.
 */
#include "runtime/probe/gpu/cupti_kinds.h"

#include <string.h>

#include "runtime/base/text.h"
#include "runtime/engine/probe.h"
#include "runtime/probe/gpu/cupti_lib.h"

enum when {
	ALWAYS,
	DUMPED,			/* what exists already is reported, too */
	IN_LAUNCHES,		/* GRAPH_TRACE: instead of what is in the graph */
};

static const struct {
	CUpti_ActivityKind kind;
	uint32_t record;	/* for any of these words of TRAINPROF_RECORD */
	enum when when;
	const char *name;
} kinds[] = {
	{CUPTI_ACTIVITY_KIND_RUNTIME, TP_RECORD_CUDA, ALWAYS, "runtime calls"},
	{CUPTI_ACTIVITY_KIND_DRIVER, TP_RECORD_CUDA, ALWAYS, "driver calls"},
	{CUPTI_ACTIVITY_KIND_DEVICE, TP_RECORD_CUDA, DUMPED, "devices"},
	{CUPTI_ACTIVITY_KIND_GRAPH_TRACE, TP_RECORD_CUDA, IN_LAUNCHES, "graphs"},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, TP_RECORD_CUDA, ALWAYS, "kernels"},
	{CUPTI_ACTIVITY_KIND_MEMCPY, TP_RECORD_CUDA, ALWAYS, "copies"},
	{CUPTI_ACTIVITY_KIND_MEMCPY2, TP_RECORD_CUDA, ALWAYS, "copies between devices"},
	{CUPTI_ACTIVITY_KIND_MEMSET, TP_RECORD_CUDA, ALWAYS, "sets"},
	/* Says where an event that is waited for was recorded. */
	{CUPTI_ACTIVITY_KIND_CUDA_EVENT, TP_RECORD_CUDA, ALWAYS, "events"},
	{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, TP_RECORD_CUDA, ALWAYS, "synchronisations"},
	{CUPTI_ACTIVITY_KIND_OVERHEAD, TP_RECORD_CUDA, ALWAYS, "overhead"},
	{CUPTI_ACTIVITY_KIND_MEMORY2, TP_RECORD_DEVMEM, ALWAYS, "memory"},
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

#define RUNTIME(call) CUPTI_RUNTIME_TRACE_CBID_##call
#define DRIVER(call) CUPTI_DRIVER_TRACE_CBID_cu##call

/* They ask, often, and neither wait nor begin anything. (Those that a program calls once or twice are
 * heard: the first call of all brings CUDA up, for as long as that takes.) */
static const uint16_t chatty[] = {
	RUNTIME(cudaGetLastError_v3020), RUNTIME(cudaPeekAtLastError_v3020),
	RUNTIME(cudaGetErrorString_v3020), RUNTIME(cudaGetErrorName_v6050),
	RUNTIME(cudaGetFuncBySymbol_v11000),
	RUNTIME(cudaFuncGetAttributes_v3020),
	RUNTIME(cudaSetDevice_v3020), RUNTIME(cudaGetDevice_v3020),
	RUNTIME(cudaStreamQuery_v3020), RUNTIME(cudaStreamQuery_ptsz_v7000),
	RUNTIME(cudaEventCreate_v3020), RUNTIME(cudaEventCreateWithFlags_v3020),
	RUNTIME(cudaEventDestroy_v3020), RUNTIME(cudaEventQuery_v3020),
	RUNTIME(cudaPointerGetAttributes_v4000), RUNTIME(cudaDeviceGetAttribute_v5000),
	RUNTIME(cudaStreamGetPriority_v5050), RUNTIME(cudaStreamGetPriority_ptsz_v7000),
	RUNTIME(cudaStreamGetFlags_v5050), RUNTIME(cudaStreamGetFlags_ptsz_v7000),
	RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor_v6000),
	RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor_v6050),
	RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000),
	RUNTIME(cudaFuncSetAttribute_v9000),
	RUNTIME(cudaStreamIsCapturing_v10000), RUNTIME(cudaStreamIsCapturing_ptsz_v10000),
	RUNTIME(cudaStreamGetCaptureInfo_v10010), RUNTIME(cudaStreamGetCaptureInfo_ptsz_v10010),
	RUNTIME(cudaStreamGetCaptureInfo_v2_v11030),
	RUNTIME(cudaStreamGetCaptureInfo_v2_ptsz_v11030),
	RUNTIME(cudaThreadExchangeStreamCaptureMode_v10010),
};

static const uint16_t launching[] = {
	DRIVER(LaunchKernel), DRIVER(LaunchKernel_ptsz), DRIVER(LaunchKernelEx),
	DRIVER(LaunchKernelEx_ptsz), DRIVER(LaunchCooperativeKernel),
	DRIVER(LaunchCooperativeKernel_ptsz), DRIVER(GraphLaunch), DRIVER(GraphLaunch_ptsz),
	DRIVER(Memcpy), DRIVER(MemcpyAsync), DRIVER(MemcpyAsync_ptsz), DRIVER(MemcpyHtoD_v2),
	DRIVER(MemcpyHtoDAsync_v2), DRIVER(MemcpyHtoDAsync_v2_ptsz), DRIVER(MemcpyDtoH_v2),
	DRIVER(MemcpyDtoHAsync_v2), DRIVER(MemcpyDtoHAsync_v2_ptsz), DRIVER(MemcpyDtoDAsync_v2),
	DRIVER(MemcpyDtoDAsync_v2_ptsz), DRIVER(MemcpyPeerAsync), DRIVER(MemsetD8Async),
	DRIVER(MemsetD8Async_ptsz), DRIVER(MemsetD32Async), DRIVER(MemsetD32Async_ptsz),
};

static struct {
	bool is_on[N_KINDS], is_refused[N_KINDS];
	uint64_t n_errors;	/* atomic */
} state;

bool tp_cupti_is_ok(CUptiResult result)
{
	if (result == CUPTI_SUCCESS)
		return true;
	__atomic_fetch_add(&state.n_errors, 1, __ATOMIC_RELAXED);
	return false;
}

uint64_t tp_cupti_errors(void)
{
	return __atomic_load_n(&state.n_errors, __ATOMIC_RELAXED);
}

void tp_cupti_kinds_forget(void)
{
	memset(state.is_on, 0, sizeof(state.is_on));
	memset(state.is_refused, 0, sizeof(state.is_refused));
}

static bool is_wanted(uint32_t i, const struct tp_config *config)
{
	if (!(config->record & kinds[i].record) || state.is_refused[i])
		return false;
	if (kinds[i].when == IN_LAUNCHES)
		return config->cuda_graphs == TP_CUDA_GRAPHS_LAUNCH;
	return true;
}

static void add_name(struct tp_text *names, const char *name)
{
	tp_text_fmt(names, "%s%s", names->len ? ", " : "", name);
}

static bool is_launching(CUpti_CallbackId call)
{
	for (uint32_t i = 0; i < sizeof(launching) / sizeof(launching[0]); i++)
		if (launching[i] == call)
			return true;
	return false;
}

/* Behind the kinds: see above. */
static void choose_calls(void)
{
	if (tp_cupti.cuptiActivityEnableRuntimeApi)
		for (uint32_t i = 0; i < sizeof(chatty) / sizeof(chatty[0]); i++)
			tp_cupti_is_ok(tp_cupti.cuptiActivityEnableRuntimeApi(chatty[i], 0));
	if (tp_cupti.cuptiActivityEnableDriverApi)
		for (CUpti_CallbackId i = 1; i < CUPTI_DRIVER_TRACE_CBID_SIZE; i++)
			if (!is_launching(i))
				tp_cupti.cuptiActivityEnableDriverApi(i, 0);
}

void tp_cupti_kinds_on(const struct tp_config *config)
{
	char buf[256], why[320];
	struct tp_text refused, text;
	CUptiResult result, first = CUPTI_SUCCESS;
	bool has_any = false;

	tp_text_init(&refused, buf, sizeof(buf));
	for (uint32_t i = 0; i < N_KINDS; i++) {
		if (!is_wanted(i, config))
			continue;
		result = kinds[i].when == DUMPED ?
				 tp_cupti.cuptiActivityEnableAndDump(kinds[i].kind) :
				 tp_cupti.cuptiActivityEnable(kinds[i].kind);
		state.is_on[i] = tp_cupti_is_ok(result);
		has_any |= state.is_on[i];
		if (state.is_on[i])
			continue;
		state.is_refused[i] = true;
		add_name(&refused, kinds[i].name);
		if (first == CUPTI_SUCCESS)
			first = result;
	}
	if (refused.len) {
		tp_text_init(&text, why, sizeof(why));
		tp_text_fmt(&text, "CUPTI refuses %s: %s", buf, tp_cupti_error(first));
		tp_probe_off(has_any ? "cuda.kinds" : "cuda", why);
	}
	if (has_any && config->record & TP_RECORD_CUDA) {
		choose_calls();
		/* Questions to which the answer was "not yet" are many, and are no waiting. */
		if (tp_cupti.cuptiActivityEnableAllSyncRecords)
			tp_cupti_is_ok(tp_cupti.cuptiActivityEnableAllSyncRecords(0));
	}
}

void tp_cupti_kinds_off(void)
{
	for (uint32_t i = 0; i < N_KINDS; i++) {
		if (!state.is_on[i])
			continue;
		tp_cupti_is_ok(tp_cupti.cuptiActivityDisable(kinds[i].kind));
		state.is_on[i] = false;
	}
}
