/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.c - tests of samples in the merge: where their threads were, which stage of loading
 */
#include "merge/facts/code/load_stage.h"
#include "tests/unit/samples_rig.h"

static void set_up(void)
{
	samples_init();
}

#define STATEFUL "/x/site-packages/torchdata/stateful_dataloader/"

TestSuite(samples, .init = set_up);

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
			      put = python("Queue.put", "/usr/lib/python3.11/multiprocessing/queues.py"),
			      stateful = python("_StatefulMultiProcessingDataLoaderIter._try_get_data",
						STATEFUL "stateful_dataloader.py"),
			      state_index = python("_StatefulBaseDataLoaderIter._next_index",
						   STATEFUL "stateful_dataloader.py"),
			      state_loop = python("_worker_loop", STATEFUL "worker.py");
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
		{{stateful, next, main}, 3, TP_LOAD_AWAIT},
		{{own, state_index, main}, 3, TP_LOAD_SAMPLER},
		{{state_loop, main}, 2, TP_LOAD_AWAIT},
		{{put, state_loop, main}, 3, TP_LOAD_SEND},
		{{own, fetch, state_loop, main}, 4, TP_LOAD_FETCH},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		cr_expect_eq(tp_load_stage_of(row[i].frame, row[i].n), row[i].stage, "row %u", i);
	/* What stands inside of it is what it called. */
	cr_expect_eq(tp_load_called((const struct tp_frame[]){own, main}, 2), 0);
	cr_expect_eq(tp_load_called((const struct tp_frame[]){own, inner, fetch, next, main}, 5), 3);
	cr_expect_eq(tp_load_called((const struct tp_frame[]){own, state_index, main}, 3), 1);
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

/* A node of the backward pass is no operator to the program's own Python inside it, but it is to a sample
 * of the line that called backward(). */
Test(samples, a_hook_of_the_programs_own_is_between_operators)
{
	uint32_t main = frame(proc, 0, "main", TRAIN, 10),
		 graph = frame(proc, main, "_engine_run_backward", "/x/site-packages/torch/autograd/graph.py", 841),
		 hook = frame(proc, graph, "log_grad", TRAIN, 20);
	const char *text;

	span(TP_REC_OP, "autograd::engine::evaluate_function: MmBackward0", 10 * MS, 40 * MS);
	sample(proc, 0, graph, 15 * MS, 0);
	sample(proc, 0, hook, 20 * MS, 0);
	sample(proc, 0, hook, 22 * MS, 0);
	span(TP_REC_OP, "aten::mm", 30 * MS, 35 * MS);
	sample(proc, 0, hook, 32 * MS, 0);
	text = print(&tp_view_hot);
	expect(text, "between operators  " TRAIN ":20 log_grad");
	expect(text, "2  100.0 %      2  100.0 %    0.0 %");
	expect(text, "in operators       " TRAIN ":20 log_grad");
	expect(text, "torch/autograd/graph.py:841 _engine_run_backward");
}

Test(samples, without_one_the_view_says_what_to_ask_for)
{
	expect(print(&tp_view_hot), "no sample was recorded");
}
