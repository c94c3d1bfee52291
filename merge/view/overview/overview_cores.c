/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_cores.c - advice of the overview on what threads wait for: a core, or the interpreter's lock
 *
 * By the processor time of threads (thread_times.h), which other programs of the machine do not
 * change: they make threads wait, and no thread more.
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>

#include "merge/facts/code/thread_times.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "merge/view/overview/overview_samples.h"

enum {
	WANTED_PERCENT = 150,	/* of the cores: threads that are ready want so many, and one more */
	BUSY_PERCENT = 50,	/* of the time: another thread that is ready so long */
	HELD_LEAST = 3,		/* gaps as long as the lock is kept, */
	HELD_STACKS = 2,	/* in so many places */
	SEEN_LEAST = 3,		/* of these gaps and of samples that wait for it together, where the thread */
	ASLEEP_PERCENT = 20,	/* sleeps so much for no other reason */
};

static int64_t ready_ns(int64_t cpu_ns, int64_t wait_ns)
{
	return tp_add(cpu_ns, wait_ns);
}

typedef bool judge_proc(const struct tp_advice_facts *facts, const struct tp_proc *proc,
			struct tp_advice *advice);

/* Of the rank that it costs most; false: of none. */
static bool find_worst(const struct tp_advice_facts *facts, judge_proc *judge, struct tp_advice *advice)
{
	struct tp_advice most = {.percent = -1}, one;

	for (uint32_t i = 0; i < facts->run->n_procs; i++) {
		one = (struct tp_advice){.rule = advice->rule};
		if (!facts->run->proc[i]->worker && judge(facts, facts->run->proc[i], &one) &&
		    one.percent > most.percent)
			most = one;
	}
	if (most.percent < 0)
		return false;
	*advice = most;
	return true;
}

/* ---- too many threads ---- */

static bool judge_threads(const struct tp_advice_facts *facts, const struct tp_proc *proc,
			  struct tp_advice *advice)
{
	struct tp_thread_times times;
	const struct tp_thread_time *trainer;
	char a[32], who[64];
	double wanted;

	if (!tp_thread_times_of(facts->run, proc, &times) || times.wall_ns <= 0)
		return false;
	trainer = tp_thread_times_trainer(&times, proc);
	wanted = (double)ready_ns(times.cpu_ns, times.wait_ns) / (double)times.wall_ns;
	if (!trainer || wanted * 100 < (double)times.cores * WANTED_PERCENT || wanted < times.cores + 1.0)
		return false;
	advice->percent = tp_advice_percent(trainer->wait_ns, times.wall_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "threads%s%s that are ready to run want %.1f cores, and there are %" PRIu32 ": the "
		 "training thread waits for a core up to %s of the time",
		 tp_label_is_needed(facts->run) ? " of " : "",
		 tp_label_is_needed(facts->run) ? tp_label_proc(who, facts->run, proc) : "", wanted,
		 times.cores, tp_show_percent(a, (double)trainer->wait_ns, (double)times.wall_ns));
	snprintf(advice->todo, sizeof(advice->todo), "torch.set_num_threads() or OMP_NUM_THREADS: the cores "
		 "(of a container: of its limit), divided by the ranks of the machine");
	return true;
}

bool tp_advice_threads(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	if (!find_worst(facts, judge_threads, advice))
		return false;
	facts->is_short_of_cores = true;
	return true;
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

	if (!cpu_ns || !tp_thread_times_of(facts->run, proc, &times))
		return false;
	trainer = tp_thread_times_trainer(&times, proc);
	if (!trainer)
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
	return tp_advice_load(facts, true, advice);
}

/* ---- the interpreter's lock ---- */

/* Another thread that is ready most of the time; NULL: none. */
static const struct tp_thread_time *find_busy(const struct tp_thread_times *times,
					      const struct tp_thread_time *trainer)
{
	for (uint32_t i = 0; i < times->n_threads; i++) {
		const struct tp_thread_time *thread = &times->thread[i];

		if (thread != trainer &&
		    ready_ns(thread->cpu_ns, thread->wait_ns) / BUSY_PERCENT >= times->wall_ns / 100)
			return thread;
	}
	return NULL;
}

/* Time of a step in which the training thread has a reason to sleep: data, collectives, devices. */
static double find_other_sleep(const struct tp_overview_sums *sums)
{
	int64_t ns = 0;

	for (uint32_t c = 0; c < TP_CAT_CPU; c++)
		ns = tp_add(ns, sums->ns[c]);
	return tp_advice_percent(ns, sums->all_ns);
}

