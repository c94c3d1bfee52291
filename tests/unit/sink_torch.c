/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_json.c, a file a rank, of the merge: what HTA and TensorBoard's plugin match by text; tests/flow asks
 * them themselves
 */
#include <dirent.h>

#include <errno.h>

#include "merge/pass.h"
#include "tests/unit/gpu_rig.h"

static const struct tp_device_place stream_7 = {2, 1, 7};

static uint32_t count_files(const char *folder)
{
	char full[384];
	uint32_t n = 0;
	DIR *dir;

	snprintf(full, sizeof(full), "%s/%s", rig.folder, folder);
	dir = opendir(full);
	cr_assert_not_null(dir);
	for (struct dirent *d; (d = readdir(dir));)
		n += d->d_name[0] != '.';
	closedir(dir);
	return n;
}

/* The text of a result, which is compressed. */
static const char *read_gz(const char *path)
{
	char command[1024], full[256];

	snprintf(full, sizeof(full), "%s/%s", rig.folder, path);
	snprintf(command, sizeof(command), "gzip -dc '%s' >'%s.json'", full, full);
	cr_assert_eq(system(command), 0, "%s", command);
	snprintf(full, sizeof(full), "%.240s.json", path);
	return rig_read(full);
}

static void put_training(int32_t rank)
{
	char name[16];

	snprintf(name, sizeof(name), "%d.tpt", rank);
	rig_file(name, rank, 0);
	rig_device(2);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_STEP, .link = 3}, 99000, 0);
	rig_span(TP_REC_RANGE, rig_text("Optimizer.step#SGD.step"), 2000, 40000);
	rig_span(TP_REC_RANGE, rig_text("aten::mul_"), 3000, 20000);
	rig_call("cudaLaunchKernel", 100 + (uint32_t)rank, 7, 0, 4000, 6000);
	rig_kernel("k", stream_7, 7, 8000, 12000);
	rig_call("cuLaunchKernel", 100 + (uint32_t)rank, 8, TP_F_DRIVER, 30000, 31000);
	rig_kernel("l", stream_7, 8, 32000, 33000);
	rig_call("cudaStreamSynchronize", 100 + (uint32_t)rank, 9, 0, 34000, 36000);
	rig_sync(TP_SYNC_STREAM, stream_7, 9, 0, 34500, 35500);
	rig_close(200000);
}

TestSuite(sink_torch, .init = rig_begin, .fini = rig_end);

Test(sink_torch, a_file_for_each_rank_called_as_the_plugin_wants_it)
{
	rig.real_minus_mono = 1790000000123000000ll;
	put_training(0);
	put_training(1);
	rig_write(&tp_sink_torch, "out/torch");
	rig.real_minus_mono = 0;
	cr_expect_eq(count_files("out/torch"), 2);
	/* <host>_<pid>.<ms>: the same moment for both, by which they are one run. */
	read_gz("out/torch/here_100.1790000000123.pt.trace.json.gz");
	read_gz("out/torch/here_101.1790000000123.pt.trace.json.gz");
}

Test(sink_torch, the_head_has_the_rank_alone_and_devices_by_their_place)
{
	const char *text;

	put_training(3);
	rig_write(&tp_sink_torch, "out");
	text = read_gz("out/here_103.0.pt.trace.json.gz");
	/* HTA: a blank, before everything else, in a line of its own; no second "rank": */
	rig_has(text, "\n\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 4},\n");
	cr_expect_eq(rig_count(text, "\"rank\": "), 1);
	cr_expect_lt(strstr(text, "\"rank\": "), strstr(text, "\"traceEvents\""));
	/* The plugin takes deviceProperties[2] for device 2. */
	rig_has(text, "[\n  {\"id\": 0, \"name\": \"\",");
	rig_has(text, ",\n  {\"id\": 1, \"name\": \"\",");
	rig_has(text, ",\n  {\"id\": 2, \"name\": \"Tesla V100\", \"totalGlobalMem\": 34084028416,");
}

