/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_device.c and chrome.c of the merge: devices in trace-event JSON, each trap of a viewer a
 * test
 */
#include "tests/unit/gpu_rig.h"

static const struct tp_device_place stream_7 = {0, 1, 7};

static const char *make_json(void)
{
	rig_write(&tp_sink_chrome, "out.json");
	return rig_read("out.json");
}

TestSuite(chrome_device, .init = rig_begin, .fini = rig_end);

Test(chrome_device, a_kernel_has_its_operators_id_its_numbers_and_an_arrow)
{
	const char *text;

	rig_file("a.tpt", 0, 0);
	rig_device(0);
	rig_span(TP_REC_OP, rig_op("aten::linear"), 1000, 9000);
	rig_span(TP_REC_OP, rig_op("aten::addmm"), 2000, 8000);
	rig_call("cudaLaunchKernel", 100, 7, 0, 3000, 5000);
	rig_kernel("_Z3addPf", stream_7, 7, 6000, 20000);
	rig_close(90000);
	text = make_json();
	rig_has(text, "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
		      "\"pid\":100000,\"tid\":100,\"ts\":2.000,\"dur\":2.000,"
		      "\"args\":{\"External id\":2,\"correlation\":7}}");
	rig_has(text, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"add(float*)\",\"pid\":150000,"
		      "\"tid\":7,\"ts\":5.000,\"dur\":14.000,\"args\":{\"External id\":2,"
		      "\"correlation\":7,\"device\":0,\"context\":1,\"stream\":7,"
		      "\"registers per thread\":38,\"shared memory\":64,\"blocks per SM\":0.625,"
		      "\"warps per SM\":5,\"grid\":[50,1,1],\"block\":[256,1,1],"
		      "\"est. achieved occupancy %\":8}}");
	rig_has(text, "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":1,\"pid\":100000,"
		      "\"tid\":100,\"ts\":2.000}");
	rig_has(text, "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":1,"
		      "\"pid\":150000,\"tid\":7,\"ts\":5.000}");
	/* A row of its own, behind those of the host. */
	rig_has(text, "\"name\":\"process_name\",\"ts\":0.000,\"pid\":150000,\"tid\":0,"
		      "\"args\":{\"name\":\"rank 0: GPU 0 (Tesla V100)\"}");
	rig_has(text, "\"name\":\"thread_name\",\"ts\":0.000,\"pid\":150000,\"tid\":7,"
		      "\"args\":{\"name\":\"stream 7\"}");
	rig_has(text, "{\"id\": 0, \"name\": \"Tesla V100\", \"totalGlobalMem\": 34084028416, "
		      "\"computeMajor\": 7, \"computeMinor\": 0, \"maxThreadsPerBlock\": 1024, "
		      "\"maxThreadsPerMultiprocessor\": 2048, ");
}

Test(chrome_device, work_without_call_or_operator_is_there_all_the_same)
{
	const char *text;

	rig_file("a.tpt", 0, 0);
	rig_call("cuLaunchKernel", 100, 3, TP_F_DRIVER, 1000, 2000);
	rig_kernel("alone", stream_7, 3, 3000, 4000);
	rig_kernel("cut", stream_7, 4, 5000, 6000);
	rig_close(90000);
	text = make_json();
	rig_has(text, "\"cat\":\"cuda_driver\",\"name\":\"cuLaunchKernel\",\"pid\":100000,"
		      "\"tid\":100,");
	rig_has(text, "\"args\":{\"name\":\"thread 100 (main)\"}");
	rig_has(text, "\"name\":\"alone\",\"pid\":150000,\"tid\":7,\"ts\":2.000,\"dur\":1.000,"
		      "\"args\":{\"External id\":0,\"correlation\":3,");
	rig_has(text, "\"name\":\"cut\"");
	cr_expect_eq(rig_count(text, "\"ac2g\",\"name\""), 2, "one arrow has two ends");
	/* Of a device that nobody described nothing is guessed. */
	cr_expect_eq(rig_count(text, "occupancy"), 0);
	rig_has(text, "\"name\":\"rank 0: GPU 0\"");
}

Test(chrome_device, a_graphs_launch_has_an_arrow_to_each_of_its_kernels)
{
	const char *text;

	for (int32_t rank = 0; rank < 2; rank++) {
		char name[16];

		snprintf(name, sizeof(name), "%d.tpt", rank);
		rig_file(name, rank, 0);
		rig_call("cudaGraphLaunch", 100 + (uint32_t)rank, 5, 0, 1000, 2000);
		for (uint32_t i = 0; i < 10; i++)
			rig_kernel("node", stream_7, 5, 3000 + 1000 * i, 3500 + 1000 * i);
		rig_close(90000);
	}
	text = make_json();
	cr_expect_eq(rig_count(text, "\"ph\":\"s\""), 20);
	cr_expect_eq(rig_count(text, "\"ph\":\"f\""), 20);
	/* Two ranks do not share an id. */
	for (uint32_t i = 1; i <= 20; i++) {
		char id[32];

		snprintf(id, sizeof(id), "\"id\":%u,", i);
		cr_expect_eq(rig_count(text, id), 2);
	}
	rig_has(text, "\"args\":{\"name\":\"rank 1: GPU 0\"}");
	rig_has(text, "\"pid\":250001,\"tid\":7,");
}

