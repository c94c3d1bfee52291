/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manners_points.c - the points in which the stand-ins of tests/fakes claim to be like the real
 * libraries, and those that only a device can answer
 *
 * Answers hold no times, addresses or ids, so that those of two libraries can be compared as
 * text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/gpu/manners.h"

enum { N_FILL = 6000 };

static bool begin(void)
{
	manners_listen(manners_usual, MANNERS_USUAL);
	return manners_device();
}

/* ---- entry ---- */

/* The injected library (injected.c) writes what it saw to the file that MANNERS_SEEN names. */
static void injection(void)
{
	const char *path = getenv("MANNERS_SEEN");
	char said[256] = "";
	FILE *file = path ? fopen(path, "r") : NULL;

	if (file && !fgets(said, sizeof(said), file))
		said[0] = '\0';
	if (file)
		fclose(file);
	printf("%s", *said ? said : "not called");
}

static void injection_late(void)
{
	/* The driver looks at the variable in cuInit, which was called already. */
	printf("%s", getenv("CUDA_INJECTION64_PATH") ? "set before cuInit" : "not set");
}

/* ---- buffers ---- */

static void buffer_asked(void)
{
	begin();
	manners_launch();
	manners_flush(true);
	printf("%s, %s", seen.asked_on == (int)syscall(SYS_gettid) ? "on a calling thread"
								   : "on another thread",
	       seen.n_asked ? "asked" : "never asked");
}

static void buffer_flushed(void)
{
	begin();
	manners_launch();
	manners_flush(false);
	printf("FlushAll(0) after a synchronisation returns %s, %s",
	       seen.n_returned ? "buffers" : "none",
	       seen.returned_on == (int)syscall(SYS_gettid) ? "on the flushing thread"
							    : "on another thread");
}

static void buffer_full(void)
{
	const struct timespec pause = {.tv_nsec = 100000000};

	begin();
	for (uint32_t i = 0; i < N_FILL; i++)
		manners_launch();
	cu.cuCtxSynchronize();
	for (uint32_t i = 0; i < 30 && !seen.n_returned; i++)
		nanosleep(&pause, NULL);
	printf("full buffers come back %s",
	       !seen.n_returned ? "not before a flush"
	       : seen.returned_on == (int)syscall(SYS_gettid) ? "on a calling thread"
							      : "on CUPTI's thread");
}

static void buffer_end(void)
{
	begin();
	manners_launch();
	manners_flush(true);
	printf("error %d at the end of a buffer", (int)seen.at_end);
}

static void no_callbacks(void)
{
	begin();
	printf("error %d", (int)cu.cuptiActivityRegisterCallbacks(NULL, NULL));
}

static void records_after_disable(void)
{
	uint32_t before;

	begin();
	manners_launch();
	manners_flush(true);
	for (uint32_t i = 0; i < MANNERS_USUAL; i++)
		cu.cuptiActivityDisable(manners_usual[i]);
	before = seen.n_asked;
	for (uint32_t i = 0; i < N_FILL; i++)
		manners_launch();
	manners_flush(true);
	printf("%s", seen.n_asked == before ? "no buffer is asked for" : "buffers are asked for");
}

