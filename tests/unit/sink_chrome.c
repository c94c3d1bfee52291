/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_json.c (one file) and chrome.c of the merge: each trap that a viewer falls into without a
 * word is a test here; tests/flow asks the real viewers.
 */
#include "tests/unit/merge_rig.h"

#include <errno.h>

#include "merge/sinks.h"
#include "merge/pass.h"

static char text[1 << 20];

/* The sink's file of what the rig has written, as one string. */
static const char *make_json(void)
{
	struct tp_run *run = rig_open(NULL, NULL, NULL);
	char path[128];
	FILE *file;

	cr_assert_not_null(run);
	snprintf(path, sizeof(path), "%s/out.json", rig.folder);
	cr_assert_eq(tp_pass_write(run, &tp_sink_chrome, path), 0);
	tp_run_free(run);
	file = fopen(path, "r");
	cr_assert_not_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	return text;
}

static uint32_t count(const char *what)
{
	uint32_t n = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		n++;
	return n;
}

TestSuite(sink_chrome, .init = rig_begin, .fini = rig_end);

Test(sink_chrome, begins_as_the_sniffers_want_and_ends_whole)
{
	rig_file("a.tpt", 3, 0);
	rig_span(TP_REC_OP, rig_op("aten::add"), 1000, 2500);
	rig_close(9000);
	make_json();
	/* "meta" or "libs" first would be taken for another format. */
	cr_assert_eq(strncmp(text, "{\n\"schemaVersion\": 1,\n", 21), 0);
	/* One consumer looks for the rank line by line, with a blank, before the events. */
	cr_assert_not_null(strstr(text, "\n\"distributedInfo\": {\"backend\": \"\", \"rank\": 3, "
					"\"world_size\": 4},\n"));
	cr_assert_lt(strstr(text, "\"rank\": 3"), strstr(text, "\"traceEvents\""));
	cr_assert_eq(count("\"rank\": "), 1);
	cr_assert_null(strstr(text, ",\n]"), "no comma before the end");
	cr_assert_str_eq(text + strlen(text) - 3, "\n}\n");
	cr_assert_not_null(strstr(text, "\"displayTimeUnit\": \"ms\""));
	cr_assert_not_null(strstr(text, "\"baseTimeNanoseconds\": "));
}

Test(sink_chrome, two_ranks_have_no_rank_of_the_file_and_pids_that_differ)
{
	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("aten::add"), 1000, 2500);
	rig_close(9000);
	rig_file("b.tpt", 1, 0);
	rig_span(TP_REC_OP, rig_op("aten::add"), 1000, 2500);
	rig_close(9000);
	make_json();
	cr_assert_eq(count("distributedInfo"), 0);
	cr_assert_eq(count("\"pid\":0,"), 0, "0 is the idle process");
	cr_assert_not_null(strstr(text, "rank 0: train.py (pid 100)"));
	cr_assert_not_null(strstr(text, "rank 1: train.py (pid 101)"));
	cr_assert_eq(count("\"global_rank\""), 2);
	cr_assert_eq(count("process_sort_index"), 2);
	cr_assert_eq(count("thread_sort_index"), 2);
	cr_assert_eq(count("clock_sync_timestamp_us"), 2);
}

Test(sink_chrome, times_are_relative_with_three_decimals)
{
	rig.real_minus_mono = 1790000000000000000ll;
	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("aten::add"), 1000, 2500);
	rig_span(TP_REC_OP, rig_op("aten::mul"), 4001, 4007);
	rig_close(9000);
	make_json();
	cr_assert_not_null(strstr(text, "\"ts\":0.000,\"dur\":1.500,"));
	cr_assert_not_null(strstr(text, "\"ts\":3.001,\"dur\":0.006,"));
	cr_assert_not_null(strstr(text, "\"baseTimeNanoseconds\": 1790000000000001000,"));
	rig.real_minus_mono = 0;
}

