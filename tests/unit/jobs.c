/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.c - tests of which processes are of one job
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "merge/input/jobs.h"

#define S 1000000000ll

/* Seconds; begin 0: no ledger. */
struct row {
	int64_t begin, end;
	int32_t rank, world;
	const char *word;
	uint32_t restart, pid, parent_pid, boot, forked, job;
};

enum { ROWS_MOST = 5 };

static void check(const char *what, const struct row *row, uint32_t n_jobs)
{
	struct tp_job_proc proc[ROWS_MOST];
	uint32_t n = 0;

	memset(proc, 0, sizeof(proc));
	for (; n < ROWS_MOST && row[n].pid; n++) {
		proc[n] = (struct tp_job_proc){
			.begin_ns = row[n].begin * S, .end_ns = row[n].end * S, .rank = row[n].rank,
			.world = row[n].world, .restart = row[n].restart, .pid = row[n].pid,
			.parent_pid = row[n].parent_pid, .boot_id = {row[n].boot, 1},
			.fork_ns = row[n].forked, .run_id = row[n].pid,
		};
		if (row[n].word)
			strcpy(proc[n].word, row[n].word);
	}
	cr_expect_eq(tp_jobs_group(proc, n), n_jobs, "%s", what);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < n; k++)
			if (proc[i].run_id == row[k].pid)
				cr_expect_eq(proc[i].job, row[k].job, "%s: process %u is of job %u", what,
					     row[k].pid, proc[i].job);
	}
}

Test(jobs, are_told_apart_where_something_shows_it)
{
	check("two ranks",
	      (struct row[ROWS_MOST]){{100, 200, 0, 2, NULL, .pid = 1}, {101, 190, 1, 2, NULL, .pid = 2}}, 1);
	check("two ranks, then one alone",
	      (struct row[ROWS_MOST]){{100, 200, 0, 2, NULL, .pid = 1}, {101, 190, 1, 2, NULL, .pid = 2},
				      {300, 400, -1, -1, NULL, .pid = 3, .job = 1}}, 2);
	check("rank 0's files are gone: the same world's rank 0 of another day",
	      (struct row[ROWS_MOST]){{101, 190, 1, 2, NULL, .pid = 2},
				      {3000, 4000, 0, 2, NULL, .pid = 3, .job = 1}},
	      2);
	check("worlds of different sizes at once",
	      (struct row[ROWS_MOST]){{100, 200, 0, 2, NULL, .pid = 1},
				      {101, 190, 1, 4, NULL, .pid = 2, .job = 1}}, 2);
	check("launchers' names differ",
	      (struct row[ROWS_MOST]){{100, 200, 0, 2, "slurm:1.0", .pid = 1},
				      {101, 190, 1, 2, "slurm:1.1", .pid = 2, .job = 1}}, 2);
	check("names of different sorts say nothing",
	      (struct row[ROWS_MOST]){{100, 200, 0, 2, "batch:1", .pid = 1},
				      {101, 190, 1, 2, "port:5", .pid = 2}},
	      1);
	check("a script that is started again with the same name",
	      (struct row[ROWS_MOST]){{100, 200, 0, 2, "torchrun:100", .pid = 1},
				      {101, 190, 1, 2, "torchrun:100", .pid = 2},
				      {201, 300, 0, 2, "torchrun:100", .pid = 3, .job = 1},
				      {202, 300, 1, 2, "torchrun:100", .pid = 4, .job = 1}}, 2);
	check("two hosts, two single processes",
	      (struct row[ROWS_MOST]){{100, 200, -1, -1, NULL, .pid = 1, .boot = 1},
				      {101, 200, -1, -1, NULL, .pid = 2, .boot = 2, .job = 1}}, 2);
}

Test(jobs, stay_one_where_nothing_shows_that_they_are_two)
{
	check("restarts, at other ports",
	      (struct row[ROWS_MOST]){{100, 200, 0, 2, "port:1", .pid = 1},
				      {100, 200, 1, 2, "port:1", .pid = 2},
				      {300, 310, 0, 2, "port:2", .restart = 1, .pid = 3},
				      {320, 330, 1, 2, "port:2", .restart = 1, .pid = 4}}, 1);
	check("a program's folds, forked one after the other",
	      (struct row[ROWS_MOST]){{100, 200, -1, -1, NULL, .pid = 2, .forked = 9},
				      {300, 400, -1, -1, NULL, .pid = 3, .forked = 9}}, 1);
	check("what the training starts after its last step",
	      (struct row[ROWS_MOST]){{100, 200, -1, -1, NULL, .pid = 1},
				      {300, 400, -1, -1, NULL, .pid = 3, .parent_pid = 1}}, 1);
	check("an evaluation beside it",
	      (struct row[ROWS_MOST]){{100, 200, -1, -1, NULL, .pid = 1},
				      {150, 160, -1, -1, NULL, .pid = 3}}, 1);
	check("ranks on hosts whose clocks differ",
	      (struct row[ROWS_MOST]){{100, 110, 0, 2, NULL, .pid = 1, .boot = 1},
				      {400, 410, 1, 2, NULL, .pid = 2, .boot = 2}},
	      1);
	check("a rank that died before the other one began",
	      (struct row[ROWS_MOST]){{100, 100, 0, 2, NULL, .pid = 1}, {103, 103, 1, 2, NULL, .pid = 2}}, 1);
	check("traces without ledgers",
	      (struct row[ROWS_MOST]){{0, 0, 0, 2, NULL, .pid = 1}, {0, 0, 0, 2, NULL, .pid = 2}}, 1);
	check("nothing", (struct row[ROWS_MOST]){{0}}, 0);
}