Test(sink_torch, numbers_are_the_kernels_and_the_devices)
{
	const char *text;

	put_training(1);
	rig_write(&tp_sink_torch, "out");
	text = read_gz("out/here_101.0.pt.trace.json.gz");
	rig_has(text, "\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#3\",\"pid\":101,\"tid\":101,");
	/* The plugin compares pid and args.device. */
	rig_has(text, "\"name\":\"k\",\"pid\":2,\"tid\":7,\"ts\":7.000,\"dur\":4.000,");
	rig_has(text, "\"device\":2,\"context\":1,\"stream\":7,");
	/* All waits are the device's, on a row of their own. */
	rig_has(text, "\"name\":\"Stream Sync\",\"pid\":2,\"tid\":1000000007,");
	/* HTA takes what has a stream for work of a device. */
	rig_has(text, "\"name\":\"cudaStreamSynchronize\",\"pid\":101,\"tid\":101,\"ts\":33.000,"
		      "\"dur\":2.000,\"args\":{\"External id\":2,\"correlation\":9}}");
}

Test(sink_torch, ranges_called_like_operators_are_operators)
{
	static const struct {
		const char *name;
		bool is_op;
	} ranges[] = {
		{"aten::mm", true},
		{"autograd::engine::evaluate_function: MulBackward0", true},
		{"MulBackward0", true},
		{"MyFunctionBackward", true},
		{"c10d::allreduce_", true},
		{"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", true},
		{"Optimizer.step#SGD.step", false},
		{"DistributedDataParallel.forward", false},
		{"Backward pass", false},
		{"## forward ##", false},
		{"nccl:all_reduce", false},
	};
	const char *text;

	rig_file("a.tpt", 0, 0);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		rig_span(TP_REC_RANGE, rig_text(ranges[i].name), 1000 + 100 * i, 1050 + 100 * i);
	rig_close(90000);
	rig_write(&tp_sink_torch, "out");
	text = read_gz("out/here_100.0.pt.trace.json.gz");
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		char want[160];

		snprintf(want, sizeof(want), "\"cat\":\"%s\",\"name\":\"%s\"",
			 ranges[i].is_op ? "cpu_op" : "user_annotation", ranges[i].name);
		rig_has(text, want);
	}
}

Test(sink_torch, the_plugins_words_and_whose_work_is_whose)
{
	const char *text;

	put_training(0);
	rig_write(&tp_sink_torch_tb, "out");
	text = read_gz("out/here_100.0.pt.trace.json.gz");
	/* It reads this category only. */
	rig_has(text, "\"cat\":\"Runtime\",\"name\":\"cudaLaunchKernel\"");
	rig_has(text, "\"cat\":\"Runtime\",\"name\":\"cuLaunchKernel\"");
	cr_expect_null(strstr(text, "cuda_runtime"));
	/* aten::mul_ is 3: 1 the step, 2 the optimizer's range. The second launch lies in no
	 * operator, and the plugin does not know the range. */
	rig_has(text, "\"name\":\"k\",\"pid\":2,\"tid\":7,\"ts\":7.000,\"dur\":4.000,"
		      "\"args\":{\"External id\":3,");
	rig_has(text, "\"name\":\"l\",\"pid\":2,\"tid\":7,\"ts\":31.000,\"dur\":1.000,"
		      "\"args\":{\"External id\":0,");
	/* For everyone else the range is better than nothing. */
	rig_write(&tp_sink_torch, "hta");
	text = read_gz("hta/here_100.0.pt.trace.json.gz");
	rig_has(text, "\"name\":\"l\",\"pid\":2,\"tid\":7,\"ts\":31.000,\"dur\":1.000,"
		      "\"args\":{\"External id\":2,");
}

