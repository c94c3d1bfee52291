/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c - where training steps and epochs end, from what the program is seen to do
 *
 * Called on guest threads inside torch's callbacks: a spin lock held for some tens of
 * instructions, no allocation, no clock. What the session is to be told is collected under
 * the lock and told after it: the session may arm probes, and takes locks of its own.
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/step/leader.h"
#include "runtime/engine/step/passes.h"
#include "runtime/engine/step/step.h"
#include "runtime/engine/step/usage.h"
#include "runtime/engine/step/zero_grad.h"

enum {
	ZERO_GRAD_PATIENCE = 2,	/* rounds of zero_grad without an optimizer, then it is the source:
				 * one may come before the loop, one from a skipped first step */
	LOADER_PATIENCE = 8,	/* batches without an optimizer: most of accumulation is shorter */
	LOADER_PATIENCE_Z = 64,	/* the same where zero_grad was seen: an optimizer will come */
	CLOCK_PATIENCE_MS = 10000,
	CLOCK_PRESET_MS = 1000,
	LOST_ROUNDS = 8,	/* usual steps' worth of batches without the optimizer */
	LOST_BATCHES = 64,	/* the same for loaders that never fed a step */
	SKIPS_MOST = 8,		/* skipped in a row: no gradient scaler goes on for so long */
	TELL_MAX = 3,
};

/* ---- what one call tells the session, after the lock ---- */

struct tell {
	enum { TELL_STEP, TELL_EPOCH, TELL_RESTART } what;
	uint64_t now;
	struct tp_step_facts facts;
};

struct tells {
	struct tell tell[TELL_MAX];
	uint32_t n;
};

static struct {
	struct tp_spin lock;		/* of all below */
	struct tp_step_spec spec;
	struct tp_step_out out;
	uint64_t ticks_per_ms;

	enum tp_step_source source;	/* NONE: not found yet */
	bool is_auto, has_begun;
	bool has_optimizer;		/* one was seen, ever */
	bool has_events;		/* anything but the clock was, or it is not to be guessed */
	uint64_t n_steps;
	struct tp_step_usage step;	/* the one in progress */
	uint64_t n_at_pass;		/* steps when the last pass that may begin an epoch did */
	uint64_t n_of_pass;		/* steps of the last pass that had any */

	struct tp_leader leader;
	struct tp_passes passes;
	struct tp_zero_grad zero;

	/* The loader as source, or as measure of an optimizer that stopped. */
	uint64_t loader;
	uint32_t n_other_loader;	/* calls of another one since */
	uint64_t n_loader_calls;	/* without anything better, since the start */
	uint64_t n_since_optimizer;	/* batches */
	uint32_t most_batches;		/* in a step that the optimizer ended */

	uint64_t clock_begin;		/* first tick; 0: none yet */
	char clock_text[64], range_text[160];
} st = {.lock = {.rank = TP_LOCK_STEP}};

/* What this thread is inside of. Outermost spans are known by their begin: a lost end must
 * not make everything after it look nested. */
static __thread struct {
	uint64_t optimizer_begin, loader_begin;	/* 0: not inside */
	uint64_t optimizer, loader;		/* identities of the outermost */
	uint8_t is_counted;			/* loader times: 0 not known yet, 1 no, 2 yes */
} self __attribute__((tls_model("initial-exec")));

void tp_step_init(const struct tp_step_spec *spec, const struct tp_step_out *out,
		  uint64_t ticks_per_ms)
{
	struct tp_text text;

	memset(&st, 0, sizeof(st));
	memset(&self, 0, sizeof(self));
	st.lock.rank = TP_LOCK_STEP;
	st.spec = *spec;
	st.out = *out;
	st.ticks_per_ms = ticks_per_ms;
	st.source = spec->source;
	st.is_auto = spec->source == TP_STEP_NONE;
	if (!st.spec.clock_ms || st.is_auto)
		st.spec.clock_ms = CLOCK_PRESET_MS;
	tp_text_init(&text, st.clock_text, sizeof(st.clock_text));
	tp_text_fmt(&text, "clock %u ms%s", st.spec.clock_ms,
		    st.is_auto ? " (no optimizer, zero_grad or loader was seen)" : "");
	tp_text_init(&text, st.range_text, sizeof(st.range_text));
	tp_text_fmt(&text, "range '%s'", st.spec.range);
}

