/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.c - what the driver says of the devices, as counters
 */
#include "runtime/probe/host/nvml.h"

#include <string.h>
#include <unistd.h>

#include "runtime/engine/config/config.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/host/nvml_lib.h"
#include "runtime/probe/host/host_counter.h"
#include "runtime/trace/counter_names.h"

enum value {
	USED, TOTAL, OWN,
	GPU_BUSY, MEMORY_BUSY, POWER, SM_CLOCK, MEMORY_CLOCK, TEMPERATURE,
	BY_POWER, BY_HEAT, BY_HARDWARE, BY_SETTING,
	N_VALUES
};

static const struct {
	const char *name, *unit, *group;
} value_text[N_VALUES] = {
	[USED] = { TP_COUNTER_DEVICE_USED, "B", "device" },
	[TOTAL] = { TP_COUNTER_DEVICE_TOTAL, "B", "device" },
	[OWN] = { TP_COUNTER_DEVICE_OWN, "B", "device" },
	[GPU_BUSY] = { "GPU utilization", "%", "GPU" },
	[MEMORY_BUSY] = { "GPU memory utilization", "%", "GPU" },
	[POWER] = { "GPU power", "W", "GPU" },
	[SM_CLOCK] = { TP_COUNTER_SM_CLOCK, "MHz", "GPU" },
	[MEMORY_CLOCK] = { "GPU memory clock", "MHz", "GPU" },
	[TEMPERATURE] = { "GPU temperature", "C", "GPU" },
	[BY_POWER] = { TP_COUNTER_THROTTLED_POWER, "", "GPU" },
	[BY_HEAT] = { TP_COUNTER_THROTTLED_HEAT, "", "GPU" },
	[BY_HARDWARE] = { TP_COUNTER_THROTTLED_HARDWARE, "", "GPU" },
	[BY_SETTING] = { TP_COUNTER_THROTTLED_SETTING, "", "GPU" },
};

/* Which of the driver's reasons each of ours is. Idle is none. */
static const unsigned long long reasons[] = {
	[BY_POWER - BY_POWER] = nvmlClocksEventReasonSwPowerCap |
				nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
	[BY_HEAT - BY_POWER] = nvmlClocksEventReasonSwThermalSlowdown |
			       nvmlClocksThrottleReasonHwThermalSlowdown,
	[BY_HARDWARE - BY_POWER] = nvmlClocksThrottleReasonHwSlowdown,
	[BY_SETTING - BY_POWER] = nvmlClocksEventReasonApplicationsClocksSetting |
				  nvmlClocksEventReasonSyncBoost |
				  nvmlClocksEventReasonDisplayClockSetting,
};

static struct {
	bool has_memory, has_rest;	/* wanted: with device memory; with the host's counters */
	uint32_t period_ms;
	uint32_t generation;		/* of the ring that the names were interned in */
	uint64_t now;
	struct tp_host_counter counter[TP_NVML_DEVICES][N_VALUES];
} nvml;

static void record(uint32_t device, enum value which, int64_t value)
{
	struct tp_host_counter *counter = &nvml.counter[device][which];

	if (!counter->name)
		counter->name = tp_host_counter_name("", value_text[which].name,
						     value_text[which].unit,
						     value_text[which].group);
	tp_host_counter_record(counter, nvml.now, device, value);
}

static bool has_device(uint32_t device)
{
	return tp_nvml_lib_open() && device < tp_nvml.n_devices && tp_nvml.device[device].is_known;
}

bool tp_nvml_memory(uint32_t device, uint64_t *used, uint64_t *total)
{
	nvmlMemory_t memory;

	if (!has_device(device) ||
	    tp_nvml.nvmlDeviceGetMemoryInfo(tp_nvml.device[device].handle, &memory) != NVML_SUCCESS)
		return false;
	*used = memory.used;
	*total = memory.total;
	return true;
}

bool tp_nvml_own_memory(uint32_t device, uint64_t *used)
{
	static nvmlProcessInfo_t process[256];
	unsigned n = sizeof(process) / sizeof(process[0]);
	unsigned self = (unsigned)getpid();

	if (!has_device(device) || !tp_nvml.nvmlDeviceGetComputeRunningProcesses_v3 ||
	    tp_nvml.nvmlDeviceGetComputeRunningProcesses_v3(tp_nvml.device[device].handle, &n,
							    process) != NVML_SUCCESS)
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (process[i].pid != self)
			continue;
		*used = process[i].usedGpuMemory;
		return *used != (uint64_t)NVML_VALUE_NOT_AVAILABLE;
	}
	return false;
}

