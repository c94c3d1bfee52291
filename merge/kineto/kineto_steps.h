/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_steps.h - the step ledger that a torch.profiler trace has not, from its ProfilerStep
 * ranges, data loader calls and optimizer calls
 */
#ifndef TP_MERGE_KINETO_STEPS_H
#define TP_MERGE_KINETO_STEPS_H

#include "merge/kit/json_in.h"
#include "runtime/trace/ledger.h"

struct tp_kineto_step {
	uint64_t index, begin_ns, dur_ns;
	uint64_t data_wait_ns, optimizer_ns;
	uint32_t batches;
};

struct tp_kineto_steps {
	struct tp_kineto_step *step;
	uint32_t n_steps, cap_steps;
	struct tp_kineto_part {
		uint64_t begin_ns, dur_ns;
		bool is_optimizer;
	} *part;
	uint32_t n_parts, cap_parts;
};

void tp_kineto_steps_free(struct tp_kineto_steps *steps);
void tp_kineto_steps_step(struct tp_kineto_steps *steps, uint64_t index, uint64_t begin_ns,
			  uint64_t dur_ns);
/* Any other range of the host: kept when it waits for data or is an optimizer's step. */
void tp_kineto_steps_range(struct tp_kineto_steps *steps, const struct tp_json_text *name,
			   uint64_t begin_ns, uint64_t dur_ns);
/* A ledger file, all times `late_ns` later. 0; -ENODATA: there were no steps; -errno. */
int tp_kineto_steps_write(struct tp_kineto_steps *steps, const struct tp_ledger_head *head,
			  uint64_t late_ns, const char *path);

#endif
