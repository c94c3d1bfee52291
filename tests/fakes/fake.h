/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake.h - a GPU that is not there: how a test tells the stand-ins what happens on it
 *
 * tests/fakes builds libcuda.so.1, libcudart.so.13, libcupti.so.13 and libnvidia-ml.so.1 with
 * NVIDIA's prototypes. The device lives in libcuda.so.1 (fake_gpu_*); libcupti finds it there.
 * A program calls the real API (cudaLaunchKernel, cudaMalloc, ...); with fake_gpu_next it says
 * before a call what device work the call causes and what its records are to say. Without it a
 * launch makes one kernel of some microseconds, so that ordinary small CUDA programs run too.
 *
 * Environment, read when the libraries are loaded:
 *	FAKE_CUPTI_VERSION=130000	CUPTI_API_VERSION, hence the record layouts: 18 ... 130000,
 *					999999: a future one whose records are 64 bytes longer
 *	FAKE_CUPTI_FAIL=call:nth:code,...	the nth call (0: each) of that function returns code;
 *					cuptiActivityEnable@10 means for kind 10 only
 *	FAKE_CUPTI_OWNER=name		somebody else is subscribed: error 39, and his name by v2
 *	FAKE_CUPTI_DELIVER=late|now|shuffled	when and in which order buffers come back (late)
 *	FAKE_CUPTI_LOG=file		one line a call: "cuptiActivityEnable 10 -> 0 tid 123"
 *	FAKE_GPU_DEVICES=n		devices (1)
 *	FAKE_CUDA_FAIL=call:nth:code,...	the same for cuda* and cu*
 *	FAKE_NVML=off			libnvidia-ml fails to initialise
 */
#ifndef FAKE_H
#define FAKE_H

#include <stdint.h>

/* One piece of device work of the next call on this thread, or a record not tied to a call. */
enum fake_kind { FAKE_KERNEL, FAKE_MEMCPY, FAKE_MEMSET, FAKE_SYNC, FAKE_GRAPH, FAKE_OVERHEAD };
struct fake_work {
	enum fake_kind kind;
	uint64_t start_ns, end_ns;	/* CLOCK_REALTIME; 0, 0: now, for 5 us */
	uint32_t device, context, stream;
	const char *name;		/* kernels; copied */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t registers, shared_static, shared_dynamic, local_per_thread;
	uint32_t graph;
	uint64_t graph_node;
	uint64_t bytes;
	uint8_t copy_kind, from_kind, to_kind, is_async;	/* CUPTI's numbers */
	uint32_t from_device, to_device, value;
	uint32_t sync_kind, event, event_correlation, wait_stream;
	uint32_t overhead_kind;
	uint32_t has_no_time;		/* start and end are delivered as 0 */
};

struct fake_call {
	uint32_t correlation;		/* 0: the next number */
	uint64_t start_ns, end_ns;	/* what its API record says; 0: as it is */
	const struct fake_work *work;
	uint32_t n_work;
};
/* What the next call of cuda* or cu* on this thread is to look like. */
void fake_gpu_next(const struct fake_call *call);
/* Records without a call. */
void fake_gpu_work(const struct fake_work *work);
/* Properties of a device, before cuInit; keys as in the replay file's `device` line. */
void fake_gpu_device(uint32_t id, const char *key, const char *value);
/* Everything is executed and delivered to whoever listens. */
void fake_gpu_finish(void);

#endif
