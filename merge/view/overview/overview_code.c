/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_code.c - advice of the overview on the program's own lines: what runs between operators
 *
 * With devices it counts as far as these are idle meanwhile.
 */
#include "merge/view/overview/overview_advice.h"

#include <stdio.h>
#include <string.h>

#include "merge/view/overview/overview_samples.h"

enum {
	ONE_LINE_PERCENT = 20,
	LONG_STEPS = 3,		/* a long gap in one of so many */
	SCATTERED = 2,		/* long gaps a step: more are not one piece of code */
	APIECE_NS = 20000,	/* a gap, of many: more than it takes to ask for an operator, if */
	GAPS_PART = 4,		/* all operators take less than this part of the gaps */
	LINES = 4,		/* that are looked at */
};
static const double MORE = 1.2;	/* than one gap: samples of a function count */

/* What runs outside operators before those of the line, and the function that it is in. */
void tp_advice_gap(const struct tp_advice_facts *facts, const struct tp_site *site,
		   struct tp_advice *advice)
{
	char between[240] = "";

	if (site->before == site->place) {
		snprintf(advice->place, sizeof(advice->place), "what runs %s %s",
			 site->figure[TP_SITE_LONG_GAPS] < site->figure[TP_SITE_CALLS] / 2
			     ? "between operators of" : "before each operator of", site->place);
		return;
	}
	if (tp_sites_between(facts->overview->sites, site, between, sizeof(between) - 2))
		strcat(between, ": ");
	snprintf(advice->place, sizeof(advice->place), "%swhat runs between %s and %s", between,
		 site->before ? site->before : "the start of the step", site->place);
}

bool tp_advice_has_devices(const struct tp_run *run)
{
	for (uint32_t i = 0; i < run->n_procs; i++)
		if (run->proc[i]->n_devices)
			return true;
	return false;
}

/* Gaps that come with every operator are the cost of asking for operators, and no code to move: in every
 * third step at least one has to be too long for that, and half of the time to be one gap a step after
 * another line, or such long ones, and not one of them only. */
static bool is_own_code(const struct tp_site *site, uint64_t n_steps)
{
	const int64_t gap = site->figure[TP_SITE_GAP], in_long = site->figure[TP_SITE_LONG],
		      n_long = site->figure[TP_SITE_LONG_GAPS];
	const double longest = (double)site->longest_ns * (double)n_steps;

	return site->before && n_long * LONG_STEPS >= (int64_t)n_steps &&
	       ((site->before != site->place && longest >= (double)gap / 2 && longest <= (double)gap * 2) ||
		(in_long >= gap / 2 && site->longest_ns <= in_long / 2));
}

/* A library's loop, which runs the whole training for the line: what it takes between its few operators is
 * no code to move. */
static bool is_trainers(const struct tp_sites *sites, const struct tp_site *site)
{
	return site->figure[TP_SITE_LEARNING] > 0 &&
	       tp_sites_calls_by(sites, site, tp_sites_is_through_package) > site->figure[TP_SITE_CALLS] / 2;
}

/* A loop of the program's, with a small operator in each round. */
static bool is_mostly_gaps(const struct tp_sites *sites, const struct tp_site *site)
{
	return site->before && site->figure[TP_SITE_TIME] < site->figure[TP_SITE_GAP] / GAPS_PART &&
	       site->figure[TP_SITE_CALLS] < site->figure[TP_SITE_GAP] / APIECE_NS &&
	       !is_trainers(sites, site);
}

/* Several long gaps a step, after more than one line: a loop of the program's, or torch gives large tensors
 * back between the layers of a model. */
static bool is_scattered(const struct tp_site *site, uint64_t n_steps)
{
	return site->before != site->place &&
	       site->figure[TP_SITE_LONG_GAPS] / SCATTERED > (int64_t)n_steps;
}

