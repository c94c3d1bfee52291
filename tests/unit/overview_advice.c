/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_advice.c - tests of the rules: each applies where it should, and nowhere else
 */
#include "tests/unit/advice_gpu_rig.h"

static void set_up(void)
{
	advice_gpu_init();
}

TestSuite(overview_advice, .init = set_up);

/* ---- memory ---- */

static void add_ledger(uint32_t n, int64_t (*live)(uint32_t step))
{
	for (uint32_t i = 0; i < n; i++)
		fake_step_row(&fake, proc, i, i * 100 * MS, 100 * MS)->live_bytes =
			(uint64_t)live(i);
}

static int64_t leak(uint32_t step)
{
	/* Now and then something large is alive for a step. */
	return (100 << 20) + step * 100000ll + (step % 7 == 3 ? 50 << 20 : 0);
}

static int64_t plateau(uint32_t step)
{
	return step < 3 ? 10 << 20 : 100 << 20;
}

static int64_t saw(uint32_t step)
{
	return (100 << 20) + (step % 10) * 1000000ll;
}

static int64_t noise(uint32_t step)
{
	return (100 << 20) + (int64_t)(step * 2654435761u % 1000003u) * 50;
}

Test(overview_advice, tells_what_grows_from_what_comes_and_goes)
{
	static const struct {
		int64_t (*live)(uint32_t step);
		const char *wanted[2];
	} row[] = {
		{leak, {"memory-growth", NULL}}, {plateau, {NULL}}, {saw, {NULL}}, {noise, {NULL}},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		set_up();
		add_ledger(80, row[i].live);
		expect_rules(print(), row[i].wanted);
	}
	set_up();
	add_ledger(80, leak);
	cr_expect(strstr(print(), "memory of tensors grows by 97.7 KiB per step"), "%s", print());
}

/* Only each second row knows of the heap. */
static void add_heap(int64_t (*heap)(uint32_t step), uint64_t times)
{
	for (uint32_t i = 0; i < 80; i++) {
		struct tp_step_row *row = fake_step_row(&fake, proc, i, i * 100 * MS, 100 * MS);

		row->live_bytes = 10 << 20;
		row->heap_bytes = i % 2 ? (uint64_t)heap(i) * times : 0;
	}
}

static int64_t slow_leak(uint32_t step)
{
	return (200 << 20) + step * 25000ll;
}

static int64_t both_grow(uint32_t step)
{
	return (200 << 20) + step * 1000000ll;
}

Test(overview_advice, tells_growth_of_the_heap_from_that_of_its_tensors)
{
	static const struct {
		int64_t (*heap)(uint32_t step);
		uint64_t times;
		const char *wanted[2];
	} row[] = {
		{leak, 10, {"host-memory-growth", NULL}},
		{slow_leak, 1, {NULL}},	/* 2 MiB in all */
		{plateau, 10, {NULL}}, {saw, 10, {NULL}}, {noise, 10, {NULL}},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		set_up();
		add_heap(row[i].heap, row[i].times);
		expect_rules(print(), row[i].wanted);
	}
	set_up();
	add_heap(leak, 10);
	cr_expect(strstr(print(), "host memory beside tensors grows by 977 KiB per step"), "%s", print());
	/* The tensors' own growth is no other one. */
	set_up();
	add_heap(both_grow, 1);
	for (uint32_t i = 0; i < 80; i++)
		fake.run.step[i].live_bytes = (uint64_t)both_grow(i) - (50 << 20);
	expect_rules(print(), (const char *[]){"memory-growth", NULL});
}

Test(overview_advice, waits_for_enough_steps_to_call_it_growth)
{
	add_ledger(15, leak);
	expect_rules(print(), (const char *[]){NULL});
}

/* ---- devices ---- */

Test(overview_advice, sees_tensors_that_nearly_fill_a_device)
{
	device.memory_bytes = 10ull << 30;
	add_steps();
	add_kernel(1 * MS, 2 * MS, 98 * MS);
	fake_step_row(&fake, proc, 0, 0, 100 * MS)->device_peak = 8900ull << 20;
	expect_rules(print(), (const char *const[]){NULL});
	fake_step_row(&fake, proc, 1, 100 * MS, 100 * MS)->device_peak = 9300ull << 20;
	cr_expect(strstr(print(), "tensors take up to 9.08 GiB of a device's 10.0 GiB (90.8 %), in step 1"),
		  "%s", print());
	expect_rules(print(), (const char *const[]){"memory-full", NULL});
	device.memory_bytes = 0;
}