uint32_t tp_nvml_ready(void)
{
	return tp_nvml_lib_open() ? tp_nvml.n_devices : 0;
}

bool tp_nvml_busy(uint32_t device, uint32_t *percent)
{
	nvmlUtilization_t busy;

	if (device >= tp_nvml.n_devices || !tp_nvml.device[device].is_known ||
	    !tp_nvml.nvmlDeviceGetUtilizationRates ||
	    tp_nvml.nvmlDeviceGetUtilizationRates(tp_nvml.device[device].handle, &busy) != NVML_SUCCESS)
		return false;
	*percent = busy.gpu;
	return true;
}

static void sample_memory(uint32_t device)
{
	uint64_t used, total;

	if (tp_nvml_memory(device, &used, &total)) {
		record(device, USED, (int64_t)used);
		record(device, TOTAL, (int64_t)total);
	}
	if (tp_nvml_own_memory(device, &used))
		record(device, OWN, (int64_t)used);
}

static void sample_clock(uint32_t device, nvmlClockType_t clock, enum value which)
{
	unsigned mhz;

	if (tp_nvml.nvmlDeviceGetClockInfo &&
	    tp_nvml.nvmlDeviceGetClockInfo(tp_nvml.device[device].handle, clock, &mhz) ==
		    NVML_SUCCESS)
		record(device, which, mhz);
}

/* What a device does not have it refuses each time, at the cost of a call. */
static void sample_rest(uint32_t device)
{
	nvmlDevice_t handle = tp_nvml.device[device].handle;
	nvmlUtilization_t busy;
	unsigned long long why;
	unsigned value;

	if (tp_nvml.nvmlDeviceGetUtilizationRates &&
	    tp_nvml.nvmlDeviceGetUtilizationRates(handle, &busy) == NVML_SUCCESS) {
		record(device, GPU_BUSY, busy.gpu);
		record(device, MEMORY_BUSY, busy.memory);
	}
	if (tp_nvml.nvmlDeviceGetPowerUsage &&
	    tp_nvml.nvmlDeviceGetPowerUsage(handle, &value) == NVML_SUCCESS)
		record(device, POWER, (value + 500) / 1000);
	sample_clock(device, NVML_CLOCK_SM, SM_CLOCK);
	sample_clock(device, NVML_CLOCK_MEM, MEMORY_CLOCK);
	if (tp_nvml.nvmlDeviceGetTemperature &&
	    tp_nvml.nvmlDeviceGetTemperature(handle, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
		record(device, TEMPERATURE, value);
	if (tp_nvml.nvmlDeviceGetCurrentClocksThrottleReasons &&
	    tp_nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle, &why) == NVML_SUCCESS)
		for (int i = BY_POWER; i <= BY_SETTING; i++)
			record(device, (enum value)i, (why & reasons[i - BY_POWER]) != 0);
}

static void sample(uint64_t now)
{
	/* The devices are the same for all: a worker's rank looks at them. */
	if (!tp_ring.head || tp_session_is_follower() || !tp_nvml_lib_open())
		return;
	if (nvml.generation != tp_ring.generation) {
		memset(nvml.counter, 0, sizeof(nvml.counter));
		nvml.generation = tp_ring.generation;
	}
	nvml.now = now;
	for (uint32_t device = 0; device < tp_nvml.n_devices; device++) {
		if (!tp_nvml.device[device].is_known)
			continue;
		if (nvml.has_memory)
			sample_memory(device);
		if (nvml.has_rest)
			sample_rest(device);
	}
}

/* ---- the probe ---- */

static int open_nvml(const struct tp_config *config)
{
	nvml.has_rest = config->record & TP_RECORD_HOST;
	nvml.has_memory = config->record & (TP_RECORD_HOST | TP_RECORD_DEVMEM);
	nvml.period_ms = (uint32_t)config->host_period_ms;
	return 0;
}

static uint32_t get_period_ms(void)
{
	return nvml.has_memory ? nvml.period_ms : 0;
}

const struct tp_probe tp_nvml_probe = {
	.name = "nvml",
	.open = open_nvml,
	.period_ms = get_period_ms,
	.tick = sample,
	.forked = tp_nvml_lib_forked,
};