static void unlock_and_tell(const struct tells *tells)
{
	tp_spin_unlock(&st.lock);
	for (uint32_t i = 0; i < tells->n; i++) {
		const struct tell *tell = &tells->tell[i];

		if (tell->what == TELL_STEP)
			st.out.step(tell->now, &tell->facts);
		else if (tell->what == TELL_RESTART && st.out.restart)
			st.out.restart(tell->now);
		else
			st.out.epoch(tell->now);
	}
}

static struct tell *add_tell(struct tells *tells, uint64_t now)
{
	struct tell *tell = &tells->tell[tells->n < TELL_MAX ? tells->n++ : TELL_MAX - 1];

	memset(tell, 0, sizeof(*tell));
	tell->now = now;
	return tell;
}

/* ---- boundaries ---- */

/* Boundaries come from several threads: none may lie before the last. */
static uint64_t not_before(uint64_t now)
{
	return now > st.step.begin ? now : st.step.begin;
}

static void begin_epoch(struct tells *tells, uint64_t now)
{
	now = not_before(now);
	add_tell(tells, now)->what = TELL_EPOCH;
	st.has_begun = true;
	tp_usage_begin(&st.step, now);
}

static void restart(struct tells *tells, uint64_t now)
{
	now = not_before(now);
	add_tell(tells, now)->what = st.n_steps ? TELL_RESTART : TELL_EPOCH;
	st.has_begun = true;
	tp_passes_announce(&st.passes);
	if (now > st.step.begin)
		tp_usage_begin(&st.step, now);
}

/* The first thing seen begins the first step. */
static void begin_run(struct tells *tells, uint64_t now)
{
	st.has_events = true;
	if (!st.has_begun)
		begin_epoch(tells, now);
}

/* A pass begins that may begin an epoch: not when passes are one step long. */
static bool is_epoch(void)
{
	uint64_t n = st.n_steps - st.n_at_pass;

	if (n)
		st.n_of_pass = n;
	st.n_at_pass = st.n_steps;
	return st.n_of_pass != 1;
}

static void end_step(struct tells *tells, uint64_t now, uint8_t flags)
{
	struct tp_usage_mark first = st.step.first;
	uint64_t new_pass;
	bool is_late_epoch = tp_passes_step(&st.passes, &new_pass) && is_epoch();
	struct tell *tell;

	/* A loader fed this step that did not count until now. */
	if (new_pass && new_pass == first.time && new_pass < now) {
		tp_usage_count_since(&st.step, &first);
		if (is_late_epoch) {
			add_tell(tells, new_pass)->what = TELL_EPOCH;
			tp_usage_begin_at(&st.step, first);
		}
	}
	now = not_before(now);
	tell = add_tell(tells, now);
	tell->what = TELL_STEP;
	tell->facts.data_wait = st.step.used.data_wait;
	tell->facts.optimizer = st.step.used.optimizer;
	tell->facts.batches = st.step.used.batches;
	tell->facts.source = st.source;
	tell->facts.flags = flags;
	st.n_steps++;
	tp_usage_begin(&st.step, now);
}

/* ---- optimizers ---- */

