/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_load.c - what samples say of loading data: the stage, the function, what to do
 */
#include "merge/view/overview/overview_samples.h"

#include <stdio.h>
#include <string.h>

#include "merge/facts/code/inside.h"
#include "runtime/base/text.h"

enum {
	LEAST = 5,		/* samples: fewer name nobody, */
	FEWEST = 3,		/* but these a stage where they are nearly all */
	CLEAR_PERCENT = 60,
	IDLE_PERCENT = 50,	/* of workers' samples: they have nothing to do, */
	SPARE_PERCENT = 75,	/* and fewer of them would do */
	MILD_PERCENT = 20,	/* of a step */
	MOST_PERCENT = 50,	/* of the samples: it is that */
	OWNER_PERCENT = 25,	/* of a stage's samples name a function */
	SHOWN = 200,
};

static const char *const stage_text[TP_LOAD_N] = {
	[TP_LOAD_SAMPLER] = "the sampler", [TP_LOAD_FETCH] = "the dataset",
	[TP_LOAD_COLLATE] = "making batches of samples", [TP_LOAD_SEND] = "handing batches over",
};

static enum tp_load_stage find_worst(const struct tp_samples_sum sum[TP_LOAD_N])
{
	enum tp_load_stage worst = TP_LOAD_SAMPLER;

	for (uint32_t i = TP_LOAD_SAMPLER; i <= TP_LOAD_SEND; i++)
		if (sum[i].n > sum[worst].n)
			worst = i;
	return worst;
}

static uint64_t count_all(const struct tp_samples_sum sum[TP_LOAD_N])
{
	uint64_t n = 0;

	for (uint32_t i = TP_LOAD_NONE + 1; i < TP_LOAD_N; i++)
		n += sum[i].n;
	return n;
}

static const char whole_batches[] = "index whole batches instead of single samples: tensors, __getitems__, or "
				    "batch_size=None";

static const char *advise_fetch(const struct tp_advice_facts *facts, bool is_in_worker, bool is_waiting,
				bool has_place)
{
	const bool is_full = tp_cores_are_full(facts->overview->cores);

	if (!has_place)
		return whole_batches;
	if (!is_in_worker)
		return is_waiting ? "it waits, for storage or a network: DataLoader with num_workers > 0 waits for "
				    "many samples at once"
				  : "less work for each sample there, or DataLoader with num_workers > 0";
	if (is_waiting)
		return "more num_workers: they wait there, and more of them wait at once";
	return is_full ? "less work for each sample there: the cores are full, and more workers would not help"
		       : "less work for each sample there, or more num_workers: cores are idle";
}

static const char *advise(const struct tp_advice_facts *facts, enum tp_load_stage stage, bool is_in_worker,
			  const struct tp_samples_sum *sum, const struct tp_sample_owner *owner)
{
	switch (stage) {
	case TP_LOAD_SAMPLER:
		return "make the order once an epoch, by tensors (torch.randperm, torch.multinomial): the sampler "
		       "runs in the training process, however many workers there are";
	case TP_LOAD_COLLATE:
		if (!owner)
			return "let the dataset give whole batches: __getitems__, or batch_size=None";
		if (owner->frame.function[0])
			return "make the batch by one operator (torch.stack, pad_sequence), not element by element";
		break;
	case TP_LOAD_SEND:
		return "tensors instead of Python objects, smaller samples: what workers make is handed over by copies";
	default:
		break;
	}
	return advise_fetch(facts, is_in_worker,
			    tp_advice_is_most(sum->waiting, sum->running + sum->waiting, MOST_PERCENT),
			    owner != NULL);
}

/* "decode.py:7 decode"; of a dataset's also whose samples they are, which is said already. */
static void name_place(const struct tp_sample_owner *owner, struct tp_advice *advice)
{
	char shown[SHOWN], *samples = strstr(advice->place, "samples of ");
	struct tp_text out;

	tp_sample_owner_show(shown, sizeof(shown), owner);
	if (owner->stage == TP_LOAD_FETCH && samples && strlen(shown) + strlen(samples) + 3 < SHOWN) {
		strcat(shown, ", ");
		strcat(shown, samples);
	}
	tp_text_init(&out, advice->place, sizeof(advice->place));
	tp_text_str(&out, shown);
}

