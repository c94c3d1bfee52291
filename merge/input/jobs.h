/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.h - which jobs left the files of a folder, and which of them is read
 *
 * A folder may hold what several jobs left: a script that was started again, a rank of an earlier
 * run that this one did not have. They are never fused unasked.
 */
#ifndef TP_MERGE_JOBS_H
#define TP_MERGE_JOBS_H

#include "merge/input/input.h"
#include "merge/input/run.h"
#include "runtime/trace/ledger.h"

/* A process, as the heads of its files and its ledger tell. */
struct tp_job_proc {
	uint64_t run_id, parent_run_id;	/* parent: of a worker */
	uint64_t boot_id[2];
	uint64_t fork_ns;
	uint32_t pid, parent_pid, restart;
	int32_t rank, world;
	char word[TP_JOB_WORD];		/* see runtime/engine/config/job.h; "": not known */
	int64_t begin_ns, end_ns;	/* CLOCK_REALTIME; begin 0: its ledger is not here */
	uint32_t job;			/* which: 0 is the one that began first */
};

/*
 * Sorts processes by begin and says which are of one job; returns how many jobs there are. Two
 * are kept apart only where something shows that they are two: a job has ended before the other process
 * began, launchers call them differently, their worlds differ. Restarts of an elastic job,
 * what a process forked or started, and workers are of the same job.
 */
uint32_t tp_jobs_group(struct tp_job_proc *proc, uint32_t n);

/*
 * Of several jobs: says which there are, and marks inputs of others than the one that was asked
 * for (options.job; NULL: the newest). 0, -ENOENT: there is none of that name, which was said, or
 * -ENOMEM.
 */
int tp_jobs_choose(struct tp_run_in *run, struct tp_input_list *list);

#endif