void tp_step_optimizer_begin(uint64_t who, uint64_t now)
{
	struct tells tells = {.n = 0};

	/* The same one again: the end of its last step was lost. */
	if (self.optimizer_begin && self.optimizer != who)
		return;
	self.optimizer_begin = now;
	self.optimizer = who;
	self.is_counted = 2;
	tp_spin_lock(&st.lock);
	begin_run(&tells, now);
	/* Steps counted by a guess were no training; this one began with its batch. */
	if (st.is_auto && !st.has_optimizer &&
	    (st.source == TP_STEP_LOADER || st.source == TP_STEP_CLOCK)) {
		if (st.source == TP_STEP_LOADER)
			tp_usage_begin_at(&st.step, st.step.call);
		else
			tp_usage_begin(&st.step, now);
		tp_usage_count_since(&st.step, &st.step.call);
		restart(&tells, st.step.begin);
		st.source = TP_STEP_OPTIMIZER;
	}
	unlock_and_tell(&tells);
}

void tp_step_optimizer_end(uint64_t who, uint64_t begin, uint64_t now)
{
	struct tells tells = {.n = 0};
	bool is_end;

	if (self.optimizer_begin && self.optimizer_begin != begin)
		return;
	self.optimizer_begin = 0;
	self.is_counted = 2;
	tp_spin_lock(&st.lock);
	begin_run(&tells, begin);
	st.step.used.optimizer += tp_usage_part(&st.step, begin, now);
	st.has_optimizer = true;
	tp_zero_grad_optimizer(&st.zero);
	st.n_since_optimizer = 0;
	is_end = tp_leader_step(&st.leader, who);
	if (st.is_auto)
		st.source = TP_STEP_OPTIMIZER;
	if (is_end && st.source == TP_STEP_OPTIMIZER) {
		if (st.step.used.batches > st.most_batches)
			st.most_batches = st.step.used.batches;
		tp_zero_grad_step(&st.zero);
		end_step(&tells, now, 0);
	}
	unlock_and_tell(&tells);
}

/* ---- zero_grad ---- */

/*
 * A step ended before this call of zero_grad. Where zero_grad begins the iteration, the batch
 * of the next one has been fetched already: the step ended before that.
 */
static void end_before_zero_grad(struct tells *tells, uint64_t now, uint8_t flags)
{
	struct tp_step_usage step = st.step;

	if (!st.zero.is_after_batch || !st.zero.had_batch) {
		end_step(tells, now, flags);
	} else if (step.call.time > step.begin) {
		st.step.used = step.call.used;
		end_step(tells, step.call.time, flags);
		tp_usage_begin_at(&step, step.call);
		st.step.used = step.used;
	}
	/* Else the step began with that batch: it is the first of an epoch. */
}

static void end_skipped(struct tells *tells, uint64_t now)
{
	st.n_since_optimizer = 0;
	if (st.is_auto && st.zero.n_skips >= SKIPS_MOST)
		st.source = TP_STEP_ZERO_GRAD;
	end_before_zero_grad(tells, now, TP_F_SKIPPED);
}

/* zero_grad is the source from now on. What came before it, but for its batch, is no step. */
static void begin_with_zero_grad(struct tells *tells, uint64_t now)
{
	bool is_first = st.zero.n_rounds == 1;

	if (is_first && st.has_optimizer) {
		/* Chosen as the source, and it comes after the optimizer. */
		end_step(tells, now, 0);
		return;
	}
	st.source = TP_STEP_ZERO_GRAD;
	if (st.zero.had_batch && (st.zero.is_after_batch || is_first)) {
		tp_usage_begin_at(&st.step, st.step.call);
		now = st.step.begin;
	}
	restart(tells, now);
}

void tp_step_zero_grad_end(uint64_t who, uint64_t now)
{
	struct tells tells = {.n = 0};

	if (self.optimizer_begin)
		return;
	tp_spin_lock(&st.lock);
	begin_run(&tells, now);
	if (tp_zero_grad_counts(&st.zero, who, &st.leader)) {
		bool was_skipped = tp_zero_grad_call(&st.zero, now);

		if (st.source == TP_STEP_OPTIMIZER) {
			if (was_skipped)
				end_skipped(&tells, now);
		} else if (st.source == TP_STEP_ZERO_GRAD && st.zero.n_rounds > 1) {
			end_before_zero_grad(&tells, now, 0);
		} else if (st.source == TP_STEP_ZERO_GRAD ||
			   (st.is_auto && st.zero.n_rounds > ZERO_GRAD_PATIENCE)) {
			begin_with_zero_grad(&tells, now);
		}
	}
	unlock_and_tell(&tells);
}