static void forced_at_exit(void)
{
	begin();
	manners_launch();
	/* No synchronisation: what is still running comes without times, or is waited for. */
	cu.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	printf("%u kernel records", manners_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

/* ---- records ---- */

static void record_bytes(void)
{
	static const struct {
		uint32_t kind;
		const char *name;
	} kinds[] = {
		{CUPTI_ACTIVITY_KIND_RUNTIME, "call"},
		{CUPTI_ACTIVITY_KIND_DRIVER, "driver call"},
		{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernel"},
		{CUPTI_ACTIVITY_KIND_MEMSET, "memset"},
		{CUPTI_ACTIVITY_KIND_MEMORY2, "memory"},
	};
	CUdeviceptr memory = 0;

	begin();
	for (uint32_t i = 0; i < 8; i++) {
		manners_launch();
		cu.cuMemAlloc_v2(&memory, 1 << 20);
		cu.cuMemsetD8Async(memory, 0, 4096, NULL);
		cu.cuCtxSynchronize();
		cu.cuMemFree_v2(memory);
	}
	manners_flush(true);
	for (uint32_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (uint32_t i = 0; i < seen.n; i++)
			if (seen.record[i].kind == kinds[k].kind && seen.record[i].bytes) {
				printf("%s %u ", kinds[k].name, seen.record[i].bytes);
				break;
			}
}

static void default_stream(void)
{
	int at;

	begin();
	manners_launch();
	manners_flush(true);
	at = manners_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	printf("%u", at < 0 ? 0 : seen.record[at].stream);
}

static void nested_ids(void)
{
	void *memory = NULL;
	int set, runtime = -1, error;

	if (!cu.has_runtime) {
		printf("no cudart here");
		return;
	}
	begin();
	error = (int)cu.cudaMalloc(&memory, 1 << 20);
	error = error ? error : (int)cu.cudaMemsetAsync(memory, 0, 4096, NULL);
	error = error ? error : (int)cu.cudaDeviceSynchronize();
	manners_flush(true);
	if (error)
		printf("error %d of the runtime: ", error);
	set = manners_find(CUPTI_ACTIVITY_KIND_MEMSET);
	for (uint32_t i = 0; i < seen.n; i++)
		if (set >= 0 && seen.record[i].kind == CUPTI_ACTIVITY_KIND_RUNTIME &&
		    seen.record[i].correlation == seen.record[set].correlation)
			runtime = (int)i;
	printf("device work carries the id of %s",
	       set < 0 ? "nothing" : runtime >= 0 ? "the runtime's call" : "another call");
	if (set < 0)
		printf(", of %u records, %u of the runtime's calls", seen.n,
		       manners_count(CUPTI_ACTIVITY_KIND_RUNTIME));
}

/* Does the runtime's own use of the driver make records, too? */
static void nested_calls(void)
{
	void *memory = NULL;
	uint32_t before;

	if (!cu.has_runtime) {
		printf("no cudart here");
		return;
	}
	begin();
	cu.cudaMalloc(&memory, 1 << 20);
	manners_flush(true);
	before = manners_count(CUPTI_ACTIVITY_KIND_DRIVER);
	cu.cudaMemsetAsync(memory, 0, 4096, NULL);
	cu.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	printf("a runtime call makes %u driver records",
	       manners_count(CUPTI_ACTIVITY_KIND_DRIVER) - before);
}

/* Ways to have the records of one of the driver's calls only. */
static void driver_by_call(void)
{
	const CUpti_ActivityKind before[] = {CUPTI_ACTIVITY_KIND_RUNTIME,
					     CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
	const CUpti_CallbackId launch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
	const char *const ways[] = {"named, context after", "named, context before", "driver on and off, named",
				    "driver on, the other off"};

	if (!cu.cuptiActivityEnableDriverApi) {
		printf("no call for that");
		return;
	}
	for (int way = 0; way < 4; way++) {
		uint32_t n;

		if (way == 1)
			manners_device();
		if (way == 0) {
			manners_listen(before, 2);
			cu.cuptiActivityEnableDriverApi(launch, 1);
			manners_device();
		} else if (way == 1) {
			manners_listen(before, 2);
			cu.cuptiActivityEnableDriverApi(launch, 1);
		} else if (way == 2) {
			cu.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
			cu.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
			cu.cuptiActivityEnableDriverApi(launch, 1);
		} else {
			cu.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
			cu.cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, 0);
		}
		n = manners_count(CUPTI_ACTIVITY_KIND_DRIVER);
		manners_launch();
		manners_flush(true);
		printf("%s%s: %u", way ? ", " : "", ways[way], manners_count(CUPTI_ACTIVITY_KIND_DRIVER) - n);
		cu.cuptiActivityEnableDriverApi(launch, 0);
		cu.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
	}
}

static void ids_alone(void)
{
	const CUpti_ActivityKind only[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
	int at;

	manners_listen(only, 1);
	manners_device();
	manners_launch();
	manners_flush(true);
	at = manners_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	printf("without RUNTIME and DRIVER a kernel's id is %s",
	       at < 0 ? "not there" : seen.record[at].correlation ? "a number" : "0");
}

static void thread_ids(void)
{
	int at;

	cu.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	begin();
	manners_launch();
	manners_flush(true);
	at = manners_find(CUPTI_ACTIVITY_KIND_DRIVER);
	printf("%s", at < 0 ? "no call"
		     : seen.record[at].thread == (uint32_t)syscall(SYS_gettid) ? "the kernel's"
									       : "others");
}

static void clock_domain(void)
{
	struct timespec real;
	uint64_t now = 0;
	int64_t apart;

	begin();
	cu.cuptiGetTimestamp(&now);
	clock_gettime(CLOCK_REALTIME, &real);
	apart = (int64_t)now - ((int64_t)real.tv_sec * 1000000000 + real.tv_nsec);
	printf("%s", apart > -1000000 && apart < 1000000 ? "CLOCK_REALTIME" : "another clock");
}

static void kernel_in_call(void)
{
	struct timespec real;
	uint64_t now;
	int at;

	begin();
	manners_launch();
	manners_flush(true);
	clock_gettime(CLOCK_REALTIME, &real);
	now = (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec;
	at = manners_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	printf("%s", at < 0 ? "no kernel"
		     : seen.record[at].end < now && seen.record[at].end + 5000000000 > now
			     ? "a kernel's end lies just before now"
			     : "a kernel's end is of another clock");
}

/* ---- errors ---- */

static void error_kind(void)
{
	begin();
	printf("error %d", (int)cu.cuptiActivityEnable((CUpti_ActivityKind)0x7000));
}

static void nothing(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		    const void *data)
{
}

static void error_subscriber(void)
{
	CUpti_SubscriberHandle first, second;
	int one, two;

	begin();
	one = (int)cu.cuptiSubscribe(&first, nothing, NULL);
	two = (int)cu.cuptiSubscribe(&second, nothing, NULL);
	printf("error %d, then %d", one, two);
}

static void name_of_call(void)
{
	const char *name = NULL;
	int error = (int)cu.cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API,
						 CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, &name);
	const char *unknown = "";
	int no = (int)cu.cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 60000, &unknown);

	printf("error %d %s; unknown: error %d %s", error, name ? name : "NULL", no,
	       unknown ? unknown : "NULL");
}

/* ---- memory ---- */

static uint32_t n_heard[2048];

static void hear(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		 const void *data)
{
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < 2048)
		n_heard[cbid]++;
}

static void hear_memory(void)
{
	static const uint32_t cbids[] = {
		CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,	     CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
		CUPTI_DRIVER_TRACE_CBID_cuMemAddressReserve, CUPTI_DRIVER_TRACE_CBID_cuMemCreate,
		CUPTI_DRIVER_TRACE_CBID_cuMemMap,	     CUPTI_DRIVER_TRACE_CBID_cuMemUnmap,
		CUPTI_DRIVER_TRACE_CBID_cuMemRelease,
	};
	CUpti_SubscriberHandle subscriber;

	begin();
	cu.cuptiSubscribe(&subscriber, hear, NULL);
	for (uint32_t i = 0; i < sizeof(cbids) / sizeof(cbids[0]); i++)
		cu.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbids[i]);
}

static void memory_under_runtime(void)
{
	void *memory = NULL;

	if (!cu.has_runtime) {
		printf("no cudart here");
		return;
	}
	hear_memory();
	memset(n_heard, 0, sizeof(n_heard));
	cu.cudaMalloc(&memory, 64 << 20);
	cu.cudaFree(memory);
	printf("cudaMalloc calls cuMemAlloc_v2 %s, cudaFree cuMemFree_v2 %s",
	       n_heard[CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2] ? "heard" : "not heard",
	       n_heard[CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2] ? "heard" : "not heard");
}

static void memory_records(void)
{
	CUdeviceptr memory = 0;
	uint32_t n_allocations = 0, n_releases = 0;

	begin();
	cu.cuMemAlloc_v2(&memory, 64 << 20);
	cu.cuMemFree_v2(memory);
	manners_flush(true);
	for (uint32_t i = 0; i < seen.n; i++) {
		if (seen.record[i].kind != CUPTI_ACTIVITY_KIND_MEMORY2 ||
		    seen.record[i].address != memory)
			continue;
		n_allocations += seen.record[i].operation ==
				 CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
		n_releases += seen.record[i].operation ==
			      CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
	}
	printf("%u allocation, %u release", n_allocations, n_releases);
}

static void memory_vmm(void)
{
	CUmemAllocationProp what = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at = 0;
	size_t bytes = 2 << 20;
	uint32_t before;
	int error;

	hear_memory();
	manners_flush(true);
	before = manners_count(CUPTI_ACTIVITY_KIND_MEMORY2);
	memset(n_heard, 0, sizeof(n_heard));
	error = (int)cu.cuMemAddressReserve(&at, bytes, 0, 0, 0);
	if (!error)
		error = (int)cu.cuMemCreate(&handle, bytes, &what, 0);
	if (!error)
		error = (int)cu.cuMemMap(at, bytes, 0, handle, 0);
	if (!error) {
		cu.cuMemUnmap(at, bytes);
		cu.cuMemRelease(handle);
		cu.cuMemAddressFree(at, bytes);
	}
	manners_flush(true);
	printf("error %d; calls heard: reserve %d create %d map %d; memory records: %u", error,
	       n_heard[CUPTI_DRIVER_TRACE_CBID_cuMemAddressReserve] > 0,
	       n_heard[CUPTI_DRIVER_TRACE_CBID_cuMemCreate] > 0,
	       n_heard[CUPTI_DRIVER_TRACE_CBID_cuMemMap] > 0,
	       manners_count(CUPTI_ACTIVITY_KIND_MEMORY2) - before);
}

const struct manners_point manners_points[] = {
	{"injection", injection},
	{"injection.when", injection_late},
	{"buffer.asked", buffer_asked},
	{"buffer.flushed", buffer_flushed},
	{"buffer.full", buffer_full},
	{"buffer.end", buffer_end},
	{"error.no-callbacks", no_callbacks},
	{"buffer.after-disable", records_after_disable},
	{"buffer.forced", forced_at_exit},
	{"record.bytes", record_bytes},
	{"record.default-stream", default_stream},
	{"record.nested-ids", nested_ids},
	{"record.nested-calls", nested_calls},
	{"record.driver-by-call", driver_by_call},
	{"record.ids-alone", ids_alone},
	{"record.thread-ids", thread_ids},
	{"clock.calls", clock_domain},
	{"clock.kernels", kernel_in_call},
	{"error.kind", error_kind},
	{"error.subscriber", error_subscriber},
	{"name.calls", name_of_call},
	{"memory.under-runtime", memory_under_runtime},
	{"memory.records", memory_records},
	{"memory.vmm", memory_vmm},
	{NULL, NULL},
};
