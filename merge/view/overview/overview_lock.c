/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_lock.c - advice of the overview on a thread that keeps the interpreter's lock from the training
 *
 * Samples see the lock itself; in short windows, or without them, gaps as long as it is kept and the
 * processor time of threads tell of it.
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/facts/code/thread_times.h"
#include "merge/kit/sum.h"
#include "merge/view/overview/overview_samples.h"
#include "runtime/base/text.h"

enum {
	HOLDER_LEAST = 10,	/* samples of another thread in one function: that has the lock */
	NAMED_LEAST = 3,	/* so many name the function */
	WANTED_LEAST = 5,	/* samples that wait for the lock, where something has it, */
	WANTED_ALONE = 10,	/* and where nothing is seen that has it */
	SHOWN = 200,
	BUSY_PERCENT = 50,	/* of the time: another thread that is ready so long */
	HELD_LEAST = 3,		/* gaps as long as the lock is kept, */
	HELD_STACKS = 2,	/* in so many places */
	SEEN_LEAST = 3,		/* of these gaps and of samples that wait for it together, where the thread */
	ASLEEP_PERCENT = 20,	/* sleeps so much for no other reason */
};

/* ---- by samples ---- */

/* What other threads run most, in so many samples at least; NULL: nothing. */
static const struct tp_sample_owner *find_holder(const struct tp_sample_owners *owners, uint64_t least)
{
	const struct tp_sample_owner *most = NULL;

	for (uint32_t i = 0; i < owners->n_rows; i++) {
		const struct tp_sample_owner *row = &owners->row[i];

		if (row->where == TP_SAMPLES_OTHER && row->frame.function[0] &&
		    row->sum.running >= (most ? most->sum.running + 1 : least))
			most = row;
	}
	return most;
}

static bool has_holder(const struct tp_advice_facts *facts)
{
	return find_holder(facts->overview->owners, HOLDER_LEAST) != NULL;
}

static void name_holder(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_sample_owner *most = find_holder(facts->overview->owners, NAMED_LEAST);
	char shown[SHOWN], thread[sizeof(advice->place)];
	struct tp_text out;

	if (!most)
		return;
	memcpy(thread, advice->place, sizeof(thread));
	tp_text_init(&out, advice->place, sizeof(advice->place));
	tp_text_fmt(&out, "%s%s%s", tp_sample_owner_show(shown, sizeof(shown), most), thread[0] ? ", in " : "",
		    thread);
}

static uint64_t count_wanted(const struct tp_advice_facts *facts)
{
	const struct tp_samples_sum *all = facts->overview->owners->samples->all;

	return all[TP_SAMPLES_OPERATOR].wants_lock + all[TP_SAMPLES_DATA].wants_lock +
	       all[TP_SAMPLES_GAP].wants_lock;
}

static bool judge_wanted(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const uint64_t n = tp_advice_count_training(facts->overview->owners),
		       n_wants = count_wanted(facts);
	char a[32];

	if (n_wants < (has_holder(facts) ? WANTED_LEAST : WANTED_ALONE))
		return false;
	advice->percent = 100.0 * (double)n_wants / (double)n;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "in %s of the samples in steps the training waits for Python's lock",
		 tp_show_percent(a, (double)n_wants, (double)n));
	return true;
}

/* ---- by times ---- */

/* Another thread that is ready most of the time; NULL: none. */
static const struct tp_thread_time *find_busy(const struct tp_thread_times *times,
					      const struct tp_thread_time *trainer)
{
	for (uint32_t i = 0; i < times->n_threads; i++) {
		const struct tp_thread_time *thread = &times->thread[i];

		if (thread != trainer &&
		    tp_thread_time_ready(thread) / BUSY_PERCENT >= times->wall_ns / 100)
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
	int64_t asleep_ns = tp_sub(times->wall_ns, tp_thread_time_ready(trainer));

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
	    (n_stacks < HELD_STACKS && !has_holder(facts)))
		return false;
	advice->percent = find_asleep(facts, times, trainer);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "up to %.1f %% of the time the training waits for Python's lock: %" PRIu32 " gaps of 5 ms between "
		 "operators in %" PRIu32 " place%s, beside another thread that is busy %s of the time", advice->percent,
		 n_held, n_stacks, n_stacks == 1 ? "" : "s",
		 tp_show_percent(a, (double)tp_thread_time_ready(busy), (double)times->wall_ns));
	return advice->percent > 0;
}

/* In short windows there are few gaps and few samples, but the times of threads say the same. */
static bool judge_sleep(const struct tp_advice_facts *facts, const struct tp_thread_times *times,
			const struct tp_thread_time *trainer, const struct tp_thread_time *busy,
			struct tp_advice *advice)
{
	const uint64_t n_wants = count_wanted(facts);
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
		 tp_show_percent(a, (double)tp_thread_time_ready(busy), (double)times->wall_ns));
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
	is_wanted = judge_wanted(facts, advice);
	has_gaps = trainer && (judge_gaps(facts, &times, trainer, busy, &by_gaps) ||
			       judge_sleep(facts, &times, trainer, busy, &by_gaps));
	if (!is_wanted && !has_gaps)
		return false;
	if (!is_wanted || (has_gaps && by_gaps.percent > advice->percent))
		*advice = by_gaps;
	if (busy)
		snprintf(advice->place, sizeof(advice->place), "thread %" PRIu32 " %s", busy->tid, busy->name);
	name_holder(facts, advice);
	snprintf(advice->todo, sizeof(advice->todo), "do its work in another process, less often, or in calls "
		 "that release the lock");
	return true;
}