/* ---- data loaders ---- */

static bool is_thread_counted(void)
{
	if (!self.is_counted)
		self.is_counted = getpid() == syscall(SYS_gettid) ? 2 : 1;
	return self.is_counted == 2;
}

/* Batches after which an optimizer that was there is taken to be gone. */
static uint64_t patience_for(uint64_t loader)
{
	uint64_t patience = LOST_ROUNDS * (uint64_t)(st.most_batches ? st.most_batches : 1);

	if (patience < 2 * st.passes.longest)
		patience = 2 * st.passes.longest;
	if (patience < LOST_BATCHES && !tp_passes_counts(&st.passes, loader))
		patience = LOST_BATCHES;
	return patience;
}

/* The loader ends steps: is this call the beginning of the next? */
static bool is_next_round(uint64_t loader)
{
	if (loader == st.loader) {
		st.n_other_loader = 0;
		return true;
	}
	if (++st.n_other_loader < 2)
		return false;
	st.loader = loader;
	st.n_other_loader = 0;
	return true;
}

/* No better source: is it time for the loader? */
static void consider_loader(struct tells *tells, uint64_t loader, uint64_t now)
{
	if (st.source == TP_STEP_OPTIMIZER) {
		if (st.n_since_optimizer < patience_for(loader))
			return;
		st.source = TP_STEP_LOADER;
		st.loader = loader;
		end_step(tells, now, 0);
	} else if (st.source == TP_STEP_NONE || st.source == TP_STEP_CLOCK) {
		if (st.n_loader_calls++ < (st.zero.has_any ? LOADER_PATIENCE_Z : LOADER_PATIENCE))
			return;
		st.source = TP_STEP_LOADER;
		st.loader = loader;
		restart(tells, now);
	}
}

void tp_step_loader_begin(uint64_t loader, bool is_first, uint64_t now)
{
	struct tells tells = {.n = 0};

	if (self.optimizer_begin || (self.loader_begin && self.loader != loader))
		return;
	self.loader_begin = now;
	self.loader = loader;
	tp_spin_lock(&st.lock);
	st.has_events = true;
	if (st.source == TP_STEP_LOADER && is_next_round(loader) && !is_first)
		end_step(&tells, now, 0);
	if (loader && tp_passes_call(&st.passes, loader, is_first, now, st.n_steps > 0) && is_epoch())
		begin_epoch(&tells, now);
	else
		begin_run(&tells, now);
	tp_usage_mark(&st.step, is_first && !(loader && st.passes.is_zipped), now);
	if (st.is_auto && st.source != TP_STEP_LOADER && !is_first)
		consider_loader(&tells, loader, now);
	unlock_and_tell(&tells);
}

void tp_step_loader_end(uint64_t loader, uint64_t begin, uint64_t now, enum tp_step_got got)
{
	struct tells tells = {.n = 0};
	struct tp_usage *usage;
	bool counts;

	if (self.loader_begin != begin)
		return;
	self.loader_begin = 0;
	tp_spin_lock(&st.lock);
	if (loader && got == TP_STEP_GOT_NONE)
		tp_passes_end(&st.passes, loader);
	counts = tp_passes_counts(&st.passes, loader);
	usage = counts ? &st.step.used : &st.step.other;
	if (is_thread_counted())
		usage->data_wait += tp_usage_part(&st.step, begin, now);
	if (got != TP_STEP_GOT_NONE) {
		usage->batches++;
		st.n_since_optimizer++;
		if (counts)
			tp_zero_grad_batch(&st.zero, begin, now);
	} else if (counts && st.source == TP_STEP_ZERO_GRAD && st.zero.is_after_batch &&
		   st.step.call.time == begin && st.step.call.used.batches) {
		/* No zero_grad will end the last step of the pass. */
		st.step.used = st.step.call.used;
		end_step(&tells, begin, 0);
	}
	unlock_and_tell(&tells);
}

