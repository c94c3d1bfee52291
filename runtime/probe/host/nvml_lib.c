/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml_lib.c - the driver's management library, and which of its devices CUDA calls by which
 * number
 *
 * CUDA is asked by functions that need no context, and only the libcuda that is mapped: its
 * count of devices is an error as long as it is not initialised. A device is the same one by
 * UUID, or by PCI bus where the driver does not give that.
 */
#include "runtime/probe/host/nvml_lib.h"

#include <dlfcn.h>
#include <string.h>

#include <cuda.h>

#include "runtime/base/loader.h"
#include "runtime/base/text.h"
#include "runtime/engine/probe.h"

struct tp_nvml tp_nvml;

static struct {
	bool is_over;		/* opened, or not to be had */
	__typeof__(&cuDeviceGetCount) get_count;
	__typeof__(&cuDeviceGet) get;
	CUresult (*get_uuid)(CUuuid *uuid, CUdevice device);
	__typeof__(&cuDeviceGetPCIBusId) get_bus;
} lib;

static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function)
		dlerror();
	return function;
}

static bool find_cuda(void)
{
	char path[512];
	void *cuda;

	if (lib.get_count)
		return true;
	if (!tp_loader_find("libcuda.so", path))
		return false;
	cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	if (!cuda) {
		dlerror();
		return false;
	}
	*(void **)&lib.get = find(cuda, "cuDeviceGet");
	*(void **)&lib.get_uuid = find(cuda, "cuDeviceGetUuid_v2");	/* 11.4: knows of MIG */
	if (!lib.get_uuid)
		*(void **)&lib.get_uuid = find(cuda, "cuDeviceGetUuid");
	*(void **)&lib.get_bus = find(cuda, "cuDeviceGetPCIBusId");
	*(void **)&lib.get_count = find(cuda, "cuDeviceGetCount");
	return lib.get && lib.get_count;
}

static const char *open_nvml(void)
{
	void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	nvmlReturn_t result;

	if (!nvml) {
		dlerror();
		return "libnvidia-ml.so.1 is not there";
	}
#define _(function) *(void **)&tp_nvml.function = find(nvml, #function);
	TP_NVML_FUNCTIONS
#undef _
	if (!tp_nvml.nvmlDeviceGetComputeRunningProcesses_v3)	/* the same structure */
		*(void **)&tp_nvml.nvmlDeviceGetComputeRunningProcesses_v3 =
			find(nvml, "nvmlDeviceGetComputeRunningProcesses_v2");
	if (!tp_nvml.nvmlInit_v2 || !tp_nvml.nvmlDeviceGetMemoryInfo)
		return "libnvidia-ml.so.1 is too old";
	result = tp_nvml.nvmlInit_v2();
	switch (result) {
	case NVML_SUCCESS:
		return NULL;
	case NVML_ERROR_DRIVER_NOT_LOADED:
		return "NVML finds no driver";
	case NVML_ERROR_NO_PERMISSION:
		return "NVML has no permission to talk to the driver";
	default:
		return "NVML does not initialise";
	}
}

static void write_uuid(struct tp_text *text, const char *kind, const CUuuid *uuid)
{
	static const char digit[] = "0123456789abcdef";

	text->len = 0;
	tp_text_str(text, kind);
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			tp_text_char(text, '-');
		tp_text_char(text, digit[(uint8_t)uuid->bytes[i] >> 4]);
		tp_text_char(text, digit[(uint8_t)uuid->bytes[i] & 15]);
	}
}

static bool find_by_uuid(CUdevice device, nvmlDevice_t *handle)
{
	static const char *const kinds[] = { "GPU-", "MIG-" };
	struct tp_text text;
	char name[64];
	CUuuid uuid;

	if (!lib.get_uuid || !tp_nvml.nvmlDeviceGetHandleByUUID ||
	    lib.get_uuid(&uuid, device) != CUDA_SUCCESS)
		return false;
	tp_text_init(&text, name, sizeof(name));
	for (int i = 0; i < 2; i++) {
		write_uuid(&text, kinds[i], &uuid);
		if (tp_nvml.nvmlDeviceGetHandleByUUID(name, handle) == NVML_SUCCESS)
			return true;
	}
	return false;
}

static bool find_by_bus(CUdevice device, nvmlDevice_t *handle)
{
	char bus[32];

	return lib.get_bus && tp_nvml.nvmlDeviceGetHandleByPciBusId_v2 &&
	       lib.get_bus(bus, sizeof(bus), device) == CUDA_SUCCESS &&
	       tp_nvml.nvmlDeviceGetHandleByPciBusId_v2(bus, handle) == NVML_SUCCESS;
}

bool tp_nvml_lib_open(void)
{
	const char *why;
	int n = 0;

	if (lib.is_over)
		return tp_nvml.n_devices != 0;
	if (!find_cuda() || lib.get_count(&n) != CUDA_SUCCESS || n < 1)
		return false;
	lib.is_over = true;
	why = open_nvml();
	if (why) {
		tp_probe_off("nvml", why);
		return false;
	}
	if (n > TP_NVML_DEVICES)
		n = TP_NVML_DEVICES;
	for (int i = 0; i < n; i++) {
		CUdevice device;

		tp_nvml.device[i].is_known =
			lib.get(&device, i) == CUDA_SUCCESS &&
			(find_by_uuid(device, &tp_nvml.device[i].handle) ||
			 find_by_bus(device, &tp_nvml.device[i].handle));
		if (!tp_nvml.device[i].is_known)
			tp_probe_off("nvml", "it does not know a device that CUDA has");
	}
	tp_nvml.n_devices = (uint32_t)n;
	return true;
}

void tp_nvml_lib_forked(void)
{
	lib.is_over = true;
	tp_nvml.n_devices = 0;
}
