/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manners.h - a small client of CUDA and CUPTI, by which real libraries and stand-ins are
 * compared
 *
 * Everything is looked up at run time in the libraries that the loader finds. Each point is
 * asked in a process of its own.
 */
#ifndef TESTS_GPU_MANNERS_H
#define TESTS_GPU_MANNERS_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

/* Name in the library, name of the prototype. */
#define MANNERS_CUDA(_)                                                                            \
	_(cuInit, cuInit)                                                                          \
	_(cuDriverGetVersion, cuDriverGetVersion)                                                  \
	_(cuDeviceGetCount, cuDeviceGetCount)                                                      \
	_(cuDeviceGetName, cuDeviceGetName)                                                        \
	_(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                      \
	_(cuCtxSetCurrent, cuCtxSetCurrent)                                                        \
	_(cuCtxGetCurrent, cuCtxGetCurrent)                                                        \
	_(cuCtxSynchronize, cuCtxSynchronize)                                                      \
	_(cuMemAlloc_v2, cuMemAlloc_v2)                                                            \
	_(cuMemFree_v2, cuMemFree_v2)                                                              \
	_(cuMemsetD8Async, cuMemsetD8Async)                                                        \
	_(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2)                                                        \
	_(cuMemAddressReserve, cuMemAddressReserve)                                                \
	_(cuMemAddressFree, cuMemAddressFree)                                                      \
	_(cuMemCreate, cuMemCreate)                                                                \
	_(cuMemRelease, cuMemRelease)                                                              \
	_(cuMemMap, cuMemMap)                                                                      \
	_(cuMemUnmap, cuMemUnmap)                                                                  \
	_(cuModuleLoadData, cuModuleLoadData)                                                      \
	_(cuModuleGetFunction, cuModuleGetFunction)                                                \
	_(cuLaunchKernel, cuLaunchKernel)

#define MANNERS_CUPTI(_)                                                                           \
	_(cuptiGetVersion, cuptiGetVersion)                                                        \
	_(cuptiGetTimestamp, cuptiGetTimestamp)                                                    \
	_(cuptiSubscribe, cuptiSubscribe)                                                          \
	_(cuptiUnsubscribe, cuptiUnsubscribe)                                                      \
	_(cuptiEnableCallback, cuptiEnableCallback)                                                \
	_(cuptiGetCallbackName, cuptiGetCallbackName)                                              \
	_(cuptiActivityRegisterCallbacks, cuptiActivityRegisterCallbacks)                          \
	_(cuptiActivityEnable, cuptiActivityEnable)                                                \
	_(cuptiActivityDisable, cuptiActivityDisable)                                              \
	_(cuptiActivityEnableDriverApi, cuptiActivityEnableDriverApi)                              \
	_(cuptiFinalize, cuptiFinalize)                                                            \
	_(cuptiActivityFlushAll, cuptiActivityFlushAll)                                            \
	_(cuptiActivityGetNextRecord, cuptiActivityGetNextRecord)                                  \
	_(cuptiActivityGetNumDroppedRecords, cuptiActivityGetNumDroppedRecords)                    \
	_(cuptiSetThreadIdType, cuptiSetThreadIdType)

#define MANNERS_RUNTIME(_)                                                                         \
	_(cudaMalloc, cudaMalloc)                                                                  \
	_(cudaFree, cudaFree)                                                                      \
	_(cudaMemsetAsync, cudaMemsetAsync)                                                        \
	_(cudaDeviceSynchronize, cudaDeviceSynchronize)

struct manners {
#define _(name, type) __typeof__(&type) name;
	MANNERS_CUDA(_)
	MANNERS_CUPTI(_)
	MANNERS_RUNTIME(_)	/* NULL: there is no cudart */
#undef _
	bool has_cupti, has_runtime;
	CUcontext context;
	CUfunction kernel;
};
extern struct manners cu;

/* Records of the buffers that came back so far, as CUPTI made them. */
enum { MANNERS_MOST = 16384 };
struct manners_seen {
	uint32_t n;
	struct {
		uint32_t kind, bytes, correlation, thread, cbid;	/* bytes: to the next one; 0: last */
		uint64_t start, end, address, graph;
		uint32_t operation, stream;
	} record[MANNERS_MOST];
	uint32_t n_asked, n_returned;
	int asked_on, returned_on;	/* kernel's thread ids */
	CUptiResult at_end;		/* of cuptiActivityGetNextRecord */
	bool is_inside;			/* a call was being made when a buffer was asked for */
};
extern struct manners_seen seen;
extern volatile bool manners_in_call;

/* The kinds that a profiler wants. */
enum { MANNERS_USUAL = 5 };
extern const CUpti_ActivityKind manners_usual[MANNERS_USUAL];

/* "" or why there is nothing to ask. */
const char *manners_open(void);
/* The context, and a kernel from a few lines of PTX. False: said on standard error. */
bool manners_device(void);
void manners_launch(void);
void manners_listen(const CUpti_ActivityKind *kinds, uint32_t n);
void manners_flush(bool is_forced);
uint32_t manners_count(uint32_t kind);
/* Index of the first record of that kind, or -1. */
int manners_find(uint32_t kind);

/* One point prints one line; the process ends after it. */
struct manners_point {
	const char *name;
	void (*ask)(void);
};
extern const struct manners_point manners_points[], manners_costs[];

#endif
