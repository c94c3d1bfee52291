/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakes.c - the stand-ins for libcuda and libcupti keep the manners that fake.h promises
 *
 * Each test is a process of its own, which loads one release of the stand-in, from $FAKES.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cupti.h>

#include "tests/fakes/fake.h"

enum { BUFFER_BYTES = 4096, N_BUFFERS = 256, N_RECORDS = 4096 };
#define UNFINISHED_NS 1000000000000u	/* as long as the test runs */

#define CALLS(_)                                                                              \
	_(cuptiGetVersion) _(cuptiGetCallbackName) _(cuptiSubscribe) _(cuptiUnsubscribe)       \
	_(cuptiEnableCallback) _(cuptiActivityRegisterCallbacks) _(cuptiActivityEnable)        \
	_(cuptiActivityEnableAndDump) _(cuptiActivityDisable) _(cuptiActivityFlushAll)         \
	_(cuptiActivityGetNextRecord) _(cuptiActivityGetNumDroppedRecords)                     \
	_(cuptiActivitySetAttribute) _(cuptiActivityEnableRuntimeApi) _(cuptiSubscribe_v2)     \
	_(cuptiSetThreadIdType) _(cuptiFinalize) _(cuptiGetTimestamp)
#define CUDA_CALLS(_)                                                                         \
	_(cuInit) _(cuMemAlloc_v2) _(cuMemFree_v2) _(cuModuleLoadData) _(cuModuleUnload)       \
	_(cuModuleGetFunction) _(cuLaunchKernel) _(cuCtxSynchronize)                           \
	_(cuDevicePrimaryCtxRetain) _(cuCtxSetCurrent)                                         \
	_(fake_gpu_next) _(fake_gpu_begin) _(fake_gpu_end) _(fake_gpu_call) _(fake_gpu_work)   \
	_(fake_gpu_unload) _(fake_gpu_fatal) _(fake_gpu_finish)

static struct {
#define _(function) __typeof__(&function) function;
	CALLS(_) CUDA_CALLS(_)
#undef _
} f;

/* ---- a client of CUPTI's ---- */

static struct {
	uint8_t *buffer[N_BUFFERS];
	size_t valid[N_BUFFERS];
	uint32_t n_asked, n_came;	/* atomic */
	bool refuses, is_dirty;
	pthread_t asked_by, came_by;
	const char *names[N_RECORDS];	/* of kernels */
	uint64_t ends[N_RECORDS];
	uint32_t correlations[N_RECORDS];
	uint32_t n_kernels, n_calls, n_driver_calls, n_other;
} client;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	client.asked_by = pthread_self();
	__atomic_add_fetch(&client.n_asked, 1, __ATOMIC_RELAXED);
	*buffer = client.refuses ? NULL : aligned_alloc(8, BUFFER_BYTES);
	if (client.is_dirty)
		memset(*buffer, 0xa5, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	uint32_t i = __atomic_fetch_add(&client.n_came, 1, __ATOMIC_ACQ_REL);

	client.came_by = pthread_self();
	cr_assert_lt(i, N_BUFFERS);
	client.buffer[i] = buffer;
	client.valid[i] = valid;
}

static void read_buffers(void)
{
	client.n_kernels = client.n_calls = client.n_driver_calls = client.n_other = 0;
	for (uint32_t i = 0; i < client.n_came; i++) {
		CUpti_Activity *record = NULL;
		CUptiResult result;

		while (!(result = f.cuptiActivityGetNextRecord(client.buffer[i], client.valid[i],
							       &record))) {
			const CUpti_ActivityKernel4 *kernel = (void *)record;

			client.n_calls += record->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
			client.n_driver_calls += record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
			if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
				continue;
			client.names[client.n_kernels] = kernel->name;
			client.correlations[client.n_kernels] = kernel->correlationId;
			client.ends[client.n_kernels++] = kernel->end;
		}
		cr_assert_eq(result, CUPTI_ERROR_MAX_LIMIT_REACHED);
	}
}