Test(sink_chrome, ranges_steps_and_the_loader_have_the_categories_viewers_know)
{
	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_STEP, .name = rig_text("step"),
				.link = 12, .arg = 1ull << 32 | 5}, 9000, 0);
	rig_span(TP_REC_RANGE, rig_text("enumerate(DataLoader)#_Iter.__next__"), 1100, 1200);
	rig_span(TP_REC_RANGE, rig_text("mine"), 2000, 2500);
	rig_close(20000);
	make_json();
	cr_assert_not_null(strstr(text, "\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#12\""));
	cr_assert_not_null(strstr(text, "\"epoch\":1,\"step in epoch\":5"));
	/* As an annotation the plugin drops it: data loading would read 0. */
	cr_assert_not_null(strstr(text, "\"cat\":\"cpu_op\",\"name\":\"enumerate(DataLoader)#_Iter"));
	cr_assert_not_null(strstr(text, "\"cat\":\"user_annotation\",\"name\":\"mine\""));
}

Test(sink_chrome, shapes_are_written_as_torch_writes_them)
{
	static const char shapes[] = {
		TP_SHAPE_TENSOR, 6, 2, 4, 8, TP_SHAPE_TENSOR_LIST, 3, TP_SHAPE_TENSOR, 6, 1, 3,
		TP_SHAPE_NONE, TP_SHAPE_TENSOR, 15, 0, TP_SHAPE_SCALAR, TP_SHAPE_NONE, TP_SHAPE_SCALAR_LIST};
	uint32_t id = rig_bytes(TP_STRING_SHAPES, shapes, sizeof(shapes));

	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_OP, .name = rig_op("aten::cat"),
				.link = 7, .arg = TP_ARG_OP(id, 0, 0)}, 500, 0);
	rig_close(9000);
	make_json();
	cr_assert_not_null(strstr(text, "\"Sequence number\":7,\"Fwd thread id\":0,"
					"\"Input Dims\":[[4,8],[[3],[],[]],[],[],[]],"
					"\"Input type\":[\"float\",\"TensorList\",\"Scalar\",\"\","
					"\"ScalarList\"]"), "%s", text);
}

Test(sink_chrome, names_of_any_bytes_leave_valid_json)
{
	static const char odd[] = "a\"b\\c\n\x01\xff\xc3\xa9";

	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_RANGE, rig_bytes(TP_STRING_TEXT, odd, sizeof(odd) - 1), 1000, 2000);
	rig_span(TP_REC_OP, 0, 3000, 4000);
	rig_close(9000);
	make_json();
	cr_assert_not_null(strstr(text, "\"name\":\"a\\\"b\\\\c\\n\\u0001\xef\xbf\xbd\xc3\xa9\""));
	cr_assert_not_null(strstr(text, "\"name\":\"(no name)\""), "a name is required");
}

Test(sink_chrome, spans_that_cross_by_jitter_are_cut_and_others_get_a_track)
{
	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_STEP, .link = 1}, 9000, 0);
	/* Ends a nanosecond after its step: on one track viewers would drop it. */
	rig_span(TP_REC_RANGE, rig_text("jitter"), 5000, 10001);
	/* Goes on for 5 us. */
	rig_span(TP_REC_RANGE, rig_text("crossing"), 6000, 15000);
	rig_close(20000);
	make_json();
	cr_assert_not_null(strstr(text, "\"name\":\"jitter\",\"pid\":100000,\"tid\":100,"
					"\"ts\":4.000,\"dur\":5.000"));
	cr_assert_not_null(strstr(text, "\"name\":\"crossing\",\"pid\":100000,\"tid\":10000100,"
					"\"ts\":5.000,\"dur\":9.000"));
	cr_assert_not_null(strstr(text, "thread 100 (main), overlapping 1"));
}

Test(sink_chrome, asynchronous_spans_have_tracks_on_which_nothing_crosses)
{
	rig_file("a.tpt", 0, 0);
	for (uint64_t i = 0; i < 2; i++)
		rig_put((struct tp_rec){.time = 1000 + 100 * i, .kind = TP_REC_RANGE,
					.flags = TP_F_ASYNC, .name = rig_text("gloo:all_reduce"),
					.link = TP_NO_SEQ}, 5000, 0);
	rig_close(20000);
	make_json();
	cr_assert_not_null(strstr(text, "\"tid\":1000000001,"));
	cr_assert_not_null(strstr(text, "\"tid\":1000000002,"));
	cr_assert_eq(count("\"dur\":5.000"), 2);
}

