/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples_inside.c - tests of which function of a library is named below the user's own
 */
#include "tests/unit/samples_rig.h"

#define LIB "/x/site-packages/gymnastics/agent.py"

TestSuite(samples_inside, .init = samples_init);

/* The second half of each step in turn in these stacks. */
static const char *print_turns(const uint32_t *stack, uint32_t n)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		span(TP_REC_OP, "aten::mm", i * STEP, i * STEP + STEP / 2);
		for (uint32_t k = 0; k < n; k++)
			sample(proc, 0, stack[k], i * STEP + STEP / 2 + k * MS + MS, 0);
	}
	return print(&tp_view_overview);
}

/* n_log of eight samples in log(), the others in draw(). */
static const char *print_log(uint32_t main, uint32_t n_log)
{
	uint32_t fit = frame(proc, main, "Agent.fit", LIB, 50),
		 log = frame(proc, fit, "Agent.log", LIB, 60),
		 draw = frame(proc, fit, "Agent.draw", LIB, 70),
		 wrapped = frame(proc, log, "timed.<locals>.wrapped", LIB, 3),
		 inner = frame(proc, wrapped, "Agent._write", LIB, 80),
		 dumps = frame(proc, inner, "dumps", "/usr/lib/python3.11/json/__init__.py", 9), stack[8];

	for (uint32_t k = 0; k < 8; k++)
		stack[k] = k < n_log ? dumps : draw;
	return print_turns(stack, 8);
}

Test(samples_inside, the_narrowest_public_function_of_half_of_the_samples_is_named)
{
	const char *text = print_log(frame(proc, 0, "main", TRAIN, 14), 6);

	expect(text, "train.py:14 main > gymnastics/agent.py:60 Agent.log");
	samples_init();
	text = print_log(frame(proc, 0, "main", TRAIN, 14), 2);
	expect(text, "train.py:14 main > gymnastics/agent.py:70 Agent.draw");
	samples_init();
	/* Both have half: the one that asks for both says less. */
	text = print_log(frame(proc, 0, "main", TRAIN, 14), 4);
	expect_not(text, "Agent.fit");
	samples_init();
	/* Two have all: the inner one. */
	text = print_log(frame(proc, 0, "main", TRAIN, 14), 8);
	expect(text, "train.py:14 main > gymnastics/agent.py:60 Agent.log");
}

/* Of eight samples below Agent.fit so many in what it calls itself, a private function. */
static const char *print_private(const char *name, uint32_t n_inside)
{
	uint32_t main = frame(proc, 0, "main", TRAIN, 14), fit = frame(proc, main, "Agent.fit", LIB, 50),
		 inner = frame(proc, fit, name, LIB, 60), draw = frame(proc, fit, "Agent.draw", LIB, 70), stack[8];

	for (uint32_t k = 0; k < 8; k++)
		stack[k] = k < n_inside ? inner : draw;
	return print_turns(stack, 8);
}

Test(samples_inside, where_nothing_public_is_narrower_a_private_function_of_most_is_named)
{
	static const char *const others[] = {"Agent.__init__", "timed.<locals>._run", "<lambda>"};

	expect(print_private("Agent._save", 6), "train.py:14 main > gymnastics/agent.py:60 Agent._save");
	samples_init();
	expect(print_private("Agent._save", 5), "train.py:14 main > gymnastics/agent.py:50 Agent.fit");
	for (uint32_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		samples_init();
		expect(print_private(others[i], 8), "train.py:14 main > gymnastics/agent.py:50 Agent.fit");
	}
}

Test(samples_inside, what_calls_the_users_function_is_not)
{
	uint32_t fit = frame(proc, 0, "Agent.fit", LIB, 50), own = frame(proc, fit, "step", TRAIN, 20);
	const char *text = print_turns((const uint32_t[]){own, own, own, own, own, own, own, own}, 8);

	expect(text, "train.py:20 step");
	expect_not(text, "Agent.fit");
}

/* Two lines of the library say one function, each of the user's functions its own. */
Test(samples_inside, a_function_is_one_whatever_its_line_and_whoever_calls_it)
{
	uint32_t main = frame(proc, 0, "main", TRAIN, 14), once = frame(proc, main, "Agent.log", LIB, 60),
		 again = frame(proc, main, "Agent.log", LIB, 61), other = frame(proc, 0, "other", TRAIN, 30),
		 draw = frame(proc, other, "Agent.draw", LIB, 70), log = frame(proc, other, "Agent.log", LIB, 60);

	expect(print_turns((const uint32_t[]){once, once, again, again, again, draw}, 6),
	       "train.py:14 main > gymnastics/agent.py:61 Agent.log");
	samples_init();
	main = frame(proc, 0, "main", TRAIN, 14);
	once = frame(proc, main, "Agent.log", LIB, 60);
	other = frame(proc, 0, "other", TRAIN, 30);
	log = frame(proc, other, "Agent.log", LIB, 62);
	expect(print_turns((const uint32_t[]){once, log, log, log, log, log}, 6),
	       "train.py:30 other > gymnastics/agent.py:62 Agent.log");
}

