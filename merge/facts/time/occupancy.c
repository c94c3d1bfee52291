/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occupancy.c - how much of a multiprocessor a kernel can fill
 *
 * Resident blocks are bounded by warps, registers, shared memory and the number of blocks
 * itself; the least bound holds. Registers go to warps in units of 256, a sub-partition of
 * the multiprocessor at a time; shared memory goes to blocks in units of 256 or 128 bytes,
 * with what the driver keeps for itself.
 */
#include "merge/facts/time/occupancy.h"

#include <stdint.h>

enum {
	REGISTER_UNIT = 256,
	SUB_PARTITIONS = 4,
	DRIVER_SHARED = 1024, /* of each block, since compute capability 8.0 */
	USUAL_SHARED = 48 << 10, /* of a block, without its consent to more */
	NO_BOUND = INT32_MAX,
};

/* Resident blocks of a multiprocessor at most; 0: a device that is not known. */
static uint32_t most_blocks(const struct tp_device *device)
{
	switch (device->major) {
	case 5:
	case 6:
	case 9:
		return 32;
	case 7:
		return device->minor == 5 ? 16 : 32;
	case 8:
		return device->minor == 0 ? 32 : device->minor == 9 ? 24 : 16;
	case 10:
		return device->minor == 1 ? 24 : 32;
	case 11:
		return device->minor == 0 ? 24 : 32;
	case 12:
		return 24;
	default:
		return 0;
	}
}

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static uint64_t by_registers(const struct tp_device *device, const struct tp_launch *launch,
			     uint64_t warps)
{
	uint64_t warp = round_up((uint64_t)launch->registers * device->warp_threads, REGISTER_UNIT),
		 partitions = SUB_PARTITIONS;

	if (!warp)
		return NO_BOUND;
	/* The device checks a launch as if all sub-partitions gave the same. */
	if (launch->registers > (device->major < 7 ? 255u : 256u) ||
	    warp * round_up(warps, SUB_PARTITIONS) > device->block_registers)
		return 0;
	if (device->major == 6 && device->minor == 0)
		partitions = 2;
	return device->sm_registers / partitions / warp * partitions / warps;
}

static uint64_t by_shared(const struct tp_device *device, const struct tp_launch *launch)
{
	uint64_t reserved = 0, most = device->block_shared, block;

	/* Over 48 KiB need the kernel's consent, which it has given: it runs. */
	if (device->block_shared_optin > most)
		most = device->block_shared_optin;
	if (device->major >= 8)
		reserved = device->sm_shared > most ? device->sm_shared - most : DRIVER_SHARED;
	if (reserved > DRIVER_SHARED)
		reserved = DRIVER_SHARED;
	block = round_up((uint64_t)launch->shared_static + launch->shared_dynamic + reserved,
			 device->major < 8 ? 256 : 128);
	if (!block)
		return NO_BOUND;
	return block > most + reserved ? 0 : device->sm_shared / block;
}

static void take(struct tp_occupancy *o, uint64_t bound, const char *limit)
{
	if (bound < o->blocks_per_sm) {
		o->blocks_per_sm = (uint32_t)bound;
		o->limit = limit;
	}
}

struct tp_occupancy tp_occupancy(const struct tp_device *device, const struct tp_launch *launch)
{
	struct tp_occupancy o = {.limit = ""};
	uint64_t threads, warps, most_warps;
	double resident;

	if (!device || !device->n_sms)
		return o;
	o.blocks = (double)launch->grid[0] * launch->grid[1] * launch->grid[2] / device->n_sms;
	if (!device->warp_threads)
		return o;
	o.warps = o.blocks * launch->block[0] * launch->block[1] * launch->block[2] /
		  device->warp_threads;
	/* More is no launch of CUDA's, and would not fit the sums below. */
	if (launch->block[0] > 4096 || launch->block[1] > 4096 || launch->block[2] > 4096)
		return o;
	threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
	most_warps = device->sm_threads / device->warp_threads;
	if (!threads || !most_warps || threads > device->block_threads || !most_blocks(device))
		return o;
	warps = (threads + device->warp_threads - 1) / device->warp_threads;
	o.blocks_per_sm = NO_BOUND;
	take(&o, most_warps / warps, "threads");
	take(&o, by_registers(device, launch, warps), "registers");
	take(&o, by_shared(device, launch), "shared memory");
	take(&o, most_blocks(device), "blocks");
	o.theoretical = (double)o.blocks_per_sm * (double)warps / (double)most_warps;
	resident = o.blocks_per_sm;
	if (o.blocks < resident) {
		resident = o.blocks;
		o.limit = "grid";
	}
	o.estimated = resident * (double)threads / device->sm_threads;
	o.is_known = o.blocks_per_sm != 0;
	return o;
}

struct tp_occupancy tp_occupancy_kernel(const struct tp_device *device, const struct tp_event *kernel)
{
	struct tp_launch launch = tp_device_launch(kernel);
	struct tp_launch_estimate said = tp_device_estimate(kernel);
	struct tp_occupancy o = tp_occupancy(device, &launch);
	/* torch.profiler's 0 for such a block means that it did not know the device's consent. */
	bool is_no_figure = !said.occupancy || said.occupancy > 101 ||
			    (said.occupancy == 1 && (uint64_t)launch.shared_static +
							    launch.shared_dynamic > USUAL_SHARED);

	if (o.blocks <= 0 && said.blocks > 0 && said.blocks < 1e12f)
		o.blocks = (double)said.blocks;
	if (o.warps <= 0 && said.warps > 0 && said.warps < 1e12f)
		o.warps = (double)said.warps;
	if (!o.is_known && !is_no_figure) {
		o.is_known = o.is_reported = true;
		o.estimated = (said.occupancy - 1) / 100.0;
	}
	return o;
}

const struct tp_occupancy *tp_occupancy_of(struct tp_occupancies *all, const struct tp_device *device,
					   const struct tp_event *kernel)
{
	struct tp_occupancy_known *known = &all->known[kernel->detail->same & (TP_OCCUPANCIES - 1)];

	/* No device: an empty place is right, too, all of it zero. */
	if (known->device == device && known->same == kernel->detail->same)
		return &known->occupancy;
	*known = (struct tp_occupancy_known){device, kernel->detail->same,
					     tp_occupancy_kernel(device, kernel)};
	return &known->occupancy;
}
