/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_group.c - which processes are of one job
 *
 * By time: processes are taken in the order in which they began, each goes to the newest job that it
 * fits. No launcher's name alone says it: a script that is started again in an allocation, or
 * with the same rendezvous id, has the same one.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/input/jobs.h"

#define NS_PER_S 1000000000ll
/* Ranks of a job may start that long one after the other when the first has gone already. */
static const int64_t START_NS = 60 * NS_PER_S;
/* Clocks of several hosts may differ by that much. */
static const int64_t HOSTS_NS = 600 * NS_PER_S;

static int by_begin(const void *a, const void *b)
{
	const struct tp_job_proc *x = a, *y = b;

	/* Those of which it is not known last: they go to what is there. */
	if (x->begin_ns != y->begin_ns)
		return !y->begin_ns || (x->begin_ns && x->begin_ns < y->begin_ns) ? -1 : 1;
	return (x->run_id > y->run_id) - (x->run_id < y->run_id);
}

static bool is_same_boot(const struct tp_job_proc *a, const struct tp_job_proc *b)
{
	return !memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id));
}

/* One of the two started the other, or one program forked both. */
static bool are_kin(const struct tp_job_proc *a, const struct tp_job_proc *b)
{
	if ((a->run_id && b->parent_run_id == a->run_id) ||
	    (b->run_id && a->parent_run_id == b->run_id))
		return true;
	if (!is_same_boot(a, b))
		return false;
	return (a->fork_ns && a->fork_ns == b->fork_ns) || (a->pid && b->parent_pid == a->pid) ||
	       (b->pid && a->parent_pid == b->pid);
}

/* Both have a name of the same sort, and it is not the same. */
static bool are_named_apart(const struct tp_job_proc *a, const struct tp_job_proc *b)
{
	size_t sort = strcspn(a->word, ":");

	if (!a->word[0] || strncmp(a->word, b->word, sort + 1))
		return false;
	/* Ranks that are started again may meet at another port. */
	if (a->restart != b->restart && !strncmp(a->word, "port:", 5))
		return false;
	return strcmp(a->word, b->word) != 0;
}

static bool are_worlds_apart(const struct tp_job_proc *a, const struct tp_job_proc *b)
{
	return a->restart == b->restart && a->world > 0 && b->world > 0 && a->world != b->world;
}

/* What the members of a job say of a process that began later than any of them. */
struct fit {
	bool is_kin, is_apart, has_rank, has_host;
	uint32_t restart;
	int64_t end_ns, host_end_ns;	/* of all; of those on its host */
};

static struct fit look(const struct tp_job_proc *proc, uint32_t at, uint32_t job)
{
	const struct tp_job_proc *p = &proc[at];
	struct fit fit = {0};

	for (uint32_t i = 0; i < at; i++) {
		const struct tp_job_proc *m = &proc[i];

		if (m->job != job)
			continue;
		fit.is_kin |= are_kin(m, p);
		fit.is_apart |= are_named_apart(m, p) || are_worlds_apart(m, p);
		fit.has_rank |= m->rank == p->rank && m->restart == p->restart;
		if (m->restart > fit.restart)
			fit.restart = m->restart;
		if (m->end_ns > fit.end_ns)
			fit.end_ns = m->end_ns;
		if (!is_same_boot(m, p))
			continue;
		fit.has_host = true;
		if (m->end_ns > fit.host_end_ns)
			fit.host_end_ns = m->end_ns;
	}
	return fit;
}

static bool fits(const struct tp_job_proc *proc, uint32_t at, uint32_t job)
{
	const struct tp_job_proc *p = &proc[at];
	const struct fit fit = look(proc, at, job);

	if (fit.is_kin)
		return true;
	if (fit.is_apart)
		return false;
	/* Without its ledger nobody knows when it lived. */
	if (!p->begin_ns || p->restart > fit.restart)
		return true;
	if (fit.has_host && p->begin_ns <= fit.host_end_ns)
		return true;
	return !fit.has_rank && p->rank >= 0 &&
	       p->begin_ns <= fit.end_ns + (fit.has_host ? START_NS : HOSTS_NS);
}

uint32_t tp_jobs_group(struct tp_job_proc *proc, uint32_t n)
{
	uint32_t n_jobs = 0;

	if (n)
		qsort(proc, n, sizeof(*proc), by_begin);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t job = n_jobs;

		while (job && !fits(proc, i, job - 1))
			job--;
		proc[i].job = job ? job - 1 : n_jobs++;
	}
	return n_jobs;
}