Test(samples_inside, one_that_calls_itself_is_there_once)
{
	uint32_t fit = frame(proc, frame(proc, 0, "main", TRAIN, 14), "Agent.fit", LIB, 50),
		 log = frame(proc, frame(proc, fit, "Agent.log", LIB, 60), "Agent.log", LIB, 60),
		 draw = frame(proc, fit, "Agent.draw", LIB, 70), rest = frame(proc, fit, "Agent.rest", LIB, 80);

	expect(print_turns((const uint32_t[]){log, log, log, draw, draw, draw, rest, rest}, 8),
	       "train.py:14 main > gymnastics/agent.py:50 Agent.fit");
}

Test(samples_inside, what_calls_torch_and_a_small_part_name_nothing)
{
	uint32_t main = frame(proc, 0, "main", TRAIN, 14),
		 forward = frame(proc, frame(proc, main, "Agent.forward", LIB, 90), "Module._call_impl",
				 "/x/site-packages/torch/nn/modules/module.py", 5);
	uint32_t one, two, log;
	const char *text = print_turns((const uint32_t[]){main, main, main, forward, forward}, 5);

	expect(text, "train.py:14 main");
	expect_not(text, "Agent.forward");
	samples_init();
	main = frame(proc, 0, "main", TRAIN, 14);
	one = frame(proc, main, "one", TRAIN, 20);
	two = frame(proc, main, "two", TRAIN, 30);
	log = frame(proc, main, "Agent.log", LIB, 60);
	text = print_turns((const uint32_t[]){one, one, one, two, two, two, log}, 7);
	expect(text, "train.py:14 main");
	expect_not(text, "Agent.log");
}

/* ---- in a data loader ---- */

/* What fetch of a loader of the training process asks. */
static uint32_t fetch(void)
{
	uint32_t fit = frame(proc, frame(proc, 0, "main", TRAIN, 14), "Trainer.fit", LIB, 50),
		 next = frame(proc, fit, "_BaseDataLoaderIter.__next__", DATA "dataloader.py", 700);

	return frame(proc, next, "_MapDatasetFetcher.fetch", DATA "_utils/fetch.py", 54);
}

/* Each step waits for data for 40 of 100 ms, in these stacks in turn. */
static const char *print_loading(const uint32_t *stack, uint32_t n)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		fake_step_row(&fake, proc, i, i * STEP, STEP)->data_wait_ns = 40 * MS;
		span(TP_REC_RANGE, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", i * STEP,
		     i * STEP + 40 * MS);
		for (uint32_t k = 0; k < n; k++)
			sample(proc, 0, stack[k], i * STEP + k * MS + MS, 0);
		span(TP_REC_OP, "aten::mm", i * STEP + 40 * MS, (i + 1) * STEP);
	}
	return print(&tp_view_overview);
}

#define VISION "/x/site-packages/vision/"

/* n_resize of twenty samples in the first of two transforms that a chain has made, all but one of them in
 * what does it, and six in none. */
static const char *print_chain(uint32_t asked, uint32_t n_resize)
{
	uint32_t item = frame(proc, asked, "Folder.__getitem__", VISION "folder.py", 20),
		 chain = frame(proc, item, "Compose.__call__", VISION "chain.py", 30),
		 resize = frame(proc, chain, "Resize.__call__", VISION "resize.py", 40),
		 inner = frame(proc, frame(proc, resize, "sample", VISION "sample.py", 90), "_sample",
			       VISION "sample.py", 95),
		 jitter = frame(proc, chain, "Jitter.forward", VISION "jitter.py", 60), stack[20];

	for (uint32_t k = 0; k < 20; k++)
		stack[k] = k + 1 < n_resize ? inner : k < n_resize ? resize : k < 14 ? jitter : chain;
	return print_loading(stack, 20);
}

Test(samples_inside, of_a_librarys_dataset_the_dearest_transform_is_named)
{
	const char *text = print_chain(fetch(), 8);

	expect(text, "\n                      vision/sample.py:90 sample\n");
	expect(text, "less work for each sample there, or DataLoader with num_workers > 0");
	expect_not(text, "index whole batches");
	samples_init();
	text = print_chain(fetch(), 4);
	expect(text, "\n                      vision/jitter.py:60 Jitter.forward\n");
	/* None has a quarter. */
	samples_init();
	text = print_loading((const uint32_t[]){fetch(), fetch(), fetch(), fetch(), fetch()}, 5);
	expect(text, "index whole batches");
	expect_not(text, "Trainer.fit");
}

Test(samples_inside, below_the_users_own_dataset_it_is_named_too)
{
	const char *text = print_chain(frame(proc, fetch(), "Photos.__getitem__", TRAIN, 30), 4);

	expect(text, "train.py:30 Photos.__getitem__ > vision/jitter.py:60 Jitter.forward\n");
	samples_init();
	/* Half of it is in no library. */
	uint32_t own = frame(proc, fetch(), "Photos.__getitem__", TRAIN, 30),
		 resize = frame(proc, own, "Resize.__call__", VISION "resize.py", 40);
	text = print_loading((const uint32_t[]){own, own, own, own, resize}, 5);
	expect(text, "train.py:30 Photos.__getitem__\n");
}

Test(samples_inside, what_makes_batches_is_a_librarys_too)
{
	uint32_t collate = frame(proc, fetch(), "Collator.torch_call", "/x/site-packages/texts/collate.py", 70);
	const char *text = print_loading((const uint32_t[]){collate, collate, collate, collate, collate}, 5);

	expect(text, "texts/collate.py:70 Collator.torch_call\n");
	expect(text, "less work for each sample there");
}