Test(overview_advice, sees_gloo_beside_a_device_that_waits_for_it)
{
	add_steps();
	add_kernel(1 * MS, 2 * MS, 83 * MS);
	for (uint32_t i = 0; i < STEPS; i++)
		add(TP_REC_RANGE, "gloo:all_reduce", i * 100 * MS + 83 * MS, i * 100 * MS + 99 * MS);
	expect_rules(print(), (const char *const[]){"gloo", NULL});
	/* NCCL is there: gloo serves something else. */
	add(TP_REC_RANGE, "nccl:all_reduce", 50 * MS, 51 * MS);
	expect_rules(print(), (const char *const[]){"communication", NULL});
}

Test(overview_advice, says_of_a_healthy_run_where_its_time_goes)
{
	add_steps();
	for (uint32_t i = 0; i < STEPS; i++)
		add(TP_REC_OP, "aten::mm", i * 100 * MS + 5 * MS, i * 100 * MS + 95 * MS);
	cr_expect(strstr(print(), "\nNothing stands out; the largest parts of a step: CPU Exec 90.0 %, Other 10.0 %.\n"),
		  "%s", print());
	cr_expect(!strstr(print(), "What holds it back"), "%s", print());
	/* Nobody can say so where no operator was recorded. */
	n_events = 0;
	add_steps();
	cr_expect(!strstr(print(), "Nothing stands out"), "%s", print());
}

/* 150 operators in each step of 10 ms, too few for advice, with such a gap before each. */
static const char *print_asking(int64_t each, int64_t gap)
{
	advice_gpu_init();
	add_small(150, 1, each, gap);
	return print();
}

Test(overview_advice, says_of_a_small_model_what_the_rest_of_its_steps_is)
{
	static const char other[] = "Other is mostly Python between operators, 151 per step and 36.8 us before each: "
				    "larger batches or torch.compile need fewer.\n";
	const char *text = print_asking(60000, 37000);

	cr_expect(strstr(text, "\nNothing stands out; the largest parts of a step: Other 55.5 %, CPU Exec 44.5 %.\n"),
		  "%s", text);
	cr_expect(strstr(text, other), "%s", text);
	/* Less than 40 %; on a device. */
	text = print_asking(60000, 26000);
	cr_expect_not(strstr(text, "Other is mostly"), "%s", text);
	advice_gpu_init();
	add_small(150, 1, 60000, 37000);
	proc->n_devices = 1;
	text = print();
	cr_expect_not(strstr(text, "Other is mostly"), "%s", text);
}

Test(overview_advice, sees_one_process_that_serves_several_devices)
{
	static struct tp_queue other = {.device = 1, .stream = 7};

	add_steps();
	add_kernel(1 * MS, 2 * MS, 98 * MS);
	add(TP_REC_RANGE, "DataParallel.forward", 1 * MS, 40 * MS);
	expect_rules(print(), (const char *const[]){NULL});
	add_kernel(1 * MS, 2 * MS, 98 * MS);
	for (uint32_t i = n_events; i--;)
		if (event[i].kind == TP_REC_KERNEL && event[i].link > STEPS)
			event[i].queue = &other;
	expect_rules(print(), (const char *const[]){"data-parallel", NULL});
}

Test(overview_advice, has_nothing_to_say_of_a_busy_device)
{
	add_steps();
	add_kernel(1 * MS, 2 * MS, 98 * MS);
	expect_rules(print(), (const char *[]){NULL});
}

