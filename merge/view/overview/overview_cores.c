/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_cores.c - advice of the overview on who waits for a core: too many threads, workers, other
 * programs; and on cores that nobody uses
 *
 * By the processor time of threads (thread_times.h), which other programs of the machine do not
 * change: they make threads wait, and no thread more.
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/facts/code/thread_times.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/view/overview/overview_samples.h"

enum {
	WANTED_PERCENT = 125,	/* of the cores: threads that are ready want so many; */
	WANTED_OF_ONE = 180,	/* of a single one: an operator has one thread there; */
	WANTED_OF_RANKS = 150,	/* of all ranks of a machine, if they fill the cores, */
	FULL_PERCENT = 85,	/* so far, */
	SAME_PERCENT = 115,	/* and no further, or each has cores of its own */
	STARVED_PERCENT = 30,	/* of the cores: if the run has less, others have nearly all. What
				 * takes a fair share is noted, and is no advice on the job */
	IDLE_PERCENT = 65,	/* of the cores: if the run has no more, others are idle. One computes: */
	ALONE_PERCENT = 75,	/* it runs so much of the time, */
	HELPED_PERCENT = 10,	/* others of its process that part of what it does, */
	LONG_NS = 300000,	/* and a product of matrices takes so long that several would divide it */
};

typedef bool judge_proc(const struct tp_advice_facts *facts, const struct tp_proc *proc,
			struct tp_advice *advice);

/* Of the rank that it costs most; false: of none. */
static bool find_worst(const struct tp_advice_facts *facts, judge_proc *judge, struct tp_advice *advice)
{
	struct tp_advice most = {.percent = -1}, one;

	for (uint32_t i = 0; i < facts->run->n_procs; i++) {
		const struct tp_proc *proc = facts->run->proc[i];

		one = (struct tp_advice){.rule = advice->rule};
		if (!proc->worker && !proc->is_past && judge(facts, proc, &one) && one.percent > most.percent)
			most = one;
	}
	if (most.percent < 0)
		return false;
	*advice = most;
	return true;
}

/* Its training thread; NULL: nothing is known of its threads. */
static const struct tp_thread_time *find_trainer(const struct tp_advice_facts *facts,
						 const struct tp_proc *proc, struct tp_thread_times *times)
{
	return tp_thread_times_of(facts->run, proc, times) ? tp_thread_times_trainer(times, proc) : NULL;
}

/* ---- too many threads ---- */

/* Several ranks that fill the same cores. */
static bool are_ranks_too_many(const struct tp_cores_use *use, uint32_t cores)
{
	return use->n_ranks > 1 && use->wanted * 100 >= (double)cores * WANTED_OF_RANKS &&
	       use->taken * 100 >= (double)cores * FULL_PERCENT &&
	       use->taken * 100 <= (double)cores * SAME_PERCENT;
}

static bool judge_threads(const struct tp_advice_facts *facts, const struct tp_proc *proc,
			  struct tp_advice *advice)
{
	struct tp_thread_times times;
	const struct tp_thread_time *trainer;
	char a[32], who[64] = "";
	double wanted;
	int least;

	trainer = find_trainer(facts, proc, &times);
	if (!trainer)
		return false;
	wanted = (double)tp_add(times.cpu_ns, times.wait_ns) / (double)times.wall_ns;
	least = times.cores > 1 ? WANTED_PERCENT : WANTED_OF_ONE;
	advice->percent = tp_advice_percent(trainer->wait_ns, times.wall_ns);
	if (wanted * 100 < (double)times.cores * least) {
		struct tp_cores_use use;

		if (advice->percent < TP_OVERVIEW_CROWDED_PERCENT)
			return false;
		use = tp_thread_times_beside(facts->run, proc);
		if (!are_ranks_too_many(&use, times.cores))
			return false;
		wanted = use.wanted;
		snprintf(who, sizeof(who), "%" PRIu32 " ranks", use.n_ranks);
	} else if (tp_label_is_needed(facts->run)) {
		tp_label_proc(who, facts->run, proc);
	}
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "threads%s%s that are ready to run want %.1f cores, and there %s %" PRIu32 ": the "
		 "training thread waits for a core up to %s of the time", who[0] ? " of " : "", who, wanted,
		 times.cores == 1 ? "is" : "are", times.cores,
		 tp_show_percent(a, (double)trainer->wait_ns, (double)times.wall_ns));
	if (times.cores == 1)
		snprintf(advice->todo, sizeof(advice->todo), "more cores: a container's limit, taskset, OMP_PROC_BIND "
			 "or GOMP_CPU_AFFINITY say which it may use; or OMP_NUM_THREADS=1");
	else
		snprintf(advice->todo, sizeof(advice->todo), "torch.set_num_threads() or OMP_NUM_THREADS: the cores "
			 "(of a container: of its limit), divided by the ranks of the machine; NumPy's and SciPy's "
			 "BLAS has threads of its own, whose number OPENBLAS_NUM_THREADS or MKL_NUM_THREADS says");
	return true;
}

bool tp_advice_threads(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	if (!find_worst(facts, judge_threads, advice))
		return false;
	facts->is_short_of_cores = true;
	return true;
}

/* ---- too few threads ---- */

static bool is_product(const char *name)
{
	static const char *const products[] = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm",
					       "aten::linear", "aten::mkldnn_linear"};
	bool is_any = strstr(name, "conv") != NULL;

	for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++)
		is_any |= !strcmp(name, products[i]);
	return is_any;
}

/* In products of matrices and convolutions that take long. */
static int64_t time_in_products(const struct tp_overview *overview)
{
	const uint32_t n_rows = tp_names_count(overview->names);
	int64_t sum = 0;

	for (uint32_t i = 0; i < n_rows && i < overview->cap_rows; i++) {
		const struct tp_overview_row *row = &overview->row[i];

		if (row->calls && row->self_ns / LONG_NS >= (int64_t)row->calls &&
		    is_product(tp_names_at(overview->names, i)->bytes))
			sum = tp_add(sum, row->self_ns);
	}
	return sum;
}

