/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_advice.c - part of the overview: what holds the run back, where, and what to do
 *
 * A table of rules. A rule applies when what it costs a step is above its limit; the dearest
 * comes first. Names and limits are in trainprof-merge(1). See overview_advice.h.
 */
#include "merge/view/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "runtime/base/text.h"

enum {
	TENSOR_CAPABILITY = 7,	/* devices from there on have tensor cores */
	SMALL_KERNEL_NS = 200000, /* on average: to launch them is what takes time */
};

static double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

void tp_advice_line(const struct tp_advice_facts *facts, const struct tp_proc *proc,
		    enum tp_site_figure by, struct tp_advice *advice)
{
	struct tp_site site;

	if (tp_sites_top(facts->overview->sites, proc, by, &site, 1))
		snprintf(advice->place, sizeof(advice->place), "%s", site.place);
}

/* ---- data ---- */

bool tp_overview_data_wait(const struct tp_run *run, const struct tp_overview_sums *sums,
			   int64_t *wait_ns, int64_t *all_ns)
{
	*wait_ns = sums->ns[TP_CAT_DATA];
	*all_ns = sums->all_ns;
	if (run->n_steps) {
		*wait_ns = *all_ns = 0;
		for (uint32_t i = 0; i < run->n_steps; i++) {
			*wait_ns = tp_add(*wait_ns, run->step[i].data_wait_ns);
			*all_ns = tp_add(*all_ns, run->step[i].dur_ns);
		}
	}
	return *all_ns > 0 && *wait_ns > 0;
}

/* "train.py:17, samples of Photos"; of a dataset that is not of Python: "samples of Photos" */
static void find_dataset(const struct tp_run *run, char *place, size_t cap)
{
	struct tp_text out;

	tp_text_init(&out, place, cap);
	for (uint32_t i = 0; i < run->n_procs && !out.len; i++) {
		char value[400], *at;

		if (run->proc[i]->worker ||
		    !tp_fact(tp_label_meta(run, run->proc[i]), "dataset", value, sizeof(value)))
			continue;
		at = strchr(value, ' ');
		if (at) {
			*at++ = '\0';
			tp_text_fmt(&out, "%s, ", at);
		}
		tp_text_fmt(&out, "samples of %s", value);
	}
}

static bool judge_data(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_overview *overview = facts->overview;
	bool has_workers = false, has_none = false;
	int64_t wait, all;
	char a[32];

	if (!tp_overview_data_wait(facts->run, facts->sums, &wait, &all))
		return false;
	for (uint32_t i = 0; i < tp_names_count(overview->names); i++) {
		const struct tp_name *name = tp_names_at(overview->names, i);

		has_workers |= strstr(name->bytes, "_MultiProcessingDataLoaderIter") != NULL;
		has_none |= strstr(name->bytes, "_SingleProcessDataLoaderIter") != NULL;
	}
	advice->percent = percent(wait, all);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%s of the run's steps is spent waiting for data%s",
		 tp_show_percent(a, (double)wait, (double)all),
		 has_none && !has_workers ? ", which is loaded in the training process" : "");
	snprintf(advice->todo, sizeof(advice->todo), "%s",
		 has_none && !has_workers
		     ? "give DataLoader num_workers > 0"
		     : "more num_workers, a greater prefetch_factor, or less work for each sample");
	find_dataset(facts->run, advice->place, sizeof(advice->place));
	return true;
}

/* ---- devices ---- */

static uint64_t per_step(const struct tp_advice_facts *facts, uint64_t n)
{
	return facts->sums->n_steps ? n / facts->sums->n_steps : 0;
}

/* Waiting is a fault only when the device has nothing to do afterwards. */
static bool judge_waits(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_habits *habits = &facts->overview->habits;
	int64_t idle = facts->gpu.idle_ns[TP_IDLE_HOST];
	int64_t cost = idle < habits->wait_ns ? idle : habits->wait_ns;
	char a[32], b[32];

	if (!per_step(facts, habits->n_waits))
		return false;
	advice->percent = percent(cost, facts->gpu.all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "the host waits for the device %" PRIu64 " times a step, %s of the time, and the "
		 "device then for the host, %s",
		 per_step(facts, habits->n_waits),
		 tp_show_percent(a, (double)habits->wait_ns, (double)facts->sums->all_ns),
		 tp_show_percent(b, (double)idle, (double)facts->gpu.all_ns));
	snprintf(advice->todo, sizeof(advice->todo),
		 "leave values on the device: .item(), .tolist(), print and conditions wait for "
		 "them; read them every so many steps");
	tp_advice_line(facts, NULL, TP_SITE_WAIT, advice);
	return true;
}