/* So is what makes it wait: the outermost operator that is known. */
Test(overview_advice, says_what_waits_for_the_device)
{
	static const struct {
		const char *outer, *inner, *what, *todo;
	} row[] = {
		{"aten::item", "aten::_local_scalar_dense", "values that are read", "leave values on the device"},
		{"aten::is_nonzero", "aten::item", "conditions on tensors", "torch.where()"},
		{"aten::to", "aten::copy_", "copies between", "non_blocking=True"},
		{"aten::topk", "aten::sort", "synchronize()", "torch.cuda.synchronize()"},
		{"aten::index", "aten::nonzero", "operators whose output size", "masks as an index"},
		{"c10d::barrier", "record_param_comms", "dist.barrier()", "leave dist.barrier() out"},
		{"c10d::allreduce_", "record_param_comms", "for collectives", "TORCH_NCCL_BLOCKING_WAIT"},
	};

	for (uint32_t k = 0; k < sizeof(row) / sizeof(row[0]); k++) {
		const char *text;

		set_up();
		add_steps();
		add_kernel(1 * MS, 2 * MS, 40 * MS);
		for (uint32_t i = 0; i < STEPS; i++) {
			add(TP_REC_OP, row[k].outer, (i * 100 + 3) * MS, (i * 100 + 43) * MS);
			add(TP_REC_OP, row[k].inner, (i * 100 + 4) * MS, (i * 100 + 42) * MS);
			add(TP_REC_CALL, "cudaStreamSynchronize_v3020", (i * 100 + 5) * MS, (i * 100 + 41) * MS);
			add(TP_REC_CALL, "cudaEventSynchronize", (i * 100 + 50) * MS, (i * 100 + 51) * MS);
		}
		add_kernel(80 * MS, 81 * MS, 100 * MS);
		text = print();
		expect_rules(text, (const char *[]){"synchronising", NULL});
		/* The first step's are not among them. */
		cr_expect(strstr(text, k == 3 ? "; 100.0 % of the waits is for" : "; 97.3 % of the waits is for"),
			  "%s", text);
		cr_expect(strstr(text, row[k].what) && strstr(text, row[k].todo), "%s in:\n%s", row[k].outer, text);
	}
}

/* Line 10 launches most, the device waits for what line 20 launches. */
static void add_small_kernels(const char *call)
{
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		add_stack(1, i * 100 * MS + 1);
		add(TP_REC_OP, "aten::add", i * 100 * MS + 2, (i * 100 + 20) * MS);
		add_stack(2, (i * 100 + 20) * MS + 1);
		add(TP_REC_OP, "aten::mul", (i * 100 + 20) * MS + 2, (i * 100 + 99) * MS);
	}
	for (uint32_t i = 0; i < 6; i++)
		add_work("cudaLaunchKernel", TP_REC_KERNEL, "small", (1 + i) * MS, (2 + i) * MS, (2 + i) * MS + 1000,
			 &fake.none);
	for (uint32_t i = 0; i < 2; i++)
		add_work(call, TP_REC_KERNEL, "graphed", (50 + i * 40) * MS, (51 + i * 40) * MS, (51 + i * 40) * MS + 1000,
			 &fake.none);
}

Test(overview_advice, names_the_line_whose_work_is_late)
{
	const char *text;

	add_small_kernels("cudaLaunchKernel");
	text = print();
	expect_rules(text, (const char *[]){"host-bound", NULL});
	cr_expect(strstr(text, "before work of this line\n                      /home/me/train.py:20 main\n"), "%s",
		  text);
	cr_expect(strstr(text, "CUDA graphs, larger batches"), "%s", text);
	cr_expect(strstr(text, "of the time after the first step, waiting"), "%s", text);
	cr_expect(strstr(text, "GPU idle"), "%s", text);
}

/* In it libraries are loaded: the device waits for all of it, and no other step is so. */
Test(overview_advice, leaves_the_first_step_out)
{
	const char *text;

	add_steps();
	for (uint32_t i = 1; i < STEPS; i++)
		for (uint32_t k = 0; k < 9; k++) {
			int64_t at = (i * 100 + k * 10) * MS;

			add(TP_REC_CALL, "cudaLaunchKernel", at, at + 100)->link = ++n_calls;
			event[n_events] = fake_span(&fake, proc, 0, TP_REC_KERNEL, fake_text(&fake, "elementwise"),
						    at + 1000, at + 9 * MS);
			event[n_events].link = n_calls;
			event[n_events].queue = &queue;
			event[n_events++].detail = &fake.none;
		}
	text = print();
	expect_rules(text, (const char *[]){NULL});
	cr_expect(strstr(text, "waiting for the host 39.3 %"), "of all steps it is: %s", text);
	/* Where it is all there is, it counts. */
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_STEP)
			event[i].end_ns = event[i].link ? event[i].begin_ns : STEPS * 100 * MS;
	for (uint32_t i = n_events; i--;)
		if (event[i].kind == TP_REC_STEP && event[i].link)
			event[i] = event[--n_events];
	text = print();
	expect_rules(text, (const char *[]){"host-bound", NULL});
	cr_expect_not(strstr(text, "after the first step"), "%s", text);
}

