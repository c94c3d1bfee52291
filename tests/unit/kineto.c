/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto.c - torch.profiler's files of all versions: the same training, as each writes it
 *
 * A case is a file and what is to be read of it: a line for each event in the order of time.
 */
#include "merge_rig.h"

#include "runtime/base/own_python.h"
#include "merge/kineto/kineto_in.h"
#include "merge/kineto/kineto_order.h"
#include "merge/model/shapes.h"
#include "runtime/trace/kinds.h"

enum { LINES_MOST = 4096 };

struct reading {
	char lines[LINES_MOST];
	size_t n;
	int64_t zero;		/* of what is no frame */
	bool has_zero;
};

/* "operator aten::add 10+5 on 7"; what is told of stacks has no times. */
static void take_event(void *ctx, const struct tp_event *event)
{
	struct reading *r = ctx;
	char *at = r->lines + r->n;
	size_t room = sizeof(r->lines) - r->n;
	bool is_of_stacks = event->kind == TP_REC_FRAME || event->kind == TP_REC_STACK ||
			    event->kind == TP_REC_NNMODULE;

	if (!r->has_zero && !is_of_stacks) {
		r->zero = event->begin_ns;
		r->has_zero = true;
	}
	if (event->kind == TP_REC_FRAME)
		r->n += (size_t)snprintf(at, room, "frame %u out of %u: %s\n", event->link,
					 (uint32_t)event->len, event->name->bytes);
	else if (event->kind == TP_REC_STACK)
		r->n += (size_t)snprintf(at, room, "%s %u\n", event->flags ? "module's" : "stack",
					 event->link);
	else if (event->kind == TP_REC_NNMODULE)
		r->n += (size_t)snprintf(at, room, "module %s\n", event->name->bytes);
	else if (event->queue)
		r->n += (size_t)snprintf(at, room, "%s %s %lld+%lld of %u\n",
					 tp_kind_text(event->kind), event->name->bytes,
					 (long long)(event->begin_ns - r->zero),
					 (long long)(event->end_ns - event->begin_ns), event->link);
	else
		r->n += (size_t)snprintf(at, room, "%s %s %lld+%llu on %u\n",
					 tp_kind_text(event->kind), event->name->bytes,
					 (long long)(event->begin_ns - r->zero),
					 (unsigned long long)event->len, event->thread->tid);
	cr_assert_lt(r->n, sizeof(r->lines));
}

static struct tp_run *open_text(const char *text, size_t n)
{
	struct tp_fuse_options options = {.n_paths = 1, .is_quiet = true};
	char path[128];
	const char *one = path;
	FILE *file;

	snprintf(path, sizeof(path), "%s/one.json", rig.folder);
	file = fopen(path, "w");
	cr_assert_not_null(file);
	fwrite(text, 1, n, file);
	fclose(file);
	options.path = &one;
	return tp_run_open(&options);
}