static bool judge_few(const struct tp_advice_facts *facts, const struct tp_proc *proc,
		      struct tp_advice *advice)
{
	const struct tp_thread_time *trainer;
	struct tp_thread_times times;
	struct tp_cores_use use;
	double products, cores;
	char a[32];

	trainer = find_trainer(facts, proc, &times);
	if (!trainer || tp_advice_percent(trainer->cpu_ns, times.wall_ns) < ALONE_PERCENT ||
	    tp_advice_percent(times.cpu_ns - trainer->cpu_ns, trainer->cpu_ns) >= HELPED_PERCENT)
		return false;
	use = tp_thread_times_beside(facts->run, proc);
	if (use.taken * 100 > (double)times.cores * IDLE_PERCENT)
		return false;
	products = tp_advice_percent(time_in_products(facts->overview), facts->sums->all_ns);
	/* Each of the ranks has as many. */
	cores = ((double)times.cores - use.taken) / use.n_ranks + 1;
	advice->percent = products - products / cores;
	snprintf(advice->evidence, sizeof(advice->evidence), "%.1f of %" PRIu32 " cores are used, by one thread a rank: "
		 "products of matrices and convolutions are %s of a step, and could be divided", use.taken, times.cores,
		 tp_show_percent(a, products, 100));
	snprintf(advice->todo, sizeof(advice->todo), "OMP_NUM_THREADS (torchrun sets it to 1) or torch.set_num_threads(): "
		 "the cores, divided by the ranks of the machine");
	return true;
}

bool tp_advice_few_threads(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	return !tp_advice_has_devices(facts->run) && find_worst(facts, judge_few, advice);
}

/* ---- workers that take the cores ---- */

static int64_t cpu_of_workers(const struct tp_run *run, const struct tp_proc *proc)
{
	struct tp_thread_times times;
	int64_t sum = 0;

	for (uint32_t i = 0; i < run->n_procs; i++)
		if (tp_proc_works_for(run->proc[i], proc) &&
		    tp_thread_times_of(run, run->proc[i], &times))
			sum = tp_add(sum, times.cpu_ns);
	return sum;
}

/* Without its workers the training would have waited for a core no longer than it did, and by no more than
 * they ran. */
static bool judge_workers(const struct tp_advice_facts *facts, const struct tp_proc *proc,
			  struct tp_advice *advice)
{
	const int64_t cpu_ns = cpu_of_workers(facts->run, proc);
	const struct tp_thread_time *trainer;
	struct tp_thread_times times;
	int64_t cost_ns;
	char a[32];

	trainer = find_trainer(facts, proc, &times);
	if (!cpu_ns || !trainer)
		return false;
	cost_ns = trainer->wait_ns < cpu_ns ? trainer->wait_ns : cpu_ns;
	advice->percent = tp_advice_percent(cost_ns, times.wall_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "the workers of DataLoader run on %.1f of %" PRIu32 " cores, which are full: the training waits "
		 "for a core in up to %s of the time", tp_advice_percent(cpu_ns, times.wall_ns) / 100, times.cores,
		 tp_show_percent(a, (double)trainer->wait_ns, (double)times.wall_ns));
	return true;
}

/* Where the training waits for its workers, that says it. */
bool tp_advice_workers(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	if (facts->is_loading || facts->is_short_of_cores ||
	    !tp_cores_are_full(facts->overview->cores) || !find_worst(facts, judge_workers, advice))
		return false;
	snprintf(advice->todo, sizeof(advice->todo), "less work for each sample there: the cores are full, and more "
		 "workers would not help");
	tp_advice_dataset(facts->run, NULL, advice);
	tp_advice_load_stage(facts, true, advice);
	return true;
}

/* ---- other programs ---- */

/* What its own processes leave of the cores is more than others should need, or is idle, and yet it waits. */
static bool judge_others(const struct tp_advice_facts *facts, const struct tp_proc *proc,
			 struct tp_advice *advice)
{
	const bool is_idle = tp_cores_are_idle(facts->overview->cores);
	const struct tp_thread_time *trainer;
	struct tp_thread_times times;
	struct tp_cores_use use;
	char a[32];

	trainer = find_trainer(facts, proc, &times);
	advice->percent = trainer ? tp_advice_percent(trainer->wait_ns, times.wall_ns) : 0;
	if (advice->percent < TP_OVERVIEW_CROWDED_PERCENT)
		return false;
	use = tp_thread_times_beside(facts->run, proc);
	if (use.taken * 100 >= (double)times.cores * (is_idle ? TP_OVERVIEW_TAKEN_PERCENT : STARVED_PERCENT))
		return false;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "the training thread waits for a core up to %s of the time, though this run uses only %.1f of %" PRIu32
		 " cores: %s", tp_show_percent(a, (double)trainer->wait_ns, (double)times.wall_ns), use.taken,
		 times.cores, is_idle ? "the others are idle, and it may not use them"
				      : "other programs of the machine have the others");
	if (is_idle)
		snprintf(advice->todo, sizeof(advice->todo), "OMP_PROC_BIND, GOMP_CPU_AFFINITY, KMP_AFFINITY or "
			 "taskset bind threads to the same cores, or the container has a limit (cpu.max)");
	else
		snprintf(advice->todo, sizeof(advice->todo), "see which (top), and end them, or give this run cores "
			 "of its own (taskset, cpuset)");
	return true;
}

bool tp_advice_cores(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	return !facts->is_short_of_cores && find_worst(facts, judge_others, advice);
}
