/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_flops.c - part of the overview: floating-point operations of the recorded steps, and how
 * near they come to what the device could do
 */
#include "merge/view/overview/overview.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"

/* "312T": operations a second; 0: nothing is said, -1: that is none. */
static double peak_of(const char *text)
{
	static const struct {
		char suffix;
		double factor;
	} suffixes[] = {{'\0', 1}, {'G', 1e9}, {'T', 1e12}, {'P', 1e15}};
	char *end;
	double peak;

	if (!text || !*text)
		return 0;
	peak = strtod(text, &end);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (*end == suffixes[i].suffix && (!*end || !end[1]) && end != text && peak > 0 &&
		    peak * suffixes[i].factor < 1e21)
			return peak * suffixes[i].factor;
	return -1;
}

/* "1.53 GFLOP" */
static const char *show_flops(char buf[32], double flops)
{
	static const char *const unit[] = {"", "k", "M", "G", "T", "P", "E"};
	uint32_t at = 0;

	for (; flops >= 1000 && at + 1 < sizeof(unit) / sizeof(unit[0]); at++)
		flops /= 1000;
	snprintf(buf, 32, "%.3g %sFLOP", flops, unit[at]);
	return buf;
}

/* Of the processes that have some, so that a rate is that of a rank. */
static void sum_up(const struct tp_overview *overview, const struct tp_flop_sums *sums, double *flops,
		   int64_t *ns, uint64_t *n_steps)
{
	*flops = 0;
	*ns = 0;
	*n_steps = 0;
	for (uint32_t i = 0; i < overview->n_procs; i++) {
		const struct tp_breakdown *breakdown = overview->proc[i].breakdown;

		if (!sums->in_steps[i])
			continue;
		*flops += (double)sums->in_steps[i];
		*n_steps += breakdown->n_steps;
		for (uint32_t k = 0; k < breakdown->n_steps; k++)
			*ns = tp_add(*ns, tp_overview_step_ns(&breakdown->step[k]));
	}
}

void tp_overview_print_flops(const struct tp_run *run, const struct tp_overview *overview,
			     const struct tp_flop_sums *sums, struct tp_out *out)
{
	const char *asked = getenv("TRAINPROF_PEAK");
	double flops, rate, peak;
	uint64_t n_steps;
	int64_t ns;
	char a[32], b[32], c[32], d[32], of_peak[80] = "", recorded[104];

	if (!sums->has_any)
		return;
	sum_up(overview, sums, &flops, &ns, &n_steps);
	if (!n_steps || ns <= 0)
		return;
	if (!asked && tp_fact(tp_label_meta(run, run->proc[0]), "PEAK", recorded, sizeof(recorded)))
		asked = recorded;
	peak = peak_of(asked);
	rate = flops / (double)ns * 1e9;
	if (peak > 0)
		snprintf(of_peak, sizeof(of_peak), ", %s of %s/s",
			 tp_show_percent(c, rate, peak), show_flops(d, peak));
	tp_out_item(out, "", TP_OVERVIEW_LABEL, "compute", "%s a step%s, %s/s%s",
		    show_flops(a, flops / (double)n_steps),
		    tp_label_is_needed(run) ? " and rank" : "", show_flops(b, rate), of_peak);
	if (peak < 0)
		tp_out_item(out, "yellow", TP_OVERVIEW_LABEL, "",
			    "TRAINPROF_PEAK: '%.40s' is not a number of operations a second, like 312T",
			    asked);
	if (sums->n_unknown)
		tp_out_item(out, "dim", TP_OVERVIEW_LABEL, "",
			    "without %s convolution%s that ha%s no backward pass",
			    tp_show_count(a, sums->n_unknown), sums->n_unknown == 1 ? "" : "s",
			    sums->n_unknown == 1 ? "s" : "ve");
}
