/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.c - tests of samples in the merge: where their threads were, whose functions, which stage of
 * loading, and what the overview says because of them
 */
#include <criterion/criterion.h>
#include <sys/syscall.h>

#include "merge/facts/program/sample_owners.h"
#include "tests/unit/fake_run.h"

enum { MS = 1000000, EVENTS = 4096, STEP = 100 * MS, STEPS = 4, WAITS = SYS_read + 1 };

#define DATA "/x/site-packages/torch/utils/data/"
#define TRAIN "/home/me/train.py"

extern const struct tp_view tp_view_hot, tp_view_overview;

static const struct tp_view_options options = {.top = 20};
static struct fake fake;
static struct tp_proc *proc, *worker;
static struct tp_event event[EVENTS];
static uint32_t n_events, n_stacks;
static const struct tp_string *name_of[64];
static uint32_t n_names;

static void set_up(void)
{
	fake_init(&fake);
	n_events = n_stacks = n_names = 0;
	proc = fake_proc(&fake, 0);
	worker = fake_proc(&fake, 0);
	worker->worker = 1;
	fake_window(&fake, proc, 0, 0, STEPS * STEP)->n_events = 1;
	for (uint32_t i = 0; i < STEPS; i++)
		event[n_events++] = fake_step(&fake, proc, i, i * STEP, (i + 1) * STEP);
}

TestSuite(samples, .init = set_up);

static const struct tp_string *function_name(const char *function, const char *file)
{
	char name[200];
	uint32_t n = (uint32_t)snprintf(name, sizeof(name), "%s%c%s", function, 0, file);

	for (uint32_t i = 0; i < n_names; i++)
		if (name_of[i]->n_bytes == n && !memcmp(name_of[i]->bytes, name, n))
			return name_of[i];
	name_of[n_names] = fake_string(&fake, TP_STRING_PYFRAME, name, n);
	return name_of[n_names++];
}

/* A frame inside the stack `outer`; the new stack. */
static uint32_t frame(struct tp_proc *of, uint32_t outer, const char *function, const char *file,
		      uint32_t line)
{
	struct tp_event one = fake_span(&fake, of, 0, TP_REC_FRAME, function_name(function, file), 0, 0);

	one.flags = TP_FRAME_PYTHON;
	one.link = ++n_stacks;
	one.len = outer;
	one.arg = line;
	event[n_events++] = one;
	return n_stacks;
}

static void span(uint8_t kind, const char *name, int64_t begin, int64_t end)
{
	event[n_events++] = fake_span(&fake, proc, 0, kind, fake_text(&fake, name), begin, end);
}

static void sample(struct tp_proc *of, uint32_t thread, uint32_t stack, int64_t at, uint32_t waits_in)
{
	struct tp_event one = fake_span(&fake, of, 0, TP_REC_SAMPLE, NULL, at, at);

	one.flags = TP_SAMPLE_STATE;
	one.link = stack;
	one.len = 10 * MS;
	one.arg = TP_ARG_SAMPLE(of->thread[thread].tid, waits_in);
	event[n_events++] = one;
}

