/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chosen.h - --steps: which events are of the steps that were asked for
 */
#ifndef TP_MERGE_CHOSEN_H
#define TP_MERGE_CHOSEN_H

#include "merge/input/run.h"

/* The stretches of time of each process that were asked for, from the ledgers. 0 or -ENOMEM. */
int tp_chosen_find(struct tp_run_in *run);
/* Whether events of the block may be of the steps, or calls of what is. */
bool tp_chosen_block(const struct tp_run_in *run, const struct tp_block_ref *ref);
/* Of a run with --steps: whether the event is of the steps. In order of begin. */
bool tp_chosen_event(const struct tp_proc_in *proc, uint32_t window, const struct tp_rec *rec);

#endif
