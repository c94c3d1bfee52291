/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_small.c - advice of the overview on lines that ask for many small operators
 *
 * In runs without devices only: with one, what counts is whether it waits (overview_devices.c).
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/facts/origin/stacks.h"
#include "merge/kit/sum.h"
#include "runtime/trace/torch_names.h"

enum {
	SMALL_NS = 10000,	/* an operator and the gap before it: asking for it costs as much as it */
	MEDIUM_NS = 40000,	/* so it does where gaps are one of ASKED_PART parts of the operators */
	ASKED_PART = 8,
	ASK_NS = 3000,		/* of an operator's time, at most: what one takes that computes nothing; */
	ASK_UPDATE_NS = 1500,	/* an optimizer's, as it changes whole parameters; */
	INSIDE_NS = 500,	/* and one that another one asks for */
	MANY = 200,		/* of them, in a step, by one function, */
	SOME = 64,		/* and by each of its lines that count, in libraries by each place: layers are
				 * fewer */
	NODES_OF_ONE = 8,	/* of the backward pass, at most, by an operator of a loop */
	LINES = 64,		/* that are looked at */
	ASKED_PERCENT = 20,	/* of a step; less, where their lines take as much as LINES_PERCENT: with one
				 * operator for all more than the asking is saved */
	LINES_PERCENT = 33,
	OPTIMIZER_PERCENT = 30,	/* of a step: less is how an optimizer of torch's is in a small model */
};

/* An operator, with the gap before it. */
static int64_t each_of(const struct tp_site *site)
{
	const int64_t calls = site->figure[TP_SITE_CALLS];

	return calls ? tp_add(site->figure[TP_SITE_TIME], site->figure[TP_SITE_GAP]) / calls : 0;
}

/* Not those of workers, which work beside the step: where that waits for them, it is data loading. */
static bool is_small(const struct tp_site *site, uint64_t n_steps)
{
	/* One operator may have many nodes: nn.GRU's has some for each step of its input. Layers of a model
	 * are many, too, but hardly so small. */
	const int64_t asked = site->figure[TP_SITE_CALLS] - site->figure[TP_SITE_NODES] -
			      (each_of(site) > SMALL_NS ? site->figure[TP_SITE_LAYERS] : 0);
	const int64_t calls = site->figure[TP_SITE_CALLS], time = site->figure[TP_SITE_TIME],
		      gap = site->figure[TP_SITE_GAP], each = each_of(site),
		      outside = tp_add(gap, site->figure[TP_SITE_INSIDE] * INSIDE_NS);

	return site->figure[TP_SITE_WORKER] <= time / 2 && calls / SOME >= (int64_t)n_steps &&
	       asked / (SOME / 2) >= (int64_t)n_steps && asked >= calls / NODES_OF_ONE &&
	       (each <= SMALL_NS || (each <= MEDIUM_NS && outside >= time / ASKED_PART));
}

/* All of them that the function of `site` asks for. */
static int64_t count_of_function(const struct tp_site *site, const struct tp_site *all, uint32_t n,
				 uint64_t n_steps)
{
	int64_t calls = 0;

	for (uint32_t i = 0; i < n; i++)
		if (is_small(&all[i], n_steps) && tp_sites_is_same_function(&all[i], site))
			calls = tp_add(calls, all[i].figure[TP_SITE_CALLS]);
	return calls;
}

static bool is_learning(const struct tp_site *site)
{
	return site->figure[TP_SITE_LEARNING] >= site->figure[TP_SITE_TIME] / 2;
}

/* ---- who asks for them ---- */

static bool is_printing(const struct tp_frame *frame, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (frame[i].is_python && strstr(frame[i].file, "/torch/_tensor_str.py"))
			return true;
	return false;
}

/* The innermost function of Python's that is not one of torch's helpers; NULL: there is none. */
static const struct tp_frame *find_asker(const struct tp_frame *frame, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (frame[i].is_python && (!strstr(frame[i].file, "/torch/") || strstr(frame[i].file, "/torch/nn/") ||
					   strstr(frame[i].file, "/torch/optim/")))
			return &frame[i];
	return NULL;
}

/* An optimizer's step may run all of the training, as a closure. */
static bool is_optimizers(const struct tp_frame *frame, uint32_t n)
{
	const struct tp_frame *asker = find_asker(frame, n);

	return asker && strstr(asker->file, "/torch/optim/") && !strstr(asker->file, "/swa_utils.py");
}

