/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_operators.c - advice of the overview on operators whose work could be saved: copies into
 * another layout or type, tensors that each step computes anew (waste.h)
 *
 * In runs without devices only: the time of an operator is not that of the work it launches.
 */
#include "merge/view/overview/overview_advice.h"

#include <stdio.h>

#include "merge/kit/sum.h"

/* What the figure costs, and the line with most of it. False: nothing. */
static bool judge_figure(const struct tp_advice_facts *facts, enum tp_site_figure figure,
			 struct tp_advice *advice, char share[32])
{
	const struct tp_overview_sums *sums = facts->sums;
	int64_t sum = tp_sites_sum(facts->overview->sites, figure);

	if (tp_advice_has_devices(facts->run) || !sums->n_steps || sum <= 0)
		return false;
	/* Threads may do it at once. */
	if (sum > sums->ns[TP_CAT_CPU])
		sum = sums->ns[TP_CAT_CPU];
	advice->percent = tp_advice_percent(sum, sums->all_ns);
	tp_show_percent(share, (double)sum, (double)sums->all_ns);
	tp_advice_line(facts, NULL, figure, advice);
	return true;
}

bool tp_advice_layout_copies(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	char share[32];

	if (!judge_figure(facts, TP_SITE_COPIES, advice, share))
		return false;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "up to %s of step time copies tensors into another layout or type (contiguous, reshape, to, "
		 "clone)", share);
	snprintf(advice->todo, sizeof(advice->todo), "convert once before the loop, keep one layout "
		 "(torch.channels_last), leave out .contiguous() where the next operator takes strides");
	return true;
}

bool tp_advice_constants(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	char share[32];

	if (!judge_figure(facts, TP_SITE_CONSTANTS, advice, share))
		return false;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "up to %s of step time computes tensors that begin with arange, ones and the like, without "
		 "parameters or gradients", share);
	snprintf(advice->todo, sizeof(advice->todo),
		 "if they are the same in every step: compute them once, keep them by register_buffer()");
	return true;
}