static const struct {
	const char *what, *text, *lines;
	const char *issue;	/* part of the one that there is; NULL: none */
	int32_t rank;
} cases[] = {
	{
	    "1.8: old words, whole microseconds, streams as texts",
	    "{\"schemaVersion\": 1, \"computeProperties\": [{\"id\": 0, \"name\": \"V100\", "
	    "\"multiProcessorCount\": 80}], \"traceEvents\": [\n"
	    "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"aten::add\", \"pid\": 9, \"tid\": "
	    "\"9\", \"ts\": 1623142623460111, \"dur\": 25, \"args\": {\"Device\": 9, "
	    "\"External id\": 2}},\n"
	    "{\"ph\": \"X\", \"cat\": \"Runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 9, "
	    "\"tid\": \"9\", \"ts\": 1623142623460115, \"dur\": 6, \"args\": {\"cbid\": 211, "
	    "\"correlation\": 4, \"external id\": 2}},\n"
	    "{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"add\", \"pid\": 0, \"tid\": \"stream 7\", "
	    "\"ts\": 1623142623460130, \"dur\": 3, \"args\": {\"device\": 0, \"context\": 1, "
	    "\"stream\": 7, \"correlation\": 4}}]}",
	    "operator aten::add 0+25000 on 9\n"
	    "call cudaLaunchKernel 4000+6000 on 9\n"
	    "kernel add 19000+3000 of 4\n",
	    NULL, -1,
	},
	{
	    "1.13: new words",
	    "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 2, \"world_size\": 4}, "
	    "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": "
	    "9, \"tid\": 9, \"ts\": 1000000, \"dur\": 2, \"args\": {}}, {\"ph\": \"s\", \"id\": 1, "
	    "\"pid\": 9, \"tid\": 9, \"ts\": 1000001, \"cat\": \"async_cpu_to_gpu\", \"name\": "
	    "\"async_cpu_to_gpu\"}, {\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"mine\", "
	    "\"pid\": 9, \"tid\": 9, \"ts\": 1000001, \"dur\": 1, \"args\": {}}]}",
	    "operator aten::add 0+2000 on 9\nrange mine 1000+1000 on 9\n", NULL, 2,
	},
	{
	    "2.2: parts of microseconds behind a base; what repeats others is passed over",
	    "{\"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": 1790857026000000000, "
	    "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": "
	    "9, \"tid\": 9, \"ts\": 4449071832386.725, \"dur\": 0.5, \"args\": {}}, {\"ph\": \"X\", "
	    "\"cat\": \"gpu_user_annotation\", \"name\": \"mine\", \"pid\": 0, \"tid\": 7, \"ts\": "
	    "4449071832386.8, \"dur\": 1, \"args\": {}}, {\"ph\": \"X\", \"cat\": \"Trace\", \"name\": "
	    "\"PyTorch Profiler (0)\", \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\", \"ts\": "
	    "4449071832386.7, \"dur\": 9, \"args\": {}}]}",
	    "operator aten::add 0+500 on 9\n", NULL, -1,
	},
	{
	    "a base and a rank behind the events",
	    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 9, "
	    "\"tid\": 9, \"ts\": 5.001, \"dur\": 1.25}], \"displayTimeUnit\": \"ns\", "
	    "\"baseTimeNanoseconds\": 5, \"distributedInfo\": {\"rank\": 1, \"world_size\": 2}}",
	    "operator a 0+1250 on 9\n", NULL, 1,
	},
	{
	    "from its own begin: the first event at 0 is one, too",
	    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 9, "
	    "\"tid\": 9, \"ts\": 0, \"dur\": 2}, {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"b\", "
	    "\"pid\": 9, \"tid\": 9, \"ts\": 2, \"dur\": 1}]}",
	    "operator a 0+1999 on 9\noperator b 1999+1000 on 9\n", NULL, -1,
	},
	{
	    "only the array, which nobody ended",
	    "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 9, \"tid\": 9, \"ts\": 5, "
	    "\"dur\": 1},\n{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"b\", \"pid\": 9, \"tid\": 9, "
	    "\"ts\": 7, \"dur\": 1},\n",
	    "operator a 0+1000 on 9\noperator b 2000+1000 on 9\n", "ends in the middle", -1,
	},
	{
	    "sloppy: commas before ends, NaN, something behind the end",
	    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 9, "
	    "\"tid\": 9, \"ts\": 5, \"dur\": 1, \"args\": {\"occupancy\": NaN, \"x\": Infinity,},},], "
	    "\"traceName\": \"C:\\\\a.json\"}\ngarbage {[",
	    "operator a 0+1000 on 9\n", NULL, -1,
	},
	{
	    "a cut event",
	    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 9, "
	    "\"tid\": 9, \"ts\": 5, \"dur\": 1}, {\"ph\": \"X\", \"cat\": \"cpu_op\", \"na",
	    "operator a 0+1000 on 9\n", "ends in the middle", -1,
	},
	{
	    "AMD's",
	    "{\"deviceProperties\": [{\"id\": 0, \"name\": \"AMD Radeon Graphics\", \"warpSize\": 64, "
	    "\"numSms\": 104, \"maxSharedMemoryPerMultiProcessor\": 65536}], \"traceEvents\": ["
	    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"hipLaunchKernel\", \"pid\": 9, "
	    "\"tid\": 9, \"ts\": 5, \"dur\": 1, \"args\": {\"stream\": \"0x0\", \"cid\": 107, "
	    "\"correlation\": 3, \"grid\": [3, 1, 1], \"block\": [128, 1, 1]}}, {\"ph\": \"X\", "
	    "\"cat\": \"kernel\", \"name\": \"mul\", \"pid\": 2, \"tid\": 0, \"ts\": 8, \"dur\": 2, "
	    "\"args\": {\"device\": 2, \"stream\": 0, \"correlation\": 3, \"kind\": \"Dispatch "
	    "Kernel\"}}]}",
	    "call hipLaunchKernel 0+1000 on 9\nkernel mul 3000+2000 of 3\n", NULL, -1,
	},
	{
	    "Intel's",
	    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"xpu_runtime\", \"name\": "
	    "\"urEnqueueKernelLaunch\", \"pid\": 9, \"tid\": 9, \"ts\": 5, \"dur\": 1, \"args\": "
	    "{\"correlation\": 3}}, {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": "
	    "0, \"tid\": 16, \"ts\": 8, \"dur\": 2, \"args\": {\"device\": 0, \"context\": 1, "
	    "\"stream\": 16, \"correlation\": 3}}]}",
	    "call urEnqueueKernelLaunch 0+1000 on 9\nkernel gemm 3000+2000 of 3\n", NULL, -1,
	},
	{
	    "MTIA's: its device's events are not read, which is said",
	    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"mtia_runtime\", \"name\": \"runFunction\", "
	    "\"pid\": 9, \"tid\": 9, \"ts\": 5, \"dur\": 1, \"args\": {\"correlation\": 3}}, {\"ph\": "
	    "\"X\", \"cat\": \"mtia_ccp_events\", \"name\": \"dma_request\", \"pid\": 3, \"tid\": 801, "
	    "\"ts\": 8, \"dur\": 2, \"args\": {\"sqid\": 1}}]}",
	    "call runFunction 0+1000 on 9\n", "1 events of kinds that are not read ('mtia_ccp", -1,
	},
	{
	    "calls of Python behind the operators, inner ones first, and some of C",
	    "{\"with_stack\": 1, \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": "
	    "\"a\", \"pid\": 9, \"tid\": 9, \"ts\": 15, \"dur\": 2}, {\"ph\": \"X\", \"cat\": "
	    "\"cpu_op\", \"name\": \"b\", \"pid\": 9, \"tid\": 9, \"ts\": 30, \"dur\": 2}, "
	    "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"<built-in function relu>\", "
	    "\"pid\": 9, \"tid\": 9, \"ts\": 14, \"dur\": 4, \"args\": {\"Python id\": 4}}, "
	    "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"a.py(7): f\", \"pid\": 9, "
	    "\"tid\": 9, \"ts\": 12, \"dur\": 8, \"args\": {\"Python id\": 3}}, "
	    "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"nn.Module: Net_0\", \"pid\": 9, "
	    "\"tid\": 9, \"ts\": 12, \"dur\": 8, \"args\": {\"Python id\": 2, \"Python module id\": "
	    "0}}, {\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"a.py(1): <module>\", "
	    "\"pid\": 9, \"tid\": 9, \"ts\": 10, \"dur\": 50, \"args\": {\"Python id\": 1}}]}",
	    "module Net_0\nframe 1 out of 0: <module>\nframe 2 out of 1: \nmodule's 2\n"
	    "frame 3 out of 2: f\nstack 3\noperator a 0+2000 on 9\nstack 1\n"
	    "operator b 15000+2000 on 9\n",
	    NULL, -1,
	},
	{
	    "1.8: each operator has its own stack, but those within another one",
	    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"a\", \"pid\": 9, "
	    "\"tid\": \"9\", \"ts\": 15, \"dur\": 9, \"args\": {\"Call stack\": \"a.py(7): f;a.py(1): "
	    "<module>\"}}, {\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"b\", \"pid\": 9, \"tid\": "
	    "\"9\", \"ts\": 16, \"dur\": 2, \"args\": {\"Call stack\": \"\"}}, {\"ph\": \"X\", "
	    "\"cat\": \"Operator\", \"name\": \"c\", \"pid\": 9, \"tid\": \"9\", \"ts\": 30, \"dur\": "
	    "2, \"args\": {\"Call stack\": \"\"}}]}",
	    "frame 1 out of 0: <module>\nframe 2 out of 1: f\nstack 2\noperator a 0+9000 on 9\n"
	    "operator b 1000+2000 on 9\nstack 0\noperator c 15000+2000 on 9\n",
	    NULL, -1,
	},
};

