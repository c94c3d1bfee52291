/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_health_wrong.c - part of the view of health: problems, windows that are not whole, open
 * spans, what is off
 */
#include "merge/view/view_health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"

static uint32_t limit(const struct tp_view_options *options, uint32_t n)
{
	uint32_t most = options->top ? options->top : n;

	return n < most ? n : most;
}

static void print_more(struct tp_out *out, uint32_t n_left)
{
	if (n_left)
		tp_out_line(out, "dim", "  %u more: --top 0 shows all.", n_left);
}

uint32_t tp_view_health_issues(const struct tp_run *run, const struct tp_view_options *options,
			       struct tp_out *out)
{
	uint32_t n_shown = limit(options, run->n_issues);
	char who[64];

	if (run->n_issues)
		tp_out_title(out, "Problems");
	for (uint32_t i = 0; i < n_shown; i++) {
		const struct tp_issue *issue = &run->issue[i];

		tp_out_line(out, issue->is_loss ? "red" : "yellow", "  %s%s%s",
			    issue->proc ? tp_label_proc(who, run, issue->proc) : "",
			    issue->proc ? ": " : "", issue->text);
	}
	print_more(out, run->n_issues - n_shown);
	return run->n_issues;
}

static void put_window(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_window *window = of;
	char who[64];

	TP_TEXT(r, NULL, "process", TP_INSET, "", "%s", tp_label_proc(who, ctx, window->proc));
	TP_NUMBER(r, NULL, "window", 0, "", window->window);
	TP_COUNT(r, NULL, "events", 0, "", window->n_events);
	TP_COUNT(r, NULL, "lost", 0, "", window->dropped);
	TP_TEXT(r, NULL, "state", 0, "", "%s%s", window->is_whole ? "whole" : "no end",
		window->is_recovered ? ", recovered" : "");
	TP_TEXT(r, NULL, "file", TP_CUT, "", "%s", window->path ? window->path : "");
	TP_STYLE(r, window->dropped ? "red" : "yellow");
}

static const struct tp_table_def windows_def = {.columns = put_window};

uint32_t tp_view_health_windows(const struct tp_run *run, const struct tp_view_options *options,
				struct tp_out *out)
{
	struct tp_table *table = NULL;
	uint32_t n_bad = 0;

	for (uint32_t i = 0; i < run->n_windows; i++) {
		const struct tp_window *window = &run->window[i];

		if (window->is_whole && !window->is_recovered && !window->dropped)
			continue;
		if (!n_bad++) {
			tp_out_title(out, "Windows that are not whole");
			table = tp_table_begin(&windows_def, run, options->top, out);
		}
		tp_table_add(table, window);
	}
	print_more(out, tp_table_end(table));
	return n_bad;
}

uint32_t tp_view_health_open(const struct tp_run *run, const struct tp_view_options *options,
			     struct tp_out *out)
{
	uint32_t n_shown = limit(options, run->n_open);
	char who[64], thread[64], a[32];

	if (run->n_open)
		tp_out_title(out, "Open spans of processes that died, outermost first");
	for (uint32_t i = 0; i < n_shown; i++) {
		const struct tp_open_at_end *open = &run->open[i];

		if (!i || open[-1].proc != open->proc || open[-1].thread != open->thread)
			tp_out_line(out, "yellow", "  %s %s",
				    tp_label_proc(who, run, open->proc),
				    tp_label_thread(thread, open->thread));
		tp_out_line(out, "", "    %*s%.*s for %s",
			    open->depth < 16 ? (int)open->depth : 16, "",
			    (int)open->name->n_bytes,
			    open->name->bytes ? open->name->bytes : "?",
			    tp_show_ns(a, tp_sub(open->seen_ns, open->begin_ns)));
	}
	print_more(out, run->n_open - n_shown);
	return run->n_open;
}

/* ---- facts: one line for all processes that say the same ---- */

enum { FACTS_MAX = 64 };

struct fact {
	char key[64], value[400];
	const struct tp_proc *first;
	uint32_t n_procs;
};

static uint32_t collect_facts(const struct tp_run *run, const char *prefix,
			      struct fact *fact)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < run->n_procs; p++) {
		const char *at = tp_label_meta(run, run->proc[p]);
		struct fact new = {.first = run->proc[p], .n_procs = 1};

		while (tp_fact_next(&at, prefix, new.key, new.value, sizeof(new.value))) {
			uint32_t i = 0;

			while (i < n && (strcmp(fact[i].key, new.key) ||
					 strcmp(fact[i].value, new.value)))
				i++;
			if (i < n)
				fact[i].n_procs++;
			else if (n < FACTS_MAX)
				fact[n++] = new;
		}
	}
	return n;
}

/* What was asked for and is not there, and why: not a loss of data that was recorded. */
uint32_t tp_view_health_off(const struct tp_run *run, struct tp_out *out)
{
	struct fact *fact = calloc(FACTS_MAX, sizeof(*fact));
	uint32_t n = fact ? collect_facts(run, "off.", fact) : 0;
	char who[64];

	if (n)
		tp_out_title(out, "Off, and why");
	for (uint32_t i = 0; i < n; i++) {
		const char *of = fact[i].n_procs < run->n_procs
				     ? tp_label_proc(who, run, fact[i].first)
				     : "";

		tp_out_item(out, "yellow", 18, fact[i].key, "%s%s%s%s", fact[i].value,
			    *of ? " (" : "", of,
			    !*of		  ? ""
			    : fact[i].n_procs > 1 ? " and others)"
						  : ")");
	}
	free(fact);
	return n;
}