Test(sink_chrome, a_backward_node_is_joined_to_the_last_operator_with_its_number)
{
	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_OP, .name = rig_op("aten::linear"),
				.link = 5}, 900, 0);
	rig_put((struct tp_rec){.time = 1100, .kind = TP_REC_OP, .name = rig_op("aten::addmm"),
				.link = 5}, 300, 0);
	rig_put((struct tp_rec){.time = 3000, .kind = TP_REC_OP, .name = rig_op("AddmmBackward0"),
				.flags = TP_F_BACKWARD, .link = 5, .arg = TP_ARG_OP(0, 1, 1)}, 200, 0);
	/* Retained graph: the second pass has no second arrow. */
	rig_put((struct tp_rec){.time = 4000, .kind = TP_REC_OP, .name = rig_op("AddmmBackward0"),
				.flags = TP_F_BACKWARD, .link = 5, .arg = TP_ARG_OP(0, 1, 1)}, 200, 0);
	/* Its forward operator was never recorded. */
	rig_put((struct tp_rec){.time = 5000, .kind = TP_REC_OP, .name = rig_op("MulBackward0"),
				.flags = TP_F_BACKWARD, .link = 4, .arg = TP_ARG_OP(0, 1, 1)}, 200, 0);
	rig_close(20000);
	make_json();
	cr_assert_eq(count("\"ph\":\"s\""), 1);
	cr_assert_eq(count("\"ph\":\"f\""), 1, "an arrow has two ends");
	cr_assert_not_null(strstr(text, "{\"ph\":\"s\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"id\":1,"
					"\"pid\":100000,\"tid\":100,\"ts\":0.100}"));
	cr_assert_not_null(strstr(text, "\"id\":1,\"pid\":100000,\"tid\":100,\"ts\":2.000}"));
}

Test(sink_chrome, tensor_memory_is_told_as_torch_tells_it)
{
	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_TOTALS, .link = TP_DEVICE_CPU,
				.arg = 0}, 5000, 0);
	rig_put((struct tp_rec){.time = 2000, .kind = TP_REC_ALLOC, .link = TP_DEVICE_CPU,
				.arg = 0xabc}, 64, 0);
	/* The size of a free is not in its record. */
	rig_put((struct tp_rec){.time = 3000, .kind = TP_REC_FREE, .link = TP_DEVICE_CPU,
				.arg = 0xabc}, 0, 0);
	rig_put((struct tp_rec){.time = 4000, .kind = TP_REC_ALLOC, .link = TP_DEVICE(1, 3),
				.arg = 0xdef}, 32, 0);
	rig_close(9000);
	make_json();
	cr_assert_eq(count("\"name\":\"[memory]\""), 3);
	cr_assert_not_null(strstr(text, "\"Total Allocated\":5064,\"Bytes\":64,\"Device Id\":-1,"
					"\"Device Type\":0,\"Addr\":2748}"));
	cr_assert_not_null(strstr(text, "\"Total Allocated\":5000,\"Bytes\":-64,\"Device Id\":-1"));
	cr_assert_not_null(strstr(text, "\"Bytes\":32,\"Device Id\":3,\"Device Type\":1"));
}

Test(sink_chrome, counters_are_named_with_instance_and_unit)
{
	uint32_t core = rig_bytes(TP_STRING_COUNTER, "core\0%\0cpu", 10);
	uint32_t rss = rig_bytes(TP_STRING_COUNTER, "RSS\0B\0memory", 12);
	double value = 12.5;
	uint64_t bits;

	memcpy(&bits, &value, 8);
	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_COUNTER, .name = core, .link = 0,
				.flags = TP_F_DOUBLE, .arg = bits}, 0, 0);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_COUNTER, .name = rss,
				.arg = 1 << 20}, 0, 0);
	rig_close(9000);
	make_json();
	cr_assert_not_null(strstr(text, "\"name\":\"core 0\""));
	cr_assert_not_null(strstr(text, "\"args\":{\"%\":12.5}"));
	cr_assert_not_null(strstr(text, "\"name\":\"RSS\""));
	cr_assert_not_null(strstr(text, "\"args\":{\"B\":1048576}"));
}

