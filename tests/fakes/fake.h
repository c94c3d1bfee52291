/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake.h - a GPU that is not there: how a test tells the stand-ins what happens on it
 *
 * `make fakes` builds, under $(O)/tests/fakes, libcuda.so.1, libcudart.so.13, libcupti.so.13 and
 * libnvidia-ml.so.1 with NVIDIA's prototypes, and the CUPTI of other releases in folders:
 * 11.8/libcupti.so.11.8, 12.0/libcupti.so.12, 12.4/, 12.8/, 13.0/libcupti.so.13,
 * future/libcupti.so.13 (records 64 bytes longer than any known). A function that a release
 * lacks is not in its file. So a run with CUPTI 12.4 is
 *
 *	LD_LIBRARY_PATH=$O/tests/fakes/12.4:$O/tests/fakes program
 *
 * The device lives in libcuda.so.1 (fake_gpu_*); libcupti finds it there. A program calls the
 * real API (cudaLaunchKernel, cudaMalloc, ...); with fake_gpu_next it says before a call
 * what device work the call causes and what its records are to say. Without it a launch makes
 * one kernel of 5 us, so that ordinary small CUDA programs run too. Nothing is computed and
 * no data moves: device memory is numbers, host memory (pinned, managed) is real.
 * While nobody listens, device work that was not asked for by fake_gpu_next does not exist.
 *
 * What the stand-ins do as the real ones do (measured on the libraries of the wheels where
 * marked *, else from NVIDIA's documents and bug lists):
 * - cuInit loads CUDA_INJECTION64_PATH and calls InitializeInjection, once.
 * - Without libcuda.so.1, CUPTI's version, time, names and buffer callbacks work, all else says
 *   15 (before 13.0) or 999*. Names of calls are "cudaMalloc_v3020" and "cuMemAlloc_v2"*; an
 *   unknown one: error 1 and NULL*.
 * - Sizes of records by kind and release*. CUPTI 12.0's library says version 18, as that of 11.8
 *   does, but its kernel records have 208 bytes, not 200*. A buffer's end is error 12; an unknown
 *   kind 21, before 12.4 999*.
 * - cuptiActivityEnableRuntimeApi and ...DriverApi come with 12.8's library here, and are not in
 *   12.4's*; cuptiSubscribe_v2 is in 13.0's only*.
 * - Buffers are asked for on the calling thread, in the middle of the call, one a thread
 *   where CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER (not in the headers: 9) is set (13.0:
 *   by default). They come back when full and every record in them is complete,
 *   from CUPTI's own thread, 2 ms late, or by a flush, from there as well* (13.0, on an H200; on
 *   the caller's: FAKE_CUPTI_FLUSH_HERE). FlushAll(0) leaves buffers with unfinished records; forced,
 *   they come with times of 0.
 * - A refused buffer (NULL) drops the record and counts it; before 12.9 the process dies.
 * - The second cuptiActivityRegisterCallbacks replaces the first, also for buffers already out.
 * - Kernel names are CUPTI's: after cuModuleUnload they are overwritten (FAKE_CUPTI_STALE).
 * - Enabling RUNTIME or DRIVER resets the filters of single calls.
 * - A piece of work's record stands before that of the call that caused it* (13.0, on an H200).
 * - Device records carry the id of the outermost traced call, where there is none one of their own*. Once
 *   a program gave an id itself, all others have their highest bit set.
 * - The driver's calls that a recorded one of the runtime's makes have no records* (FAKE_CUPTI_NESTED
 *   gives them some).
 * - A kind that does not exist is error 14 to ask for*, before 13.0 it is 21.
 * - Graph launches make one record (GRAPH_TRACE) or one per node, never both.
 * - In a forked child of a process that used them, CUDA says 3, and CUPTI writes a line and
 *   aborts.
 * What they cannot show: what times mean, real latency of flushes, order inside the driver.
 *
 * Environment, read when the libraries are loaded:
 *	FAKE_CUPTI_VERSION=130001	CUPTI_API_VERSION, hence the record layouts: 18 ... 130001,
 *					999999: the future one; else the file's own
 *	FAKE_CUPTI_FAIL=call:nth:code,...	the nth call (0: each) of that function returns code;
 *					cuptiActivityEnable@10 means for kind 10 only
 *	FAKE_CUPTI_OWNER=name		somebody else is subscribed: error 39, and his name by v2
 *	FAKE_CUPTI_DELIVER=late|now|shuffled	late: as above. now: for benchmarks; device work
 *					is complete at once, full buffers come back at once, on
 *					the thread that filled them. shuffled: late, and buffers,
 *					and the records in each, out of order
 *	FAKE_CUPTI_STALE=n		names also go stale once n flushes began since their
 *					last record was delivered
 *	FAKE_CUPTI_FATAL=n		in the nth call with a record, CUPTI raises FATAL_ERROR and is dead
 *	FAKE_CUPTI_CORRELATION=n	the first correlation id
 *	FAKE_CUPTI_NESTED=1		the driver's calls that the runtime makes are recorded, too
 *	FAKE_CUPTI_FLUSH_HERE=1		a flush gives buffers back on its own thread
 *	FAKE_CUPTI_LOG=file		one line a call: "cuptiActivityEnable 10 -> 0 tid 123"
 *	FAKE_GPU_DEVICES=n		devices (1)
 *	FAKE_GPU_LAG_US=n		work begins so long after its call (0), as when much is queued
 *	FAKE_CUDA_DRIVER=13000		cuDriverGetVersion; read at each call
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
	uint32_t correlation;		/* 0: that of the call */
	uint32_t thread;		/* overhead */
	uint64_t queued_ns, submitted_ns;	/* kernels */
};

struct fake_call {
	uint32_t correlation;		/* 0: the next number */
	uint64_t start_ns, end_ns;	/* what its API record says; 0: as it is */
	const struct fake_work *work;
	uint32_t n_work;
	uint64_t address;		/* allocations: what they return; 0: the next free */
	int32_t returned;		/* not 0: the call fails with that */
	uint32_t event, stream;		/* fake_gpu_begin: that event was recorded there; 0: none */
};
/* What the next call of cuda* or cu* on this thread is to look like. Copied. */
void fake_gpu_next(const struct fake_call *call);
/*
 * A call of the API by its name ("cudaEventRecordWithFlags", "cuKernelGetAttribute"), with its
 * own cbid and no parameters, as long as the program likes; other calls may be made inside.
 * domain: 1 driver, 2 runtime. call: what fake_gpu_next would say, or NULL. -1: CUPTI knows no
 * such name; it is a call of cbid 0, "INVALID", as such calls are in real traces.
 */
int fake_gpu_begin(uint32_t domain, const char *name, const struct fake_call *call);
void fake_gpu_end(void);
/* Both at once. */
int fake_gpu_call(uint32_t domain, const char *name);
/* Records without a call. */
void fake_gpu_work(const struct fake_work *work);
/* Properties of a device, before cuInit; keys as in the replay file's `device` line. */
void fake_gpu_device(uint32_t id, const char *key, const char *value);
/* Every name of a kernel given so far goes stale now, as when modules are unloaded. */
void fake_gpu_unload(void);
/* CUPTI dies: CUPTI_CBID_STATE_FATAL_ERROR, and an error from each call after. */
void fake_gpu_fatal(void);
/* Waits until all work has been executed, and the buffers that are full have come back. What
 * lies in buffers that are not full stays there until somebody flushes, as on a real one. */
void fake_gpu_finish(void);

#endif