static void load(const char *cupti)
{
	const char *fakes = getenv("FAKES");
	char path[512];
	void *cuda, *lib;

	if (!fakes)
		cr_skip_test("FAKES is not set (make check-unit sets it)");
	snprintf(path, sizeof(path), "%s/%s", fakes, cupti);
	if (access(path, R_OK))
		cr_skip_test("the stand-ins are not built: there are no headers of CUDA");
	lib = dlopen(path, RTLD_NOW);
	cr_assert_not_null(lib, "%s", dlerror());
	snprintf(path, sizeof(path), "%s/libcuda.so.1", fakes);
	cuda = dlopen(path, RTLD_NOW);
	cr_assert_not_null(cuda, "%s", dlerror());
#define _(function) f.function = (__typeof__(&function))dlsym(lib, #function);
	CALLS(_)
#undef _
#define _(function) f.function = (__typeof__(&function))dlsym(cuda, #function);
	CUDA_CALLS(_)
#undef _
}

static void start(const char *cupti)
{
	CUcontext context;

	load(cupti);
	cr_assert_eq(f.cuInit(0), 0);
	cr_assert_eq(f.cuDevicePrimaryCtxRetain(&context, 0), 0);
	f.cuCtxSetCurrent(context);
	f.cuptiActivityRegisterCallbacks(requested, completed);
}

static void record_launches(void)
{
	cr_assert_eq(f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), 0);
	cr_assert_eq(f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
}

/* A launch whose kernel ends `ends_in` ns from now. */
static void launch(const char *name, uint64_t ends_in)
{
	struct fake_work work = {.kind = FAKE_KERNEL, .name = name, .grid = { 1, 1, 1 }};
	struct fake_call call = {.work = &work, .n_work = 1};
	uint64_t now = 0;

	f.cuptiGetTimestamp(&now);
	work.start_ns = now;
	work.end_ns = now + ends_in;
	f.fake_gpu_next(&call);
	f.fake_gpu_call(2, "cudaLaunchKernel");
}

/* ---- releases ---- */

struct release {
	char file[40];
	uint32_t version, kernel_bytes;
	bool has_filters, has_v2, may_refuse;
};

static const struct release releases[] = {
	{ "11.8/libcupti.so.11.8", 18, 200, false, false, false },
	{ "12.0/libcupti.so.12", 18, 208, false, false, false },
	{ "12.4/libcupti.so.12", 22, 208, false, false, false },
	{ "12.8/libcupti.so.12", 26, 208, true, false, false },
	{ "13.0/libcupti.so.13", 130001, 216, true, true, true },
	{ "future/libcupti.so.13", 999999, 280, true, true, true },
};

ParameterizedTestParameters(fakes, each_release_has_its_version_functions_and_sizes)
{
	return cr_make_param_array(struct release, (void *)releases,
				   sizeof(releases) / sizeof(*releases));
}

ParameterizedTest(const struct release *release, fakes,
		  each_release_has_its_version_functions_and_sizes)
{
	CUpti_Activity *record = NULL;
	uint32_t version = 0;
	const uint8_t *first;

	start(release->file);
	f.cuptiGetVersion(&version);
	cr_assert_eq(version, release->version, "%s: %u", release->file, version);
	cr_assert_eq(f.cuptiActivityEnableRuntimeApi != NULL, release->has_filters);
	cr_assert_eq(f.cuptiSubscribe_v2 != NULL, release->has_v2);
	cr_assert_eq(f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	launch("one", 0);
	launch("two", 0);
	cr_assert_eq(f.cuptiActivityFlushAll(0), 0);
	cr_assert_eq(client.n_came, 1);
	cr_assert_eq(client.valid[0], 2 * release->kernel_bytes, "%zu", client.valid[0]);
	cr_assert_eq(f.cuptiActivityGetNextRecord(client.buffer[0], client.valid[0], &record), 0);
	first = (uint8_t *)record;
	cr_assert_eq(f.cuptiActivityGetNextRecord(client.buffer[0], client.valid[0], &record), 0);
	cr_assert_eq((uint8_t *)record - first, release->kernel_bytes);
	cr_assert_str_eq(((CUpti_ActivityKernel4 *)record)->name, "two");
}

Test(fakes, names_of_calls_are_cuptis)
{
	const char *name;

	load("libcupti.so.13");
	cr_assert_eq(f.cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 211, &name), 0);
	cr_assert_str_eq(name, "cudaLaunchKernel_v7000");
	cr_assert_eq(f.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 243, &name), 0);
	cr_assert_str_eq(name, "cuMemAlloc_v2");
	cr_assert_eq(f.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 0, &name), 0);
	cr_assert_str_eq(name, "INVALID");
	cr_assert_eq(f.cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 9999, &name), 1);
	cr_assert_null(name);
}

