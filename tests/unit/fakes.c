/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakes.c - the stand-ins for libcuda and libcupti keep the manners that fake.h promises: releases, buffers,
 * names
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/fakes_rig.h"

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
