/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_data.c - tests of the rule on waiting for data: loaders that are begun in each step
 */
#include "tests/unit/advice_rig.h"

static void set_up(void)
{
	advice_init();
	proc->n_devices = 0;
}

TestSuite(overview_data, .init = set_up);

/* The stack of a function that the one with stack `outer` calls. */
static void add_called(uint32_t stack, uint32_t outer, const char *function, const char *file)
{
	char name[200];
	int n = snprintf(name, sizeof(name), "%s%c%s", function, 0, file);

	event[n_events] = fake_span(&fake, proc, 0, TP_REC_FRAME,
				    fake_string(&fake, TP_STRING_PYFRAME, name, (uint32_t)n), 0, 0);
	event[n_events].flags = TP_FRAME_PYTHON;
	event[n_events].link = stack;
	event[n_events].len = outer;
	event[n_events++].arg = 7;
}

/* In each step line 20 asks a loader for 40 ms; in every n-th it calls this operator in that stack. */
static void add_loading_by(uint32_t every, const char *name, uint32_t stack)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		add_stack(2, at + 1);
		add(TP_REC_RANGE, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 2,
		    at + 40 * MS);
		if (i % every == 0) {
			add_stack(stack, at + 3);
			add(TP_REC_OP, name, at + 4, at + 30 * MS);
			add(TP_REC_OP, name, at + 5, at + 29 * MS);
		}
		add_stack(1, at + 40 * MS + 1);
		add(TP_REC_OP, "aten::linear", at + 40 * MS + 2, at + 100 * MS - 1)->link = 7;
	}
}

static void add_loading(uint32_t every, const char *name)
{
	add_two_lines();
	add_loading_by(every, name, 2);
}

static bool is_begun_anew(void)
{
	const char *text = print();

	expect_rules(text, (const char *[]){"data-loading", NULL});
	return strstr(text, "a DataLoader begins an epoch, and puts all samples into a new order, in each step") &&
	       strstr(text, "\n                      /home/me/train.py:20 main\n") && strstr(text, "keep one iterator");
}

Test(overview_data, sees_a_loader_that_is_begun_in_each_step)
{
	add_loading(1, "aten::randperm");
	cr_expect(is_begun_anew(), "%s", print());
	/* An epoch of two steps; another operator of a dataset's. */
	set_up();
	add_loading(2, "aten::randperm");
	cr_expect_not(is_begun_anew(), "%s", print());
	set_up();
	add_loading(1, "aten::randn");
	cr_expect_not(is_begun_anew(), "%s", print());
}

/* ColorJitter puts its four changes into a new order for each picture. */
Test(overview_data, a_permutation_that_the_dataset_makes_is_no_order_of_samples)
{
	static const struct {
		const char *asks, *file, *called, *its_file;
		bool is_order;
	} row[] = {
		{"_BaseDataLoaderIter._next_index", "/x/site-packages/torch/utils/data/dataloader.py",
		 "RandomSampler.__iter__", "/x/site-packages/torch/utils/data/sampler.py", true},
		{"_MapDatasetFetcher.fetch", "/x/site-packages/torch/utils/data/_utils/fetch.py",
		 "Photos.__getitem__", "/home/me/photos.py", false},
		{"_MapDatasetFetcher.fetch", "/x/site-packages/torch/utils/data/_utils/fetch.py",
		 "mask", "/home/me/photos.py", false},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		set_up();
		add_two_lines();
		add_called(3, 2, row[i].asks, row[i].file);
		add_called(4, 3, row[i].called, row[i].its_file);
		add_loading_by(1, "aten::randperm", 4);
		cr_expect_eq(strstr(print(), "begins an epoch") != NULL, row[i].is_order, "%u: %s", i, print());
	}
}

/* A step of each `n` waits for 400 ms, in the others for 2 of 100. */
static void add_epochs(uint32_t n)
{
	for (uint32_t i = 0; i < 80; i++) {
		struct tp_step_row *row = fake_step_row(&fake, proc, i, i * 600 * MS,
							(i % n ? 100 : 500) * MS);

		row->epoch = i / n;
		row->in_epoch = i % n;
		row->data_wait_ns = (i % n ? 2 : 400) * MS;
	}
}

/* Each step of 100 ms waits for so many by the ledger; four of them were recorded, or none. */
static const char *print_waits(int64_t ms, bool is_recorded)
{
	set_up();
	for (uint32_t i = 0; i < 40; i++)
		fake_step_row(&fake, proc, i, i * 100 * MS, 100 * MS)->data_wait_ns = ms * MS;
	if (is_recorded)
		add_steps();
	return print();
}

Test(overview_data, tells_of_steps_that_were_not_recorded_from_more_waiting_on)
{
	expect_rules(print_waits(11, true), (const char *[]){"data-loading", NULL});
	expect_rules(print_waits(11, false), (const char *[]){NULL});
	expect_rules(print_waits(16, false), (const char *[]){"data-loading", NULL});
}

Test(overview_data, waits_at_the_begin_of_epochs_are_not_the_datasets)
{
	add_epochs(8);
	expect_rules(print(), (const char *[]){"epoch-start", NULL});
	/* Epochs of two steps are what the loop does. */
	set_up();
	add_epochs(2);
	expect_rules(print(), (const char *[]){"data-loading", NULL});
}