/* ---- buffers ---- */

static void *launch_many(void *n)
{
	for (uint32_t i = 0; i < *(uint32_t *)n; i++)
		launch("many", 0);
	return NULL;
}

Test(fakes, buffers_are_asked_for_on_the_calling_thread_and_come_back_from_another)
{
	uint32_t n = 100;

	start("12.4/libcupti.so.12");
	record_launches();
	launch_many(&n);
	cr_assert(pthread_equal(client.asked_by, pthread_self()));
	f.fake_gpu_finish();
	cr_assert_geq(client.n_came, 2, "full buffers come back by themselves");
	cr_assert_lt(client.n_came, client.n_asked, "the last one is not full");
	cr_assert_not(pthread_equal(client.came_by, pthread_self()));
	f.cuptiActivityFlushAll(0);
	cr_assert_eq(client.n_came, client.n_asked);
	read_buffers();
	cr_assert_eq(client.n_kernels, 100);
	cr_assert_eq(client.n_calls, 100);
}

Test(fakes, each_thread_has_a_buffer_of_its_own_in_13_and_all_share_one_before)
{
	static const char *const files[] = { "12.8/libcupti.so.12", "13.0/libcupti.so.13" };

	for (int i = 0; i < 2; i++) {
		pid_t child = fork();
		uint32_t n = 2;
		pthread_t thread;
		int status;

		if (!child) {
			start(files[i]);
			record_launches();
			launch_many(&n);
			pthread_create(&thread, NULL, launch_many, &n);
			pthread_join(thread, NULL);
			_exit((int)client.n_asked);
		}
		waitpid(child, &status, 0);
		cr_assert_eq(WEXITSTATUS(status), i + 1, "%s: %d", files[i], WEXITSTATUS(status));
	}
}

Test(fakes, a_flush_leaves_what_is_unfinished_and_a_forced_one_gives_it_without_times)
{
	start("12.4/libcupti.so.12");
	record_launches();
	launch("quick", 0);
	launch("slow", UNFINISHED_NS);
	f.cuptiActivityFlushAll(0);
	cr_assert_eq(client.n_came, 0);
	launch("after", 0);
	cr_assert_eq(client.n_asked, 1, "the buffer is still in use");
	f.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	cr_assert_eq(client.n_came, 1);
	read_buffers();
	cr_assert_eq(client.n_kernels, 3);
	cr_assert_neq(client.ends[0], 0);
	cr_assert_eq(client.ends[1], 0);
}

Test(fakes, shuffled_records_are_all_there_and_not_in_order)
{
	uint32_t n = 200, backwards = 0;

	setenv("FAKE_CUPTI_DELIVER", "shuffled", 1);
	start("libcupti.so.13");
	record_launches();
	launch_many(&n);
	f.fake_gpu_finish();
	f.cuptiActivityFlushAll(0);
	read_buffers();
	cr_assert_eq(client.n_kernels, 200);
	for (uint32_t i = 1; i < client.n_kernels; i++)
		backwards += client.correlations[i] < client.correlations[i - 1];
	cr_assert_gt(backwards, 20);
}

