/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_stage.h - what a data loader of torch's does on a stack, by the names of its own functions
 */
#ifndef TP_MERGE_LOAD_STAGE_H
#define TP_MERGE_LOAD_STAGE_H

#include "merge/facts/origin/stacks.h"

/* What a data loader does, in the training process or in a worker. */
enum tp_load_stage {
	TP_LOAD_NONE,		/* not in a data loader */
	TP_LOAD_SAMPLER,	/* which samples come next */
	TP_LOAD_FETCH,		/* the dataset: reads, decodes, transforms */
	TP_LOAD_COLLATE,	/* samples become a batch */
	TP_LOAD_SEND,		/* a worker gives a batch away */
	TP_LOAD_AWAIT,		/* a worker has nothing to do; the training process waits for workers */
	TP_LOAD_START,		/* workers are started, or ended */
	TP_LOAD_OTHER,		/* the loader itself */
	TP_LOAD_N
};

/* frame[0] is the innermost of n. */
enum tp_load_stage tp_load_stage_of(const struct tp_frame *frame, uint32_t n);
/* How many of the frames the loader called: frame[0] to that. 0: there is no loader. */
uint32_t tp_load_called(const struct tp_frame *frame, uint32_t n);
/* All that a worker does is inside it; what is outside was its parent's when it was forked. */
bool tp_load_is_worker_loop(const struct tp_frame *frame);

#endif
