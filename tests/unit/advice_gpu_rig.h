/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_gpu_rig.h - the run of advice_rig.h with a GPU, and what it does in each step
 */
#ifndef TP_TESTS_ADVICE_GPU_RIG_H
#define TP_TESTS_ADVICE_GPU_RIG_H

#include "tests/unit/advice_rig.h"

static uint32_t n_calls;
static struct tp_queue queue = {.stream = 7};
static struct tp_device device = {.name = "a GPU", .major = 8, .n_sms = 108, .warp_threads = 32};

static inline void advice_gpu_init(void)
{
	advice_init();
	n_calls = 0;
	proc->device = &device;
	proc->n_devices = 1;
	device.major = 8;
}

/* A call, and what it makes the device do; ns in each step. */
static inline void add_work(const char *call, uint8_t kind, const char *name, int64_t asked, int64_t begin,
		     int64_t end, const struct tp_string *detail)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add(TP_REC_CALL, call, at + asked, at + asked + MS / 100)->link = ++n_calls;
		event[n_events] = fake_span(&fake, proc, 0, kind, fake_text(&fake, name),
					    at + begin, at + end);
		event[n_events].link = n_calls;
		event[n_events].queue = &queue;
		event[n_events++].detail = detail;
	}
}

static inline void add_kernel(int64_t asked, int64_t begin, int64_t end)
{
	struct tp_launch launch = {.grid = {54, 1, 1}, .block = {1024, 1, 1}};

	add_work("cudaLaunchKernel", TP_REC_KERNEL, "elementwise", asked, begin, end,
		 fake_string(&fake, TP_STRING_LAUNCH, (char *)&launch, sizeof(launch)));
}

#endif
