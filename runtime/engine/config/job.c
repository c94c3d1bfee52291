/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.c - which job this process is of: one table of variables, first match wins
 */
#include "runtime/engine/config/job.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/text.h"

/* What a launcher calls its job; NULL: whoever started the process. */
static const struct {
	const char *launcher, *sort;
	const char *name, *other_name;	/* the first that is set wins */
	const char *part;		/* of the job, where there may be several; NULL: none */
} row[] = {
	{"torchrun", "torchrun", "TORCHELASTIC_RUN_ID", NULL, NULL},
	{"ray", "ray", "RAY_JOB_ID", NULL, NULL},
	/* Where mpirun's daemons were started by srun, on other nodes, the steps of Slurm differ. */
	{"openmpi", "openmpi", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", NULL},
	{"pals", "pals", "PALS_APID", NULL, NULL},
	{"slurm", "slurm", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_STEP_ID"},
	{NULL, "lsf", "LSB_JOBID", NULL, NULL},
	{NULL, "pbs", "PBS_JOBID", NULL, NULL},
	{NULL, "batch", "SLURM_JOB_ID", "SLURM_JOBID", NULL},
	{NULL, "port", "MASTER_PORT", NULL, NULL},
};

void tp_job_read(char job[TP_JOB_WORD], const struct tp_rank *rank, tp_config_getenv_fn lookup,
		 void *ctx)
{
	struct tp_text out;

	tp_text_init(&out, job, TP_JOB_WORD);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *value, *part;

		if (row[i].launcher && strcmp(row[i].launcher, rank->launcher))
			continue;
		value = lookup(ctx, row[i].name);
		if (!value && row[i].other_name)
			value = lookup(ctx, row[i].other_name);
		/* "none" is what torchrun says when nobody gave it a name. */
		if (!value || !*value || !strcmp(value, "none"))
			continue;
		tp_text_fmt(&out, "%s:", row[i].sort);
		/* It becomes a word of a line. */
		tp_text_word(&out, value, SIZE_MAX, '_');
		part = row[i].part ? lookup(ctx, row[i].part) : NULL;
		if (part && *part) {
			tp_text_char(&out, '.');
			tp_text_word(&out, part, SIZE_MAX, '_');
		}
		return;
	}
}
