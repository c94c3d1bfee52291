/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakes_ids.c - the stand-in for libcupti: callbacks, calls, correlation ids, graphs
 */
#include "tests/unit/fakes_rig.h"

/* ---- callbacks, calls, ids ---- */

static struct {
	uint32_t n;
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

Test(fakes_ids, a_callback_has_the_calls_parameters_and_its_result)
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

Test(fakes_ids, another_owner_is_named)
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

Test(fakes_ids, device_records_carry_the_id_of_the_outermost_call)
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

Test(fakes_ids, a_launch_inside_of_a_call_has_that_calls_id)
{
	setenv("FAKE_CUPTI_CORRELATION", "500", 1);
	cr_assert_eq(id_of_launch(CUPTI_ACTIVITY_KIND_RUNTIME, true), 500);
	cr_assert_eq(client.n_calls, 1);
}

Test(fakes_ids, a_call_that_is_not_traced_gives_no_id)
{
	setenv("FAKE_CUPTI_CORRELATION", "500", 1);
	cr_assert_eq(id_of_launch(CUPTI_ACTIVITY_KIND_DRIVER, true), 500);
	cr_assert_eq(client.n_calls, 0);
	cr_assert_eq(client.n_driver_calls, 1);
}

Test(fakes_ids, without_calls_there_are_ids)
{
	setenv("FAKE_CUPTI_CORRELATION", "500", 1);
	cr_assert_eq(id_of_launch(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, false), 500);
}

static uint32_t id_of_both(void)
{
	cr_assert_eq(f.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), 0);
	return id_of_launch(CUPTI_ACTIVITY_KIND_DRIVER, true);
}

Test(fakes_ids, of_two_traced_calls_the_outer_one_is_recorded)
{
	setenv("FAKE_CUPTI_CORRELATION", "500", 1);
	load("12.4/libcupti.so.12");
	cr_assert_eq(id_of_both(), 500);
	cr_assert_eq(client.n_calls, 1);
	cr_assert_eq(client.n_driver_calls, 0);
}

Test(fakes_ids, the_inner_one_too_where_that_is_asked_for)
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

Test(fakes_ids, a_flush_gives_buffers_back_on_another_thread)
{
	cr_assert_not(comes_here());
}

Test(fakes_ids, a_flush_gives_buffers_back_here_where_that_is_asked_for)
{
	setenv("FAKE_CUPTI_FLUSH_HERE", "1", 1);
	cr_assert(comes_here());
}

Test(fakes_ids, a_kind_that_does_not_exist_is_invalid_before_13)
{
	start("12.8/libcupti.so.12");
	cr_assert_eq(f.cuptiActivityEnable((CUpti_ActivityKind)0x7000), CUPTI_ERROR_INVALID_KIND);
}

Test(fakes_ids, a_kind_that_does_not_exist_is_not_compatible_in_13)
{
	start("13.0/libcupti.so.13");
	cr_assert_eq(f.cuptiActivityEnable((CUpti_ActivityKind)0x7000), CUPTI_ERROR_NOT_COMPATIBLE);
}

Test(fakes_ids, enabling_the_kind_again_resets_the_filters)
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

Test(fakes_ids, graphs_are_told_as_one_or_by_their_nodes)
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
