/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.c - the stand-in for libnvidia-ml: the devices of the stand-in for libcuda, where this
 * process has that; figures that tests can know
 *
 * Used memory is 512 MiB (context, other processes), of them 256 this process's, and what it
 * allocated. Utilisation 75 and 40 %, 250 W, 1410 and 1215 MHz, 60 C, throttled by
 * power.
 */
#include <nvml.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fakes/fake_api.h"

#define MIB (1024ull * 1024)

static const struct fake_driver *driver;
static bool is_up;

static uint32_t count(void)
{
	return driver ? driver->n_devices() : 1;
}

/* A handle is its index and one. */
static uint32_t index_of(nvmlDevice_t device)
{
	return (uint32_t)(uintptr_t)device - 1;
}

static nvmlReturn_t check(nvmlDevice_t device)
{
	if (!is_up)
		return NVML_ERROR_UNINITIALIZED;
	return index_of(device) < count() ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

FAKE_EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	const char *set = getenv("FAKE_NVML");
	void *lib;

	if (set && !strcmp(set, "off"))
		return NVML_ERROR_DRIVER_NOT_LOADED;
	lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	driver = lib ? dlsym(lib, FAKE_DRIVER_SYMBOL) : NULL;
	is_up = true;
	return NVML_SUCCESS;
}

FAKE_EXPORT nvmlReturn_t nvmlInit_v2(void)
{
	return nvmlInitWithFlags(0);
}

FAKE_EXPORT nvmlReturn_t nvmlShutdown(void)
{
	is_up = false;
	return NVML_SUCCESS;
}

FAKE_EXPORT const char *nvmlErrorString(nvmlReturn_t result)
{
	return result == NVML_SUCCESS ? "Success" : result == NVML_ERROR_DRIVER_NOT_LOADED ?
	       "Driver Not Loaded" : "Unknown Error";
}

FAKE_EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	snprintf(version, length, "580.65.06");
	return is_up ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *n)
{
	*n = count();
	return is_up ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

/* ---- which device ---- */

static void read_uuid(uint32_t device, char *text, size_t length)
{
	char bytes[17] = "fake-gpu-uuid-00";
	size_t at;

	bytes[15] = (char)('0' + device);
	at = (size_t)snprintf(text, length, "GPU");
	for (int i = 0; i < 16 && at < length; i++)
		at += (size_t)snprintf(text + at, length - at, "%s%02x",
				       i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				       (unsigned char)bytes[i]);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	*device = (nvmlDevice_t)(uintptr_t)(index + 1);
	return check(*device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	char known[64];

	for (uint32_t i = 0; i < count(); i++) {
		read_uuid(i, known, sizeof(known));
		if (!strcmp(known, uuid))
			return nvmlDeviceGetHandleByIndex_v2(i, device);
	}
	return NVML_ERROR_NOT_FOUND;
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *device)
{
	unsigned int domain, number;

	if (sscanf(bus, "%x:%x:", &domain, &number) != 2 || number < 0x10 ||
	    number - 0x10 >= count())
		return NVML_ERROR_NOT_FOUND;
	return nvmlDeviceGetHandleByIndex_v2(number - 0x10, device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	*index = index_of(device);
	return check(device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	read_uuid(index_of(device), uuid, length);
	return check(device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	snprintf(name, length, "%s",
		 driver ? driver->device_value(index_of(device), "name") : "NVIDIA A100-SXM4-40GB");
	return check(device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	memset(pci, 0, sizeof(*pci));
	pci->bus = 0x10 + index_of(device);
	snprintf(pci->busId, sizeof(pci->busId), "00000000:%02X:00.0", pci->bus);
	snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "0000:%02X:00.0", pci->bus);
	return check(device);
}

/* ---- what it does ---- */

static uint64_t used(nvmlDevice_t device)
{
	return driver ? driver->used_bytes(index_of(device)) : 0;
}

static uint64_t total(nvmlDevice_t device)
{
	return driver ? strtoull(driver->device_value(index_of(device), "mem"), NULL, 10) :
			42505273344u;
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	memory->total = total(device);
	memory->used = used(device) + 512 * MIB;
	memory->free = memory->total - memory->used;
	return check(device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	memory->total = total(device);
	memory->reserved = 0;
	memory->used = used(device) + 512 * MIB;
	memory->free = memory->total - memory->used;
	return check(device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device,
								 unsigned int *n,
								 nvmlProcessInfo_t *processes)
{
	unsigned int room = *n;

	*n = 1;
	if (room < 1)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memset(processes, 0, sizeof(*processes));
	processes->pid = (unsigned int)getpid();
	processes->usedGpuMemory = used(device) + 256 * MIB;
	return check(device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
	rates->gpu = 75;
	rates->memory = 40;
	return check(device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts)
{
	*milliwatts = 250000;
	return check(device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
						unsigned int *mhz)
{
	*mhz = type == NVML_CLOCK_MEM ? 1215 : 1410;
	return check(device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
						  unsigned int *degrees)
{
	*degrees = 60;
	return check(device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
								unsigned long long *reasons)
{
	*reasons = nvmlClocksEventReasonSwPowerCap;
	return check(device);
}

FAKE_EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
								   unsigned long long *reasons)
{
	return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}
