/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h - which steps are recorded: a pure state machine (no clock, no environment)
 *
 * Semantics of Composer's cyclic_schedule and torch.profiler.schedule: in each epoch
 * skip_first steps are passed over, then `repeat` cycles of wait + warmup + active steps
 * follow, then nothing until the next epoch. repeat 0: cycles for ever. per_run: epochs are
 * ignored. Or windows begin at listed steps of the run.
 * Beside it an extra window may be asked for, by numbers of steps of the run: what the
 * schedule records anyway stays as it is, a window of the schedule ends an extra one.
 * Prefix in code: tp_sched.
 */
#ifndef TP_ENGINE_SCHEDULE_H
#define TP_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/ring_layout.h"

/* Largest number in a schedule: far beyond any training, and sums of them cannot wrap. */
#define TP_SCHED_MOST 1000000000000ull

enum { TP_SCHED_AT_MOST = 32 };

struct tp_sched_spec {
	uint64_t skip_first, wait, warmup, active, repeat;
	bool per_run;	/* always with `at` */
	bool always;	/* one window over the whole process; the numbers are ignored */
	bool only_extra; /* SCHEDULE=trigger: no windows of its own */
	uint64_t at[TP_SCHED_AT_MOST];	/* ascending; windows of `active` steps begin with these */
	uint32_t n_at;	/* 0: cycles */
};

/* A window that was asked for: active in steps [from, to) of the run, warm-up before. */
struct tp_sched_extra {
	uint64_t from, to;	/* equal: there is none */
	uint64_t stop;		/* from this step on the schedule has no windows; 0: it goes on */
};

/* What becomes of a window that is asked for. */
enum tp_sched_asked {
	TP_SCHED_ASKED_OK,
	TP_SCHED_ASKED_LATE,	/* step `from` has begun: the rest of them is recorded */
	TP_SCHED_ASKED_MISSED,	/* all of them have */
};

struct tp_sched_action {
	enum tp_phase phase;	/* of that step */
	bool is_last_active;	/* the window ends with this step (ACTIVE_AND_SAVE) */
	bool is_extra;		/* active because of the extra window */
};

/* What to do in step `in_epoch` of an epoch (per_run: of the run). Pure function. */
struct tp_sched_action tp_sched_at(const struct tp_sched_spec *spec, uint64_t in_epoch);
/* The same with what was asked for beside it; `step`: its number in the run. */
struct tp_sched_action tp_sched_with(const struct tp_sched_spec *spec,
				     const struct tp_sched_extra *extra, uint64_t in_epoch,
				     uint64_t step);

/* "wait=5,warmup=1,active=4,repeat=2,per=run", any order, missing ones keep their value in
 * *spec; "at=100,5000,active=4" (steps of the run, without skip_first, wait, repeat and per); "always";
 * "trigger". Numbers are at most TP_SCHED_MOST, active at least 1, no name comes twice.
 * 0 or -EINVAL with the first bad word copied to `bad` (cap bytes); *spec is then unchanged. */
int tp_sched_parse(struct tp_sched_spec *spec, const char *text, char *bad, uint32_t cap);

/* The first step of `at` that a run of so many steps has not come to; TP_SCHED_MOST + 1: none. */
uint64_t tp_sched_missed(const struct tp_sched_spec *spec, uint64_t n_steps);

#endif
