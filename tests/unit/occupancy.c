/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occupancy.c - tests: against NVIDIA's own calculator, and figures computed by hand
 */
#include "merge/facts/time/occupancy.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

/* Limits of CUDA's programming guide; 1 KiB of sm_shared is the driver's since 8.0. */
static const struct tp_device devices[] = {
	{.major = 6, .minor = 0, .n_sms = 56, .sm_threads = 2048, .sm_shared = 65536,
	 .block_shared_optin = 49152},
	{.major = 6, .minor = 1, .n_sms = 28, .sm_threads = 2048, .sm_shared = 98304,
	 .block_shared_optin = 49152},
	{.major = 7, .minor = 0, .n_sms = 80, .sm_threads = 2048, .sm_shared = 98304,
	 .block_shared_optin = 98304},
	{.major = 7, .minor = 5, .n_sms = 40, .sm_threads = 1024, .sm_shared = 65536,
	 .block_shared_optin = 65536},
	{.major = 8, .minor = 0, .n_sms = 108, .sm_threads = 2048, .sm_shared = 167936,
	 .block_shared_optin = 166912},
	{.major = 8, .minor = 6, .n_sms = 82, .sm_threads = 1536, .sm_shared = 102400,
	 .block_shared_optin = 101376},
	{.major = 8, .minor = 9, .n_sms = 128, .sm_threads = 1536, .sm_shared = 102400,
	 .block_shared_optin = 101376},
	{.major = 9, .minor = 0, .n_sms = 132, .sm_threads = 2048, .sm_shared = 233472,
	 .block_shared_optin = 232448},
	{.major = 10, .minor = 0, .n_sms = 148, .sm_threads = 2048, .sm_shared = 233472,
	 .block_shared_optin = 232448},
	{.major = 12, .minor = 0, .n_sms = 170, .sm_threads = 1536, .sm_shared = 102400,
	 .block_shared_optin = 101376},
};
enum { N_DEVICES = sizeof(devices) / sizeof(devices[0]) };

static struct tp_device whole(struct tp_device device)
{
	device.warp_threads = 32;
	device.sm_registers = device.block_registers = 65536;
	device.block_threads = 1024;
	device.block_shared = 49152;
	return device;
}

static const struct tp_device *find(uint32_t major, uint32_t minor)
{
	static struct tp_device device;

	for (size_t i = 0; i < N_DEVICES; i++)
		if (devices[i].major == major && devices[i].minor == minor)
			device = whole(devices[i]);
	return &device;
}

/* Resident blocks by NVIDIA's header; -1: it refuses. */
static int by_nvidia(const struct tp_device *device, const struct tp_launch *launch, int threads)
{
	cudaOccDeviceProp prop = {
		.computeMajor = (int)device->major,
		.computeMinor = (int)device->minor,
		.maxThreadsPerBlock = (int)device->block_threads,
		.maxThreadsPerMultiprocessor = (int)device->sm_threads,
		.regsPerBlock = (int)device->block_registers,
		.regsPerMultiprocessor = (int)device->sm_registers,
		.warpSize = (int)device->warp_threads,
		.sharedMemPerBlock = device->block_shared,
		.sharedMemPerMultiprocessor = device->sm_shared,
		.numSms = (int)device->n_sms,
		.sharedMemPerBlockOptin = device->block_shared_optin,
		.reservedSharedMemPerBlock = device->major >= 8 ? 1024 : 0,
	};
	cudaOccFuncAttributes attributes = {
		.maxThreadsPerBlock = INT_MAX,
		.numRegs = (int)launch->registers,
		.sharedSizeBytes = launch->shared_static,
		.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
		.maxDynamicSharedSizeBytes = launch->shared_dynamic,
	};
	cudaOccDeviceState state = {.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
	cudaOccResult result;

	if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &prop, &attributes, &state, threads,
						    launch->shared_dynamic) != CUDA_OCC_SUCCESS)
		return -1;
	return result.activeBlocksPerMultiprocessor;
}

Test(occupancy, agrees_with_nvidias_calculator)
{
	unsigned seed = 4;
	uint32_t n = 0, n_none = 0, n_shared = 0;

	for (uint32_t i = 0; i < 400000; i++) {
		struct tp_device device = whole(devices[i % N_DEVICES]);
		struct tp_launch launch = {
			.grid = {1u + (uint32_t)rand_r(&seed) % 4000, 1, 1},
			.block = {1u + (uint32_t)rand_r(&seed) % 1050, 1, 1},
			.registers = (uint32_t)rand_r(&seed) % 260,
		};
		struct tp_occupancy o;
		int truth;

		if (rand_r(&seed) % 2)
			launch.block[0] = 32u << rand_r(&seed) % 6;
		if (rand_r(&seed) % 4 == 0)
			launch.registers /= 8;
		if (rand_r(&seed) % 2)
			launch.shared_static = (uint32_t)rand_r(&seed) % 50000;
		if (rand_r(&seed) % 2)
			launch.shared_dynamic = (uint32_t)rand_r(&seed) % 240000;
		if (rand_r(&seed) % 2)
			launch.shared_dynamic /= 16;
		truth = by_nvidia(&device, &launch, (int)launch.block[0]);
		o = tp_occupancy(&device, &launch);
		cr_assert_eq((int)o.blocks_per_sm, truth,
			     "%u.%u: %u threads, %u registers, %u + %u shared: %u, NVIDIA %d",
			     device.major, device.minor, launch.block[0], launch.registers,
			     launch.shared_static, launch.shared_dynamic, o.blocks_per_sm, truth);
		n++;
		n_none += !truth;
		n_shared += !strcmp(o.limit, "shared memory");
	}
	/* The draw is worth something: many run, many do not, shared memory often decides. */
	cr_expect(n_none > n / 20 && n_none < n * 3 / 4, "%u of %u", n_none, n);
	cr_expect(n_shared > n / 20, "%u", n_shared);
}