static int compare(const void *a, const void *b)
{
	const struct tp_event *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	/* Frames before what names them, wide spans before narrow ones. */
	if ((x->kind == TP_REC_FRAME) != (y->kind == TP_REC_FRAME))
		return x->kind == TP_REC_FRAME ? -1 : 1;
	if (x->kind == TP_REC_FRAME)
		return x->link < y->link ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static const char *print(const struct tp_view *view)
{
	qsort(event, n_events, sizeof(event[0]), compare);
	return fake_print(&fake, view, &options, event, n_events, 200, false);
}

static void expect(const char *text, const char *wanted)
{
	cr_expect(strstr(text, wanted), "'%s' is not in:\n%s", wanted, text);
}

static void expect_not(const char *text, const char *unwanted)
{
	cr_expect_not(strstr(text, unwanted), "'%s' is in:\n%s", unwanted, text);
}

/* ---- stages ---- */

static struct tp_frame python(const char *function, const char *file)
{
	return (struct tp_frame){.function = function, .file = file, .module = "", .is_python = true};
}

Test(samples, stages_of_loading_are_told_by_torchs_own_functions)
{
	const struct tp_frame main = python("<module>", TRAIN), own = python("Photos.__getitem__", TRAIN),
			      pad = python("pad", TRAIN), lines = python("Lines.__iter__", TRAIN),
			      next = python("_BaseDataLoaderIter.__next__", DATA "dataloader.py"),
			      init = python("_MultiProcessingDataLoaderIter.__init__", DATA "dataloader.py"),
			      index = python("_BaseDataLoaderIter._next_index", DATA "dataloader.py"),
			      get = python("_MultiProcessingDataLoaderIter._try_get_data", DATA "dataloader.py"),
			      loop = python("_worker_loop", DATA "_utils/worker.py"),
			      fetch = python("_MapDatasetFetcher.fetch", DATA "_utils/fetch.py"),
			      inner = python("_MapDatasetFetcher.fetch.<locals>.<listcomp>",
					     DATA "_utils/fetch.py"),
			      iterable = python("_IterableDatasetFetcher.fetch", DATA "_utils/fetch.py"),
			      collate = python("default_collate", DATA "_utils/collate.py"),
			      put = python("Queue.put", "/usr/lib/python3.11/multiprocessing/queues.py");
	const struct {
		struct tp_frame frame[6];	/* the innermost first */
		uint32_t n;
		enum tp_load_stage stage;
	} row[] = {
		{{main}, 1, TP_LOAD_NONE},
		{{own, main}, 2, TP_LOAD_NONE},
		{{own, inner, fetch, next, main}, 5, TP_LOAD_FETCH},
		{{own, fetch, next, main}, 4, TP_LOAD_FETCH},
		{{lines, iterable, next, main}, 4, TP_LOAD_FETCH},
		{{pad, fetch, next, main}, 4, TP_LOAD_COLLATE},
		{{collate, fetch, next, main}, 4, TP_LOAD_COLLATE},
		{{fetch, next, main}, 3, TP_LOAD_FETCH},
		{{own, index, next, main}, 4, TP_LOAD_SAMPLER},
		{{get, next, main}, 3, TP_LOAD_AWAIT},
		{{next, main}, 2, TP_LOAD_OTHER},
		{{init, main}, 2, TP_LOAD_START},
		{{loop, init, main}, 3, TP_LOAD_AWAIT},
		{{put, loop, init, main}, 4, TP_LOAD_SEND},
		{{own, inner, fetch, loop, init, main}, 6, TP_LOAD_FETCH},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		cr_expect_eq(tp_load_stage_of(row[i].frame, row[i].n), row[i].stage, "row %u", i);
}

/* ---- where threads were ---- */

Test(samples, a_sample_is_where_its_thread_was)
{
	uint32_t main = frame(proc, 0, "main", TRAIN, 10), busy = frame(proc, main, "busy", TRAIN, 20),
		 other = frame(proc, 0, "watch", TRAIN, 30),
		 work = frame(worker, 0, "decode", TRAIN, 40);
	const char *text;

	span(TP_REC_OP, "aten::mm", 10 * MS, 20 * MS);
	span(TP_REC_RANGE, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 30 * MS, 50 * MS);
	span(TP_REC_OP, "aten::stack", 32 * MS, 34 * MS);
	sample(proc, 0, main, 15 * MS, 0);
	sample(proc, 0, main, 25 * MS, WAITS);
	sample(proc, 0, busy, 26 * MS, 0);
	sample(proc, 0, main, 33 * MS, 0);
	sample(proc, 1, other, 15 * MS, 0);
	sample(worker, 0, work, 15 * MS, 0);
	sample(proc, 0, main, STEPS * STEP + MS, 0);
	text = print(&tp_view_hot);
	expect(text, "in operators       " TRAIN ":10 main       1  100.0 %      1  100.0 %    0.0 %");
	expect(text, "between operators  " TRAIN ":10 main       1   50.0 %      2  100.0 %   50.0 %");
	expect(text, "between operators  " TRAIN ":20 busy       1   50.0 %      1   50.0 %    0.0 %");
	expect(text, "waiting for data   " TRAIN ":10 main       1  100.0 %");
	expect(text, "other thread       " TRAIN ":30 watch      1  100.0 %");
	expect(text, "worker             " TRAIN ":40 decode     1  100.0 %");
	expect(text, "outside steps      " TRAIN ":10 main       1  100.0 %");
}

Test(samples, without_one_the_view_says_what_to_ask_for)
{
	expect(print(&tp_view_hot), "no sample was recorded");
}

/* ---- data loading ---- */

/* So many of 100 ms waits for data in each step, by the ledger, too. */
static void wait_for_data(const char *iterator, int64_t ms)
{
	char name[100];

	snprintf(name, sizeof(name), "enumerate(DataLoader)#%s.__next__", iterator);
	for (uint32_t i = 0; i < STEPS; i++) {
		fake_step_row(&fake, proc, i, i * STEP, STEP)->data_wait_ns = ms * MS;
		span(TP_REC_RANGE, name, i * STEP, i * STEP + ms * MS);
		span(TP_REC_OP, "aten::mm", i * STEP + ms * MS, (i + 1) * STEP);
	}
}

static uint32_t in_loader(const char *called, const char *file)
{
	uint32_t stack = frame(proc, 0, "<module>", TRAIN, 50);

	stack = frame(proc, stack, "_BaseDataLoaderIter.__next__", DATA "dataloader.py", 700);
	if (strcmp(called, "Weighted.__iter__") == 0)
		stack = frame(proc, stack, "_BaseDataLoaderIter._next_index", DATA "dataloader.py", 600);
	else
		stack = frame(proc, stack, "_MapDatasetFetcher.fetch", DATA "_utils/fetch.py", 54);
	return frame(proc, stack, called, file, 12);
}

static uint32_t in_worker(bool is_idle, const char *called)
{
	uint32_t stack = frame(worker, 0, "<module>", TRAIN, 50);

	stack = frame(worker, stack, "_worker_loop", DATA "_utils/worker.py", 300);
	if (is_idle)
		return frame(worker, stack, "Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", 100);
	stack = frame(worker, stack, "_MapDatasetFetcher.fetch", DATA "_utils/fetch.py", 54);
	stack = frame(worker, stack, "Photos.__getitem__", TRAIN, 30);
	stack = frame(worker, stack, called, TRAIN, 33);
	return frame(worker, stack, "jitter.<locals>.<listcomp>", TRAIN, 34);
}

static void sample_often(struct tp_proc *of, uint32_t stack, uint32_t n, uint32_t waits_in)
{
	for (uint32_t i = 0; i < n; i++)
		sample(of, 0, stack, (i % STEPS) * STEP + (i + 1) * 100000ll, waits_in);
}

Test(samples, who_waits_for_data_in_its_own_process_hears_in_which_function)
{
	static const struct {
		const char *called, *file, *stage, *place, *todo;
		uint32_t waits_in;
	} row[] = {
		{"Photos.__getitem__", TRAIN, "the dataset", "train.py:12 Photos.__getitem__",
		 "less work for each sample there, or DataLoader with num_workers > 0", 0},
		{"Photos.__getitem__", TRAIN, "the dataset", "train.py:12 Photos.__getitem__",
		 "it waits, for storage or a network", WAITS},
		{"pad", TRAIN, "making batches", "train.py:12 pad", "by one operator", 0},
		{"Weighted.__iter__", TRAIN, "the sampler", "train.py:12 Weighted.__iter__",
		 "however many workers", 0},
		{"TensorDataset.__getitem__", DATA "dataset.py", "the dataset", "", "index whole batches", 0},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		set_up();
		wait_for_data("_SingleProcessDataLoaderIter", 40);
		sample_often(proc, in_loader(row[i].called, row[i].file), 40, row[i].waits_in);
		text = print(&tp_view_overview);
		expect(text, "data-loading");
		expect(text, row[i].stage);
		expect(text, row[i].place);
		expect(text, row[i].todo);
	}
}

Test(samples, few_samples_name_nobody)
{
	const char *text;

	wait_for_data("_SingleProcessDataLoaderIter", 40);
	sample_often(proc, in_loader("pad", TRAIN), 4, 0);
	text = print(&tp_view_overview);
	expect(text, "give DataLoader num_workers > 0");
	expect_not(text, "train.py:12 pad");
}

static void add_cores(uint64_t percent)
{
	static const char name[] = "core\0%\0cpu";

	for (uint32_t i = 0; i < STEPS; i++) {
		struct tp_event one = fake_span(&fake, proc, 0, TP_REC_COUNTER,
						fake_string(&fake, TP_STRING_COUNTER, name, sizeof(name) - 1),
						i * STEP, i * STEP);

		one.arg = percent;
		event[n_events++] = one;
	}
}

Test(samples, more_workers_are_advised_only_where_they_can_run)
{
	static const struct {
		uint64_t busy_percent;
		uint32_t waits_in;
		const char *todo;
	} row[] = {
		{97, 0, "the cores are full, and more workers would not help"},
		{50, 0, "or more num_workers: cores are idle"},
		{97, WAITS, "more num_workers: they wait there"},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		set_up();
		wait_for_data("_MultiProcessingDataLoaderIter", 40);
		add_cores(row[i].busy_percent);
		sample_often(worker, in_worker(false, "jitter"), 40, row[i].waits_in);
		text = print(&tp_view_overview);
		expect(text, "train.py:33 jitter");
		expect(text, "100.0 % of the workers' samples are in the dataset");
		expect(text, row[i].todo);
	}
}

Test(samples, idle_workers_are_not_accused_of_a_little)
{
	wait_for_data("_MultiProcessingDataLoaderIter", 12);
	sample_often(worker, in_worker(true, ""), 40, WAITS);
	expect_not(print(&tp_view_overview), "data-loading");
	set_up();
	wait_for_data("_MultiProcessingDataLoaderIter", 12);
	sample_often(worker, in_worker(false, "jitter"), 40, 0);
	expect(print(&tp_view_overview), "data-loading");
	/* Loading takes some time in a healthy run, too. */
	set_up();
	wait_for_data("_SingleProcessDataLoaderIter", 9);
	expect_not(print(&tp_view_overview), "data-loading");
}

/* ---- between operators ---- */

/* Half of each step is between operators. */
static void work_between(bool is_asking)
{
	uint32_t main = frame(proc, 0, "<module>", TRAIN, 50),
		 count = frame(proc, main, "count_confusion", TRAIN, 14);

	for (uint32_t i = 0; i < STEPS; i++) {
		span(TP_REC_OP, "aten::mm", i * STEP, i * STEP + STEP / 2);
		for (uint32_t k = 0; k < 5; k++) {
			sample(proc, 0, is_asking ? count : main, i * STEP + k * MS + MS, 0);
			sample(proc, 0, count, i * STEP + STEP / 2 + k * MS + MS, 0);
		}
	}
}

Test(samples, a_function_between_operators_is_named_unless_it_asks_for_them)
{
	const char *text;

	work_between(false);
	text = print(&tp_view_overview);
	expect(text, "50.0 % of the samples in steps are in one function, outside operators");
	expect(text, "train.py:14 count_confusion");
	set_up();
	work_between(true);
	expect_not(print(&tp_view_overview), "host-code");
}

/* ---- the interpreter's lock ---- */

/* The thread that trains wants the lock so often, of 20 samples; another thread has its own function. */
static void contend(uint32_t n_wanted)
{
	uint32_t main = frame(proc, 0, "<module>", TRAIN, 50), watch = frame(proc, 0, "watch", TRAIN, 9);

	for (uint32_t i = 0; i < STEPS; i++)
		span(TP_REC_OP, "aten::mm", i * STEP, i * STEP + STEP - MS);
	for (uint32_t i = 0; i < 20; i++) {
		sample(proc, 0, main, i * 20 * MS + MS, i < n_wanted ? WAITS : 0);
		event[n_events - 1].flags |= i < n_wanted ? TP_SAMPLE_WANTS_LOCK : 0;
		sample(proc, 1, watch, i * 20 * MS + MS, 0);
	}
}

Test(samples, who_holds_pythons_lock_is_named)
{
	const char *text;

	contend(12);
	text = print(&tp_view_overview);
	expect(text, "in 60.0 % of the samples in steps the training waits for Python's lock");
	expect(text, "train.py:9 watch");
	set_up();
	contend(9);
	expect_not(print(&tp_view_overview), "interpreter-lock");
}

Test(samples, what_saves_is_no_calling_of_operators)
{
	static const char *const file[] = {"/x/site-packages/torch/serialization.py",
					   "/x/site-packages/torch/nn/modules/module.py"};

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t save;
		bool is_named;

		set_up();
		span(TP_REC_OP, "aten::mm", 0, STEP / 2);
		save = frame(proc, frame(proc, 0, "remember", TRAIN, 30), "f", file[i], 3);
		for (uint32_t k = 0; k < 40; k++)
			sample(proc, 0, save, STEP / 2 + k * MS, 0);
		is_named = strstr(print(&tp_view_overview), "train.py:30 remember") != NULL;
		cr_expect_eq(is_named, i == 0, "%s", file[i]);
	}
}
