/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_rounds.h - how often DistributedDataParallel reduces gradients for one step of the optimizer
 *
 * By the ranges of its forward passes and of collectives, in recorded steps. Memory: processes.
 */
#ifndef TP_MERGE_COMM_ROUNDS_H
#define TP_MERGE_COMM_ROUNDS_H

#include "merge/model/fact.h"

/* Sums over processes. */
struct tp_comm_rounds {
	uint64_t n_steps, n_forwards;
	uint64_t n_reduced;	/* forward passes behind which gradients were reduced */
};

/* Filled while events come. */
const struct tp_comm_rounds *tp_comm_rounds_want(struct tp_facts *facts);

#endif
