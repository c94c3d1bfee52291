/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_health_cost.c - part of the view of health: how good the clocks are, what was taken, what it
 * cost, the options
 */
#include "merge/view/view_health.h"

#include <stdio.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/model/totals.h"

static void print_clocks(struct tp_health *health)
{
	const struct tp_run *run = health->run;
	int64_t worst = 0;
	bool is_bounded = true;
	char a[32], b[32], source[120];

	for (uint32_t i = 0; i < run->n_windows; i++) {
		if (run->window[i].clock_error_ns > worst)
			worst = run->window[i].clock_error_ns;
		is_bounded &= run->window[i].clock_error_ns >= 0;
	}
	if (!tp_fact(run->n_procs ? tp_label_meta(run, run->proc[0]) : "", "clock", source,
		     sizeof(source)))
		snprintf(source, sizeof(source), "source not known");
	if (is_bounded)
		tp_health_item(health, "", "clock",
			    "%s; error between processes at most +-%s", source,
			    tp_show_ns(a, worst));
	else
		tp_health_item(health, "yellow", "clock",
			    "%s; how far the clocks of the hosts differ is not known", source);
	if (run->clocks[0])
		tp_health_item(health, "", "clocks", is_bounded ? "%s, +-%s" : "%s", run->clocks,
			    tp_show_ns(a, worst));
	if (run->violations_before || run->violations_after)
		tp_health_item(health, run->violations_after ? "yellow" : "", "order",
			    "%s causality violations before alignment, %s after",
			    tp_show_count(a, run->violations_before),
			    tp_show_count(b, run->violations_after));
}

/* What CUPTI told, in the windows and outside them. */
static void print_cupti(struct tp_health *health)
{
	const struct tp_run *run = health->run;
	uint64_t n_made = tp_totals_add(run, "cupti.*", true),
		 n_outside = tp_totals_add(run, "cupti.*.outside", true);
	char a[32], b[32], version[32];

	if (!*tp_totals_cupti(version, run))
		return;
	tp_health_item(health, "", "CUPTI", "%s: %s records in the windows, %s outside them",
		    version, tp_show_count(a, n_made), tp_show_count(b, n_outside));
}

/* How call stacks were taken, and how far they can be trusted. */
static void print_stacks(struct tp_health *health)
{
	const struct tp_run *run = health->run;
	uint64_t n_walks = tp_totals_add(run, "stack.walks", true),
		 n_checked = tp_totals_add(run, "stack.checked", true),
		 n_wrong = tp_totals_add(run, "stack.mismatched", true),
		 n_cut = tp_totals_add(run, "stack.cut", true),
		 n_python_cut = tp_totals_add(run, "pystack.cut", true);
	char a[32], b[32], c[32], d[32];

	if (!n_walks && !n_python_cut)
		return;
	tp_health_item(health, n_wrong ? "yellow" : "", "stacks",
		    "%s taken; %s compared with libunwind's, %s differed; the outer end of %s is "
		    "not known",
		    tp_show_count(a, n_walks), tp_show_count(b, n_checked),
		    tp_show_count(c, n_wrong), tp_show_count(d, n_cut + n_python_cut));
}

/* Chosen blocks stand for all. */
static void print_sampling(struct tp_health *health)
{
	const struct tp_run *run = health->run;
	uint64_t mean = 0;
	char a[32];

	for (uint32_t i = 0; i < run->n_windows && !mean; i++)
		mean = tp_fact_u64(run->window[i].totals, "heap.sample_bytes", 0);
	if (mean)
		tp_health_item(health, "", "sampled",
			    "one block of host memory in %s on average: its figures are estimates",
			    tp_show_bytes(a, (int64_t)mean));
}

static void print_cost(struct tp_health *health)
{
	const struct tp_run *run = health->run;
	uint64_t n_events = 0, n_bytes = 0, drain = tp_totals_add(run, "drain_cpu_ns", false),
		 stall = tp_totals_add(run, "stall_ns", false);
	int64_t traced = 0;
	char a[32], b[32], c[32];

	for (uint32_t i = 0; i < run->n_windows; i++) {
		n_events += run->window[i].n_events;
		n_bytes += run->window[i].file_bytes;
		traced =
		    tp_add(traced, tp_sub(run->window[i].end_ns, run->window[i].begin_ns));
	}
	if (!n_events)
		return;
	tp_health_item(health, "", "files", "%s events in %s: %.1f bytes per event",
		    tp_show_count(a, n_events), tp_show_bytes(b, (int64_t)n_bytes),
		    (double)n_bytes / (double)n_events);
	if (drain)
		tp_health_item(health, "", "cost",
		    "drain thread: %s of CPU, %.0f ns per event, %s of the recorded time",
		    tp_show_ns(a, (int64_t)drain), (double)drain / (double)n_events,
		    tp_show_percent(c, (double)drain, (double)traced));
	if (stall)
		tp_health_item(health, "", "stall",
			    "training thread, at the edges of windows: %s in all",
			    tp_show_ns(a, (int64_t)stall));
}

/* TRAINPROF_ variables that were not at their defaults, of the first process. */
static void print_options(struct tp_health *health)
{
	const struct tp_run *run = health->run;
	static const struct {
		const char *name, *preset;
	} option[] = {
#define _(NAME, KIND, field, preset, least, most, meaning) {#NAME, preset},
#include "runtime/base/options.def"
#undef _
	};
	const char *meta = run->n_procs ? tp_label_meta(run, run->proc[0]) : "";
	char line[1024] = "", value[400];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(option) / sizeof(option[0]); i++) {
		if (!tp_fact(meta, option[i].name, value, sizeof(value)) ||
		    !strcmp(value, option[i].preset))
			continue;
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s=%s", n ? "  " : "",
				      option[i].name, value);
		if (n >= sizeof(line))
			break;
	}
	if (*meta)
		tp_health_item(health, "", "options", "%s",
			    n ? line : "all at their defaults");
}

void tp_view_health_cost(struct tp_health *health)
{
	if (health->run->n_windows)
		print_clocks(health);
	print_cupti(health);
	print_stacks(health);
	print_sampling(health);
	print_cost(health);
	print_options(health);
}
