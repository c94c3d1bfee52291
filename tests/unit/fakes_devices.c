/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakes_devices.c - the stand-ins: contexts, devices, threads, failures, the driver
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/fakes_rig.h"

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

Test(fakes_devices, contexts_and_modules_are_told)
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

Test(fakes_devices, devices_are_dumped_to_who_comes_late)
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

Test(fakes_devices, calls_have_the_threads_number_when_that_is_asked_for)
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

Test(fakes_devices, ids_wrap)
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

Test(fakes_devices, a_call_fails_when_a_test_says_so)
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

static uint32_t n_fatal;

static void CUPTIAPI hear_fatal(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				const void *data)
{
	n_fatal += domain == CUPTI_CB_DOMAIN_STATE;
}

Test(fakes_devices, cupti_dies_and_says_so)
{
	CUpti_SubscriberHandle subscriber;

	start("12.4/libcupti.so.12");
	f.cuptiSubscribe(&subscriber, hear_fatal, NULL);
	cr_assert_eq(f.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_STATE,
					   CUPTI_CBID_STATE_FATAL_ERROR), 0);
	f.fake_gpu_fatal();
	cr_assert_eq(n_fatal, 1);
	cr_assert_neq(f.cuptiActivityEnable(10), 0);
	cr_assert_neq(f.cuptiActivityFlushAll(0), 0);
}

Test(fakes_devices, cupti_in_a_forked_child_aborts_with_a_line)
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

Test(fakes_devices, memory_that_is_given_back_is_given_again)
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
