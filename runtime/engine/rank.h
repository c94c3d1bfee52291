/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.h - who this process is in the job, from every launcher's variables
 *
 * The table in rank.c has the names, in order of trust. Read when the session opens, not in
 * the constructor: some launchers set os.environ late.
 */
#ifndef TP_ENGINE_RANK_H
#define TP_ENGINE_RANK_H

#include <stdint.h>

#include "runtime/engine/config.h"

struct tp_rank {
	int32_t rank, local_rank, world_size, local_world_size, node_rank; /* -1: not known */
	uint32_t restart;
	const char *launcher;	/* "torchrun", "slurm", ... "none"; static string */
	char complaint[200];	/* what was wrong in the variables, ready to print; "": nothing */
};

void tp_rank_read(struct tp_rank *rank, tp_config_getenv_fn lookup, void *ctx);

#endif
