/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_ranks.c - advice of the overview on ranks: who keeps the others waiting, and by what
 */
#include "merge/view/overview/overview_advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/thread_times.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/view/overview/overview_samples.h"

enum {
	ALIKE_PART = 50,	/* operators of ranks that differ by less than that part are the same */
	SLOWER_PART = 3,	/* so much longer, at most, the same ones take on another core, */
	ASKING_PART = 50,	/* or twice as long, if that of asking for them, at least that part of their
				 * time, is longer, too, by half as much */
};

/* Where it spends so much more; nothing, when its lines do not explain half of it. */
static void find_excess(const struct tp_advice_facts *facts, const struct tp_comm_verdict *verdict,
			struct tp_advice *advice)
{
	const struct tp_comm_rank *rank = verdict->rank;
	struct tp_site site;
	bool has_none;
	int64_t more;

	/* Samples of all ranks together: the late one has most of those that load data. */
	if (facts->is_late_by_data) {
		tp_advice_dataset(facts->run, rank->proc, advice);
		tp_advice_load(facts, tp_advice_has_workers(facts->overview, &has_none), advice);
		return;
	}
	if (!rank->n_steps || !tp_sites_excess(facts->overview->sites, rank->proc, &site, &more) ||
	    more / rank->n_steps < rank->late_ns / rank->n_steps / 2)
		return;
	if (verdict->cause != TP_CAT_OTHER && site.figure[TP_SITE_TIME] >= site.figure[TP_SITE_GAP]) {
		snprintf(advice->place, sizeof(advice->place), "%s", site.place);
		return;
	}
	tp_advice_gap(facts, &site, advice);
	tp_advice_gap_function(facts, advice);
}

/* How long the training thread of a process ran in such a time (`is_waiting`: had no core), by its share of
 * the whole run. -1: not known. */
static double thread_ns(const struct tp_run *run, const struct tp_proc *proc, int64_t of_ns,
			bool is_waiting)
{
	const struct tp_thread_time *trainer;
	struct tp_thread_times times;

	if (!tp_thread_times_of(run, proc, &times))
		return -1;
	trainer = tp_thread_times_trainer(&times, proc);
	if (!trainer)
		return -1;
	return (double)(is_waiting ? trainer->wait_ns : trainer->cpu_ns) * (double)of_ns /
	       (double)times.wall_ns;
}

/* Half of what it is late or more it may have waited for a core: what else its machine runs is to blame, but
 * where its thread also ran longer than that of any other rank, by a quarter of what it is late. */
static bool has_no_core(const struct tp_advice_facts *facts, const struct tp_comm_verdict *verdict,
			const struct tp_comm_rank *rank, uint32_t n, int64_t step_ns)
{
	const struct tp_proc *late = verdict->rank->proc;
	double late_ns = (double)verdict->late_step_ns, most_ns = 0;

	if (verdict->is_network || (verdict->cause != TP_CAT_CPU && verdict->cause != TP_CAT_OTHER) ||
	    thread_ns(facts->run, late, step_ns, true) < late_ns / 2)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		double ns = thread_ns(facts->run, rank[i].proc, step_ns, false);

		if (ns < 0)
			return true;
		if (rank[i].proc != late && ns > most_ns)
			most_ns = ns;
	}
	return thread_ns(facts->run, late, step_ns, false) - most_ns < late_ns / 4;
}

/* Operators whose line is known. */
struct work {
	int64_t calls, ns, asking_ns;	/* asking_ns: short gaps before them */
};

static struct work sum_work(const struct tp_sites *sites, const struct tp_proc *proc)
{
	struct work work = {0};
	struct tp_site *site;
	uint32_t n = 0;

	site = tp_sites_lines(sites, proc, &n);
	for (uint32_t i = 0; i < n; i++) {
		work.calls = tp_add(work.calls, site[i].figure[TP_SITE_CALLS]);
		work.ns = tp_add(work.ns, site[i].figure[TP_SITE_TIME]);
		work.asking_ns = tp_add(work.asking_ns, tp_sub(site[i].figure[TP_SITE_GAP],
							       site[i].figure[TP_SITE_LONG]));
	}
	free(site);
	return work;
}

/* More data makes operators longer, but not what it takes to ask for them. */
static bool is_all_slower(const struct work *late, const struct work *other)
{
	const double work = (double)late->ns / (double)other->ns,
		     asking = (double)late->asking_ns / (double)other->asking_ns;

	return other->asking_ns > other->ns / ASKING_PART && work < 2 && asking - 1 >= (work - 1) / 2;
}

/* The same operators, called as often, each a little slower, on one machine: its cores differ (by other
 * guests of its host, by their clocks), and no program is to blame. */
static bool has_slow_core(const struct tp_advice_facts *facts, const struct tp_comm_verdict *verdict,
			  const struct tp_comm_rank *rank, uint32_t n)
{
	const bool is_little = verdict->excess_ns < verdict->usual_ns / SLOWER_PART;
	const struct tp_comm_rank *late = verdict->rank;
	struct work its, other;

	if (verdict->is_network || verdict->cause != TP_CAT_CPU)
		return false;
	its = sum_work(facts->overview->sites, late->proc);
	for (uint32_t i = 0; i < n; i++) {
		if (strcmp(rank[i].proc->host, late->proc->host) != 0)
			return false;
		if (rank[i].proc == late->proc)
			continue;
		other = sum_work(facts->overview->sites, rank[i].proc);
		if (llabs(tp_sub(its.calls, other.calls)) > its.calls / ALIKE_PART ||
		    (!is_little && !is_all_slower(&its, &other)))
			return false;
	}
	return its.calls != 0;
}

bool tp_advice_ranks(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	struct tp_comm_verdict verdict = {.rank = NULL};
	const struct tp_comm_rank *rank;
	uint32_t n = 0;
	int64_t step_ns;
	char who[64], a[32], b[32];

	if (!facts->overview->comm || !facts->sums->n_steps)
		return false;
	step_ns = facts->sums->all_ns / (int64_t)facts->sums->n_steps;
	rank = tp_comm_ranks(facts->overview->comm, &n);
	if (rank)
		tp_comm_judge(rank, n, &verdict);
	if (!verdict.rank || has_no_core(facts, &verdict, rank, n, step_ns))
		return false;
	facts->has_slow_core = has_slow_core(facts, &verdict, rank, n);
	if (facts->has_slow_core)
		return false;
	facts->is_late_by_data = !verdict.is_network && verdict.cause == TP_CAT_DATA;
	advice->percent = tp_advice_percent(verdict.late_step_ns, step_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%s is the straggler, %s late per step: it spends %s more than the others in %s",
		 tp_label_proc(who, facts->run, verdict.rank->proc),
		 tp_show_ns(a, verdict.late_step_ns), tp_show_ns(b, verdict.excess_ns),
		 tp_comm_cause_text(&verdict));
	snprintf(advice->todo, sizeof(advice->todo), "-v comm shows which ranks, in which steps; --ranks %d "
		 "--compare-ranks %d sets it beside another", verdict.rank->proc->rank,
		 (verdict.rank == rank ? rank + 1 : rank)->proc->rank);
	if (verdict.cause == TP_CAT_OTHER && facts->overview->owners->n_rows)
		snprintf(advice->todo, sizeof(advice->todo), "-v comm shows which ranks, in which steps; -v hot "
			 "--ranks %d what it runs", verdict.rank->proc->rank);
	find_excess(facts, &verdict, advice);
	return true;
}
