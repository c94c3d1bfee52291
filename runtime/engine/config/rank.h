/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.h - who this process is in the job, from every launcher's variables
 *
 * The table in rank.c has the names, in order of trust. Read when the session opens, not in
 * the constructor: some launchers set os.environ late. Where no variable says it (mp.spawn, a
 * program that reads its rank from its own options) the process group does, as soon as there
 * is one.
 */
#ifndef TP_ENGINE_RANK_H
#define TP_ENGINE_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/config/config.h"

struct tp_rank {
	int32_t rank, local_rank, world_size, local_world_size, node_rank; /* -1: not known */
	uint32_t restart;
	const char *launcher;	/* "torchrun", "slurm", "process group", ... "none"; static string */
	char complaint[200];	/* what was wrong in the variables, ready to print; "": nothing */
};

void tp_rank_read(struct tp_rank *rank, tp_config_getenv_fn lookup, void *ctx);

/* A process group or communicator of `size` processes has been made, in which this process is
 * `rank`. The largest counts, of equal ones the first: the world. Any thread, at any time. */
void tp_rank_offer(int32_t rank, int32_t size);
/* Takes what was offered, where no launcher said anything. False: nothing was, or not needed. */
bool tp_rank_take(struct tp_rank *rank);
/* In the child of fork: its parent's groups are none of its own. */
void tp_rank_forked(void);

#endif
