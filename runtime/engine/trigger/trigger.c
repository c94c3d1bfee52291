/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger.c - a trigger, a proposal in the run folder, a window on all ranks
 *
 * Everything happens on the drain thread: files may lie on a slow filesystem. No allocation.
 */
#include "runtime/engine/trigger/trigger.h"

#include <string.h>

#include "runtime/base/log.h"
#include "runtime/base/process.h"
#include "runtime/engine/trigger/agree.h"
#include "runtime/engine/trigger/pace.h"
#include "runtime/engine/trigger/request.h"
#include "runtime/engine/trigger/signal.h"
#include "runtime/engine/trigger/watch.h"

enum {
	LOOK_MS = 100,
	LOOK_REQUESTS_MS = 1000, /* when nothing but a request can come */
	LOOK_MOST_MS = 5000,
	LOOK_REQUESTS_MOST_MS = 30000,
	POLLS_A_SECOND = 640,	/* of all ranks together: a shared filesystem has other work */
	POLLS_REQUESTS_A_SECOND = 64,	/* when nobody asked for a trigger */
	AHEAD_MS = 1000,	/* for a drain thread that gets no core */
	AHEAD_NODES_MS = 2000,	/* for what a network filesystem caches */
	AHEAD_LEAST = 2,	/* steps */
	PACE_LOOKS = 4,		/* longest wait for a pace: there may be no steps */
};

/* Who asked: words behind "as". */
static const char by_signal[] = "a signal", by_request[] = "a request", by_watch[] = "a trigger";

static struct {
	const struct tp_config *config;	/* NULL: no trigger */
	const struct tp_trigger_ops *ops;
	struct tp_agree agree;
	uint32_t look_ms, ahead_ms;
	uint64_t due_ns;
	uint32_t n_looks;
	const char *last_by;		/* who asked this process for the last window */
	struct tp_request waiting;	/* for its window to open */
	struct tp_pace pace;
	struct tp_watch watch;
	uint64_t watched_steps;		/* that were given to it */
	uint32_t n_watched;		/* windows that it opened */
} trigger;

#define answer(request, ...) \
	tp_request_answer(&trigger.agree.proposals.folder, request, __VA_ARGS__)

/* A window of so many steps (0: the schedule stops), for all ranks, in time for all to hear of it. */
static enum tp_agreed propose(uint32_t n_steps, const char *by, const char *why)
{
	const struct tp_config *config = trigger.config;
	uint64_t ahead = config->trigger.ahead;
	uint64_t from = trigger.ops->steps();

	if (!ahead)
		ahead = AHEAD_LEAST + tp_pace_steps_in(&trigger.pace, trigger.ahead_ms);
	/* Ahead of them all is the warm-up. */
	from += ahead + (n_steps ? config->schedule.warmup : 0);
	trigger.last_by = by;
	return tp_agree_propose(&trigger.agree, from, from + n_steps, why);
}

/* ---- what asks for a window ---- */

static void look_for_signal(void)
{
	char why[TP_PROPOSAL_WHY];
	struct tp_text text;

	if (!tp_signal_take())
		return;
	tp_text_init(&text, why, sizeof(why));
	tp_text_fmt(&text, "signal to process %u", trigger.agree.proposals.pid);
	if (trigger.config->schedule.always)
		tp_info("signal received; every step is recorded anyway");
	else if (trigger.ops->is_asked_over())
		propose(trigger.config->trigger.steps, by_signal, why);
	else
		tp_info("signal ignored: the window of the previous trigger is not over");
}

static void answer_status(struct tp_request *request)
{
	const struct tp_proposal *last = &trigger.agree.last, *stop = &trigger.agree.stop;
	unsigned long n_steps = trigger.ops->steps();

	answer(request, TP_ANSWER_TAKEN, "process %u is in step %lu; windows requested so far: %u",
	       trigger.agree.proposals.pid, n_steps, trigger.agree.n_windows);
	if (last->to > n_steps)
		answer(request, TP_ANSWER_TAKEN, "steps %lu to %lu are to be recorded: %s", last->from,
		       last->to - 1, last->why);
	if (stop->from)
		answer(request, TP_ANSWER_TAKEN, "from step %lu on only requested windows open",
		       stop->from);
	answer(request, TP_ANSWER_DONE, "%s", trigger.config->schedule.always
	       ? "every step is recorded: SCHEDULE=always" : "the job hears requests");
}

static void answer_window(struct tp_request *request)
{
	const struct tp_agree *agree = &trigger.agree;
	const struct tp_proposal *last = &agree->last;

	if (agree->asked == TP_SCHED_ASKED_MISSED)
		answer(request, TP_ANSWER_REFUSED, "the run is beyond steps %lu to %lu already; a "
			    "larger ahead= in TRAINPROF_TRIGGER helps", last->from, last->to - 1);
	else
		answer(request, TP_ANSWER_TAKEN, "the run is in step %lu; steps %lu to %lu will be "
		       "recorded", trigger.ops->steps(), last->from, last->to - 1);
}

