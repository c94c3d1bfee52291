/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h - which steps are recorded: a pure state machine (no clock, no environment)
 *
 * Semantics of Composer's cyclic_schedule and torch.profiler.schedule: in each epoch
 * skip_first steps are passed over, then `repeat` cycles of wait + warmup + active steps
 * follow, then nothing until the next epoch. repeat 0: cycles for ever. per_run: epochs are
 * ignored. Prefix in code: tp_sched.
 */
#ifndef TP_ENGINE_SCHEDULE_H
#define TP_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/ring_layout.h"

/* Greatest number in a schedule: far beyond any training, and sums of them cannot wrap. */
#define TP_SCHED_MOST 1000000000000ull

struct tp_sched_spec {
	uint64_t skip_first, wait, warmup, active, repeat;
	bool per_run;
	bool always;	/* one window over the whole process; the numbers are ignored */
};

struct tp_sched_action {
	enum tp_phase phase;	/* of that step */
	bool is_last_active;	/* the window ends with this step (ACTIVE_AND_SAVE) */
};

/* What to do in step `in_epoch` of an epoch (per_run: of the run). Pure function. */
struct tp_sched_action tp_sched_at(const struct tp_sched_spec *spec, uint64_t in_epoch);

/* "wait=5,warmup=1,active=4,repeat=2,per=run", any order, missing ones keep their value in
 * *spec; "always". Numbers are at most TP_SCHED_MOST, active at least 1, no name comes twice.
 * 0 or -EINVAL with the first bad word copied to `bad` (cap bytes); *spec is then unchanged. */
int tp_sched_parse(struct tp_sched_spec *spec, const char *text, char *bad, uint32_t cap);

#endif
