/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.h - sums of what the END blocks of a run tell, and what was lost of the GPU's records
 */
#ifndef TP_MERGE_TOTALS_H
#define TP_MERGE_TOTALS_H

#include "merge/model/model.h"

/*
 * The sum over processes of a figure: of each window, or (is_running) counted on through the
 * whole process, where the largest is the last. A `*` in the key stands for each kind of
 * record of CUPTI's (trainprof-trace(5)).
 */
uint64_t tp_totals_add(const struct tp_run *run, const char *key, bool is_running);
/* So, counted on, without the workers of data loaders, which work beside steps. */
uint64_t tp_totals_add_ranks(const struct tp_run *run, const char *key);

struct tp_loss {
	const char *key;	/* in END blocks, running */
	const char *text;	/* behind the number */
	bool is_loss;		/* data are missing; else only odd */
	bool is_bytes;
};
/* What is counted of the GPU half; ended by key NULL. */
extern const struct tp_loss tp_gpu_losses[];
/* The same of host memory and call stacks. */
extern const struct tp_loss tp_heap_losses[];

/* "12.4", of the number that CUPTI gives; "" when none was recorded. */
const char *tp_totals_cupti(char buf[32], const struct tp_run *run);

#endif