/* It costs at most what the training thread neither ran nor waited for a core, data, ranks or devices. */
static double find_asleep(const struct tp_advice_facts *facts, const struct tp_thread_times *times,
			  const struct tp_thread_time *trainer)
{
	int64_t asleep_ns = tp_sub(times->wall_ns, ready_ns(trainer->cpu_ns, trainer->wait_ns));

	return tp_advice_percent(asleep_ns, times->wall_ns) - find_other_sleep(facts->sums);
}

/* A thread of Python gives the lock away when another one has asked for it for 5 ms: gaps of that length
 * between operators, in several places, beside a busy thread. */
static bool judge_gaps(const struct tp_advice_facts *facts, const struct tp_thread_times *times,
		       const struct tp_thread_time *trainer, const struct tp_thread_time *busy,
		       struct tp_advice *advice)
{
	uint32_t n_held, n_stacks;
	char a[32];

	n_held = tp_sites_held(facts->overview->sites, &n_stacks);
	if (!busy || n_held < HELD_LEAST || facts->is_short_of_cores ||
	    (n_stacks < HELD_STACKS && !tp_advice_has_lock_holder(facts)))
		return false;
	advice->percent = find_asleep(facts, times, trainer);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "up to %.1f %% of the time the training waits for Python's lock: %" PRIu32 " gaps of 5 ms between "
		 "operators in %" PRIu32 " place%s, beside another thread that is busy %s of the time", advice->percent,
		 n_held, n_stacks, n_stacks == 1 ? "" : "s",
		 tp_show_percent(a, (double)ready_ns(busy->cpu_ns, busy->wait_ns), (double)times->wall_ns));
	return advice->percent > 0;
}

/* In short windows there are few gaps and few samples, but the times of threads say the same. */
static bool judge_sleep(const struct tp_advice_facts *facts, const struct tp_thread_times *times,
			const struct tp_thread_time *trainer, const struct tp_thread_time *busy,
			struct tp_advice *advice)
{
	const uint64_t n_wants = tp_advice_count_lock_wanted(facts);
	uint32_t n_stacks, n_held = tp_sites_held(facts->overview->sites, &n_stacks);
	/* Gaps alone in one place are a pause of the program's. */
	const uint64_t n_seen = n_wants ? n_wants + n_held : n_stacks;
	char a[32];

	advice->percent = find_asleep(facts, times, trainer);
	if (!busy || n_seen < SEEN_LEAST || facts->is_short_of_cores || advice->percent < ASLEEP_PERCENT)
		return false;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "up to %.1f %% of the time the training waits for Python's lock: it sleeps, and was seen to wait "
		 "for the lock %" PRIu64 " times, beside another thread that is busy %s of the time",
		 advice->percent, n_seen,
		 tp_show_percent(a, (double)ready_ns(busy->cpu_ns, busy->wait_ns), (double)times->wall_ns));
	return true;
}

/* Samples see the lock itself; without them, or with few, gaps and times of threads tell of it. */
bool tp_advice_lock(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_thread_time *trainer = NULL, *busy = NULL;
	const struct tp_proc *proc = NULL;
	struct tp_advice by_gaps = {.rule = advice->rule};
	struct tp_thread_times times;
	bool is_wanted, has_gaps;

	for (uint32_t i = 0; i < facts->run->n_procs && !proc; i++)
		if (!facts->run->proc[i]->worker)
			proc = facts->run->proc[i];
	if (proc && tp_thread_times_of(facts->run, proc, &times))
		trainer = tp_thread_times_trainer(&times, proc);
	busy = trainer ? find_busy(&times, trainer) : NULL;
	is_wanted = tp_advice_lock_wanted(facts, advice);
	has_gaps = trainer && (judge_gaps(facts, &times, trainer, busy, &by_gaps) ||
			       judge_sleep(facts, &times, trainer, busy, &by_gaps));
	if (!is_wanted && !has_gaps)
		return false;
	if (!is_wanted || (has_gaps && by_gaps.percent > advice->percent))
		*advice = by_gaps;
	if (busy)
		snprintf(advice->place, sizeof(advice->place), "thread %" PRIu32 " %s", busy->tid, busy->name);
	tp_advice_lock_holder(facts, advice);
	snprintf(advice->todo, sizeof(advice->todo), "do its work in another process, less often, or in calls "
		 "that release the lock");
	return true;
}