static void obey(struct tp_request *request)
{
	const struct tp_control *control = &request->control;
	const struct tp_proposal *last = &trigger.agree.last;
	const bool is_stop = control->what == TP_CONTROL_STOP;
	enum tp_agreed agreed = TP_AGREED_NOTHING;

	if (control->what == TP_CONTROL_STATUS) {
		answer_status(request);
		return;
	}
	if (trigger.config->schedule.always) {
		answer(request, TP_ANSWER_REFUSED, "every step is recorded anyway: SCHEDULE=always is one "
		       "window over the whole process");
		return;
	}
	if (is_stop || trigger.ops->is_asked_over())
		agreed = propose(control->steps, by_request, "a request came");
	if (agreed == TP_AGREED_STOP && is_stop)
		answer(request, TP_ANSWER_DONE, "from step %lu on only requested windows open",
		       trigger.agree.stop.from);
	else if (agreed == TP_AGREED_WINDOW && !is_stop)
		answer_window(request);
	else
		answer(request, TP_ANSWER_REFUSED, "the window of steps %lu to %lu is not over: %s",
		       last->from, last->to - 1, last->why);
}

/* Who asked hears when the window has opened. */
static void follow_request(void)
{
	const struct tp_proposal *last = &trigger.agree.last, *stop = &trigger.agree.stop;

	if (!trigger.waiting.is_open)
		return;
	if (stop->from && stop->from <= last->from && stop->real_ns > last->real_ns)
		answer(&trigger.waiting, TP_ANSWER_REFUSED, "a request to stop came before step %lu",
		       last->from);
	else if (trigger.ops->steps() >= last->from)
		answer(&trigger.waiting, TP_ANSWER_DONE, "window opened at step %lu", last->from);
}

static void look_for_request(void)
{
	struct tp_request request;

	follow_request();
	if (trigger.agree.is_alone || !tp_request_take(&trigger.agree.proposals.folder, &request))
		return;
	obey(&request);
	if (request.is_open)
		trigger.waiting = request;
	follow_request();
}

static void put_ratio(struct tp_text *text, uint32_t ratio)
{
	tp_text_fmt(text, "%u.%02u", ratio / TP_WATCH_RATIO, ratio % TP_WATCH_RATIO / 10);
}

static void describe_found(enum tp_watch_what what, uint64_t step, uint32_t ratio,
			   struct tp_text *text)
{
	if (what == TP_WATCH_SLOW) {
		tp_text_fmt(text, "step %lu took ", step);
		put_ratio(text, ratio);
		tp_text_str(text, " times the running median");
	} else if (what == TP_WATCH_DRIFT) {
		tp_text_str(text, "the median step takes ");
		put_ratio(text, ratio);
		tp_text_str(text, " times what it took");
	} else {
		tp_text_str(text, what == TP_WATCH_MEMORY ? "memory of the process reached "
							   : "tensors on devices reached ");
		tp_text_fmt(text, "%lu MiB", (what == TP_WATCH_MEMORY
					      ? trigger.watch.spec.memory
					      : trigger.watch.spec.device_memory) >> 20);
	}
}

static void found(enum tp_watch_what what, uint64_t step, uint32_t ratio)
{
	char why[TP_PROPOSAL_WHY];
	struct tp_text text;

	/* Another rank may have seen the same; its window has come already. */
	if (what == TP_WATCH_NOTHING || step < trigger.agree.last.to)
		return;
	tp_text_init(&text, why, sizeof(why));
	describe_found(what, step, ratio, &text);
	if (trigger.config->schedule.always) {
		tp_info("%s; every step is recorded anyway", why);
	} else if (!trigger.ops->is_asked_over()) {
		tp_info("%s; no window, the last one is not over", why);
	} else if (trigger.n_watched >= trigger.config->trigger.limit) {
		tp_warn_once("%s; no window: limit=%u of TRAINPROF_TRIGGER is used up", why,
			     trigger.config->trigger.limit);
	} else {
		trigger.n_watched++;
		propose(trigger.config->trigger.steps, by_watch, why);
		tp_warn("%s: steps %lu to %lu will be recorded", why, trigger.agree.last.from,
			trigger.agree.last.to - 1);
	}
}

static bool is_watching(const struct tp_watch_spec *spec)
{
	return spec->slow || spec->drift || spec->memory || spec->device_memory;
}

/* Steps of a window are slower for being recorded, and recorded anyway. */
static void watch_steps(uint64_t *device_bytes)
{
	uint64_t n_steps = trigger.ops->steps();

	if (n_steps - trigger.watched_steps > TP_RING_STEPS)
		trigger.watched_steps = n_steps - TP_RING_STEPS;
	for (; trigger.watched_steps < n_steps; trigger.watched_steps++) {
		struct tp_ring_step step;
		enum tp_watch_what what;
		uint32_t ratio;

		if (!trigger.ops->step(trigger.watched_steps, &step))
			continue;
		if (step.device_peak > *device_bytes)
			*device_bytes = step.device_peak;
		if (step.phase == TP_PHASE_ACTIVE || step.phase == TP_PHASE_WARMUP)
			continue;
		what = tp_watch_step(&trigger.watch, step.duration, &ratio);
		found(what, trigger.watched_steps, ratio);
	}
}