/* ---- ranges and the clock ---- */

static bool is_wanted_range(const char *name, uint32_t n_bytes)
{
	size_t n = strlen(st.spec.range);

	if (n && st.spec.range[n - 1] == '*')
		return n_bytes >= n - 1 && !memcmp(name, st.spec.range, n - 1);
	return n_bytes == n && !memcmp(name, st.spec.range, n);
}

bool tp_step_is_range(const char *name, uint32_t n_bytes)
{
	/* Set once before any call: no lock for the many ranges that are none of ours. */
	return st.spec.source == TP_STEP_RANGE && is_wanted_range(name, n_bytes);
}

void tp_step_named_end(uint64_t now)
{
	struct tells tells = {.n = 0};

	tp_spin_lock(&st.lock);
	begin_run(&tells, now);
	end_step(&tells, now, 0);
	unlock_and_tell(&tells);
}

void tp_step_range_end(const char *name, uint32_t n_bytes, uint64_t now)
{
	if (tp_step_is_range(name, n_bytes))
		tp_step_named_end(now);
}

void tp_step_mark(uint64_t now)
{
	struct tells tells = {.n = 0};

	tp_spin_lock(&st.lock);
	st.has_events = true;
	if (st.source == TP_STEP_MARK) {
		/* The first step began with the run, unless a loader began an epoch. */
		st.has_begun = true;
		end_step(&tells, now, 0);
	} else if (st.is_auto) {
		st.is_auto = false;
		st.source = TP_STEP_MARK;
		if (st.n_steps) {
			restart(&tells, now);
		} else {
			st.has_begun = true;
			end_step(&tells, now, 0);
		}
	}
	unlock_and_tell(&tells);
}

void tp_step_clock(uint64_t now)
{
	struct tells tells = {.n = 0};

	tp_spin_lock(&st.lock);
	if (!st.clock_begin)
		st.clock_begin = now;
	if (st.source == TP_STEP_CLOCK) {
		if (!st.has_begun)
			begin_epoch(&tells, now);
		else if (now >= st.step.begin &&
			 now - st.step.begin >= st.spec.clock_ms * st.ticks_per_ms)
			end_step(&tells, now, TP_F_CLOCK);
	} else if (st.source == TP_STEP_RANGE) {
		/* Only ends of ranges are seen: the first step began with the run. */
		if (!st.has_begun)
			begin_epoch(&tells, now);
	} else if (st.is_auto && st.source == TP_STEP_NONE && !st.has_events &&
		   now - st.clock_begin >= CLOCK_PATIENCE_MS * st.ticks_per_ms) {
		st.source = TP_STEP_CLOCK;
		begin_epoch(&tells, now);
	}
	unlock_and_tell(&tells);
}

void tp_step_forbid_clock(void)
{
	tp_spin_lock(&st.lock);
	st.has_events = true;
	tp_spin_unlock(&st.lock);
}

const char *tp_step_source_text(void)
{
	bool is_chosen = !st.is_auto, is_asked = st.spec.source == TP_STEP_MARK, has_optimizer;
	enum tp_step_source source;

	tp_spin_lock(&st.lock);
	source = st.source;
	has_optimizer = st.has_optimizer;
	tp_spin_unlock(&st.lock);
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
		return st.range_text;
	case TP_STEP_CLOCK:
		return st.clock_text;
	case TP_STEP_MARK:
		return is_asked ? "mark" : "mark (the program said so)";
	}
	return "";
}
