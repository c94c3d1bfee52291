/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_samples.c - what samples add to the overview's advice
 */
#include "merge/view/overview/overview_samples.h"

#include <stdio.h>
#include <string.h>

#include "merge/facts/code/inside.h"
#include "runtime/base/text.h"

enum {
	LEAST = 5,		/* samples: fewer name nobody, */
	FEWEST = 3,		/* but these a stage of loading where they are nearly all, and the function
				 * between two lines where they are most */
	CLEAR_PERCENT = 60,
	LEAST_ALONE = 10,	/* where nothing else says so; */
	FEWEST_ALONE = 6,	/* these, where they are */
	ALONE_PART = 5,		/* one of so many parts of all */
	IDLE_PERCENT = 50,	/* of workers' samples: they have nothing to do, */
	SPARE_PERCENT = 75,	/* and fewer of them would do */
	MILD_PERCENT = 15,	/* of a step */
	MOST_PERCENT = 50,	/* of the samples in one function: it is that */
	GAP_PERCENT = 25,	/* of those between operators: most of the rest is torch's own */
	OPERATORS_PERCENT = 25,	/* of a function's samples: it asks for few */
	NARROW_PART = 5,	/* less than the function that calls it: then that one is named */
	SHOWN = 200,
};

static bool is_most(uint64_t part, uint64_t all, uint32_t percent)
{
	return all && part * 100 >= all * percent;
}

