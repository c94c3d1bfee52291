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

uint32_t tp_view_health_issues(struct tp_health *health)
{
	const struct tp_run *run = health->run;
	uint32_t n_shown = limit(health->options, run->n_issues);
	char who[64];

	if (run->n_issues)
		tp_out_title(health->out, "What is missing or wrong");
	for (uint32_t i = 0; i < n_shown; i++) {
		const struct tp_issue *issue = &run->issue[i];

		tp_health_say(health, issue->is_loss ? "red" : "yellow", "problem", "%s%s%s",
			      issue->proc ? tp_label_proc(who, run, issue->proc) : "",
			      issue->proc ? ": " : "", issue->text);
	}
	tp_out_left(health->out, run->n_issues - n_shown, "problems");
	return run->n_issues;
}

static bool is_whole(const struct tp_window *window)
{
	return window->is_whole && !window->is_recovered && !window->dropped;
}

static void put_window(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_window *window = of;
	char who[64];

	TP_TEXT(r, "process", "process", TP_INSET, "rank", "%s", tp_label_proc(who, ctx, window->proc));
	TP_NUMBER(r, "window", "window", 0, "number of the window, from 0 in each process", window->window);
	TP_COUNT(r, "events", "events", 0, "events in its file", window->n_events);
	TP_COUNT(r, "lost", "lost", 0, "lost events", window->dropped);
	TP_TEXT(r, "state", "state", 0, "whole, or no end; recovered from the buffer file of a dead process", "%s%s",
		window->is_whole ? "whole" : "no end", window->is_recovered ? ", recovered" : "");
	TP_TEXT(r, "file", "file", TP_CUT, "trace file", "%s", window->path ? window->path : "");
	TP_STYLE(r, is_whole(window) ? "" : window->dropped ? "red" : "yellow");
}

const struct tp_table_def tp_table_windows = {
	.name = "windows",
	.help = "windows of each process; as text only incomplete ones",
	.columns = put_window,
};

uint32_t tp_view_health_windows(struct tp_health *health)
{
	const struct tp_run *run = health->run;
	struct tp_table *table = NULL;
	uint32_t n_shown = 0;

	for (uint32_t i = 0; i < run->n_windows; i++) {
		if (is_whole(&run->window[i]) && !health->rows)
			continue;
		if (!n_shown++) {
			tp_out_title(health->out, "Which windows are not whole");
			table = tp_table_begin(&tp_table_windows, run, health->options->top, health->out);
		}
		tp_table_add(table, &run->window[i]);
	}
	tp_out_left(health->out, tp_table_end(table), "rows");
	return n_shown;
}

static const char *name_open(const struct tp_open_at_end *open)
{
	return open->name->bytes ? open->name->bytes : "?";
}

static void put_open(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_open_at_end *open = of;
	char who[64], thread[64];

	TP_TEXT(r, "process", NULL, 0, "rank", "%s", tp_label_proc(who, ctx, open->proc));
	TP_TEXT(r, "state", NULL, 0, "died, replaced (by exec), or runs", "%s",
		tp_proc_died(open->proc) ? "died" : open->proc->is_dead ? "replaced" : "runs");
	TP_TEXT(r, "thread", NULL, 0, "thread", "%s", tp_label_thread(thread, open->thread));
	TP_COUNT(r, "depth", NULL, 0, "depth: number of open spans around it", open->depth);
	TP_TEXT(r, "name", NULL, 0, "name of the operator or range", "%.*s", (int)open->name->n_bytes, name_open(open));
	TP_NS(r, "time_ns", NULL, 0, "time since its start, when last observed",
	      tp_sub(open->seen_ns, open->begin_ns));
}

const struct tp_table_def tp_table_open_spans = {
	.name = "open_spans",
	.help = "open operators and ranges of processes that died or still run, outermost first",
	.columns = put_open,
};

static void print_open(const struct tp_health *health, bool is_dead)
{
	const struct tp_run *run = health->run;
	const struct tp_open_at_end *last = NULL;
	uint32_t n = 0, n_most = limit(health->options, run->n_open);
	char who[64], thread[64], a[32];

	for (uint32_t i = 0; i < run->n_open; i++) {
		const struct tp_open_at_end *open = &run->open[i];

		if (!tp_proc_died_or_runs(open->proc, is_dead) || n++ >= n_most)
			continue;
		if (!last)
			tp_out_title(health->out, "Where processes that %s stood: their open spans, outermost first",
				     is_dead ? "died" : "still run");
		if (!last || last->proc != open->proc || last->thread != open->thread)
			tp_out_line(health->out, "yellow", "  %s %s",
				    tp_label_proc(who, run, open->proc),
				    tp_label_thread(thread, open->thread));
		last = open;
		tp_out_line(health->out, "", "    %*s%.*s for %s",
			    open->depth < 16 ? (int)open->depth : 16, "",
			    (int)open->name->n_bytes, name_open(open),
			    tp_show_ns(a, tp_sub(open->seen_ns, open->begin_ns)));
	}
	tp_out_left(health->out, n > n_most ? n - n_most : 0, "spans");
}

void tp_view_health_open(const struct tp_health *health)
{
	const struct tp_run *run = health->run;

	if (!health->rows) {
		print_open(health, true);
		print_open(health, false);
	} else if (run->n_open) {
		tp_table_show(&tp_table_open_spans, run, run->open, limit(health->options, run->n_open),
			      sizeof(*run->open), 0, health->out);
	}
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
uint32_t tp_view_health_off(struct tp_health *health)
{
	const struct tp_run *run = health->run;
	struct fact *fact = calloc(FACTS_MAX, sizeof(*fact));
	uint32_t n = fact ? collect_facts(run, "off.", fact) : 0;
	char who[64], where[96];

	if (n)
		tp_out_title(health->out, "What is disabled, and why");
	for (uint32_t i = 0; i < n; i++) {
		const char *of = fact[i].n_procs < run->n_procs
				     ? tp_label_proc(who, run, fact[i].first)
				     : "";

		snprintf(where, sizeof(where), "%s%s%s", *of ? " (" : "", of,
			 !*of ? "" : fact[i].n_procs > 1 ? " and others)" : ")");
		if (health->rows)
			tp_health_say(health, "yellow", "off", "%s: %s%s", fact[i].key, fact[i].value, where);
		else
			tp_out_item(health->out, "yellow", 18, fact[i].key, "%s%s", fact[i].value, where);
	}
	free(fact);
	return n;
}
