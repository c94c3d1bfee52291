/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_advice.c - part of the overview: what holds the run back, where, and what to do
 *
 * A table of rules. A rule applies when what it costs a step is above its limit; the dearest
 * comes first. Names and limits are in trainprof-merge(1). See overview_advice.h.
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/thread_times.h"
#include "merge/kit/sum.h"
#include "runtime/base/text.h"

enum {
	HEALTHY_PARTS = 3,	/* of a step are told where nothing holds it back */
	ASKING_PERCENT = 40,	/* of a step without operators: it is told what that is */
	SEVERE_PERCENT = 35,
};

void tp_advice_place(const struct tp_advice_facts *facts, const struct tp_proc *proc,
		     const struct tp_site *site, enum tp_site_figure by, struct tp_advice *advice)
{
	char inside[200];
	struct tp_text out;

	tp_text_init(&out, advice->place, sizeof(advice->place));
	tp_text_str(&out, site->place);
	if (tp_sites_inside(facts->overview->sites, proc, site, by, inside, sizeof(inside)))
		tp_text_fmt(&out, " > %s", inside);
}

void tp_advice_line(const struct tp_advice_facts *facts, const struct tp_proc *proc,
		    enum tp_site_figure by, struct tp_advice *advice)
{
	struct tp_site site;

	if (tp_sites_top(facts->overview->sites, proc, by, &site, 1))
		tp_advice_place(facts, proc, &site, by, advice);
}

/* ---- the table ---- */

/* Those that explain others come before them. */
static const struct rule {
	const char *name;
	double limit;		/* percent of a step */
	tp_advice_judge *judge;
	bool needs_device;
} rules[] = {
    {"torch-profiler", 10, tp_advice_profiler, false},
    {"python-hooks", 20, tp_advice_python_hooks, false},
    {"recompilation", 10, tp_advice_recompilation, false},
    {"memory-growth", 0, tp_advice_growth, false},
    {"host-memory-growth", 0, tp_advice_host_growth, false},
    {"memory-full", 0, tp_advice_memory_full, true},
    {"data-parallel", 0, tp_advice_data_parallel, true},
    {"anomaly-detection", 0, tp_advice_anomaly, false},
    {"uneven-ranks", 5, tp_advice_ranks, false},
    {"data-loading", TP_OVERVIEW_DATA_PERCENT, tp_advice_data, false},
    {"garbage", 5, tp_advice_garbage, false},
    {"epoch-start", 5, tp_advice_epochs, false},
    {"between-epochs", 15, tp_advice_pauses, false},
    {"every-n-steps", 8, tp_advice_period, false},
    {"step-growth", 10, tp_advice_trend, false},
    {"slow-since", 15, tp_advice_since, false},
    {"slow-steps", 20, tp_advice_stalls, false},
    {"host-code", 15, tp_advice_host_code_device, true},
    {"synchronising", 5, tp_advice_waits, true},
    {"device-allocations", 1, tp_advice_allocations, true},
    {"pageable-copies", 5, tp_advice_copies, true},
    {"exposed-copies", 10, tp_advice_exposed_copies, true},
    {"gloo", 5, tp_advice_gloo, true},
    {"host-bound", 20, tp_advice_host, true},
    {"communication", 15, tp_advice_communication, false},
    {"too-many-threads", 15, tp_advice_threads, false},
    {"busy-workers", 15, tp_advice_workers, false},
    {"waits-for-cores", 33, tp_advice_cores, false},
    {"too-few-threads", 20, tp_advice_few_threads, false},
    {"interpreter-lock", 10, tp_advice_lock, false},
    {"double-precision", 15, tp_advice_double, false},
    {"evaluation", 20, tp_advice_evaluation, false},
    {"layout-copies", 12, tp_advice_waste, false},
    {"recomputed-constants", 15, tp_advice_waste, false},
    {"one-hot", 15, tp_advice_waste, false},
    {"matrix-decompositions", 20, tp_advice_waste, false},
    {"dense-embedding", 15, tp_advice_waste, false},
    {"unused-gradients", 15, tp_advice_unused, false},
    {"host-code", 12, tp_advice_host_code, false},
    {"small-operators", 15, tp_advice_small_operators, false},
    {"tensor-cores", 10, tp_advice_tensor_cores, true},
    {"few-blocks", 15, tp_advice_few_blocks, true},
    {"throttling", 5, tp_advice_throttled, true},
    {"device-idle", 30, tp_advice_idle, true},
    {"extra-operators", 25, tp_advice_extra, false},
};
enum { N_RULES = sizeof(rules) / sizeof(rules[0]) };