Test(fakes, a_refused_buffer_drops_and_counts_each_record)
{
	size_t dropped = 0;

	start("libcupti.so.13");
	record_launches();
	client.refuses = true;
	launch("a", 0);
	launch("b", 0);
	f.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	cr_assert_eq(dropped, 4);
	f.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	cr_assert_eq(dropped, 0);
}

Test(fakes, a_refused_buffer_kills_before_12_9, .signal = SIGABRT)
{
	start("12.8/libcupti.so.12");
	record_launches();
	client.refuses = true;
	launch("a", 0);
}

static uint32_t n_second;

static void CUPTIAPI second_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
				      size_t size, size_t valid)
{
	n_second++;
}

Test(fakes, who_registers_second_gets_the_buffers_of_the_first)
{
	start("12.4/libcupti.so.12");
	record_launches();
	launch("a", 0);
	cr_assert_eq(f.cuptiActivityRegisterCallbacks(requested, second_completed), 0);
	f.cuptiActivityFlushAll(0);
	cr_assert_eq(client.n_came, 0);
	cr_assert_eq(n_second, 1);
}

Test(fakes, a_buffer_that_is_said_to_be_zero_and_is_not_kills, .signal = SIGABRT)
{
	size_t bytes = 1;
	uint8_t on = 1;

	start("12.4/libcupti.so.12");
	cr_assert_eq(f.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
						 &bytes, &on), 0);
	client.is_dirty = true;
	record_launches();
	launch("a", 0);
}

/* ---- names ---- */

Test(fakes, names_go_stale_when_their_module_is_unloaded)
{
	CUfunction function;
	CUmodule module;

	start("12.4/libcupti.so.12");
	record_launches();
	f.cuModuleLoadData(&module, "");
	f.cuModuleGetFunction(&function, module, "of_a_module");
	f.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	launch("of_none", 0);
	f.fake_gpu_finish();
	f.cuptiActivityFlushAll(0);
	read_buffers();
	cr_assert_str_eq(client.names[0], "of_a_module");
	f.cuModuleUnload(module);
	cr_assert_str_eq(client.names[0], "~~~~~~~~~~~");
	cr_assert_str_eq(client.names[1], "of_none");
	f.fake_gpu_unload();
	cr_assert_str_eq(client.names[1], "~~~~~~~");
}

Test(fakes, names_go_stale_by_flushes_when_that_is_asked_for)
{
	setenv("FAKE_CUPTI_STALE", "1", 1);
	start("12.4/libcupti.so.12");
	record_launches();
	launch("once", 0);
	f.cuptiActivityFlushAll(0);
	read_buffers();
	f.cuptiActivityFlushAll(0);
	cr_assert_str_eq(client.names[0], "once");
	f.cuptiActivityFlushAll(0);
	cr_assert_str_eq(client.names[0], "~~~~");
	launch("once", 0);
	f.cuptiActivityFlushAll(0);
	read_buffers();
	cr_assert_str_eq(client.names[1], "once");
}

/* ---- callbacks, calls, ids ---- */

static struct {
	uint32_t n, n_fatal;
	uint32_t correlation[8];
	CUpti_ApiCallbackSite site[8];
	uint64_t kept;		/* by correlationData, from enter to exit */
	CUdeviceptr address;
	size_t bytes;
} heard;

static void CUPTIAPI hear(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			  const void *data)
{
	const CUpti_CallbackData *call = data;
	const cuMemAlloc_v2_params *params;

	if (domain == CUPTI_CB_DOMAIN_STATE) {
		heard.n_fatal++;
		return;
	}
	params = call->functionParams;
	heard.site[heard.n] = call->callbackSite;
	heard.correlation[heard.n++] = call->correlationId;
	if (call->callbackSite == CUPTI_API_ENTER) {
		*call->correlationData = 42;
		return;
	}
	heard.kept = *call->correlationData;
	heard.bytes = params->bytesize;
	heard.address = *params->dptr;
	cr_assert_eq(*(CUresult *)call->functionReturnValue, 0);
}