Test(kineto, dialects)
{
	rig_begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct reading reading = {.n = 0};
		struct tp_run *run = open_text(cases[i].text, strlen(cases[i].text));

		cr_assert_not_null(run, "%s", cases[i].what);
		cr_assert_eq(tp_fuse_events(run, take_event, &reading), 0);
		cr_assert_str_eq(reading.lines, cases[i].lines, "%s:\n%s", cases[i].what,
				 reading.lines);
		cr_assert_eq(run->proc[0]->rank, cases[i].rank, "%s", cases[i].what);
		cr_assert_eq(run->n_issues, cases[i].issue != NULL, "%s: %s", cases[i].what,
			     run->n_issues ? run->issue[0].text : "");
		if (cases[i].issue)
			cr_assert_not_null(strstr(run->issue[0].text, cases[i].issue), "%s: %s",
					   cases[i].what, run->issue[0].text);
		tp_run_free(run);
	}
	rig_end();
}

static void add_bytes(void *ctx, const struct tp_event *event)
{
	uint64_t *bytes = ctx;
	uint8_t dtype;

	*bytes += tp_shapes_bytes(event->shapes->bytes, event->shapes->n_bytes, &dtype);
}

static void show_shapes(void *ctx, const struct tp_event *event)
{
	tp_show_shapes(ctx, 128, event->shapes->bytes, event->shapes->n_bytes);
}