/* What fills memory costs no time until it ends the job: only what costs much comes before it. */
static double rank_of(const struct tp_advice *advice)
{
	if (advice->percent < 0)
		return SEVERE_PERCENT;
	return advice->part > 0 ? advice->part * advice->percent : advice->percent;
}

static int compare_cost(const void *a, const void *b)
{
	const struct tp_advice *x = a, *y = b;
	double x_rank = rank_of(x), y_rank = rank_of(y);

	if (x_rank < y_rank || x_rank > y_rank)
		return x_rank < y_rank ? 1 : -1;
	return strcmp(x->rule, y->rule);
}

static void print_item(const struct tp_advice *advice, struct tp_out *out)
{
	tp_out_item(out, "yellow", 20, advice->rule, "%s", advice->evidence);
	if (advice->place[0])
		tp_out_item(out, "bold", 20, "", "%s", advice->place);
	tp_out_item(out, "", 20, "", "%s", advice->todo);
}

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_advice *advice = of;

	TP_TEXT(r, "rule", "rule", 0, "name", "%s", advice->rule);
	TP_CELL(r, "step_percent", "cost", TP_UNIT_PERCENT, 0, "share of a step that it costs",
		advice->percent >= 0 ? tp_row_percent(r, advice->percent, 100) : (void)0);
	TP_TEXT(r, "evidence", "evidence", TP_CUT, "evidence, with figures", "%s", advice->evidence);
	TP_PLACE(r, "place", "place", TP_CUT, "source line", "%s", advice->place);
	TP_TEXT(r, "advice", "what to try", TP_CUT, "what to try", "%s", advice->todo);
}

const struct tp_table_def tp_table_advice = {
	.name = "advice", .columns = put_columns, .help = "what slows the run down, the most expensive first",
};

/* A small model: most of a step asks for its operators, from no place more than from others. */
static void print_asking(const struct tp_overview *overview, const struct tp_overview_sums *sums,
			 struct tp_out *out)
{
	const int64_t calls = tp_sites_sum(overview->sites, TP_SITE_CALLS),
		      gaps = tp_sub(tp_sites_sum(overview->sites, TP_SITE_GAP),
				    tp_sites_sum(overview->sites, TP_SITE_LONG)),
		      other = sums->ns[TP_CAT_OTHER];
	char a[32];

	if (calls < (int64_t)sums->n_steps || other < sums->all_ns / 100 * ASKING_PERCENT || gaps < other / 2)
		return;
	tp_out_line(out, "", "Other is mostly Python between operators, %" PRId64 " per step and %s before each: "
		    "larger batches or torch.compile need fewer.", calls / (int64_t)sums->n_steps,
		    tp_show_ns(a, gaps / calls));
}