static void look_at_run(void)
{
	const struct tp_watch_spec *spec = &trigger.watch.spec;
	uint64_t device_bytes = 0;

	if (!is_watching(spec))
		return;
	watch_steps(&device_bytes);
	found(tp_watch_memory(&trigger.watch, spec->memory ? tp_process_memory().resident : 0, device_bytes),
	      trigger.ops->steps(), 0);
}

uint64_t tp_trigger_look(uint64_t mono_ns)
{
	if (!trigger.config)
		return UINT64_MAX;
	if (mono_ns < trigger.due_ns)
		return trigger.due_ns - mono_ns;
	trigger.due_ns = mono_ns + trigger.look_ms * 1000000ull;
	trigger.n_looks++;
	tp_signal_install((int)trigger.config->trigger.signal);
	tp_pace_note(&trigger.pace, trigger.ops->steps(), mono_ns);
	tp_agree_next(&trigger.agree);
	/* How far ahead a window must be is not known before. */
	if (trigger.pace.n || trigger.n_looks >= PACE_LOOKS) {
		look_for_request();
		look_for_signal();
		look_at_run();
	}
	return trigger.look_ms * 1000000ull;
}

const char *tp_trigger_why(uint64_t first_step)
{
	const struct tp_proposal *last = &trigger.agree.last;

	return first_step >= last->from && first_step < last->to ? last->why : "";
}

void tp_trigger_report(struct tp_text *totals)
{
	if (trigger.config && trigger.agree.n_windows)
		tp_text_fmt(totals, "trigger.windows=%u\ntrigger.late=%u\ntrigger.missed=%u\n",
			    trigger.agree.n_windows, trigger.agree.n_late, trigger.agree.n_missed);
}

/* ---- begin and end ---- */

static void choose_times(const struct tp_rank *rank, const struct tp_trigger_spec *spec)
{
	uint32_t n_ranks = rank->world_size > 0 ? (uint32_t)rank->world_size : 1;
	bool has_nodes = n_ranks > 1 && rank->local_world_size != rank->world_size;
	bool is_waiting = !spec->signal && !is_watching(&trigger.watch.spec);
	uint32_t least = is_waiting ? LOOK_REQUESTS_MS : LOOK_MS;
	uint32_t most = is_waiting ? LOOK_REQUESTS_MOST_MS : LOOK_MOST_MS;

	trigger.look_ms = n_ranks * 1000 / (is_waiting ? POLLS_REQUESTS_A_SECOND : POLLS_A_SECOND);
	if (trigger.look_ms < least)
		trigger.look_ms = least;
	if (trigger.look_ms > most)
		trigger.look_ms = most;
	trigger.ahead_ms = AHEAD_MS + 2 * trigger.look_ms + (has_nodes ? AHEAD_NODES_MS : 0);
}

void tp_trigger_open(const struct tp_config *config, const struct tp_rank *rank, const char *dir,
		     const struct tp_trigger_ops *ops)
{
	const struct tp_trigger_spec *spec = &config->trigger;

	if (!spec->has_control)
		return;
	memset(&trigger, 0, sizeof(trigger));
	trigger.ops = ops;
	tp_agree_open(&trigger.agree, dir, rank->restart, ops);
	trigger.last_by = by_signal;
	tp_watch_init(&trigger.watch, &(struct tp_watch_spec){spec->slow, spec->drift, spec->mem,
							      spec->devmem});
	choose_times(rank, spec);
	trigger.config = config;
	tp_signal_take();
	tp_signal_install((int)config->trigger.signal);
}

/* The program is at its end: who asked for a window hears what became of it, once. */
static void answer_the_last(void)
{
	const struct tp_proposal *last = &trigger.agree.last;
	unsigned long n_steps = trigger.ops->steps();

	if (last->from > n_steps && last->pid == trigger.agree.proposals.pid)
		tp_warn("steps %lu to %lu were to be recorded, as %s asked, and the run ended "
			"after %lu steps; ahead= in TRAINPROF_TRIGGER says how soon a window opens",
			(unsigned long)last->from, (unsigned long)last->to - 1, trigger.last_by,
			n_steps);
	else if (tp_signal_take() && last->to <= n_steps && !trigger.config->schedule.always)
		tp_warn("no window was opened for a signal: the run ended first");
	if (last->from > n_steps)
		answer(&trigger.waiting, TP_ANSWER_REFUSED, "the run ended after %lu steps: no window "
		       "was opened", n_steps);
	follow_request();
}

void tp_trigger_close(void)
{
	if (trigger.config) {
		answer_the_last();
		tp_agree_close(&trigger.agree);
	}
	trigger.config = NULL;
	tp_signal_restore();
}

void tp_trigger_forked(void)
{
	trigger.config = NULL;
	tp_signal_forked();
}

void tp_trigger_shield(const struct tp_config *config)
{
	tp_signal_shield(config ? (int)config->trigger.signal : 0);
}