Test(fakes, a_callback_has_the_calls_parameters_and_its_result)
{
	CUpti_SubscriberHandle subscriber, other;
	CUdeviceptr address;

	start("12.4/libcupti.so.12");
	cr_assert_eq(f.cuptiSubscribe(&subscriber, hear, NULL), 0);
	cr_assert_eq(f.cuptiSubscribe(&other, hear, NULL), 39, "one at a time");
	f.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
			      CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
	cr_assert_eq(f.cuMemAlloc_v2(&address, 1000), 0);
	cr_assert_eq(heard.n, 2);
	cr_assert_eq(heard.site[0], CUPTI_API_ENTER);
	cr_assert_eq(heard.site[1], CUPTI_API_EXIT);
	cr_assert_eq(heard.correlation[0], heard.correlation[1]);
	cr_assert_eq(heard.kept, 42);
	cr_assert_eq(heard.bytes, 1000);
	cr_assert_eq(heard.address, address);
	cr_assert_eq(f.cuptiUnsubscribe(subscriber), 0);
	f.cuMemAlloc_v2(&address, 1000);
	cr_assert_eq(heard.n, 2);
	cr_assert_eq(f.cuptiSubscribe(&other, hear, NULL), 0);
	f.cuMemAlloc_v2(&address, 1000);
	cr_assert_eq(heard.n, 2, "what the first one enabled is off");
}

Test(fakes, another_owner_is_named)
{
	CUpti_SubscriberHandle subscriber;
	char name[64] = "";
	CUpti_SubscriberParams params = {
		.structSize = CUpti_SubscriberParams_STRUCT_SIZE, .subscriberName = "us",
		.oldSubscriberName = name, .oldSubscriberSize = sizeof(name),
	};

	setenv("FAKE_CUPTI_OWNER", "Nsight Systems", 1);
	start("libcupti.so.13");
	cr_assert_eq(f.cuptiSubscribe_v2(&subscriber, hear, NULL, &params), 39);
	cr_assert_str_eq(name, "Nsight Systems");
}

Test(fakes, device_records_carry_the_id_of_the_outermost_call)
{
	struct fake_work work = {.kind = FAKE_KERNEL, .name = "k", .start_ns = 1, .end_ns = 2};
	struct fake_call call = {.correlation = 77, .work = &work, .n_work = 1};

	start("12.4/libcupti.so.12");
	record_launches();
	f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
	f.fake_gpu_begin(2, "cudaLaunchKernel", &call);
	f.fake_gpu_call(1, "cuLaunchKernel");
	f.fake_gpu_end();
	f.cuptiActivityFlushAll(0);
	read_buffers();
	cr_assert_eq(client.n_calls, 1);
	cr_assert_eq(client.n_driver_calls, 0);
	cr_assert_eq(client.n_kernels, 1);
	cr_assert_eq(client.correlations[0], 77);
	cr_assert_eq(client.ends[0], 2, "the time is the one that was given");
}

static uint32_t id_of_launch(CUpti_ActivityKind domain, bool has_outer)
{
	CUfunction function;
	CUmodule module;

	start("12.4/libcupti.so.12");
	f.cuModuleLoadData(&module, "");
	f.cuModuleGetFunction(&function, module, "k");
	f.cuptiActivityEnable(domain);
	f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (has_outer)
		f.fake_gpu_begin(2, "cudaLaunchKernel", NULL);
	f.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	if (has_outer)
		f.fake_gpu_end();
	f.fake_gpu_finish();
	f.cuptiActivityFlushAll(0);
	read_buffers();
	cr_assert_eq(client.n_kernels, 1);
	return client.correlations[0];
}

