/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_operators.c - advice of the overview on operators whose work could be saved: copies into
 * another layout or type, tensors that each step computes anew, one-hot vectors, decompositions of
 * matrices, an evaluation in each step (waste.h), numbers of double precision
 *
 * But for the last, in runs without devices only: the time of an operator is not that of the work it
 * launches.
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/totals.h"

enum {
	TYPES_LEAST = 10,	/* operators whose types were looked at */
	DOUBLE_PERCENT = 50,	/* of their elements: it is no single loss or statistic */
	EVALUATED = 5,		/* times the calls of a step that learns: a teacher, or activations that are
				 * recomputed, are a few times its calls, and mostly once */
};

/* What so many times the figure costs, and the line with most of it. False: nothing. */
static bool judge_figure(const struct tp_advice_facts *facts, enum tp_site_figure figure, int64_t times,
			 struct tp_advice *advice, char share[32])
{
	const struct tp_overview_sums *sums = facts->sums;
	int64_t sum = tp_sites_sum(facts->overview->sites, figure) * times;

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

/* By rule: what its figure costs, so many times, if it could be done without. */
static const struct waste {
	const char *rule;
	enum tp_site_figure figure;
	int64_t times;
	const char *does, *todo;
} wastes[] = {
	{"layout-copies", TP_SITE_COPIES, 1,
	 "copies tensors, as they are or into another layout or type (clone, contiguous, reshape, to, deepcopy)",
	 "copy less often; convert once before the loop, keep one layout (torch.channels_last), leave out "
	 ".contiguous() where the next operator takes strides"},
	{"recomputed-constants", TP_SITE_CONSTANTS, 1,
	 "computes tensors that begin with arange, ones and the like, without parameters or gradients",
	 "if they are the same in every step: compute them once, keep them by register_buffer()"},
	/* Without the gradients of what is made of them. */
	{"one-hot", TP_SITE_ONE_HOT, 1,
	 "makes one-hot vectors, converts them and multiplies by them, without the backward pass",
	 "use the numbers as they are: nn.Embedding or weight[numbers] instead of a product, "
	 "cross_entropy(logits, numbers) instead of one with vectors"},
	{"matrix-decompositions", TP_SITE_DECOMPOSED, 1,
	 "decomposes matrices (singular values, eigenvalues, QR, exponentials), and goes back through that",
	 "power iteration where the largest singular value is enough "
	 "(torch.nn.utils.parametrizations.spectral_norm), a Cholesky factor or a norm where that serves as "
	 "well, smaller matrices, or only every n-th step"},
	{"unused-gradients", TP_SITE_UNUSED, 1,
	 "computes gradients that no zero_grad() clears, after the last one that is: no optimizer has these "
	 "parameters, or another one that does not step",
	 "if they are not to be trained: parameter.requires_grad_(False), or that part of the model under "
	 "torch.no_grad(); if they are: give them to the optimizer"},
	/* The optimizer goes over a gradient once at least, which takes as long as to zero it. */
	{"dense-embedding", TP_SITE_DENSE, 2,
	 "zeroes a gradient as large as an embedding's whole table, and goes over it in the optimizer: the "
	 "batch used few of its rows",
	 "nn.Embedding(..., sparse=True) with SGD, SparseAdam or Adagrad, or a smaller table"},
};

bool tp_advice_waste(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct waste *waste = NULL;
	char share[32];

	for (uint32_t i = 0; i < sizeof(wastes) / sizeof(wastes[0]); i++)
		if (!strcmp(wastes[i].rule, advice->rule))
			waste = &wastes[i];
	if (!waste || !judge_figure(facts, waste->figure, waste->times, advice, share))
		return false;
	snprintf(advice->evidence, sizeof(advice->evidence), "up to %s of step time %s", share, waste->does);
	snprintf(advice->todo, sizeof(advice->todo), "%s", waste->todo);
	return true;
}

/* Of an optimizer that steps less often gradients are zeroed at times. */
bool tp_advice_unused(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	return tp_waste_is_unused(facts->overview->waste) && tp_advice_waste(facts, advice);
}

/* Modules that run without gradients many times for each time with them: no step needs that to learn. */
bool tp_advice_evaluation(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_sites *sites = facts->overview->sites;
	bool is_forgotten;
	const uint64_t times = tp_waste_times(facts->overview->waste, &is_forgotten);
	char share[32];

	if (facts->is_periodic || times < EVALUATED ||
	    !judge_figure(facts, TP_SITE_NO_GRAD, 1, advice, share))
		return false;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "up to %s of a step runs modules %s, %" PRIu64 " times as often as with %s: an "
		 "evaluation, or sampling, in each step", share,
		 is_forgotten ? "with gradients that no backward pass asks for" : "without gradients", times,
		 is_forgotten ? "one" : "them");
	snprintf(advice->todo, sizeof(advice->todo), "%sif the step does not need it: every n-th step, or on fewer "
		 "samples", is_forgotten ? "torch.no_grad(); " : "");
	tp_sites_apart(sites, TP_SITE_NO_GRAD_CALLS, TP_SITE_GRAD_CALLS, advice->place,
		       sizeof(advice->place));
	return true;
}

/* What the training does not learn by: of a single process, where collectives are nobody's, and where nothing
 * else is known to be wrong. */
bool tp_advice_extra(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_overview_sums *sums = facts->sums;
	char a[32];
	int64_t ns;

	if (facts->is_explained || facts->overview->comm || tp_advice_has_devices(facts->run) ||
	    !sums->n_steps || tp_sites_sum(facts->overview->sites, TP_SITE_LEARNING) <= 0)
		return false;
	ns = tp_sites_extra(facts->overview->sites, advice->place, sizeof(advice->place));
	advice->percent = tp_advice_percent(ns, sums->all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%s of step time is in operators of one function that produce no gradient and belong "
		 "to no layer or optimizer", tp_show_percent(a, (double)ns, (double)sums->all_ns));
	snprintf(advice->todo, sizeof(advice->todo), "if the step does not need it: every n-th step, on fewer "
		 "samples, or in the workers of a DataLoader");
	return true;
}

/* float32 takes half the time and half the memory, on many devices far less. */
bool tp_advice_double(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	static const char *const other[] = {"torch.elements.half", "torch.elements.float",
					    "torch.elements.bfloat16"};
	const struct tp_overview_sums *sums = facts->sums;
	const uint64_t n = tp_totals_add_ranks(facts->run, "torch.types");
	double doubles = (double)tp_totals_add_ranks(facts->run, "torch.elements.double"), all = doubles;
	int64_t ns = tp_add(sums->ns[TP_CAT_CPU], sums->ns[TP_CAT_KERNEL]);
	char a[32], b[32];

	for (uint32_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		all += (double)tp_totals_add_ranks(facts->run, other[i]);
	if (n < TYPES_LEAST || doubles * 100 < all * DOUBLE_PERCENT || !sums->n_steps)
		return false;
	ns = (int64_t)((double)ns / 2 * doubles / all);
	advice->percent = tp_advice_percent(ns, sums->all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%s of the numbers that operators compute with are float64 (%" PRIu64 " operators were looked at): "
		 "float32 takes half the time, up to %s of a step less", tp_show_percent(a, doubles, all), n,
		 tp_show_percent(b, (double)ns, (double)sums->all_ns));
	snprintf(advice->todo, sizeof(advice->todo), "where do they come from? NumPy arrays are float64: "
		 "torch.from_numpy(x).float(); .double(), torch.set_default_dtype(torch.float64)");
	tp_advice_line(facts, NULL, TP_SITE_TIME, advice);
	return true;
}
