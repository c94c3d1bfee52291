/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c - where training steps and epochs end, from what the program is seen to do
 *
 * Called on guest threads inside torch's callbacks: a spin lock held for some tens of
 * instructions, no allocation, no clock. What the session is to be told is collected under
 * the lock and told after it: the session may arm probes, and takes locks of its own.
 */
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/engine/step/step_state.h"

enum {
	ZERO_GRAD_PATIENCE = 2,	/* rounds of zero_grad without an optimizer, then it is the source:
				 * one may come before the loop, one from a skipped first step */
	CLOCK_PATIENCE_MS = 10000,
	CLOCK_PRESET_MS = 1000,
	SKIPS_MOST = 8,		/* skipped in a row: no gradient scaler goes on for so long */
};

static struct tp_step_state *const st = &tp_step_state;

void tp_step_init(const struct tp_step_spec *spec, const struct tp_step_out *out,
		  uint64_t ticks_per_ms)
{
	struct tp_text text;

	memset(st, 0, sizeof(*st));
	memset(&tp_step_self, 0, sizeof(tp_step_self));
	st->lock.rank = TP_LOCK_STEP;
	st->spec = *spec;
	st->out = *out;
	st->ticks_per_ms = ticks_per_ms;
	st->source = spec->source;
	st->is_auto = spec->source == TP_STEP_NONE;
	if (!st->spec.clock_ms || st->is_auto)
		st->spec.clock_ms = CLOCK_PRESET_MS;
	tp_text_init(&text, st->clock_text, sizeof(st->clock_text));
	tp_text_fmt(&text, "clock %u ms%s", st->spec.clock_ms,
		    st->is_auto ? " (no optimizer, zero_grad or loader was seen)" : "");
	tp_text_init(&text, st->range_text, sizeof(st->range_text));
	tp_text_fmt(&text, "range '%s'", st->spec.range);
}

/* ---- optimizers ---- */

void tp_step_optimizer_begin(uint64_t who, uint64_t now)
{
	struct tp_step_tells tells = {.n = 0};

	/* The same one again: the end of its last step was lost. */
	if (tp_step_self.optimizer_begin && tp_step_self.optimizer != who)
		return;
	tp_step_self.optimizer_begin = now;
	tp_step_self.optimizer = who;
	tp_step_self.is_counted = 2;
	tp_spin_lock(&st->lock);
	tp_step_begin_run(&tells, now);
	/* Steps counted by a guess were no training; this one began with its batch. */
	if (st->is_auto && !st->has_optimizer &&
	    (st->source == TP_STEP_LOADER || st->source == TP_STEP_CLOCK)) {
		if (st->source == TP_STEP_LOADER)
			tp_usage_begin_at(&st->step, st->step.call);
		else
			tp_usage_begin(&st->step, now);
		tp_usage_count_since(&st->step, &st->step.call);
		tp_step_restart(&tells, st->step.begin);
		st->source = TP_STEP_OPTIMIZER;
	}
	tp_step_unlock(&tells);
}

/* It does not step beside another one: it has a batch or, where no loader trains, a zero_grad of its own. */
static bool has_own_iteration(uint64_t who)
{
	return st->zero.has_batches ? st->n_since_optimizer > 0 : st->zeroed && st->zeroed == who;
}

void tp_step_optimizer_end(uint64_t who, uint64_t begin, uint64_t now)
{
	struct tp_step_tells tells = {.n = 0};
	bool is_end;

	if (tp_step_self.optimizer_begin && tp_step_self.optimizer_begin != begin)
		return;
	tp_step_self.optimizer_begin = 0;
	tp_step_self.is_counted = 2;
	tp_spin_lock(&st->lock);
	tp_step_begin_run(&tells, begin);
	st->step.used.optimizer += tp_usage_part(&st->step, begin, now);
	st->has_optimizer = true;
	tp_zero_grad_optimizer(&st->zero);
	is_end = tp_leader_step(&st->leader, who, has_own_iteration(who));
	st->n_since_optimizer = 0;
	st->zeroed = 0;
	if (st->is_auto)
		st->source = TP_STEP_OPTIMIZER;
	if (is_end && st->source == TP_STEP_OPTIMIZER) {
		if (st->n_accumulated > st->most_batches)
			st->most_batches = st->n_accumulated;
		st->n_accumulated = 0;
		tp_zero_grad_step(&st->zero);
		tp_step_end(&tells, now, 0);
	}
	tp_step_unlock(&tells);
}

/* ---- zero_grad ---- */

/*
 * A step ended before this call of zero_grad. Where zero_grad begins the iteration, the batch
 * of the next one has been fetched already: the step ended before that.
 */
static void end_before_zero_grad(struct tp_step_tells *tells, uint64_t now, uint8_t flags)
{
	struct tp_step_usage step = st->step;

	if (!st->zero.is_after_batch || !st->zero.had_batch) {
		tp_step_end(tells, now, flags);
	} else if (step.call.time > step.begin) {
		st->step.used = step.call.used;
		tp_step_end(tells, step.call.time, flags);
		tp_usage_begin_at(&step, step.call);
		st->step.used = step.used;
	}
	/* Else the step began with that batch: it is the first of an epoch. */
}

static void end_skipped(struct tp_step_tells *tells, uint64_t now)
{
	st->n_since_optimizer = 0;
	if (st->is_auto && st->zero.n_skips >= SKIPS_MOST)
		st->source = TP_STEP_ZERO_GRAD;
	end_before_zero_grad(tells, now, TP_F_SKIPPED);
}

