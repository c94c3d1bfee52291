/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml_lib.h - the driver's management library, and which of its devices CUDA calls by which
 * number
 *
 * Opened when CUDA is initialised in this process, never before: a job that leaves the GPUs of
 * its node alone must not pay for them. Drain thread.
 */
#ifndef TP_PROBE_NVML_LIB_H
#define TP_PROBE_NVML_LIB_H

#include <stdbool.h>
#include <stdint.h>

#include <nvml.h>

enum { TP_NVML_DEVICES = 64 };

/* nvml.h gives the names of the newest versions by macros: here are the functions. */
#define TP_NVML_FUNCTIONS                                                                  \
	_(nvmlInit_v2)                                                                     \
	_(nvmlDeviceGetHandleByUUID)                                                       \
	_(nvmlDeviceGetHandleByPciBusId_v2)                                                \
	_(nvmlDeviceGetMemoryInfo)                                                         \
	_(nvmlDeviceGetComputeRunningProcesses_v3)                                         \
	_(nvmlDeviceGetUtilizationRates)                                                   \
	_(nvmlDeviceGetPowerUsage)                                                         \
	_(nvmlDeviceGetClockInfo)                                                          \
	_(nvmlDeviceGetTemperature)                                                        \
	_(nvmlDeviceGetCurrentClocksThrottleReasons)

struct tp_nvml {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define _(function) __typeof__(&function) function;
	TP_NVML_FUNCTIONS
#undef _
#pragma GCC diagnostic pop
	uint32_t n_devices;	/* of CUDA's, 0 .. n - 1 */
	struct {
		nvmlDevice_t handle;
		bool is_known;
	} device[TP_NVML_DEVICES];
};
extern struct tp_nvml tp_nvml __attribute__((visibility("hidden")));

/* True: there are devices to ask. Tries again until CUDA is initialised, then once. */
bool tp_nvml_lib_open(void);
/* In the child of fork: never again. */
void tp_nvml_lib_forked(void);

#endif