Test(fakes, a_launch_inside_of_a_call_has_that_calls_id)
{
	setenv("FAKE_CUPTI_CORRELATION", "500", 1);
	cr_assert_eq(id_of_launch(CUPTI_ACTIVITY_KIND_RUNTIME, true), 500);
	cr_assert_eq(client.n_calls, 1);
}

Test(fakes, a_call_that_is_not_traced_gives_no_id)
{
	setenv("FAKE_CUPTI_CORRELATION", "500", 1);
	cr_assert_eq(id_of_launch(CUPTI_ACTIVITY_KIND_DRIVER, true), 500);
	cr_assert_eq(client.n_calls, 0);
	cr_assert_eq(client.n_driver_calls, 1);
}

Test(fakes, without_calls_there_are_ids)
{
	setenv("FAKE_CUPTI_CORRELATION", "500", 1);
	cr_assert_eq(id_of_launch(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, false), 500);
}

static uint32_t id_of_both(void)
{
	cr_assert_eq(f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), 0);
	return id_of_launch(CUPTI_ACTIVITY_KIND_DRIVER, true);
}

Test(fakes, of_two_traced_calls_the_outer_one_is_recorded)
{
	setenv("FAKE_CUPTI_CORRELATION", "500", 1);
	load("12.4/libcupti.so.12");
	cr_assert_eq(id_of_both(), 500);
	cr_assert_eq(client.n_calls, 1);
	cr_assert_eq(client.n_driver_calls, 0);
}

Test(fakes, the_inner_one_too_where_that_is_asked_for)
{
	setenv("FAKE_CUPTI_CORRELATION", "500", 1);
	setenv("FAKE_CUPTI_NESTED", "1", 1);
	load("12.4/libcupti.so.12");
	cr_assert_eq(id_of_both(), 500);
	cr_assert_eq(client.n_calls, 1);
	cr_assert_eq(client.n_driver_calls, 1);
}

static bool comes_here(void)
{
	start("13.0/libcupti.so.13");
	record_launches();
	launch("k", 0);
	f.cuptiActivityFlushAll(0);
	cr_assert_eq(client.n_came, 1);
	return pthread_equal(client.came_by, pthread_self());
}

Test(fakes, a_flush_gives_buffers_back_on_another_thread)
{
	cr_assert_not(comes_here());
}

Test(fakes, a_flush_gives_buffers_back_here_where_that_is_asked_for)
{
	setenv("FAKE_CUPTI_FLUSH_HERE", "1", 1);
	cr_assert(comes_here());
}

Test(fakes, a_kind_that_does_not_exist_is_invalid_before_13)
{
	start("12.8/libcupti.so.12");
	cr_assert_eq(f.cuptiActivityEnable((CUpti_ActivityKind)0x7000), CUPTI_ERROR_INVALID_KIND);
}

Test(fakes, a_kind_that_does_not_exist_is_not_compatible_in_13)
{
	start("13.0/libcupti.so.13");
	cr_assert_eq(f.cuptiActivityEnable((CUpti_ActivityKind)0x7000), CUPTI_ERROR_NOT_COMPATIBLE);
}

Test(fakes, enabling_the_kind_again_resets_the_filters)
{
	start("12.8/libcupti.so.12");
	record_launches();
	cr_assert_eq(f.cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
						     0), 0);
	launch("filtered", 0);
	f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
	launch("heard", 0);
	f.cuptiActivityFlushAll(0);
	read_buffers();
	cr_assert_eq(client.n_calls, 1);
	cr_assert_eq(client.n_kernels, 2);
	cr_assert_neq(client.correlations[0], 0, "a filtered call still has an id");
}