static bool judge_host(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_habits *habits = &facts->overview->habits;
	int64_t data, all, kernel_ns;
	char a[32], b[32], c[32];

	if (facts->is_waiting || !habits->n_kernels)
		return false;
	advice->percent = percent(facts->gpu.idle_ns[TP_IDLE_HOST], facts->gpu.all_ns);
	/* While the host waits for data it asks for nothing: that is another rule's. */
	if (tp_overview_data_wait(facts->run, facts->sums, &data, &all))
		advice->percent -= percent(data, all);
	kernel_ns = habits->kernel_ns / (int64_t)habits->n_kernels;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "the device waits for the host %s of the time: %s kernels a step, %s each",
		 tp_show_percent(a, (double)facts->gpu.idle_ns[TP_IDLE_HOST],
				 (double)facts->gpu.all_ns),
		 tp_show_count(b, per_step(facts, habits->n_kernels)), tp_show_ns(c, kernel_ns));
	snprintf(advice->todo, sizeof(advice->todo), "%s",
		 kernel_ns < SMALL_KERNEL_NS
		     ? "torch.compile(mode=\"reduce-overhead\"), CUDA graphs, larger batches"
		     : "what does the host do before the gaps? The timeline shows it");
	tp_advice_line(facts, NULL, kernel_ns < SMALL_KERNEL_NS ? TP_SITE_LAUNCHES : TP_SITE_GAP, advice);
	return true;
}

static bool judge_idle(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	int64_t idle = tp_sub(facts->gpu.all_ns, facts->gpu.busy_ns);
	char a[32];

	if (facts->is_explained)
		return false;
	advice->percent = percent(idle, facts->gpu.all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence), "nothing runs on the device %s of the time",
		 tp_show_percent(a, (double)idle, (double)facts->gpu.all_ns));
	snprintf(advice->todo, sizeof(advice->todo),
		 "what does the host do before the gaps? The timeline shows it");
	return true;
}

static bool has_tensor_cores(const struct tp_overview *overview)
{
	for (uint32_t i = 0; i < tp_gpu_time_count(overview->gpu); i++) {
		const struct tp_device *device = tp_gpu_time_at(overview->gpu, i)->device;

		if (device && device->major >= TENSOR_CAPABILITY)
			return true;
	}
	return false;
}

static bool judge_tensor_cores(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_habits *habits = &facts->overview->habits;
	int64_t slow = tp_sub(habits->product_ns, habits->tensor_ns);
	char a[32];

	if (!has_tensor_cores(facts->overview))
		return false;
	/* With them a product takes half the time, or less. */
	advice->percent = percent(slow / 2, facts->gpu.all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%s of the time of kernels is products and convolutions without tensor cores",
		 tp_show_percent(a, (double)slow, (double)habits->kernel_ns));
	snprintf(advice->todo, sizeof(advice->todo),
		 "torch.autocast, or torch.set_float32_matmul_precision('high')");
	return true;
}

static bool judge_allocations(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_habits *habits = &facts->overview->habits;

	if (!per_step(facts, habits->n_allocs))
		return false;
	advice->percent = percent(habits->alloc_ns, facts->sums->all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%" PRIu64 " calls a step ask the driver for memory or give it back",
		 per_step(facts, habits->n_allocs));
	snprintf(advice->todo, sizeof(advice->todo),
		 "too little memory, or too many sizes: "
		 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
	return true;
}

static bool judge_copies(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_habits *habits = &facts->overview->habits;

	if (!habits->n_pageable)
		return false;
	advice->percent = percent(habits->pageable_ns, facts->gpu.all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%" PRIu64 " copies a step to the device come from memory that is not pinned",
		 per_step(facts, habits->n_pageable));
	snprintf(advice->todo, sizeof(advice->todo),
		 "DataLoader(pin_memory=True) and .to(device, non_blocking=True)");
	return true;
}

/* ---- ranks ---- */

/* Where it spends so much more; nothing, when its lines do not explain half of it. */
static void find_excess(const struct tp_advice_facts *facts, const struct tp_comm_rank *rank,
			struct tp_advice *advice)
{
	struct tp_site site;
	int64_t more;

	if (!rank->n_steps || !tp_sites_excess(facts->overview->sites, rank->proc, &site, &more) ||
	    more / rank->n_steps < rank->late_ns / rank->n_steps / 2)
		return;
	if (site.figure[TP_SITE_TIME] >= site.figure[TP_SITE_GAP])
		snprintf(advice->place, sizeof(advice->place), "%s", site.place);
	else
		snprintf(advice->place, sizeof(advice->place), "what runs between %s and %s",
			 site.before ? site.before : "the begin of the step", site.place);
}

static bool judge_ranks(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	struct tp_comm_verdict verdict = {.rank = NULL};
	const struct tp_comm_rank *rank;
	uint32_t n = 0;
	char who[64], a[32], b[32];

	if (!facts->overview->comm || !facts->sums->n_steps)
		return false;
	rank = tp_comm_ranks(facts->overview->comm, &n);
	if (rank)
		tp_comm_judge(rank, n, &verdict);
	if (!verdict.rank)
		return false;
	advice->percent = percent(verdict.late_step_ns,
				  facts->sums->all_ns / (int64_t)facts->sums->n_steps);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%s keeps the others waiting, %s a step: it spends %s more than they do in %s",
		 tp_label_proc(who, facts->run, verdict.rank->proc),
		 tp_show_ns(a, verdict.late_step_ns), tp_show_ns(b, verdict.excess_ns),
		 tp_comm_cause_text(&verdict));
	snprintf(advice->todo, sizeof(advice->todo), "-v comm shows which ranks, in which steps");
	find_excess(facts, verdict.rank, advice);
	return true;
}