Test(sink_torch, steps_end_1_ns_early_for_the_plugin)
{
	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_STEP, .link = 3}, 4000, 0);
	rig_put((struct tp_rec){.time = 5000, .kind = TP_REC_STEP, .link = 4}, 0, 0);
	rig_close(90000);
	rig_write(&tp_sink_torch_tb, "out");
	read_gz("out/here_100.0.pt.trace.json.gz");
	rig_has(rig_text_of, "\"ts\":0.000,\"dur\":3.999,");
	rig_has(rig_text_of, "\"ts\":4.000,\"dur\":0.000,");
	rig_write(&tp_sink_torch, "hta");
	read_gz("hta/here_100.0.pt.trace.json.gz");
	rig_has(rig_text_of, "\"ts\":0.000,\"dur\":4.000,");
}

Test(sink_torch, a_collective_owns_its_kernels_for_the_plugin)
{
	const char *text;

	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("record_param_comms"), 1000, 9000);
	rig_span(TP_REC_RANGE, rig_text("nccl:all_reduce"), 2000, 8000);
	rig_call("cudaLaunchKernelExC", 100, 5, 0, 3000, 4000);
	rig_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream_7, 5, 5000, 6000);
	rig_close(90000);
	rig_write(&tp_sink_torch_tb, "out");
	text = read_gz("out/here_100.0.pt.trace.json.gz");
	rig_has(text, "\"tid\":7,\"ts\":4.000,\"dur\":1.000,\"args\":{\"External id\":2,");
}

Test(sink_torch, a_collective_that_was_recorded_says_what_torchs_own_would)
{
	static const char all[] = {TP_SHAPE_TENSOR, 15, 2, 10, 5, TP_SHAPE_GROUP, 7, 1, 4, 0, 0, '0', 0, 'd'};
	const uint32_t shapes = rig_bytes(TP_STRING_SHAPES, all, sizeof(all));
	const char *text;

	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 2000, .kind = TP_REC_RANGE, .name = rig_text("nccl:_all_gather_base"),
				.link = TP_NO_SEQ, .arg = TP_ARG_OP(shapes, 0, 0)}, 6000, 0);
	rig_call("cudaLaunchKernelExC", 100, 5, 0, 3000, 4000);
	rig_kernel("ncclDevKernel_AllGather_RING_LL", stream_7, 5, 5000, 6000);
	rig_call("cudaLaunchKernel", 100, 6, 0, 9000, 9500);
	rig_kernel("other", stream_7, 6, 9600, 9700);
	rig_close(90000);
	rig_write(&tp_sink_torch, "out");
	text = read_gz("out/here_100.0.pt.trace.json.gz");
	cr_expect_eq(rig_count(text, "\"Collective name\":\"_allgather_base\",\"In msg nelems\":50,"
				     "\"Out msg nelems\":200,\"Group size\":4,\"dtype\":\"BFloat16\","
				     "\"Process Group Name\":\"0\","
				     "\"Process Group Description\":\"d\""), 2, "%s", text);
}

/* A collective of gloo, asked for `waited` ns before it began. */
static void put_gloo(uint64_t begin, uint64_t end, uint32_t waited)
{
	rig_put((struct tp_rec){.time = begin, .kind = TP_REC_RANGE, .flags = TP_F_ASYNC,
				.name = rig_text("gloo:all_reduce"), .link = waited}, end - begin, 0);
}

Test(sink_torch, collectives_of_before_the_window_are_of_no_rank)
{
	static const char bounds[] = "events=3\nbegin=10000\nend=90000\n";

	/* Asked for before it: recorded where it ended in the window, however late it began. */
	rig_file("a.tpt", 0, 0);
	put_gloo(9000, 12000, 500);
	put_gloo(10500, 12000, 600);
	put_gloo(20000, 30000, 500);
	rig_anchor(90000);
	cr_assert_eq(tp_writer_close(&rig.writer, bounds, sizeof(bounds) - 1), 0);
	rig_write(&tp_sink_torch_tb, "out");
	read_gz("out/here_100.0.pt.trace.json.gz");
	cr_expect_eq(rig_count(rig_text_of, "gloo:all_reduce"), 1);
	rig_write(&tp_sink_chrome, "all.json.gz");
	read_gz("all.json.gz");
	cr_expect_eq(rig_count(rig_text_of, "gloo:all_reduce"), 3);
	cr_expect_eq(rig_count(rig_text_of, "Began before the window"), 2);
}