Test(fakes, graphs_are_told_as_one_or_by_their_nodes)
{
	struct fake_work work[3] = {
		{ .kind = FAKE_GRAPH, .graph = 5, .start_ns = 1, .end_ns = 9 },
		{ .kind = FAKE_KERNEL, .name = "n1", .graph = 5, .graph_node = 1, .end_ns = 2 },
		{ .kind = FAKE_KERNEL, .name = "n2", .graph = 5, .graph_node = 2, .end_ns = 3 },
	};
	struct fake_call call = {.work = work, .n_work = 3};

	start("12.4/libcupti.so.12");
	record_launches();
	f.fake_gpu_next(&call);
	f.fake_gpu_call(2, "cudaGraphLaunch");
	f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	f.fake_gpu_next(&call);
	f.fake_gpu_call(2, "cudaGraphLaunch");
	f.cuptiActivityFlushAll(0);
	read_buffers();
	cr_assert_eq(client.n_kernels, 2, "of the first launch only: %u", client.n_kernels);
}

/* ---- contexts, devices, threads ---- */

static uint32_t n_resources[32], last_module;

static void CUPTIAPI hear_resources(void *userdata, CUpti_CallbackDomain domain,
				    CUpti_CallbackId cbid, const void *data)
{
	const CUpti_ResourceData *resource = data;

	cr_assert_eq(domain, CUPTI_CB_DOMAIN_RESOURCE);
	n_resources[cbid]++;
	if (cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED)
		last_module =
			((CUpti_ModuleResourceData *)resource->resourceDescriptor)->moduleId;
	cr_assert(cbid == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED || resource->context);
}

Test(fakes, contexts_and_modules_are_told)
{
	CUpti_SubscriberHandle subscriber;
	CUcontext context;
	CUmodule module;

	load("12.4/libcupti.so.12");
	cr_assert_eq(f.cuptiSubscribe(&subscriber, hear_resources, NULL), 0);
	for (uint32_t cbid = CUPTI_CBID_RESOURCE_CONTEXT_CREATED;
	     cbid <= CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING; cbid++)
		f.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, cbid);
	f.cuInit(0);
	f.cuInit(0);
	f.cuDevicePrimaryCtxRetain(&context, 0);
	f.cuDevicePrimaryCtxRetain(&context, 0);
	f.cuCtxSetCurrent(context);
	f.cuModuleLoadData(&module, "");
	cr_assert_eq(n_resources[CUPTI_CBID_RESOURCE_CU_INIT_FINISHED], 1);
	cr_assert_eq(n_resources[CUPTI_CBID_RESOURCE_CONTEXT_CREATED], 1);
	cr_assert_eq(n_resources[CUPTI_CBID_RESOURCE_MODULE_LOADED], 1);
	cr_assert_eq(last_module, 1);
	f.cuModuleUnload(module);
	cr_assert_eq(n_resources[CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING], 1);
}

Test(fakes, devices_are_dumped_to_who_comes_late)
{
	const CUpti_ActivityDevice4 *device;

	setenv("FAKE_GPU_DEVICES", "2", 1);
	start("12.4/libcupti.so.12");
	cr_assert_eq(f.cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE), 0);
	f.cuptiActivityFlushAll(0);
	cr_assert_eq(client.n_came, 1);
	cr_assert_eq(client.valid[0], 2 * 184, "%zu", client.valid[0]);
	device = (void *)(client.buffer[0] + 184);
	cr_assert_eq(device->id, 1);
	cr_assert_eq(device->numMultiprocessors, 108);
	cr_assert_str_eq(device->name, "NVIDIA A100-SXM4-40GB");
}

Test(fakes, calls_have_the_threads_number_when_that_is_asked_for)
{
	const CUpti_ActivityAPI *call;

	start("12.4/libcupti.so.12");
	cr_assert_eq(f.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), 0);
	f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
	f.fake_gpu_call(2, "cudaGetDevice");
	f.cuptiActivityFlushAll(0);
	call = (void *)client.buffer[0];
	cr_assert_eq(call->threadId, (uint32_t)gettid());
	cr_assert_eq(call->processId, (uint32_t)getpid());
	cr_assert_eq(call->cbid, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020);
	cr_assert_geq(call->end, call->start);
}

