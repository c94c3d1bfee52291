/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_data.c - advice of the overview on waiting for data
 */
#include "merge/view/overview/overview_advice.h"

#include <stdio.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/view/overview/overview_samples.h"
#include "runtime/base/own_python.h"
#include "runtime/base/text.h"

enum {
	EPOCHS_LEAST = 4,	/* that loaders begin, */
	EPOCHS_PERCENT = 80,	/* in so many of the steps */
	FIRST_PERCENT = 25,	/* so many steps are first ones of epochs at most, else epochs are the loop */
	LEDGER_PERCENT = 15,	/* of the steps, where none was recorded: no more is known of them */
};

bool tp_overview_data_wait(const struct tp_run *run, const struct tp_overview_sums *sums,
			   int64_t *wait_ns, int64_t *all_ns)
{
	*wait_ns = sums->ns[TP_CAT_DATA];
	*all_ns = sums->all_ns;
	if (run->n_steps) {
		*wait_ns = *all_ns = 0;
		for (uint32_t i = 0; i < run->n_steps; i++) {
			*wait_ns = tp_add(*wait_ns, run->step[i].data_wait_ns);
			*all_ns = tp_add(*all_ns, run->step[i].dur_ns);
		}
	}
	return *all_ns > 0 && *wait_ns > 0;
}

/* Without the first steps of epochs, in which orders are made and workers started: that is not the dataset's
 * work, and what epoch-start is about. */
static void leave_out_first_steps(const struct tp_run *run, int64_t *wait_ns, int64_t *all_ns)
{
	int64_t first_wait_ns = 0, first_ns = 0;
	uint64_t n = 0;

	for (uint32_t i = 0; i < run->n_steps; i++) {
		if (run->step[i].in_epoch)
			continue;
		first_wait_ns = tp_add(first_wait_ns, run->step[i].data_wait_ns);
		first_ns = tp_add(first_ns, run->step[i].dur_ns);
		n++;
	}
	if (n * 100 > (uint64_t)run->n_steps * FIRST_PERCENT)
		return;
	*wait_ns = tp_sub(*wait_ns, first_wait_ns);
	*all_ns = tp_sub(*all_ns, first_ns);
}

/* "Photos" of "make.<locals>.Photos" */
static const char *find_class(const char *name)
{
	static const char inside[] = "<locals>.";
	const char *at;

	while ((at = strstr(name, inside)))
		name = at + sizeof(inside) - 1;
	return name;
}

/* Of a dataset of torch's, or not of Python: "samples of Photos". */
void tp_advice_dataset(const struct tp_run *run, const struct tp_proc *of, struct tp_advice *advice)
{
	struct tp_text out;

	tp_text_init(&out, advice->place, sizeof(advice->place));
	for (uint32_t i = 0; i < run->n_procs && !out.len; i++) {
		char value[400], *at;

		if (run->proc[i]->worker || (of && run->proc[i] != of) ||
		    !tp_fact(tp_label_meta(run, run->proc[i]), "dataset", value, sizeof(value)))
			continue;
		at = strchr(value, ' ');
		if (at)
			*at++ = '\0';
		if (at && tp_own_python(at))
			tp_text_fmt(&out, "%s, ", at);
		tp_text_fmt(&out, "samples of %s", find_class(value));
	}
}

bool tp_advice_has_workers(const struct tp_overview *overview, bool *has_none)
{
	bool has_workers = false;

	*has_none = false;
	for (uint32_t i = 0; i < tp_names_count(overview->names); i++) {
		const struct tp_name *name = tp_names_at(overview->names, i);

		/* torchdata's begin with Stateful. */
		has_workers |= strstr(name->bytes, "MultiProcessingDataLoaderIter") != NULL;
		*has_none |= strstr(name->bytes, "SingleProcessDataLoaderIter") != NULL;
	}
	return has_workers;
}

/* next(iter(loader)): each time an epoch begins, and of all samples an order is made. False: it is not so. */
static bool judge_iterators(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const int64_t n = tp_sites_sum(facts->overview->sites, TP_SITE_EPOCHS);
	const size_t n_said = strlen(advice->evidence);

	if (!facts->sums->n_steps || n < EPOCHS_LEAST ||
	    n * 100 < (int64_t)facts->sums->n_steps * EPOCHS_PERCENT)
		return false;
	snprintf(advice->evidence + n_said, sizeof(advice->evidence) - n_said,
		 "; a DataLoader begins an epoch, and puts all samples into a new order, in each step");
	snprintf(advice->todo, sizeof(advice->todo),
		 "keep one iterator: batches = iter(loader) before the loop, next(batches) in it");
	tp_advice_line(facts, NULL, TP_SITE_EPOCHS, advice);
	return true;
}

bool tp_advice_data(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	bool has_workers, has_none;
	int64_t wait, all;
	char a[32];

	if (facts->is_late_by_data || !tp_overview_data_wait(facts->run, facts->sums, &wait, &all))
		return false;
	leave_out_first_steps(facts->run, &wait, &all);
	has_workers = tp_advice_has_workers(facts->overview, &has_none);
	advice->percent = tp_advice_percent(wait, all);
	if (!facts->sums->n_steps && advice->percent < LEDGER_PERCENT)
		return false;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%s of step time is spent waiting for data%s",
		 tp_show_percent(a, (double)wait, (double)all),
		 has_none && !has_workers ? ", which is loaded in the training process" : "");
	snprintf(advice->todo, sizeof(advice->todo), "%s",
		 has_none && !has_workers
		     ? "give DataLoader num_workers > 0"
		     : "raise num_workers or prefetch_factor, or do less work for each sample");
	if (judge_iterators(facts, advice))
		return true;
	tp_advice_dataset(facts->run, NULL, advice);
	return tp_advice_load(facts, has_workers, advice);
}
