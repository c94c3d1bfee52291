/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudart_call.h - how a function of libcudart is defined here, and what it calls in libcuda
 *
 *	RT_CALL(cudaMalloc, v3020, (void **devPtr, size_t size), (devPtr, size)) body
 */
#ifndef FAKE_CUDART_CALL_H
#define FAKE_CUDART_CALL_H

#include "tests/fakes/fake_api.h"

struct fake_cu {	/* libcuda's functions, found as cudart finds them: by dlsym */
#define _(function) __typeof__(&function) function;
#include "tests/fakes/cudart_uses.def"
#undef _
};
extern struct fake_cu fake_cu;

/* Loads libcuda; where there is none, a driver whose every call is error 35. */
const struct fake_driver *fake_cudart_driver(void);
/* This thread has a context. 0, or the driver's error, which is the same number here. */
cudaError_t fake_cudart_ready(void);
CUfunction fake_cudart_function(const void *function);
const char *fake_cudart_symbol(const void *function);

#define RT_CALL(name, version, parameters, arguments)                                         \
	FAKE_CALL(cudaError_t, fake_cudart_driver(), FAKE_RUNTIME_API,                         \
		  CUPTI_RUNTIME_TRACE_CBID_##name##_##version, name, parameters, arguments,    \
		  name##_##version##_params, FAKE_LIST arguments, NULL)
#define RT_LAUNCH(name, version, parameters, arguments, symbol)                               \
	FAKE_CALL(cudaError_t, fake_cudart_driver(), FAKE_RUNTIME_API,                         \
		  CUPTI_RUNTIME_TRACE_CBID_##name##_##version, name, parameters, arguments,    \
		  name##_##version##_params, FAKE_LIST arguments, symbol)
#define RT_CALL0(name, version)                                                               \
	FAKE_CALL(cudaError_t, fake_cudart_driver(), FAKE_RUNTIME_API,                         \
		  CUPTI_RUNTIME_TRACE_CBID_##name##_##version, name, (void), (), uint32_t, 0,  \
		  NULL)

/* Calls libcuda once there is a context; a driver's error is the runtime's of the same number. */
#define FAKE_CU(call) (fake_cudart_ready() ? fake_cudart_ready() : (cudaError_t)fake_cu.call)

#endif
