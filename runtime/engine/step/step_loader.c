/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_loader.c - what calls of data loaders say about steps and epochs
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/engine/step/step_state.h"

enum {
	LOADER_PATIENCE = 8,	/* batches without an optimizer: most of accumulation is shorter */
	LOADER_PATIENCE_Z = 64,	/* the same where zero_grad was seen: an optimizer will come */
	LOST_ROUNDS = 8,	/* usual steps' worth of batches without the optimizer */
	LOST_BATCHES = LOST_ROUNDS * TP_STEP_ACCUMULATED,	/* the same for loaders that never fed a step:
								 * of an evaluation */
};

static struct tp_step_state *const st = &tp_step_state;

static bool is_thread_counted(void)
{
	if (!tp_step_self.is_counted)
		tp_step_self.is_counted = getpid() == syscall(SYS_gettid) ? 2 : 1;
	return tp_step_self.is_counted == 2;
}

/* Batches after which an optimizer that was there is taken to be gone. */
static uint64_t patience_for(uint64_t loader)
{
	uint64_t patience = LOST_ROUNDS * (uint64_t)(st->most_batches ? st->most_batches : 1);

	if (patience < 2 * st->passes.longest)
		patience = 2 * st->passes.longest;
	if (patience < LOST_BATCHES && !tp_passes_counts(&st->passes, loader))
		patience = LOST_BATCHES;
	return patience;
}

/* The loader ends steps: is this call the beginning of the next? */
static bool is_next_round(uint64_t loader)
{
	if (loader == st->loader) {
		st->n_other_loader = 0;
		return true;
	}
	if (++st->n_other_loader < 2)
		return false;
	st->loader = loader;
	st->n_other_loader = 0;
	return true;
}

/* No better source: is it time for the loader? */
static void consider_loader(struct tp_step_tells *tells, uint64_t loader, uint64_t now)
{
	if (st->source == TP_STEP_OPTIMIZER) {
		if (st->n_since_optimizer < patience_for(loader))
			return;
		st->source = TP_STEP_LOADER;
		st->loader = loader;
		tp_step_end(tells, now, 0);
	} else if (st->source == TP_STEP_NONE || st->source == TP_STEP_CLOCK) {
		if (st->n_loader_calls++ < (st->zero.has_any ? LOADER_PATIENCE_Z : LOADER_PATIENCE))
			return;
		st->source = TP_STEP_LOADER;
		st->loader = loader;
		tp_step_restart(tells, now);
	}
}

/* What passes know it by. */
static uint64_t find_pass(uint64_t loader, enum tp_step_call call)
{
	const uint64_t pass = loader << 1;

	if (!loader)
		return 0;
	if (call == TP_STEP_CALL_FURTHER)
		return tp_passes_later(&st->passes, pass, pass | 1);
	return pass | (call == TP_STEP_CALL_NO_GRAD);
}

void tp_step_loader_begin(uint64_t loader, enum tp_step_call call, uint64_t now)
{
	const bool is_first = call != TP_STEP_CALL_FURTHER;
	struct tp_step_tells tells = {.n = 0};

	if (tp_step_self.optimizer_begin || (tp_step_self.loader_begin && tp_step_self.loader != loader))
		return;
	tp_step_self.loader_begin = now;
	tp_step_self.loader = loader;
	tp_spin_lock(&st->lock);
	tp_step_self.pass = loader = find_pass(loader, call);
	st->has_events = true;
	if (st->source == TP_STEP_LOADER && is_next_round(loader) && !is_first)
		tp_step_end(&tells, now, 0);
	if (loader && tp_passes_call(&st->passes, loader, is_first, now, st->n_steps > 0) &&
	    tp_step_is_epoch())
		tp_step_begin_epoch(&tells, now);
	else
		tp_step_begin_run(&tells, now);
	tp_usage_mark(&st->step, is_first && !(loader && st->passes.is_zipped), now);
	if (st->is_auto && st->source != TP_STEP_LOADER && !is_first)
		consider_loader(&tells, loader, now);
	tp_step_unlock(&tells);
}

void tp_step_loader_end(uint64_t loader, uint64_t begin, uint64_t now, enum tp_step_got got)
{
	struct tp_step_tells tells = {.n = 0};
	struct tp_usage *usage;
	bool counts;

	if (tp_step_self.loader_begin != begin)
		return;
	tp_step_self.loader_begin = 0;
	loader = tp_step_self.pass;
	tp_spin_lock(&st->lock);
	if (loader && got == TP_STEP_GOT_NONE)
		tp_passes_end(&st->passes, loader);
	counts = tp_passes_counts(&st->passes, loader);
	usage = counts ? &st->step.used : &st->step.other;
	if (is_thread_counted())
		usage->data_wait += tp_usage_part(&st->step, begin, now);
	if (got != TP_STEP_GOT_NONE) {
		usage->batches++;
		st->n_since_optimizer++;
		st->n_accumulated += counts && st->n_accumulated < TP_STEP_ACCUMULATED;
		if (counts)
			tp_zero_grad_batch(&st->zero, begin, now);
	} else if (counts && st->source == TP_STEP_ZERO_GRAD && st->zero.is_after_batch &&
		   st->step.call.time == begin && st->step.call.used.batches) {
		/* No zero_grad will end the last step of the pass. */
		st->step.used = st->step.call.used;
		tp_step_end(&tells, begin, 0);
	}
	tp_step_unlock(&tells);
}
