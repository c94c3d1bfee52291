/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.c - tests of what launchers call their job
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/engine/config/job.h"
#include "tests/unit/variables.h"

Test(job, is_what_the_launcher_calls_it)
{
	static const struct {
		const char *what, *variables, *job;
	} rows[] = {
		{"nothing", "", ""},
		{"torchrun", "TORCHELASTIC_RUN_ID=abc RANK=0 MASTER_PORT=29500", "torchrun:abc"},
		{"torchrun without a name", "TORCHELASTIC_RUN_ID=none RANK=0 MASTER_PORT=29500",
		 "port:29500"},
		{"torchrun in a batch job", "TORCHELASTIC_RUN_ID=none RANK=0 SLURM_JOB_ID=7 "
					    "SLURM_STEP_ID=0 MASTER_PORT=29500", "batch:7"},
		{"srun", "SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_JOB_ID=4711 SLURM_STEP_ID=3",
		 "slurm:4711.3"},
		{"srun of old", "SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_JOBID=4711", "slurm:4711"},
		{"mpirun", "OMPI_COMM_WORLD_RANK=1 PMIX_NAMESPACE=prterun-a@1 SLURM_JOB_ID=7",
		 "openmpi:prterun-a@1"},
		{"mpirun of old", "OMPI_COMM_WORLD_RANK=1 OMPI_MCA_ess_base_jobid=99", "openmpi:99"},
		{"PBS", "PBS_JOBID=12.host", "pbs:12.host"},
		{"LSF", "JSM_NAMESPACE_RANK=0 LSB_JOBID=5", "lsf:5"},
		{"by hand", "RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=1234", "port:1234"},
		{"empty", "TORCHELASTIC_RUN_ID= RANK=0 MASTER_PORT=", ""},
	};
	char job[TP_JOB_WORD];
	struct tp_rank rank;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tp_rank_read(&rank, variables_look_up, (void *)rows[i].variables);
		tp_job_read(job, &rank, variables_look_up, (void *)rows[i].variables);
		cr_expect_str_eq(job, rows[i].job, "%s: '%s'", rows[i].what, job);
	}
}

static const char *odd(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "PBS_JOBID") ? NULL
		: "a b\n\xff" "0123456789012345678901234567890123456789012345678901234567890123456789";
}

Test(job, is_one_word_of_bounded_length)
{
	struct tp_rank rank = {.launcher = "none"};
	char job[TP_JOB_WORD];

	tp_job_read(job, &rank, odd, NULL);
	cr_expect_eq(strlen(job), TP_JOB_WORD - 1, "%s", job);
	cr_expect_eq(strncmp(job, "pbs:a_b__0123", 13), 0, "%s", job);
}