/* The number behind `key` in a line; -1: it has none. */
static long number_of(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

/* What the plugin rejects a whole file for, and what HTA takes for work of a device. */
static void check_line(const char *line)
{
	bool is_span = !strncmp(line, "{\"ph\":\"X\"", 9);

	cr_expect_not_null(strstr(line, "\"name\":\""), "%s", line);
	cr_expect_neq(line[7], 'B', "%s", line);
	cr_expect_neq(line[7], 'E', "%s", line);
	cr_expect_null(strstr(line, "gpu_user_annotation"), "%s", line);
	if (!is_span)
		return;
	cr_expect_not_null(strstr(line, "\"cat\":\""), "%s", line);
	cr_expect_geq(number_of(line, "\"dur\":"), 0, "%s", line);
	cr_expect_geq(number_of(line, "\"tid\":"), 0, "%s", line);
	if (strstr(line, "\"stream\":")) {
		cr_expect_gt(number_of(line, "\"stream\":"), 0, "%s", line);
		cr_expect_eq(number_of(line, "\"pid\":"), number_of(line, "\"device\":"), "%s", line);
	}
}

/* Launch and work of one correlation, by their External ids. */
static void check_owners(const char *text)
{
	long owner[16], n_pairs = 0;

	for (int i = 0; i < 16; i++)
		owner[i] = -1;
	for (const char *line = text; (line = strstr(line, "{\"ph\":\"X\"")); line++) {
		char one[2048];
		long id, of;

		snprintf(one, sizeof(one), "%.*s", (int)strcspn(line, "\n"), line);
		id = number_of(one, "\"correlation\":");
		of = number_of(one, "\"External id\":");
		if (id < 0 || id > 15)
			continue;
		if (owner[id] >= 0) {
			cr_expect_eq(owner[id], of, "%s", one);
			n_pairs++;
		}
		owner[id] = of;
	}
	cr_expect_eq(n_pairs, 3);
}

Test(sink_torch, no_event_breaks_a_rule_that_readers_do_not_forgive)
{
	static const struct {
		const struct tp_sink *sink;
		const char *path;
	} formats[] = {{&tp_sink_torch, "hta"}, {&tp_sink_torch_tb, "tb"}};

	put_training(0);
	for (int i = 0; i < 2; i++) {
		char path[64], line[4096];
		const char *text;
		uint32_t n = 0;

		rig_write(formats[i].sink, formats[i].path);
		snprintf(path, sizeof(path), "%s/here_100.0.pt.trace.json.gz", formats[i].path);
		text = read_gz(path);
		for (const char *at = text; (at = strstr(at, "{\"ph\":\"")); at++, n++) {
			snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
			check_line(line);
		}
		cr_expect_gt(n, 8);
		check_owners(text);
	}
}

/* The plugin's module view follows arrows of this category only, everyone else the other. */
Test(sink_torch, arrows_of_the_backward_pass_have_the_category_that_its_reader_knows)
{
	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_OP, .name = rig_op("aten::mul"),
				.link = 5}, 500, 0);
	rig_put((struct tp_rec){.time = 3000, .kind = TP_REC_OP, .name = rig_op("MulBackward0"),
				.link = 5, .flags = TP_F_BACKWARD, .arg = TP_ARG_OP(0, 1, 1)}, 500, 0);
	rig_close(90000);
	rig_write(&tp_sink_torch, "hta");
	rig_write(&tp_sink_torch_tb, "tb");
	cr_expect_eq(rig_count(read_gz("hta/here_100.0.pt.trace.json.gz"), "\"cat\":\"fwdbwd\""), 2);
	cr_expect_eq(rig_count(read_gz("tb/here_100.0.pt.trace.json.gz"),
			       "\"cat\":\"forward_backward\""), 2);
}

