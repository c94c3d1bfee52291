/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_call.h - how a function of libcuda is defined here: CU_CALL(name, parameters, arguments) body
 */
#ifndef FAKE_CUDA_CALL_H
#define FAKE_CUDA_CALL_H

#include "tests/fakes/fake_api.h"

#define CU_CALL(name, parameters, arguments)                                                  \
	FAKE_CALL(CUresult, &fake_gpu_driver, FAKE_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, name, \
		  parameters, arguments, name##_params, FAKE_LIST arguments, NULL)
/* `symbol`: of `parameters`, the kernel's name. */
#define CU_LAUNCH(name, parameters, arguments, symbol)                                        \
	FAKE_CALL(CUresult, &fake_gpu_driver, FAKE_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, name, \
		  parameters, arguments, name##_params, FAKE_LIST arguments, symbol)
/* Without parameters there is no structure. */
#define CU_CALL0(name)                                                                        \
	FAKE_CALL(CUresult, &fake_gpu_driver, FAKE_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, name, \
		  (void), (), uint32_t, 0, NULL)

#endif