/* The backward pass asks for them, and no code of the program's in it. */
static bool is_engines(const struct tp_frame *frame, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (frame[i].is_python)
			return strstr(frame[i].file, "/torch/autograd/");
	return false;
}

/* More than half of the line's operators. */
static bool is_most(const struct tp_sites *sites, const struct tp_site *site, tp_sites_choose *choose)
{
	return tp_sites_calls_by(sites, site, choose) > site->figure[TP_SITE_CALLS] / 2;
}

/* What would be saved if the line's work were done by few operators: the gaps and what it takes to ask for
 * each, but not the work itself. */
static int64_t cost_of_asking(const struct tp_sites *sites, const struct tp_site *site)
{
	const int64_t time = site->figure[TP_SITE_TIME],
		      each = is_most(sites, site, is_optimizers) ? ASK_UPDATE_NS : ASK_NS,
		      asked = tp_add(site->figure[TP_SITE_CALLS] * each,
				     site->figure[TP_SITE_INSIDE] * INSIDE_NS);

	return tp_add(time < asked ? time : asked, site->figure[TP_SITE_GAP]);
}

static bool is_enough(double asked_percent, double lines_percent, bool is_torchs)
{
	return is_torchs ? asked_percent >= OPTIMIZER_PERCENT
			 : asked_percent >= ASKED_PERCENT || lines_percent >= LINES_PERCENT;
}

static const char *todo_of(const struct tp_sites *sites, const struct tp_site *site)
{
	if (is_most(sites, site, is_printing))
		return "it prints tensors: less often, fewer of their values, or as a list: print(x.tolist())";
	if (is_most(sites, site, is_optimizers))
		return "the optimizer updates one parameter after another, on a CPU with foreach=True, too: fused=True, "
		       "where it has that";
	return "one operator for all of them instead of a loop: on a whole batch, torch._foreach_*, torch.compile";
}

/* Lines of the backward pass have what the forward pass asked for. */
bool tp_advice_small_operators(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_overview_sums *sums = facts->sums;
	const struct tp_site *most = NULL;
	struct tp_site site[LINES];
	/* It asks for many, and there is no other way to do its steps. */
	const bool is_lbfgs = tp_advice_has_name(facts->overview, TP_NAME_OPTIMIZER "LBFGS.");
	int64_t sum = 0, all = 0, most_cost = 0, cost;
	uint32_t n;
	char a[32], b[32];

	if (tp_advice_has_devices(facts->run) || !sums->n_steps || facts->is_locked)
		return false;
	n = tp_sites_top(facts->overview->sites, NULL, TP_SITE_TIME, site, LINES);
	/* It looks at all stacks: where there are too few operators there are no loops either. */
	for (uint32_t i = 0; i < n; i++)
		if (site[i].figure[TP_SITE_CALLS] / SOME >= (int64_t)sums->n_steps)
			tp_sites_keep_loops(facts->overview->sites, &site[i], sums->n_steps, SOME);
	for (uint32_t i = 0; i < n; i++) {
		if (!is_small(&site[i], sums->n_steps) || (is_lbfgs && is_learning(&site[i])) ||
		    is_most(facts->overview->sites, &site[i], is_engines) ||
		    count_of_function(&site[i], site, n, sums->n_steps) / MANY < (int64_t)sums->n_steps)
			continue;
		cost = cost_of_asking(facts->overview->sites, &site[i]);
		sum = tp_add(sum, cost);
		all = tp_add(all, tp_add(site[i].figure[TP_SITE_TIME], site[i].figure[TP_SITE_GAP]));
		if (!most || cost > most_cost) {
			most = &site[i];
			most_cost = cost;
		}
	}
	/* With each step they are more: that is the cause, and told. */
	if (!most || (facts->trend && !strcmp(facts->trend->place, most->place)))
		return false;
	advice->percent = tp_advice_percent(sum, sums->all_ns);
	if (!is_enough(advice->percent, tp_advice_percent(all, sums->all_ns),
		       is_most(facts->overview->sites, most, is_optimizers)))
		return false;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "up to %s of a step is the dispatch of many small operators: one line calls %" PRId64
		 " per step, %s each", tp_show_percent(a, (double)sum, (double)sums->all_ns),
		 most->figure[TP_SITE_CALLS] / (int64_t)sums->n_steps,
		 tp_show_ns(b, each_of(most)));
	snprintf(advice->todo, sizeof(advice->todo), "%s", todo_of(facts->overview->sites, most));
	tp_advice_place(facts, NULL, most, TP_SITE_CALLS, advice);
	return true;
}