/* ---- loading data ---- */

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
				bool has_owner)
{
	const bool is_full = tp_cores_are_full(facts->overview->cores);

	if (!has_owner)
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
			  const struct tp_samples_sum *sum, bool has_owner)
{
	switch (stage) {
	case TP_LOAD_SAMPLER:
		return "make the order once an epoch, by tensors (torch.randperm, torch.multinomial): the sampler "
		       "runs in the training process, however many workers there are";
	case TP_LOAD_COLLATE:
		return has_owner ? "make the batch by one operator (torch.stack, pad_sequence), not element by element"
				 : "let the dataset give whole batches: __getitems__, or batch_size=None";
	case TP_LOAD_SEND:
		return "tensors instead of Python objects, smaller samples: what workers make is handed over by copies";
	default:
		return advise_fetch(facts, is_in_worker,
				    is_most(sum->waiting, sum->running + sum->waiting, MOST_PERCENT),
				    has_owner);
	}
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

bool tp_advice_load(const struct tp_advice_facts *facts, bool has_workers, struct tp_advice *advice)
{
	const struct tp_sample_owners *owners = facts->overview->owners;
	const struct tp_samples_sum *sum = owners->stage[TP_SAMPLES_DATA];
	const struct tp_sample_owner *owner;
	/* The sampler runs in the training process, the rest where there are workers in those. */
	const bool is_in_worker = has_workers &&
				  !is_most(sum[TP_LOAD_SAMPLER].n, count_all(sum), MOST_PERCENT);
	enum tp_load_stage worst;
	uint64_t all;

	sum = is_in_worker ? owners->stage[TP_SAMPLES_WORKER] : sum;
	all = count_all(sum);
	worst = find_worst(sum);
	if (is_in_worker && all >= LEAST && is_most(sum[TP_LOAD_AWAIT].n, all, IDLE_PERCENT) &&
	    advice->percent < MILD_PERCENT)
		return false;
	/* Tensors that are in memory: a worker would copy more than it spares. */
	if (sum[worst].n < LEAST && !has_workers && !strcmp(advice->place, "samples of TensorDataset"))
		snprintf(advice->todo, sizeof(advice->todo), "%s", whole_batches);
	if (is_in_worker && all >= LEAST && is_most(sum[TP_LOAD_AWAIT].n, all, SPARE_PERCENT)) {
		tell_idle(&sum[TP_LOAD_AWAIT], all, advice);
		return true;
	}
	if (sum[worst].n < LEAST && !(sum[worst].n >= FEWEST && is_most(sum[worst].n, all, CLEAR_PERCENT)))
		return true;
	owner = tp_sample_owners_top(owners, is_in_worker ? TP_SAMPLES_WORKER : TP_SAMPLES_DATA, worst);
	if (owner && !is_most(owner->sum.n, sum[worst].n, MOST_PERCENT / 2))
		owner = NULL;
	add_evidence(advice, is_in_worker ? "the workers'" : "its", worst, sum[worst].n, all);
	snprintf(advice->todo, sizeof(advice->todo), "%s",
		 advise(facts, worst, is_in_worker, &sum[worst], owner != NULL));
	if (owner)
		name_place(owner, advice);
	return true;
}

/* ---- between operators ---- */

uint64_t tp_advice_count_training(const struct tp_sample_owners *owners)
{
	const struct tp_samples_sum *all = owners->samples->all;

	return all[TP_SAMPLES_OPERATOR].n + all[TP_SAMPLES_DATA].n + all[TP_SAMPLES_GAP].n;
}

/* Of the user's functions that hardly ask for operators the one with most samples between operators, in it
 * and in what it calls, but at least `least`; or (is_narrow) the one with the fewest, which says more. */
static const struct tp_sample_caller *find_caller(const struct tp_sample_owners *owners, uint64_t least,
						  bool is_narrow)
{
	const struct tp_sample_caller *found = NULL;

	for (uint32_t i = 0; i < owners->n_callers; i++) {
		const struct tp_sample_caller *it = &owners->caller[i];

		if (it->n_gap < least || is_most(it->n_operators, it->n_gap, OPERATORS_PERCENT))
			continue;
		if (!found || (is_narrow ? it->n_gap < found->n_gap : it->n_gap > found->n_gap))
			found = it;
	}
	return found;
}

bool tp_advice_gap_function(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_sample_owners *owners = facts->overview->owners;
	const struct tp_sample_owner *owner = tp_sample_owners_top(owners, TP_SAMPLES_GAP, TP_LOAD_NONE);
	char shown[SHOWN], before[sizeof(advice->place)];
	struct tp_text out;

	if (!owner || owner->sum.n < FEWEST ||
	    !is_most(owner->sum.n, owners->stage[TP_SAMPLES_GAP][TP_LOAD_NONE].n,
		     owner->sum.n < LEAST ? MOST_PERCENT : GAP_PERCENT))
		return false;
	memcpy(before, advice->place, sizeof(before));
	tp_text_init(&out, advice->place, sizeof(advice->place));
	/* Which function it is in is known now. */
	if (strstr(before, ": what runs"))
		memmove(before, strstr(before, ": what runs") + 2, strlen(strstr(before, ": what runs")) - 1);
	tp_text_fmt(&out, "%s (%s)", tp_sample_owner_show(shown, sizeof(shown), owner), before);
	if (out.is_cut) {
		tp_text_init(&out, advice->place, sizeof(advice->place));
		tp_text_str(&out, shown);
	}
	return true;
}

bool tp_advice_gap_is_torchs(const struct tp_advice_facts *facts)
{
	const struct tp_sample_owners *owners = facts->overview->owners;
	uint64_t n_torch = 0;

	for (uint32_t i = 0; i < owners->n_rows; i++) {
		const struct tp_sample_owner *row = &owners->row[i];

		if (row->where == TP_SAMPLES_GAP && row->stage == TP_LOAD_NONE && row->is_in_torch)
			n_torch += row->sum.n;
	}
	return n_torch >= FEWEST &&
	       is_most(n_torch, owners->stage[TP_SAMPLES_GAP][TP_LOAD_NONE].n, MOST_PERCENT);
}

/* So many, or fewer where they are so large a part of all that it is no chance. */
static uint64_t least_alone(uint64_t all)
{
	const uint64_t part = (all + ALONE_PART - 1) / ALONE_PART;

	return part < FEWEST_ALONE ? FEWEST_ALONE : part < LEAST_ALONE ? part : LEAST_ALONE;
}

/* Of a library's, where half of the function's samples are. */
static const struct tp_inside_row *find_inside(const struct tp_sample_owners *owners,
					       const struct tp_sample_caller *caller)
{
	for (uint32_t i = 0; i < owners->n_rows; i++) {
		const struct tp_sample_owner *row = &owners->row[i];

		if (row->where == TP_SAMPLES_GAP && row->inside && row->inside->n >= caller->n_gap / 2 &&
		    row->frame.function_id == caller->frame.function_id)
			return row->inside;
	}
	return NULL;
}

bool tp_advice_host_function(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_sample_owners *owners = facts->overview->owners;
	const uint64_t all = tp_advice_count_training(owners);
	const struct tp_sample_caller *most = find_caller(owners, least_alone(all), false);
	struct tp_sample_owner shown;
	char a[32];

	if (!most)
		return false;
	most = find_caller(owners, most->n_gap - most->n_gap / NARROW_PART, true);
	advice->percent = 100.0 * (double)most->n_gap / (double)all;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%s of the samples in steps are in one function and what it calls, outside operators",
		 tp_show_percent(a, (double)most->n_gap, (double)all));
	snprintf(advice->todo, sizeof(advice->todo),
		 "what does it do in each step? do it less often, outside the loop, or by operators");
	shown = (struct tp_sample_owner){.frame = most->frame, .inside = find_inside(owners, most)};
	tp_sample_owner_show(advice->place, sizeof(advice->place), &shown);
	return true;
}

bool tp_advice_gap_is_garbage(const struct tp_advice_facts *facts)
{
	const struct tp_samples_sum *gap = &facts->overview->owners->samples->all[TP_SAMPLES_GAP];

	return is_most(gap->collects, gap->n, MOST_PERCENT);
}