Test(occupancy, is_the_hand_computed_one)
{
	/* A100: 108 multiprocessors, 2048 threads, 65536 registers. */
	struct tp_launch launch = {.grid = {54, 4, 1}, .block = {256, 1, 1}, .registers = 64};
	struct tp_occupancy o = tp_occupancy(find(8, 0), &launch);

	/* 64 * 32 = 2048 registers a warp; 32 warps = 4 blocks of 8. 2 blocks each by the grid. */
	cr_expect_eq(o.blocks_per_sm, 4);
	cr_expect_float_eq(o.theoretical, 0.5, 1e-9);
	cr_expect_float_eq(o.blocks, 2, 1e-9);
	cr_expect_float_eq(o.warps, 16, 1e-9);
	cr_expect_float_eq(o.estimated, 2 * 256 / 2048., 1e-9);
	cr_expect_str_eq(o.limit, "grid");

	launch.grid[0] = 5400;
	o = tp_occupancy(find(8, 0), &launch);
	cr_expect_float_eq(o.estimated, 0.5, 1e-9);
	cr_expect_str_eq(o.limit, "registers");

	/* Warps are whole: 33 threads take two. Estimated counts threads, as torch's does. */
	launch = (struct tp_launch){.grid = {10800, 1, 1}, .block = {33, 1, 1}, .registers = 16};
	o = tp_occupancy(find(8, 0), &launch);
	cr_expect_eq(o.blocks_per_sm, 32);
	cr_expect_str_eq(o.limit, "threads");
	cr_expect_float_eq(o.theoretical, 1, 1e-9);
	cr_expect_float_eq(o.estimated, 32 * 33 / 2048., 1e-9);
	cr_expect_float_eq(o.warps, 100 * 33 / 32., 1e-9);

	launch.block[0] = 32;
	o = tp_occupancy(find(8, 0), &launch);
	cr_expect_str_eq(o.limit, "blocks");
	cr_expect_float_eq(o.theoretical, 0.5, 1e-9);
}

/* 1 KiB a block is the driver's; torch.profiler itself says 0 here. */
Test(occupancy, knows_blocks_of_more_than_48_kib)
{
	struct tp_launch launch = {.grid = {1320, 1, 1}, .block = {128, 1, 1}, .registers = 168,
				   .shared_static = 1024, .shared_dynamic = 98304};
	struct tp_occupancy o = tp_occupancy(find(9, 0), &launch);

	cr_expect_eq(o.blocks_per_sm, 2);
	cr_expect_str_eq(o.limit, "shared memory");
	cr_expect_float_eq(o.estimated, 2 * 128 / 2048., 1e-9);
	launch.shared_dynamic = 232448;
	cr_expect_eq(tp_occupancy(find(9, 0), &launch).blocks_per_sm, 0);
	launch.shared_static = 0;
	cr_expect_eq(tp_occupancy(find(9, 0), &launch).blocks_per_sm, 1);
}

Test(occupancy, is_nothing_where_nothing_is_known)
{
	struct tp_launch launch = {.grid = {10, 1, 1}, .block = {128, 1, 1}, .registers = 16};
	struct tp_device device = whole(devices[2]);

	cr_expect_eq(tp_occupancy(NULL, &launch).blocks_per_sm, 0);
	cr_expect_eq(tp_occupancy(&(struct tp_device){.id = 1}, &launch).blocks, 0);
	/* A device newer than the rules: what only counts is still known. */
	device.major = 77;
	cr_expect_eq(tp_occupancy(&device, &launch).estimated, 0);
	cr_expect_float_eq(tp_occupancy(&device, &launch).blocks, 10 / 80., 1e-9);
	cr_expect_str_eq(tp_occupancy(&device, &launch).limit, "");
}

/* Whatever a file says: no division by zero, no figure that is none. */
Test(occupancy, bears_any_numbers)
{
	unsigned seed = 9;

	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t raw[28];
		struct tp_device device = whole(devices[i % N_DEVICES]);
		struct tp_launch launch;
		struct tp_occupancy o;

		for (size_t k = 0; k < 28; k++)
			raw[k] = rand_r(&seed) % 3 ? (uint32_t)rand_r(&seed) % 64
						   : (uint32_t)rand_r(&seed) * 2654435761u;
		memcpy(&launch, raw, sizeof(launch));
		if (rand_r(&seed) % 2) {
			device.warp_threads = raw[20];
			device.sm_threads = raw[21];
			device.sm_registers = raw[22];
			device.block_registers = raw[23];
			device.block_threads = raw[24];
			device.sm_shared = raw[25];
			device.block_shared_optin = raw[26];
			device.n_sms = raw[27];
		}
		o = tp_occupancy(&device, &launch);
		cr_assert(isfinite(o.blocks) && isfinite(o.warps) && isfinite(o.estimated));
		cr_assert(o.theoretical >= 0 && o.theoretical <= 1, "%g", o.theoretical);
		cr_assert_not_null(o.limit);
	}
}