Test(overview_advice, does_not_advise_graphs_where_graphs_are_launched)
{
	const char *text;

	add_small_kernels("cudaLaunchKernel");
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_CALL)
			event[i].name = fake_text(&fake, "cudaGraphLaunch_v10000");
	text = print();
	expect_rules(text, (const char *[]){"host-bound", NULL});
	cr_expect(strstr(text, "most kernels are in CUDA graphs already"), "%s", text);
	cr_expect_not(strstr(text, "reduce-overhead"), "%s", text);
	/* Few of them are. */
	set_up();
	add_small_kernels("cudaGraphLaunch");
	text = print();
	cr_expect(strstr(text, "reduce-overhead"), "%s", text);
}

/* What devices did meanwhile is not known. */
Test(overview_advice, accuses_nobody_while_another_profiler_has_cupti)
{
	static const char *const names[] = {"trainprof: CUPTI was used by libkineto", "a mark of the program"};

	for (uint32_t k = 0; k < 2; k++) {
		struct tp_event *mark;

		set_up();
		add_steps();
		add_kernel(1 * MS, 2 * MS, 40 * MS);
		add_kernel(80 * MS, 81 * MS, 100 * MS);
		for (uint32_t i = 0; i < STEPS; i++) {
			mark = add(TP_REC_MARK, names[k], (i * 100 + 50) * MS, (i * 100 + 50) * MS);
			mark->arg = 20 * MS;
		}
		fake.run.window[0].totals = "cupti.yielded=1\ncupti.yielded_ns=80000000\n";
		expect_rules(print(), k ? (const char *[]){"host-bound", NULL} : (const char *[]){NULL});
	}
}

Test(overview_advice, tells_waits_from_a_host_that_is_late)
{
	const char *text;

	add_steps();
	add_kernel(1 * MS, 2 * MS, 40 * MS);
	for (uint32_t i = 0; i < STEPS; i++)
		add(TP_REC_CALL, "cudaStreamSynchronize_v3020", (i * 100 + 5) * MS,
		    (i * 100 + 41) * MS);
	add_kernel(80 * MS, 81 * MS, 100 * MS);
	text = print();
	expect_rules(text, (const char *[]){"synchronising", NULL});
	cr_expect(strstr(text, "waits for the GPU 1 times per step, 36.0 % of the time"), "%s", text);

	/* The same without the wait; kernels of 29 ms are not small. */
	set_up();
	add_steps();
	add_kernel(1 * MS, 2 * MS, 40 * MS);
	add_kernel(80 * MS, 81 * MS, 100 * MS);
	text = print();
	expect_rules(text, (const char *[]){"host-bound", NULL});
	cr_expect(strstr(text, "what the host does before the gaps"), "%s", text);
}

Test(overview_advice, advises_on_launches_where_kernels_are_small)
{
	add_steps();
	for (int64_t i = 0; i < 90; i++)
		add_kernel(i * MS, i * MS + MS / 10, i * MS + MS / 5);
	cr_expect(strstr(print(), "CUDA graphs"), "%s", print());
}

