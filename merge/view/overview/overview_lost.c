/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_lost.c - part of the overview: what is lost, missing or off
 */
#include "merge/view/overview/overview.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/model/ranks.h"
#include "merge/model/totals.h"

/* The first of what is missing of the GPU's records, and how many more there are. */
static bool print_gpu_losses(const struct tp_run *run, bool is_first, struct tp_out *out)
{
	const struct tp_loss *first = NULL;
	uint64_t value = 0;
	uint32_t n = 0;
	char a[32];

	for (const struct tp_loss *loss = tp_gpu_losses; loss->key; loss++) {
		uint64_t own = loss->is_loss ? tp_totals_add(run, loss->key, true) : 0;

		if (!own || n++)
			continue;
		first = loss;
		value = own;
	}
	if (first)
		tp_out_item(out, "red", TP_OVERVIEW_LABEL, is_first ? "LOST" : "",
			    n > 1 ? "%s %s; and %u more" : "%s %s",
			    first->is_bytes ? tp_show_bytes(a, (int64_t)value)
					    : tp_show_count(a, value),
			    first->text, n - 1);
	return first != NULL;
}

/* Who is not there, and whether those that are were started more than once. */
static void print_ranks(const struct tp_run *run, struct tp_out *out)
{
	uint32_t restart = tp_ranks_restart(run);
	struct tp_ranks_missing missing;

	tp_ranks_missing(run, &missing);
	if (missing.n_missing)
		tp_out_item(out, "yellow", TP_OVERVIEW_LABEL, "MISSING", "%s of %u %s no trace",
			    missing.here, missing.world, missing.n_missing > 1 ? "have" : "has");
	if (missing.n_elsewhere)
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "elsewhere",
			    "%s of %u ran on nodes from which there is nothing here",
			    missing.elsewhere, missing.world);
	if (restart)
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "restarts",
			    "ranks were started again, the last time as restart %u; what is older is "
			    "told apart by its name",
			    restart);
}

/* Of the first window that lacks work, and how many more do. */
static bool print_no_work(const struct tp_no_work *no_work, bool is_first, struct tp_out *out)
{
	uint32_t n = 0, first = 0;
	char text[200];

	for (uint32_t i = 0; tp_no_work_next(no_work, &i);)
		if (!n++)
			first = i - 1;
	if (n)
		tp_out_item(out, "red", TP_OVERVIEW_LABEL, is_first ? "LOST" : "",
			    n > 1 ? "%s: GPU times of its steps are too small; and %u more"
				  : "%s: GPU times of its steps are too small",
			    tp_no_work_show(text, no_work, first), n - 1);
	return n != 0;
}

void tp_overview_print_lost(const struct tp_run *run, const struct tp_overview *overview,
			    struct tp_out *out)
{
	uint64_t dropped = 0;
	uint32_t n_dropping = 0, n_cut = 0, n_dead = 0, n_off = 0, n_issues = 0;
	char a[32], off[200] = "", key[64], why[160], first_why[160] = "";
	const char *at, *issue = "";
	bool has_gpu_losses;

	for (uint32_t i = 0; i < run->n_windows; i++) {
		dropped += run->window[i].dropped;
		n_dropping += run->window[i].dropped != 0;
		n_cut += !run->window[i].is_whole && !run->window[i].is_recovered;
	}
	print_ranks(run, out);
	for (uint32_t i = 0; i < run->n_procs; i++)
		n_dead += tp_proc_died(run->proc[i]);
	for (uint32_t i = 0; i < run->n_issues; i++)
		if (run->issue[i].is_loss && !n_issues++)
			issue = run->issue[i].text;
	at = run->n_procs ? tp_label_meta(run, run->proc[0]) : "";
	while (tp_fact_next(&at, "off.", key, why, sizeof(why))) {
		size_t n = strlen(off);

		if (n_off++ == 0)
			snprintf(first_why, sizeof(first_why), "%s", why);
		snprintf(off + n, sizeof(off) - n, "%s%s", n ? ", " : "", key);
	}
	if (dropped)
		tp_out_item(out, "red", TP_OVERVIEW_LABEL, "LOST",
			    "%s events in %u window%s: the buffer was full; give a larger TRAINPROF_BUFFER",
			    tp_show_count(a, dropped), n_dropping,
			    n_dropping == 1 ? "" : "s");
	if (n_cut)
		tp_out_item(out, "red", TP_OVERVIEW_LABEL, dropped ? "" : "LOST",
			    "%u window%s without an end: the process did not finish %s",
			    n_cut, n_cut == 1 ? "" : "s", n_cut == 1 ? "it" : "them");
	if (n_issues)
		tp_out_item(out, "red", TP_OVERVIEW_LABEL, dropped || n_cut ? "" : "LOST",
			    n_issues > 1 ? "%s; and %u more" : "%s", issue, n_issues - 1);
	has_gpu_losses = print_gpu_losses(run, !dropped && !n_cut && !n_issues, out);
	has_gpu_losses |= print_no_work(overview->no_work, !dropped && !n_cut && !n_issues && !has_gpu_losses,
					out);
	if (n_dead)
		tp_out_item(
		    out, "yellow", TP_OVERVIEW_LABEL, "died",
		    "%u process%s did not exit cleanly (killed? crashed? out of memory?); what %s had recorded is "
		    "here",
		    n_dead, n_dead == 1 ? "" : "es", n_dead == 1 ? "it" : "they");
	if (n_off)
		tp_out_item(out, "yellow", TP_OVERVIEW_LABEL, "off", "%s%s%s", off,
			    n_off == 1 ? ": " : "", n_off == 1 ? first_why : "");
	if (overview->is_incomplete)
		tp_out_item(out, "red", TP_OVERVIEW_LABEL, "",
			    "out of memory: figures are not complete");
	if (dropped || n_cut || n_issues || n_dead || n_off || has_gpu_losses)
		tp_out_item(out, "dim", TP_OVERVIEW_LABEL, "", "more: -v health");
}
