/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_samples.c - what samples say of code between operators
 */
#include "merge/view/overview/overview_samples.h"

#include <stdio.h>
#include <string.h>

#include "merge/facts/code/inside.h"
#include "runtime/base/text.h"

enum {
	LEAST = 5,		/* samples: fewer name nobody, */
	FEWEST = 3,		/* but these where they are most */
	LEAST_ALONE = 10,	/* where nothing else says so; */
	FEWEST_ALONE = 6,	/* these, where they are */
	ALONE_PART = 5,		/* one of so many parts of all */
	MOST_PERCENT = 50,	/* of the samples in one function: it is that */
	GAP_PERCENT = 25,	/* of those between operators: most of the rest is torch's own */
	OPERATORS_PERCENT = 25,	/* of a function's samples: it asks for few */
	NARROW_PART = 5,	/* less than the function that calls it: then that one is named */
	SHOWN = 200,
};

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

		if (it->n_gap < least || tp_advice_is_most(it->n_operators, it->n_gap, OPERATORS_PERCENT))
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
	    !tp_advice_is_most(owner->sum.n, owners->stage[TP_SAMPLES_GAP][TP_LOAD_NONE].n,
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
	       tp_advice_is_most(n_torch, owners->stage[TP_SAMPLES_GAP][TP_LOAD_NONE].n, MOST_PERCENT);
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

	return gap->collects >= LEAST && tp_advice_is_most(gap->collects, gap->n, MOST_PERCENT);
}