Test(sink_torch, of_the_processes_of_a_rank_the_busiest_is_written)
{
	rig_file("worker.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("aten::stack"), 1000, 2000);
	rig_close(90000);
	/* Another process of rank 0: another run id and pid, as the rig numbers rank 5. */
	put_training(5);
	{
		struct tp_run *run = rig_open(NULL, NULL, NULL);
		char full[192];

		cr_assert_eq(run->n_procs, 2);
		for (uint32_t i = 0; i < 2; i++)
			run->proc[i]->rank = 0;
		snprintf(full, sizeof(full), "%s/out", rig.folder);
		cr_assert_eq(tp_pass_write(run, &tp_sink_torch, full), 0);
		tp_run_free(run);
	}
	cr_expect_eq(count_files("out"), 1);
	cr_expect_null(strstr(read_gz("out/here_105.0.pt.trace.json.gz"), "aten::stack"));
}

/* A folder of torch.profiler's own files, merged where they lie, and merged again. */
Test(sink_torch, what_it_wrote_is_no_input_of_the_next_merge)
{
	struct tp_run *run;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/host_7.1.pt.trace.json", rig.folder);
	file = fopen(path, "w");
	cr_assert_not_null(file);
	fputs("{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", "
	      "\"name\": \"aten::mm\", \"pid\": 7, \"tid\": 7, \"ts\": 10, \"dur\": 5, "
	      "\"args\": {\"External id\": 1}}]}", file);
	fclose(file);
	rig_write(&tp_sink_torch, "torch");
	cr_expect_eq(count_files("torch"), 1);
	run = rig_open(NULL, NULL, NULL);
	cr_assert_not_null(run);
	cr_expect_eq(run->n_procs, 1, "%u processes", run->n_procs);
	tp_run_free(run);
}

Test(sink_torch, the_folder_is_the_one_asked_for_or_one_in_the_runs)
{
	char path[256], want[160];
	struct tp_run *run;

	put_training(0);
	run = rig_open(NULL, NULL, NULL);
	cr_assert_eq(tp_sink_path(run, &tp_sink_torch, NULL, false, NULL, path, sizeof(path)), 0);
	snprintf(want, sizeof(want), "%s/torch", rig.folder);
	cr_expect_str_eq(path, want);
	cr_assert_eq(tp_sink_path(run, &tp_sink_torch_tb, NULL, false, NULL, path, sizeof(path)), 0);
	snprintf(want, sizeof(want), "%s/torch-tb", rig.folder);
	cr_expect_str_eq(path, want);
	cr_assert_eq(tp_sink_path(run, &tp_sink_torch, "new", false, NULL, path, sizeof(path)), 0);
	cr_expect_str_eq(path, "new");
	cr_assert_eq(tp_sink_path(run, &tp_sink_torch, rig.folder, false, NULL, path, sizeof(path)), 0);
	cr_expect_str_eq(path, rig.folder);
	/* HTA takes every file of a folder for a rank: nothing else may lie there. */
	cr_assert_eq(tp_sink_path(run, &tp_sink_torch, rig.folder, true, NULL, path, sizeof(path)), 0);
	snprintf(want, sizeof(want), "%s/torch", rig.folder);
	cr_expect_str_eq(path, want);
	tp_run_free(run);
}

Test(sink_torch, a_folder_that_cannot_be_is_said)
{
	char path[192];
	struct tp_run *run;

	put_training(0);
	run = rig_open(NULL, NULL, NULL);
	snprintf(path, sizeof(path), "%s/0.tpt/x", rig.folder);
	cr_expect_eq(tp_pass_write(run, &tp_sink_torch, path), -EIO);
	tp_run_free(run);
}