Test(overview_advice, a_device_that_waits_for_data_is_the_loaders)
{
	add_steps();
	for (uint32_t i = 0; i < STEPS; i++)
		add(TP_REC_RANGE, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
		    i * 100 * MS, (i * 100 + 60) * MS);
	add_kernel(61 * MS, 62 * MS, 99 * MS);
	expect_rules(print(), (const char *[]){"data-loading", NULL});
	cr_expect(strstr(print(), "prefetch_factor"), "%s", print());
	/* Its class is the program's, or torch's own: that file is nobody's to change. */
	fake.run.window[0].meta = "dataset=Photos /home/me/train.py:17\n";
	cr_expect(strstr(print(), "/home/me/train.py:17, samples of Photos\n"), "%s", print());
	fake.run.window[0].meta = "dataset=make.<locals>.Photos /home/me/train.py:17\n";
	cr_expect(strstr(print(), "/home/me/train.py:17, samples of Photos\n"), "%s", print());
	fake.run.window[0].meta =
		"dataset=TensorDataset /venv/lib/python3.11/site-packages/torch/utils/data/dataset.py:205\n";
	cr_expect(strstr(print(), " samples of TensorDataset\n"), "%s", print());
	cr_expect(!strstr(print(), "dataset.py"), "%s", print());
	cr_expect(!strstr(print(), "whole batches"), "%s", print());
	/* Its tensors are in memory: no workers. */
	set_up();
	add_steps();
	for (uint32_t i = 0; i < STEPS; i++)
		add(TP_REC_RANGE, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
		    i * 100 * MS, (i * 100 + 60) * MS);
	cr_expect(strstr(print(), "num_workers > 0"), "%s", print());
	fake.run.window[0].meta =
		"dataset=TensorDataset /venv/lib/python3.11/site-packages/torch/utils/data/dataset.py:205\n";
	cr_expect(strstr(print(), "index whole batches instead of single samples"), "%s", print());
}

Test(overview_advice, sees_memory_that_is_asked_for_in_every_step)
{
	add_steps();
	add_kernel(1 * MS, 2 * MS, 98 * MS);
	for (uint32_t i = 0; i < STEPS; i++)
		add(TP_REC_CALL, "cudaMalloc", (i * 100 + 10) * MS, (i * 100 + 13) * MS);
	expect_rules(print(), (const char *[]){"device-allocations", NULL});
	/* In the first step memory is taken for all that come. */
	set_up();
	add_steps();
	add_kernel(1 * MS, 2 * MS, 98 * MS);
	for (uint32_t i = 0; i < STEPS * 2; i++)
		add(TP_REC_CALL, "cudaMalloc", (10 + i * 4) * MS, (13 + i * 4) * MS);
	expect_rules(print(), (const char *[]){NULL});
}

Test(overview_advice, sees_copies_from_memory_that_is_not_pinned)
{
	static const struct {
		struct tp_transfer transfer;
		const char *rule, *todo;
	} row[] = {
		{{.copy_kind = 1, .from_kind = 1, .to_kind = 3}, "pageable-copies", "DataLoader(pin_memory=True)"},
		{{.copy_kind = 2, .from_kind = 3, .to_kind = 1}, "pageable-copies", "copy results less often"},
		{{.copy_kind = 1, .from_kind = 2, .to_kind = 3}, "exposed-copies", "in a stream of its own"},
		{{.copy_kind = 2, .from_kind = 3, .to_kind = 2}, "exposed-copies", "copy results less often"},
	};

	for (uint32_t k = 0; k < sizeof(row) / sizeof(row[0]); k++) {
		const char *text;

		set_up();
		add_one_line();
		add_stack(1, 1);
		add_kernel(1 * MS, 2 * MS, 80 * MS);
		add_work("cudaMemcpyAsync", TP_REC_MEMCPY, "Memcpy", 2 * MS, 81 * MS, 98 * MS,
			 fake_string(&fake, TP_STRING_TRANSFER, (const char *)&row[k].transfer,
				     sizeof(row[k].transfer)));
		text = print();
		expect_rules(text, (const char *[]){row[k].rule, NULL});
		if (!strcmp(row[k].rule, "pageable-copies"))
			cr_expect(strstr(text, "1 copies per step between the GPU and memory that is not pinned take "
					       "17.0 %"), "%s", text);
		cr_expect(strstr(text, row[k].todo), "%s", text);
		cr_expect(strstr(text, "\n                      /home/me/train.py:10 main\n"), "%s", text);
	}
}

Test(overview_advice, puts_the_dearest_first)
{
	const char *text;

	add_steps();
	for (uint32_t i = 0; i < STEPS; i++) {
		add(TP_REC_RANGE, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
		    i * 100 * MS, (i * 100 + 10) * MS);
		add(TP_REC_CALL, "cudaMalloc", (i * 100 + 12) * MS, (i * 100 + 32) * MS);
	}
	add_kernel(11 * MS, 12 * MS, 98 * MS);
	text = print();
	expect_rules(text, (const char *[]){"data-loading", "device-allocations", NULL});
	cr_expect_lt((uintptr_t)strstr(text, "device-allocations"),
		     (uintptr_t)strstr(text, "data-loading"), "%s", text);
}