/* Written as the guest writes them: each tensor of a list is an item. */
Test(kineto, lists_of_tensors)
{
	static const char trace[] =
		"[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::cat\", \"pid\": 9, "
		"\"tid\": 9, \"ts\": 5, \"dur\": 1, \"args\": {\"Input Dims\": "
		"[[[3, 4], [], [70000]], [], [2]], \"Input type\": "
		"[\"TensorList\", \"Scalar\", \"float\"]}}]";
	char shown[128] = "";
	struct tp_run *run;

	rig_begin();
	run = open_text(trace, sizeof(trace) - 1);
	cr_assert_not_null(run);
	cr_assert_eq(tp_fuse_events(run, show_shapes, shown), 0);
	cr_expect_str_eq(shown, "(tensor[3,4], tensor[], tensor[70000]), scalar, f32[2]");
	tp_run_free(run);
	rig_end();
}

/* typeid's names are the compiler's own. */
Test(kineto, types_are_named_by_gcc_or_clang)
{
	static const struct {
		const char *type;
		uint64_t bytes;
	} rows[] = {{"long int", 24}, {"long", 24}, {"short int", 6}, {"short", 6},
		    {"unsigned long", 24}, {"unsigned short", 6}, {"float", 12}, {"longer", 0}};

	rig_begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t bytes = 0;
		struct tp_run *run;
		char text[256];
		int n = snprintf(text, sizeof(text),
				 "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 9, "
				 "\"tid\": 9, \"ts\": 5, \"dur\": 1, \"args\": {\"Input Dims\": [[3]], "
				 "\"Input type\": [\"%s\"]}}]", rows[i].type);

		run = open_text(text, (size_t)n);
		cr_assert_not_null(run);
		cr_assert_eq(tp_fuse_events(run, add_bytes, &bytes), 0);
		cr_expect_eq(bytes, rows[i].bytes, "%s: %llu", rows[i].type, (unsigned long long)bytes);
		tp_run_free(run);
	}
	rig_end();
}