/* No rule applies: where the time goes nevertheless. */
static void print_healthy(const struct tp_advice_facts *facts, struct tp_out *out)
{
	const struct tp_overview_sums *sums = facts->sums;
	bool is_told[TP_CAT_N] = {false};
	char parts[160], a[32];
	struct tp_text text;

	/* Where neither operators nor kernels were recorded, nothing could stand out. */
	if (!sums->n_steps || !tp_out_is_terminal(out) ||
	    sums->ns[TP_CAT_CPU] + sums->ns[TP_CAT_KERNEL] <= 0)
		return;
	tp_text_init(&text, parts, sizeof(parts));
	for (uint32_t n = 0; n < HEALTHY_PARTS; n++) {
		uint32_t most = 0;

		for (uint32_t c = 1; c < TP_CAT_N; c++)
			if (is_told[most] || (!is_told[c] && sums->ns[c] > sums->ns[most]))
				most = c;
		is_told[most] = true;
		if (sums->ns[most] > 0)
			tp_text_fmt(&text, "%s%s %s", n ? ", " : "", tp_category_name(most),
				    tp_show_percent(a, (double)sums->ns[most], (double)sums->all_ns));
	}
	tp_out_title(out, "Nothing stands out; the largest parts of a step: %s.", parts);
	if (!tp_advice_has_devices(facts->run))
		print_asking(facts->overview, sums, out);
}

/* They say that some steps are slow. */
static bool is_of_some_steps(tp_advice_judge *judge)
{
	return judge == tp_advice_period || judge == tp_advice_epochs || judge == tp_advice_stalls;
}

/* And these judge by all steps, too. */
static bool is_of_all_steps(tp_advice_judge *judge)
{
	return is_of_some_steps(judge) || judge == tp_advice_trend || judge == tp_advice_since;
}

static bool has_died(const struct tp_run *run)
{
	for (uint32_t i = 0; i < run->n_procs; i++)
		if (tp_proc_died(run->proc[i]))
			return true;
	return false;
}

bool tp_overview_print_advice(const struct tp_run *run, const struct tp_overview *overview,
			      const struct tp_overview_sums *sums, struct tp_out *out)
{
	struct tp_rhythm rhythm;
	struct tp_advice_facts facts = {.run = run, .overview = overview, .sums = sums, .rhythm = &rhythm};
	struct tp_advice advice[N_RULES] = {{.rule = NULL}};
	bool is_uneven_run = false;
	uint32_t n = 0;

	facts.is_crowded = tp_thread_times_waiting(run, NULL) >= TP_OVERVIEW_CROWDED_PERCENT;
	tp_rhythm_find(overview, &rhythm);
	tp_advice_note_devices(&facts);
	for (uint32_t i = 0; i < N_RULES; i++) {
		struct tp_advice *next = &advice[n];

		*next = (struct tp_advice){.rule = rules[i].name};
		if ((rules[i].needs_device && facts.gpu.all_ns <= 0) ||
		    !rules[i].judge(&facts, next) ||
		    (rules[i].limit > 0 && next->percent < rules[i].limit))
			continue;
		facts.is_uneven |= rules[i].judge == tp_advice_ranks;
		facts.is_collecting |= rules[i].judge == tp_advice_garbage;
		facts.is_locked |= rules[i].judge == tp_advice_lock;
		facts.growing = rules[i].judge == tp_advice_growth ? next : facts.growing;
		facts.trend = rules[i].judge == tp_advice_trend ? next : facts.trend;
		facts.is_periodic |= rules[i].judge == tp_advice_period;
		facts.is_loading |= rules[i].judge == tp_advice_data;
		facts.is_waiting |= rules[i].judge == tp_advice_waits;
		if (rules[i].judge == tp_advice_host_code_device)
			facts.host_code_ns = (int64_t)(next->percent / 100 * (double)facts.gpu.all_ns);
		facts.is_explained |= next->percent >= 0;
		is_uneven_run |= is_of_some_steps(rules[i].judge);
		if (is_uneven_run && !is_of_all_steps(rules[i].judge))
			next->part = tp_advice_part(&facts);
		n++;
	}
	if (!n) {
		if (!has_died(run))
			print_healthy(&facts, out);
		return false;
	}
	qsort(advice, n, sizeof(advice[0]), compare_cost);
	if (tp_out_is_full(out)) {
		tp_table_show(&tp_table_advice, NULL, advice, n, sizeof(advice[0]), TP_TOP_ASKED, out);
		return facts.is_loading;
	}
	tp_out_title(out, "What holds it back");
	for (uint32_t i = 0; i < n; i++)
		print_item(&advice[i], out);
	return facts.is_loading;
}
