/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - which job this process is of, from its launcher's variables
 *
 * A word that all ranks of a job have alike: "slurm:4711.0", "torchrun:abc", else "port:29500",
 * where they meet. It is no proof that two processes are of one job (a script may be started twice
 * in an allocation), but different ones of the same sort are of two. Pure.
 */
#ifndef TP_ENGINE_JOB_H
#define TP_ENGINE_JOB_H

#include "runtime/engine/config/config.h"
#include "runtime/engine/config/rank.h"
#include "runtime/trace/ledger.h"

/* "" when nothing says it. */
void tp_job_read(char job[TP_JOB_WORD], const struct tp_rank *rank, tp_config_getenv_fn lookup,
		 void *ctx);

#endif