Test(chrome_device, a_graph_that_is_work_itself_has_its_id_once)
{
	struct tp_launch launch = {.place = stream_7, .graph = 5};
	const char *text;

	rig_file("a.tpt", 0, 0);
	for (uint32_t i = 0; i < 2; i++) {
		launch.graph = 5 * i;	/* told by its launch, too, or not */
		rig_put((struct tp_rec){.time = 3000 + 1000 * i, .kind = TP_REC_GRAPH, .arg = 5,
					.name = rig_bytes(TP_STRING_LAUNCH, (char *)&launch,
							  sizeof(launch))},
			500, 0);
	}
	rig_close(90000);
	text = make_json();
	cr_expect_eq(rig_count(text, "\"graph id\":5"), 2);
}

Test(chrome_device, copies_have_bytes_and_bandwidth_and_torchs_names)
{
	const char *text;

	rig_file("a.tpt", 0, 0);
	rig_copy(stream_7, 1, 19267584, 1000, 1941000);
	rig_copy(stream_7, 2, 64, 2000000, 2000000);
	rig_close(9000000);
	text = make_json();
	rig_has(text, "\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> Device)\"");
	rig_has(text, "\"bytes\":19267584,\"memory bandwidth (GB/s)\":9.931744}}");
	/* No time, no bandwidth: not a number is not JSON. */
	rig_has(text, "\"bytes\":64}}");
}

Test(chrome_device, what_the_host_waits_for_lies_on_its_thread)
{
	static const struct tp_device_place none = {0, 1, TP_NO_STREAM};
	const char *text;

	rig_file("a.tpt", 0, 0);
	rig_kernel("busy", stream_7, 1, 1000, 30000);
	rig_call("cudaStreamSynchronize", 100, 2, 0, 10000, 32000);
	rig_sync(TP_SYNC_STREAM, stream_7, 2, 0, 10500, 31500);
	rig_call("cudaStreamWaitEvent", 100, 3, 0, 40000, 42000);
	rig_sync(TP_SYNC_STREAM_WAIT, stream_7, 3, 21, 40500, 41500);
	/* Of a call that is not in the trace. */
	rig_sync(TP_SYNC_CONTEXT, none, 99, 0, 50000, 51000);
	rig_close(90000);
	text = make_json();
	rig_has(text, "\"cat\":\"cuda_sync\",\"name\":\"Stream Sync\",\"pid\":100000,\"tid\":100,"
		      "\"ts\":9.500,\"dur\":21.000,\"args\":{\"External id\":0,"
		      "\"cuda_sync_kind\":\"Stream Sync\",\"correlation\":2,\"device\":0,\"context\":1}}");
	/* On the device it crosses nothing: a row of its own. */
	rig_has(text, "\"name\":\"Stream Wait Event\",\"pid\":150000,\"tid\":1000000007,");
	rig_has(text, "\"cuda_sync_kind\":\"Stream Wait Event\",\"wait_on_stream\":20,"
		      "\"wait_on_cuda_event_record_corr_id\":-1,");
	rig_has(text, "\"args\":{\"name\":\"stream 7, waits\"}");
	rig_has(text, "\"args\":{\"name\":\"no stream, waits\"}");
	cr_expect_null(strstr(text, "overlapping"));
}

Test(chrome_device, streams_of_one_number_are_apart_and_0_is_no_stream_of_a_viewer)
{
	static const struct tp_device_place other = {0, 2, 7}, zero = {0, 1, 0};
	const char *text;

	rig_file("a.tpt", 0, 0);
	rig_kernel("first", stream_7, 1, 1000, 3000);
	rig_kernel("second", other, 2, 2000, 4000);
	rig_kernel("third", zero, 3, 5000, 6000);
	rig_close(90000);
	text = make_json();
	rig_has(text, "\"name\":\"second\",\"pid\":150000,\"tid\":1000001,");
	rig_has(text, "\"args\":{\"name\":\"stream 7 (context 2)\"}");
	rig_has(text, "\"name\":\"third\",\"pid\":150000,\"tid\":999999,");
	rig_has(text, "\"stream\":999999,");
	rig_has(text, "\"args\":{\"name\":\"stream 0 (context 1)\"}");
}