static void add_evidence(struct tp_advice *advice, const char *where, enum tp_load_stage stage,
			 uint64_t n, uint64_t all)
{
	const size_t n_said = strlen(advice->evidence);
	char a[32];

	snprintf(advice->evidence + n_said, sizeof(advice->evidence) - n_said, "; %s of %s samples are in %s",
		 tp_show_percent(a, (double)n, (double)all), where, stage_text[stage]);
}

/* The workers are not what is slow. */
static void tell_idle(const struct tp_samples_sum *sum, uint64_t all, struct tp_advice *advice)
{
	const size_t n_said = strlen(advice->evidence);
	char a[32];

	snprintf(advice->evidence + n_said, sizeof(advice->evidence) - n_said,
		 "; in %s of the workers' samples they have nothing to do",
		 tp_show_percent(a, (double)sum->n, (double)all));
	snprintf(advice->todo, sizeof(advice->todo), "fewer workers: what takes the time is to take batches over "
		 "from them, as tensors rather than objects, or a core to run on");
}

/* Whose function has most of a stage: the user's, else a library's. NULL: neither. */
static const struct tp_sample_owner *find_owner(const struct tp_sample_owners *owners,
						enum tp_samples_where where, enum tp_load_stage stage)
{
	const struct tp_sample_owner *owner = tp_sample_owners_top(owners, where, stage);
	const uint64_t all = owners->stage[where][stage].n;

	if (!owner || !tp_advice_is_most(owner->sum.n, all, OWNER_PERCENT))
		owner = tp_sample_owners_library(owners, where, stage);
	return owner && tp_advice_is_most(owner->sum.n, all, OWNER_PERCENT) ? owner : NULL;
}

/* The sampler runs in the training process, the rest where there are workers in those. */
static bool is_in_workers(const struct tp_sample_owners *owners, bool has_workers)
{
	const struct tp_samples_sum *sum = owners->stage[TP_SAMPLES_DATA];

	return has_workers && !tp_advice_is_most(sum[TP_LOAD_SAMPLER].n, count_all(sum), MOST_PERCENT);
}

void tp_advice_load_stage(const struct tp_advice_facts *facts, bool has_workers, struct tp_advice *advice)
{
	const struct tp_sample_owners *owners = facts->overview->owners;
	const bool is_in_worker = is_in_workers(owners, has_workers);
	const enum tp_samples_where where = is_in_worker ? TP_SAMPLES_WORKER : TP_SAMPLES_DATA;
	const struct tp_samples_sum *sum = owners->stage[where];
	const uint64_t all = count_all(sum);
	const enum tp_load_stage worst = find_worst(sum);
	const struct tp_sample_owner *owner;

	/* Tensors that are in memory: a worker would copy more than it spares. */
	if (sum[worst].n < LEAST && !has_workers && !strcmp(advice->place, "samples of TensorDataset"))
		snprintf(advice->todo, sizeof(advice->todo), "%s", whole_batches);
	if (sum[worst].n < LEAST &&
	    !(sum[worst].n >= FEWEST && tp_advice_is_most(sum[worst].n, all, CLEAR_PERCENT)))
		return;
	owner = find_owner(owners, where, worst);
	add_evidence(advice, is_in_worker ? "the workers'" : "its", worst, sum[worst].n, all);
	snprintf(advice->todo, sizeof(advice->todo), "%s",
		 advise(facts, worst, is_in_worker, &sum[worst], owner));
	if (owner)
		name_place(owner, advice);
}

bool tp_advice_load(const struct tp_advice_facts *facts, bool has_workers, struct tp_advice *advice)
{
	const struct tp_samples_sum *sum = facts->overview->owners->stage[TP_SAMPLES_WORKER];
	const uint64_t n_idle = sum[TP_LOAD_AWAIT].n, all = count_all(sum);
	const bool knows_idle = is_in_workers(facts->overview->owners, has_workers) && all >= LEAST;

	if (knows_idle && tp_advice_is_most(n_idle, all, IDLE_PERCENT) && advice->percent < MILD_PERCENT)
		return false;
	if (knows_idle && tp_advice_is_most(n_idle, all, SPARE_PERCENT))
		tell_idle(&sum[TP_LOAD_AWAIT], all, advice);
	else
		tp_advice_load_stage(facts, has_workers, advice);
	return true;
}