Test(kineto, a_base_behind_the_events_is_the_same_base)
{
	static const char event[] = "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"user_annotation\", "
				    "\"name\": \"ProfilerStep#3\", \"pid\": 9, \"tid\": 9, \"ts\": 7.5, "
				    "\"dur\": 2}]",
			  base[] = "\"baseTimeNanoseconds\": 1790857026000000000";
	char text[512];

	rig_begin();
	for (int is_behind = 0; is_behind < 2; is_behind++) {
		struct tp_run *run;

		snprintf(text, sizeof(text), "{%s, %s}", is_behind ? event : base,
			 is_behind ? base : event);
		run = open_text(text, strlen(text));
		cr_assert_not_null(run);
		cr_assert_eq(run->n_issues, 0);
		cr_assert_eq(run->zero_real_ns, 1790857026000007500, "%lld",
			     (long long)run->zero_real_ns);
		cr_assert_eq(run->n_steps, 1);
		cr_assert_eq(run->step[0].index, 3);
		cr_assert_eq(run->step[0].begin_ns, 0);
		tp_run_free(run);
	}
	rig_end();
}

/* ---- the order of calls ---- */

struct ordered {
	struct tp_kineto_item last;
	uint64_t n, sum;
};

static void take_item(void *ctx, const struct tp_kineto_item *item)
{
	struct ordered *ordered = ctx;
	const struct tp_kineto_item *last = &ordered->last;

	cr_assert(!ordered->n || last->begin < item->begin ||
		  (last->begin == item->begin && last->len_slot >> 16 > item->len_slot >> 16) ||
		  (last->begin == item->begin && last->len_slot >> 16 == item->len_slot >> 16 &&
		   last->order <= item->order));
	ordered->last = *item;
	ordered->n++;
	ordered->sum += item->what;
}

static void check_order(uint32_t n)
{
	struct tp_kineto_order order;
	struct ordered ordered = {.n = 0};
	uint64_t seed = 42, sum = 0;
	char path[128];

	snprintf(path, sizeof(path), "%s/order", rig.folder);
	tp_kineto_order_init(&order, path);
	for (uint32_t i = 0; i < n; i++) {
		struct tp_kineto_item item = {.what = i, .order = i % 7};

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		/* Half of them in order, as a file's operators are. */
		item.begin = i < n / 2 ? i : seed >> 45;
		item.len_slot = (seed >> 40 & 3) << 16;
		sum += item.what;
		tp_kineto_order_add(&order, &item);
	}
	cr_assert_eq(tp_kineto_order_each(&order, take_item, &ordered), 0);
	cr_assert_eq(ordered.n, n);
	cr_assert_eq(ordered.sum, sum);
	cr_assert_eq(access(path, F_OK), -1, "the file has no name");
	tp_kineto_order_free(&order);
}

Test(kineto, calls_come_in_order_however_many_there_are)
{
	rig_begin();
	check_order(0);
	check_order(1000);
	check_order(TP_KINETO_RUN);
	check_order(3 * TP_KINETO_RUN + 17);
	rig_end();
}

Test(kineto, no_room_for_the_order_is_an_error)
{
	struct tp_kineto_order order;
	struct tp_kineto_item item = {.begin = 1};
	struct ordered ordered = {.n = 0};

	tp_kineto_order_init(&order, "/nowhere/order");
	for (uint32_t i = 0; i <= TP_KINETO_RUN; i++)
		tp_kineto_order_add(&order, &item);
	cr_assert_lt(tp_kineto_order_each(&order, take_item, &ordered), 0);
	cr_assert_eq(ordered.n, 0);
	tp_kineto_order_free(&order);
}

Test(kineto, whose_python_it_is)
{
	static const struct {
		const char *file;
		bool is_own;
	} files[] = {
		{"/home/a/train.py", true}, {"train.py", true}, {"model/net.py", true},
		{"torchless/net.py", true}, {"jsons.py", true}, {"", false},
		{"torch/nn/functional.py", false}, {"contextlib.py", false}, {"<string>", false},
		{"<stdin>", true}, {"<ipython-input-3-5a7>", true}, {"<command-77>", true},
		{"<frozen importlib._bootstrap>", false}, {"<eval_with_key>.0", false},
		{"/usr/lib/python3.11/threading.py", false}, {"yaml/__init__.py", false},
		{"/v/lib/python3.11/site-packages/torch/nn/functional.py", false}, {"PIL/Image.py", false},
		{"/a/dist-packages/numpy/core.py", false}, {"zipfile.py", false},
		{"/home/torch/train.py", true}, {"/tmp/torchinductor_me/xy/cxy.py", false},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		cr_assert_eq(tp_own_python(files[i].file), files[i].is_own, "%s", files[i].file);
}