Test(chrome_device, kernels_that_overlap_by_a_rounding_stay_in_line)
{
	const char *text;

	rig_file("a.tpt", 0, 0);
	rig_kernel("a", stream_7, 1, 1000, 3001);
	rig_kernel("b", stream_7, 2, 3000, 5000);
	/* These really run at once. */
	rig_kernel("c", stream_7, 3, 4000, 9000);
	rig_close(90000);
	text = make_json();
	rig_has(text, "\"name\":\"b\",\"pid\":150000,\"tid\":7,\"ts\":2.001,\"dur\":1.999");
	rig_has(text, "\"name\":\"c\",\"pid\":150000,\"tid\":10000007,\"ts\":3.000,\"dur\":5.000");
	rig_has(text, "\"args\":{\"name\":\"stream 7, overlapping 1\"}");
}

Test(chrome_device, a_calls_driver_flag_does_not_make_it_asynchronous)
{
	const char *text;

	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("aten::mm"), 1000, 9000);
	rig_call("cudaLaunchKernel", 100, 7, 0, 3000, 5000);
	rig_call("cuLaunchKernel", 100, 7, TP_F_DRIVER, 3500, 4500);
	/* By another clock it ends 50 ns after its operator. */
	rig_call("cudaEventRecord", 100, 8, 0, 8000, 9050);
	rig_close(90000);
	text = make_json();
	rig_has(text, "\"name\":\"cuLaunchKernel\",\"pid\":100000,\"tid\":100,\"ts\":2.500,\"dur\":1.000,"
		      "\"args\":{\"External id\":1,");
	rig_has(text, "\"name\":\"cudaEventRecord\",\"pid\":100000,\"tid\":100,\"ts\":7.000,\"dur\":1.000,"
		      "\"args\":{\"External id\":1,");
}

Test(chrome_device, memory_below_the_framework_is_a_curve_of_its_device)
{
	static const struct tp_devmem_what device = {.device = 0, .kind = TP_DEVMEM_DEVICE};
	static const struct tp_devmem_what mapped = {.device = 0, .kind = TP_DEVMEM_MAPPED};
	uint32_t known = rig_bytes(TP_STRING_COUNTER, "GPU memory known\0B\0device", 26);
	uint32_t block = rig_bytes(TP_STRING_DEVMEM, (const char *)&device, sizeof(device));
	const char *text;

	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_COUNTER, .name = known,
				.arg = 5000}, 0, 0);
	rig_put((struct tp_rec){.time = 2000, .kind = TP_REC_DEVALLOC, .name = block,
				.arg = 0xabc}, 512, 0);
	rig_put((struct tp_rec){.time = 3000, .kind = TP_REC_DEVALLOC, .arg = 0xdef,
				.name = rig_bytes(TP_STRING_DEVMEM, (const char *)&mapped,
						  sizeof(mapped))}, 4096, 0);
	rig_put((struct tp_rec){.time = 4000, .kind = TP_REC_DEVFREE, .name = block,
				.arg = 0xabc}, 500, 0);
	rig_close(90000);
	text = make_json();
	cr_expect_eq(rig_count(text, "\"name\":\"GPU memory known\",\"pid\":150000,\"tid\":0,"), 3,
		     "%s", text);
	rig_has(text, "\"ts\":0.000,\"args\":{\"B\":5000}");
	rig_has(text, "\"args\":{\"B\":5512}");
	rig_has(text, "\"args\":{\"B\":5012}");
}

Test(chrome_device, what_the_driver_says_of_a_device_is_on_its_row)
{
	static const struct {
		const char *bytes;
		uint32_t n;
		bool is_of_device;
	} counters[] = {
		{"GPU power\0W\0GPU", 15, true},
		{"throttled by heat\0\0GPU", 22, true},
		{"GPU power\0W", 11, false},
		{"received\0B/s\0network", 20, false},
	};
	const char *text;

	rig_file("a.tpt", 0, 0);
	for (size_t i = 0; i < 4; i++)
		rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_COUNTER, .link = 1, .arg = 70,
					.name = rig_bytes(TP_STRING_COUNTER, counters[i].bytes,
							  counters[i].n)}, 0, 0);
	rig_close(90000);
	text = make_json();
	for (size_t i = 0; i < 4; i++) {
		char want[96];

		/* On its row it needs no number. */
		snprintf(want, sizeof(want), "\"name\":\"%s%s\",\"pid\":%u,", counters[i].bytes,
			 counters[i].is_of_device ? "" : " 1",
			 counters[i].is_of_device ? 150000 : 100000);
		rig_has(text, want);
	}
	rig_has(text, "\"name\":\"rank 0: GPU 1\"");
}

Test(chrome_device, no_arrow_goes_back_in_time)
{
	const char *text;

	rig_file("a.tpt", 0, 0);
	rig_kernel("early", stream_7, 1, 1000, 2000);
	rig_call("cudaLaunchKernel", 100, 1, 0, 1500, 3000);
	rig_kernel("next", stream_7, 2, 5000, 6000);
	rig_close(90000);
	text = make_json();
	cr_expect_eq(rig_count(text, "ac2g"), 0);
	rig_has(text, "\"name\":\"early\"");
}