/* zero_grad is the source from now on. What came before it, but for its batch, is no step. */
static void begin_with_zero_grad(struct tp_step_tells *tells, uint64_t now)
{
	bool is_first = st->zero.n_rounds == 1;

	if (is_first && st->has_optimizer) {
		/* Chosen as the source, and it comes after the optimizer. */
		tp_step_end(tells, now, 0);
		return;
	}
	st->source = TP_STEP_ZERO_GRAD;
	if (st->zero.had_batch && (st->zero.is_after_batch || is_first)) {
		tp_usage_begin_at(&st->step, st->step.call);
		now = st->step.begin;
	}
	tp_step_restart(tells, now);
}

void tp_step_zero_grad_end(uint64_t who, uint64_t now)
{
	struct tp_step_tells tells = {.n = 0};

	if (tp_step_self.optimizer_begin)
		return;
	tp_spin_lock(&st->lock);
	tp_step_begin_run(&tells, now);
	st->zeroed = who;
	if (tp_zero_grad_counts(&st->zero, who, &st->leader)) {
		bool was_skipped = tp_zero_grad_call(&st->zero, now);

		if (st->source == TP_STEP_OPTIMIZER) {
			if (was_skipped)
				end_skipped(&tells, now);
		} else if (st->source == TP_STEP_ZERO_GRAD && st->zero.n_rounds > 1) {
			end_before_zero_grad(&tells, now, 0);
		} else if (st->source == TP_STEP_ZERO_GRAD ||
			   (st->is_auto && st->zero.n_rounds > ZERO_GRAD_PATIENCE)) {
			begin_with_zero_grad(&tells, now);
		}
	}
	tp_step_unlock(&tells);
}

/* ---- ranges and the clock ---- */

static bool is_wanted_range(const char *name, uint32_t n_bytes)
{
	size_t n = strlen(st->spec.range);

	if (n && st->spec.range[n - 1] == '*')
		return n_bytes >= n - 1 && !memcmp(name, st->spec.range, n - 1);
	return n_bytes == n && !memcmp(name, st->spec.range, n);
}

bool tp_step_is_range(const char *name, uint32_t n_bytes)
{
	/* Set once before any call: no lock for the many ranges that are none of ours. */
	return st->spec.source == TP_STEP_RANGE && is_wanted_range(name, n_bytes);
}

void tp_step_named_end(uint64_t now)
{
	struct tp_step_tells tells = {.n = 0};

	tp_spin_lock(&st->lock);
	tp_step_begin_run(&tells, now);
	tp_step_end(&tells, now, 0);
	tp_step_unlock(&tells);
}

void tp_step_range_end(const char *name, uint32_t n_bytes, uint64_t now)
{
	if (tp_step_is_range(name, n_bytes))
		tp_step_named_end(now);
}

void tp_step_mark(uint64_t now)
{
	struct tp_step_tells tells = {.n = 0};

	tp_spin_lock(&st->lock);
	st->has_events = true;
	if (st->source == TP_STEP_MARK) {
		/* The first step began with the run, unless a loader began an epoch. */
		st->has_begun = true;
		tp_step_end(&tells, now, 0);
	} else if (st->is_auto) {
		st->is_auto = false;
		st->source = TP_STEP_MARK;
		if (st->n_steps) {
			tp_step_restart(&tells, now);
		} else {
			st->has_begun = true;
			tp_step_end(&tells, now, 0);
		}
	}
	tp_step_unlock(&tells);
}

void tp_step_clock(uint64_t now)
{
	struct tp_step_tells tells = {.n = 0};

	tp_spin_lock(&st->lock);
	if (!st->clock_begin)
		st->clock_begin = now;
	if (st->source == TP_STEP_CLOCK) {
		if (!st->has_begun)
			tp_step_begin_epoch(&tells, now);
		else if (now >= st->step.begin &&
			 now - st->step.begin >= st->spec.clock_ms * st->ticks_per_ms)
			tp_step_end(&tells, now, TP_F_CLOCK);
	} else if (st->source == TP_STEP_RANGE) {
		/* Only ends of ranges are seen: the first step began with the run. */
		if (!st->has_begun)
			tp_step_begin_epoch(&tells, now);
	} else if (st->is_auto && st->source == TP_STEP_NONE && !st->has_events &&
		   now - st->clock_begin >= CLOCK_PATIENCE_MS * st->ticks_per_ms) {
		st->source = TP_STEP_CLOCK;
		tp_step_begin_epoch(&tells, now);
	}
	tp_step_unlock(&tells);
}

void tp_step_forbid_clock(void)
{
	tp_spin_lock(&st->lock);
	st->has_events = true;
	tp_spin_unlock(&st->lock);
}

const char *tp_step_source_text(void)
{
	bool is_chosen = !st->is_auto, is_asked = st->spec.source == TP_STEP_MARK, has_optimizer;
	enum tp_step_source source;

	tp_spin_lock(&st->lock);
	source = st->source;
	has_optimizer = st->has_optimizer;
	tp_spin_unlock(&st->lock);
	switch (source) {
	case TP_STEP_NONE:
		return "not found yet";
	case TP_STEP_OPTIMIZER:
		return "optimizer";
	case TP_STEP_ZERO_GRAD:
		return is_chosen	? "zero_grad"
		       : has_optimizer	? "zero_grad (the optimizer's steps stopped)"
					: "zero_grad (no optimizer step was seen)";
	case TP_STEP_LOADER:
		return is_chosen	? "loader"
		       : has_optimizer	? "loader (the optimizer's steps stopped)"
					: "loader (no optimizer step was seen)";
	case TP_STEP_RANGE:
		return st->range_text;
	case TP_STEP_CLOCK:
		return st->clock_text;
	case TP_STEP_MARK:
		return is_asked ? "mark" : "mark (the program said so)";
	}
	return "";
}
