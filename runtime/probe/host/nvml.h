/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.h - what the driver says of the devices: used memory, utilisation, power, clocks,
 * throttling, as counters in windows; by dlopen of libnvidia-ml.so.1
 *
 * Devices are those that the process sees (CUDA_VISIBLE_DEVICES), by UUID or PCI bus where
 * known; the counter's instance (link) is CUDA's number of the device. Drain thread, every
 * TRAINPROF_HOST_PERIOD.
 *
 *	group   counters (unit)
 *	device  GPU memory used, GPU memory total, GPU memory used by this process (B); the last
 *	        where the driver knows us (in most containers it does not: other process numbers)
 *	GPU     GPU utilization, GPU memory utilization (%: time in which a kernel ran, in which
 *	        memory was read or written), GPU power (W), GPU SM clock, GPU memory clock
 *	        (MHz), GPU temperature (C); throttled by power, by heat, by hardware, by a
 *	        setting (0 or 1)
 */
#ifndef TP_PROBE_NVML_H
#define TP_PROBE_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/probe.h"

extern const struct tp_probe tp_nvml_probe __attribute__((visibility("hidden")));

/* Used and total bytes of a device now, all processes; false: not known. */
bool tp_nvml_memory(uint32_t device, uint64_t *used, uint64_t *total);
/* Part of the time, in percent, in which a kernel ran lately; false: not known. */
bool tp_nvml_busy(uint32_t device, uint32_t *percent);
/* Devices that can be asked: opens what it needs where CUDA is initialised. Takes the loader's lock, so
 * it is for a moment at which the program goes on. */
uint32_t tp_nvml_ready(void);
/* Of it, what this process uses, as the driver says. */
bool tp_nvml_own_memory(uint32_t device, uint64_t *used);

#endif