static bool judge_communication(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	char a[32];

	if (facts->is_explained)
		return false;
	advice->percent = percent(facts->sums->ns[TP_CAT_COMM], facts->sums->all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%s of a step only communication goes on",
		 tp_show_percent(a, (double)facts->sums->ns[TP_CAT_COMM],
				 (double)facts->sums->all_ns));
	snprintf(advice->todo, sizeof(advice->todo),
		 "larger batches, gradient accumulation, larger buckets: -v comm");
	return true;
}

/* ---- the table ---- */

/* Those that explain others come before them. */
static const struct rule {
	const char *name;
	double limit;		/* percent of a step */
	tp_advice_judge *judge;
	bool needs_device;
} rules[] = {
    {"memory-growth", 0, tp_advice_growth, false},
    {"memory-full", 0, tp_advice_memory_full, true},
    {"data-parallel", 0, tp_advice_data_parallel, true},
    {"data-loading", TP_OVERVIEW_DATA_PERCENT, judge_data, false},
    {"uneven-ranks", 5, judge_ranks, false},
    {"synchronising", 5, judge_waits, true},
    {"device-allocations", 1, judge_allocations, true},
    {"pageable-copies", 5, judge_copies, true},
    {"host-bound", 20, judge_host, true},
    {"gloo", 5, tp_advice_gloo, true},
    {"communication", 15, judge_communication, false},
    {"tensor-cores", 10, judge_tensor_cores, true},
    {"device-idle", 30, judge_idle, true},
};
enum { N_RULES = sizeof(rules) / sizeof(rules[0]) };

static int compare_cost(const void *a, const void *b)
{
	const struct tp_advice *x = a, *y = b;

	if (x->percent < y->percent || x->percent > y->percent)
		return x->percent < y->percent ? 1 : -1;
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

	TP_TEXT(r, "rule", "rule", 0, "its name", "%s", advice->rule);
	TP_CELL(r, "step_percent", "cost", TP_UNIT_PERCENT, 0, "part of a step that it costs",
		advice->percent >= 0 ? tp_row_percent(r, advice->percent, 100) : (void)0);
	TP_TEXT(r, "evidence", "evidence", TP_CUT, "what was seen", "%s", advice->evidence);
	TP_PLACE(r, "place", "place", TP_CUT, "where", "%s", advice->place);
	TP_TEXT(r, "advice", "what to do", TP_CUT, "what to do", "%s", advice->todo);
}

const struct tp_table_def tp_table_advice = {
	.name = "advice", .columns = put_columns, .help = "what holds the run back, the dearest first",
};

void tp_overview_print_advice(const struct tp_run *run, const struct tp_overview *overview,
			      const struct tp_overview_sums *sums, struct tp_out *out)
{
	struct tp_advice_facts facts = {.run = run, .overview = overview, .sums = sums};
	struct tp_advice advice[N_RULES] = {{NULL, 0, "", "", ""}};
	uint32_t n = 0;

	for (uint32_t i = 0; i < tp_gpu_time_count(overview->gpu); i++)
		tp_gpu_add(&facts.gpu, &tp_gpu_time_at(overview->gpu, i)->total);
	for (uint32_t i = 0; i < N_RULES; i++) {
		struct tp_advice *next = &advice[n];

		*next = (struct tp_advice){.rule = rules[i].name};
		if ((rules[i].needs_device && facts.gpu.all_ns <= 0) ||
		    !rules[i].judge(&facts, next) ||
		    (rules[i].limit > 0 && next->percent < rules[i].limit))
			continue;
		facts.is_waiting |= rules[i].judge == judge_waits;
		facts.is_explained |= next->percent >= 0;
		n++;
	}
	if (!n)
		return;
	qsort(advice, n, sizeof(advice[0]), compare_cost);
	if (tp_out_is_full(out)) {
		tp_table_show(&tp_table_advice, NULL, advice, n, sizeof(advice[0]), TP_TOP_ASKED, out);
		return;
	}
	tp_out_title(out, "What holds it back");
	for (uint32_t i = 0; i < n; i++)
		print_item(&advice[i], out);
}