/* What a damaged or hostile writer with right checksums could send. */
Test(sink_chrome, records_of_any_content_do_no_harm)
{
	struct tp_run *run;
	char path[128];
	int err;

	srand(3);
	for (int round = 0; round < 20; round++) {
		rig_file("a.tpt", 0, 0);
		rig_bytes(TP_STRING_SHAPES, "\x02\xff\x01", 3);
		rig_text("\xff\xfe");
		/* Short, whole, too long, of all ones: no reader of details may trust one. */
		for (uint32_t kind = TP_STRING_LAUNCH; kind <= TP_STRING_PYFRAME; kind++) {
			char odd[128];

			memset(odd, round % 3 ? 0xff : 1, sizeof(odd));
			rig_bytes(kind, odd, (uint32_t)(round * 7 % 128));
			rig_bytes(kind, odd, 16);
		}
		for (int i = 0; i < 2000; i++) {
			struct tp_rec rec;

			for (size_t k = 0; k < sizeof(rec); k++)
				((unsigned char *)&rec)[k] = (unsigned char)rand();
			/* In odd rounds all times near each other, so that spans meet. */
			if (round % 2 || rand() % 10)
				rec.time = (uint64_t)(rand() % 100000);
			if (rand() % 3)
				rec.len_hi = 0;
			if (rand() % 3)
				rec.kind = (uint8_t)(rand() % TP_REC_N);
			if (rand() % 2)
				rec.name = (uint32_t)rand() % rig.n_strings;
			tp_writer_events(&rig.writer, &rec, 1, (uint16_t)(rand() % 3 ? 0 : rand()));
		}
		rig_close(200000);
		for (int i = 0; tp_sinks[i]; i++) {
			/* One takes files as they are. */
			if (tp_sinks[i]->write)
				continue;
			run = rig_open(NULL, NULL, NULL);
			cr_assert_not_null(run);
			snprintf(path, sizeof(path), "%s/out%s", rig.folder, tp_sinks[i]->suffix);
			err = tp_pass_write(run, tp_sinks[i], path);
			/* Some write nothing where no memory was allocated. */
			cr_assert(!err || err == -ENODATA, "%s: %d", tp_sinks[i]->name, err);
			tp_run_free(run);
		}
	}
}

Test(sink_chrome, the_default_name_is_the_nodes_and_never_a_template)
{
	char path[256], want[128];
	struct tp_run *run;

	rig_file("a.tpt", 0, 0);
	rig_close(9000);
	run = rig_open(NULL, NULL, NULL);
	cr_assert_eq(tp_sink_path(run, &tp_sink_chrome, NULL, false, NULL, path, sizeof(path)), 0);
	snprintf(want, sizeof(want), "%s/node0.json.gz", rig.folder);
	cr_assert_str_eq(path, want);
	/* Composer left "node{node_rank}.json" when the launcher had not said which node. */
	run->proc[0]->node_rank = -1;
	cr_assert_eq(tp_sink_path(run, &tp_sink_perfetto, NULL, false, NULL, path, sizeof(path)), 0);
	snprintf(want, sizeof(want), "%s/node0.pftrace.gz", rig.folder);
	cr_assert_str_eq(path, want);
	cr_assert_eq(tp_sink_path(run, &tp_sink_chrome, "x.json", false, NULL, path, sizeof(path)), 0);
	cr_assert_str_eq(path, "x.json");
	cr_assert_eq(tp_sink_path(run, &tp_sink_chrome, rig.folder, false, NULL, path, 10), -ENAMETOOLONG);
	tp_run_free(run);
}