/* Of the lines with most of the time without operators the first that has code of the program's there. */
static bool find_code(const struct tp_advice_facts *facts, struct tp_site *found, bool *is_loop)
{
	struct tp_site site[LINES];
	const uint32_t n = tp_sites_top(facts->overview->sites, NULL, TP_SITE_GAP, site, LINES);

	for (uint32_t i = 0; i < n; i++) {
		*is_loop = !is_own_code(&site[i], facts->sums->n_steps);
		*found = site[i];
		if (!*is_loop || is_mostly_gaps(facts->overview->sites, found))
			return true;
	}
	return false;
}

/* Waiting for data and collectives is in no gap. Threads may have gaps at once: no more than the
 * time in which nothing at all goes on. */
static bool judge_longest(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_overview_sums *sums = facts->sums;
	struct tp_site site;
	bool is_loop;
	int64_t gap;
	char a[32];

	if (!find_code(facts, &site, &is_loop))
		return false;
	/* Those that are not long are the cost of asking for operators. */
	gap = site.figure[is_loop ? TP_SITE_GAP : TP_SITE_LONG];
	if (gap > sums->ns[TP_CAT_OTHER])
		gap = sums->ns[TP_CAT_OTHER];
	advice->percent = tp_advice_percent(gap, sums->all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "up to %s of a step is code of the host between %s",
		 tp_show_percent(a, (double)gap, (double)sums->all_ns),
		 is_loop ? "the small operators of a loop" : "two lines, outside operators");
	snprintf(advice->todo, sizeof(advice->todo),
		 "do it less often, outside the loop, or by operators");
	/* What a loop came after is no matter. */
	if (is_loop)
		site.before = site.place;
	/* Between operators of one line much is torch's own. */
	if (site.before == site.place && advice->percent < ONE_LINE_PERCENT)
		return false;
	tp_advice_gap(facts, &site, advice);
	/* In a gap that no function is known of the thread may have waited for a core. */
	return tp_advice_gap_function(facts, advice) ||
	       !(facts->is_crowded || (is_scattered(&site, sums->n_steps) && tp_advice_gap_is_torchs(facts)));
}

/* Times are exact, samples are not; but a function may be called from several lines. */
bool tp_advice_host_code(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_overview_sums *sums = facts->sums;
	struct tp_advice by_samples = {.rule = advice->rule};
	bool is_gap;

	/* Where operators were not recorded, all is outside of them. */
	if (facts->is_uneven || facts->is_periodic || facts->is_compiling || !sums->n_steps ||
	    sums->ns[TP_CAT_CPU] <= 0 || tp_advice_has_devices(facts->run))
		return false;
	is_gap = !tp_advice_gap_is_garbage(facts) && judge_longest(facts, advice);
	if (!tp_advice_host_function(facts, &by_samples))
		return is_gap;
	if (!is_gap || by_samples.percent > advice->percent * MORE)
		*advice = by_samples;
	return true;
}

/* By samples only: what is between operators of the training thread may be the backward pass of another
 * one. */
bool tp_advice_host_code_device(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_overview_sums *sums = facts->sums;
	const int64_t idle = facts->gpu.idle_ns[TP_IDLE_HOST], all = facts->gpu.all_ns;
	const double nothing = tp_advice_percent(sums->ns[TP_CAT_OTHER], sums->all_ns);
	size_t n_said;
	char a[32];

	/* Where operators were not recorded, all is outside of them. */
	if (facts->is_uneven || facts->is_periodic ||
	    !facts->overview->owners->samples->all[TP_SAMPLES_OPERATOR].n ||
	    !tp_advice_host_function(facts, advice))
		return false;
	if (advice->percent > nothing)
		advice->percent = nothing;
	if (advice->percent > tp_advice_percent(idle, all))
		advice->percent = tp_advice_percent(idle, all);
	n_said = strlen(advice->evidence);
	snprintf(advice->evidence + n_said, sizeof(advice->evidence) - n_said,
		 "; the GPU is idle %s of the time, waiting for the host",
		 tp_show_percent(a, (double)idle, (double)all));
	return true;
}
