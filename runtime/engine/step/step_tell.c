/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_tell.c - boundaries of steps and epochs, as the session is told of them
 */
#include <string.h>

#include "runtime/engine/step/step_state.h"

struct tp_step_state tp_step_state = {.lock = {.rank = TP_LOCK_STEP}};
__thread struct tp_step_self tp_step_self __attribute__((tls_model("initial-exec")));

static struct tp_step_state *const st = &tp_step_state;

void tp_step_unlock(const struct tp_step_tells *tells)
{
	tp_spin_unlock(&st->lock);
	for (uint32_t i = 0; i < tells->n; i++) {
		const struct tp_step_tell *tell = &tells->tell[i];

		if (tell->what == TP_TELL_STEP)
			st->out.step(tell->now, &tell->facts);
		else if (tell->what == TP_TELL_RESTART && st->out.restart)
			st->out.restart(tell->now);
		else
			st->out.epoch(tell->now);
	}
}

static struct tp_step_tell *add_tell(struct tp_step_tells *tells, uint64_t now)
{
	struct tp_step_tell *tell = &tells->tell[tells->n < TP_STEP_TELLS ? tells->n++ : TP_STEP_TELLS - 1];

	memset(tell, 0, sizeof(*tell));
	tell->now = now;
	return tell;
}

/* ---- boundaries ---- */

/* Boundaries come from several threads: none may lie before the last. */
static uint64_t not_before(uint64_t now)
{
	return now > st->step.begin ? now : st->step.begin;
}

void tp_step_begin_epoch(struct tp_step_tells *tells, uint64_t now)
{
	now = not_before(now);
	add_tell(tells, now)->what = TP_TELL_EPOCH;
	st->has_begun = true;
	tp_usage_begin(&st->step, now);
}

void tp_step_restart(struct tp_step_tells *tells, uint64_t now)
{
	now = not_before(now);
	add_tell(tells, now)->what = st->n_steps ? TP_TELL_RESTART : TP_TELL_EPOCH;
	st->has_begun = true;
	tp_passes_announce(&st->passes);
	if (now > st->step.begin)
		tp_usage_begin(&st->step, now);
}

void tp_step_begin_run(struct tp_step_tells *tells, uint64_t now)
{
	st->has_events = true;
	if (!st->has_begun)
		tp_step_begin_epoch(tells, now);
}

bool tp_step_is_epoch(void)
{
	uint64_t n = st->n_steps - st->n_at_pass;

	if (n)
		st->n_of_pass = n;
	st->n_at_pass = st->n_steps;
	return st->n_of_pass != 1;
}

void tp_step_end(struct tp_step_tells *tells, uint64_t now, uint8_t flags)
{
	struct tp_usage_mark first = st->step.first;
	uint64_t new_pass;
	bool is_late_epoch = tp_passes_step(&st->passes, &new_pass) && tp_step_is_epoch();
	struct tp_step_tell *tell;

	/* A loader fed this step that did not count until now. */
	if (new_pass && new_pass == first.time && new_pass < now) {
		tp_usage_count_since(&st->step, &first);
		if (is_late_epoch) {
			add_tell(tells, new_pass)->what = TP_TELL_EPOCH;
			tp_usage_begin_at(&st->step, first);
		}
	}
	now = not_before(now);
	tell = add_tell(tells, now);
	tell->what = TP_TELL_STEP;
	tell->facts.data_wait = st->step.used.data_wait;
	tell->facts.optimizer = st->step.used.optimizer;
	tell->facts.batches = st->step.used.batches;
	tell->facts.source = st->source;
	tell->facts.flags = flags;
	st->n_steps++;
	tp_usage_begin(&st->step, now);
}
