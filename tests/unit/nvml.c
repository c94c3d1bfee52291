/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the devices as counters, from the stand-ins for libcuda and libnvidia-ml. */
#include <criterion/criterion.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/engine/config/config.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/devmem/devmem.h"
#include "runtime/probe/host/nvml.h"
#include "tests/unit/probe_rig.h"

static struct tp_config config = {
	.record = TP_RECORD_HOST | TP_RECORD_DEVMEM, .host_period_ms = 20,
};

static void set_up(void)
{
	setenv("FAKE_GPU_DEVICES", "2", 1);
	rig_open_window("nvml-test");
	cr_assert_eq(tp_nvml_probe.open(&config), 0);
	cr_assert_eq(tp_devmem_probe.open(&config), 0);
}

/* The counter's value on a device; INT64_MIN: was not recorded. Its unit as a check. */
static int64_t value(const char *name, const char *unit, uint32_t device)
{
	for (uint32_t i = 0; i < got.n; i++) {
		const char *bytes;
		uint32_t kind, n;

		if (got.rec[i].kind != TP_REC_COUNTER || got.rec[i].link != device ||
		    !tp_intern_get(NULL, got.rec[i].name, &kind, &bytes, &n) ||
		    strcmp(bytes, name) != 0)
			continue;
		cr_expect_str_eq(bytes + strlen(bytes) + 1, unit);
		return (int64_t)got.rec[i].arg;
	}
	return INT64_MIN;
}

/* Opens a stand-in by its path, so that later it is found by its name. */
static void *load(const char *name)
{
	const char *build = getenv("O");
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/tests/fakes/%s", build ? build : "build", name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		cr_skip_test("no stand-in at '%s' (make fakes)", path);
	return library;
}

static void initialise(void *cuda)
{
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(cuda, "cuInit");

	cr_assert(init);
	cr_assert_eq(init(0), 0);
}

TestSuite(nvml, .init = set_up, .fini = tear_down);

Test(nvml, nothing_is_opened_before_cuda_is_initialised)
{
	uint64_t used, total;

	tp_nvml_probe.tick(1);
	load("libcuda.so.1");
	load("libnvidia-ml.so.1");
	tp_nvml_probe.tick(2);
	cr_expect(!tp_nvml_memory(0, &used, &total));
	collect();
	cr_expect_eq(got.n, 0);
}

Test(nvml, counters_of_every_device_that_cuda_has)
{
	void *cuda = load("libcuda.so.1");

	load("libnvidia-ml.so.1");
	initialise(cuda);
	tp_nvml_probe.tick(5);
	collect();
	for (uint32_t device = 0; device < 2; device++) {
		cr_expect_eq(value("GPU utilization", "%", device), 75);
		cr_expect_eq(value("GPU memory utilization", "%", device), 40);
		cr_expect_eq(value("GPU power", "W", device), 250);
		cr_expect_eq(value("GPU SM clock", "MHz", device), 1410);
		cr_expect_eq(value("GPU memory clock", "MHz", device), 1215);
		cr_expect_eq(value("GPU temperature", "C", device), 60);
		cr_expect_eq(value("throttled by power", "", device), 1);
		cr_expect_eq(value("throttled by heat", "", device), 0);
		cr_expect_eq(value("GPU memory used", "B", device), 512 << 20);
		cr_expect_eq(value("GPU memory used by this process", "B", device), 256 << 20);
	}
	cr_expect(value("GPU memory total", "B", 0) > 1ll << 30);
	cr_expect_eq(value("GPU power", "W", 2), INT64_MIN);
	tp_nvml_probe.tick(6);
	collect();
	cr_expect_eq(got.n, 0, "what did not change is not said again");
}

Test(nvml, what_nobody_told_us_of_has_a_number)
{
	struct tp_devmem_block block = {
		.address = 0x1000, .bytes = 6 << 20, .device = 1, .kind = TP_DEVMEM_DEVICE,
	};
	void *cuda = load("libcuda.so.1");

	load("libnvidia-ml.so.1");
	initialise(cuda);
	tp_devmem_alloc(&block);
	tp_devmem_probe.tick(5);
	collect();
	cr_expect_eq(value("GPU memory known", "B", 1), 6 << 20);
	cr_expect_eq(value("GPU memory unattributed", "B", 1), 250 << 20);
	cr_expect_eq(value("GPU memory unattributed", "B", 0), INT64_MIN);
}

Test(nvml, without_its_driver_it_is_off_and_says_so_once)
{
	void *cuda = load("libcuda.so.1");
	uint64_t used;

	load("libnvidia-ml.so.1");
	setenv("FAKE_NVML", "off", 1);
	initialise(cuda);
	tp_nvml_probe.tick(1);
	tp_nvml_probe.tick(2);
	collect();
	cr_expect_eq(got.n, 0);
	cr_expect(!tp_nvml_own_memory(0, &used));
}

Test(nvml, a_forked_child_asks_nobody)
{
	void *cuda = load("libcuda.so.1");
	uint64_t used, total;

	load("libnvidia-ml.so.1");
	initialise(cuda);
	cr_expect(tp_nvml_memory(0, &used, &total));
	tp_nvml_probe.forked();
	cr_expect(!tp_nvml_memory(0, &used, &total));
	tp_nvml_probe.tick(1);
	collect();
	cr_expect_eq(got.n, 0);
}