Test(fakes, ids_wrap)
{
	setenv("FAKE_CUPTI_CORRELATION", "4294967295", 1);
	start("12.4/libcupti.so.12");
	record_launches();
	launch("a", 0);
	launch("b", 0);
	f.cuptiActivityFlushAll(0);
	read_buffers();
	cr_assert_eq(client.correlations[0], UINT32_MAX);
	cr_assert_eq(client.correlations[1], 0);
}

/* ---- failures ---- */

Test(fakes, a_call_fails_when_a_test_says_so)
{
	setenv("FAKE_CUPTI_FAIL", "cuptiActivityEnable@10:2:13,cuptiActivityFlushAll:0:8", 1);
	setenv("FAKE_CUDA_FAIL", "cuMemAlloc_v2:1:2", 1);
	CUdeviceptr address;

	start("12.4/libcupti.so.12");
	cr_assert_eq(f.cuptiActivityEnable(5), 0);
	cr_assert_eq(f.cuptiActivityEnable(10), 0);
	cr_assert_eq(f.cuptiActivityEnable(10), 13);
	cr_assert_eq(f.cuptiActivityEnable(10), 0);
	cr_assert_eq(f.cuptiActivityFlushAll(0), 8);
	cr_assert_eq(f.cuptiActivityFlushAll(0), 8);
	cr_assert_eq(f.cuMemAlloc_v2(&address, 8), CUDA_ERROR_OUT_OF_MEMORY);
	cr_assert_eq(f.cuMemAlloc_v2(&address, 8), 0);
}

Test(fakes, cupti_dies_and_says_so)
{
	CUpti_SubscriberHandle subscriber;

	start("12.4/libcupti.so.12");
	f.cuptiSubscribe(&subscriber, hear, NULL);
	cr_assert_eq(f.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_STATE,
					   CUPTI_CBID_STATE_FATAL_ERROR), 0);
	f.fake_gpu_fatal();
	cr_assert_eq(heard.n_fatal, 1);
	cr_assert_neq(f.cuptiActivityEnable(10), 0);
	cr_assert_neq(f.cuptiActivityFlushAll(0), 0);
}

Test(fakes, cupti_in_a_forked_child_aborts_with_a_line)
{
	char log[] = "/tmp/trainprof-fakes-XXXXXX", text[4096];
	int fd = mkstemp(log), status;
	ssize_t n;
	pid_t child;

	setenv("FAKE_CUPTI_LOG", log, 1);
	start("12.4/libcupti.so.12");
	record_launches();
	child = fork();
	if (!child) {
		CUdeviceptr address;

		signal(SIGABRT, SIG_DFL);
		if (f.cuMemAlloc_v2(&address, 8) == CUDA_ERROR_NOT_INITIALIZED)
			f.cuptiActivityFlushAll(0);
		_exit(0);
	}
	waitpid(child, &status, 0);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %x", status);
	n = read(fd, text, sizeof(text) - 1);
	cr_assert_gt(n, 0);
	text[n] = 0;
	unlink(log);
	cr_assert_not_null(strstr(text, "cuptiActivityEnable 10 -> 0 tid "), "%s", text);
	cr_assert_not_null(strstr(text, "cuptiActivityFlushAll called in a forked child"), "%s", text);
}

/* ---- the driver ---- */

Test(fakes, memory_that_is_given_back_is_given_again)
{
	CUdeviceptr first, second, third;

	start("libcupti.so.13");
	f.cuMemAlloc_v2(&first, 4096);
	f.cuMemAlloc_v2(&second, 4096);
	cr_assert_neq(first, second);
	cr_assert_eq(f.cuMemFree_v2(first), 0);
	cr_assert_eq(f.cuMemFree_v2(first), CUDA_ERROR_INVALID_VALUE);
	f.cuMemAlloc_v2(&third, 4096);
	cr_assert_eq(third, first);
	cr_assert_eq(f.cuMemAlloc_v2(&third, 1ull << 50), CUDA_ERROR_OUT_OF_MEMORY);
}
