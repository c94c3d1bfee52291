/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_time.c - what each device did in each step: takes steps and work, hands out figures
 */
#include "merge/facts/time/gpu_time_in.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/occupancy.h"
#include "merge/facts/time/tensor_cores.h"
#include "merge/kit/grow.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/device.h"
#include "runtime/trace/torch_names.h"

/* Work that begins so long after its call, though nothing runs, waits for what is not recorded: at a window's
 * begin for what was launched before CUPTI was asked. */
enum { LATE_NS = 1000000 };

const char *tp_idle_name(enum tp_idle cause)
{
	static const char *const names[TP_IDLE_N] = {
	    [TP_IDLE_COPY] = "a copy",
	    [TP_IDLE_HOST] = "the host",
	    [TP_IDLE_QUEUE] = "another stream",
	    [TP_IDLE_OTHER] = "something else",
	};

	return names[cause];
}

bool tp_gpu_is_communication(const struct tp_event *event)
{
	return event->kind == TP_REC_KERNEL &&
	       tp_begins(event->name->bytes, event->name->n_bytes, TP_NAME_NCCL_KERNEL);
}

/* ---- events ---- */

static void grow_steps(struct tp_gpu_time *time, struct tp_gpu_sweep *s)
{
	uint32_t n = time->steps[s->pub.proc->at].n;

	if (n && !tp_grow(&s->pub.step, &s->cap_steps, n, sizeof(*s->pub.step)))
		time->is_incomplete = true;
}

static struct tp_gpu_sweep *find_sweep(struct tp_gpu_time *time, const struct tp_event *event)
{
	struct tp_gpu_sweep *s;

	for (uint32_t i = 0; i < time->n_sweeps; i++) {
		s = time->sweep[i];
		if (s->pub.proc == event->proc && s->pub.id == event->queue->device)
			return s;
	}
	s = calloc(1, sizeof(*s));
	if (!s || !tp_grow(&time->sweep, &time->cap_sweeps, (uint64_t)time->n_sweeps + 1,
			   sizeof(struct tp_gpu_sweep *))) {
		free(s);
		time->is_incomplete = true;
		return NULL;
	}
	s->pub.proc = event->proc;
	s->pub.id = event->queue->device;
	s->pub.device = tp_device_of(event->proc, s->pub.id);
	s->range_end_ns = INT64_MIN;
	grow_steps(time, s);
	time->sweep[time->n_sweeps++] = s;
	return s;
}

/* Before its first work a device was idle, as far back as anything is asked about. */
static void begin_sweep(struct tp_gpu_time *time, struct tp_gpu_sweep *s, int64_t now)
{
	const struct tp_gpu_steps *steps = &time->steps[s->pub.proc->at];
	const struct tp_window *window = tp_gpu_window_at(time, s, &s->window);

	s->has_begun = true;
	s->now_ns = now;
	if (steps->n && steps->step[0].begin_ns < s->now_ns)
		s->now_ns = steps->step[0].begin_ns;
	if (window && window->begin_ns < s->now_ns)
		s->now_ns = window->begin_ns;
	if (s->now_ns < -TP_GPU_TIME_MAX_NS)
		s->now_ns = -TP_GPU_TIME_MAX_NS;
}

/* Was it asked for in a step of the window being added up? Such work belongs to it though it
 * runs on behind it. */
static bool is_of_range(const struct tp_gpu_steps *steps, const struct tp_gpu_sweep *s,
			const struct tp_launch_call *call)
{
	const struct tp_gpu_step *first;

	if (!s->has_range)
		return false;
	first = &steps->step[s->range];
	if (call->window != first->window || call->begin_ns < first->begin_ns)
		return false;
	for (uint32_t i = steps->n; i-- > s->range;)
		if (steps->step[i].window == first->window &&
		    steps->step[i].begin_ns <= call->begin_ns)
			return call->begin_ns < steps->step[i].end_ns;
	return false;
}

static struct tp_gpu_open describe(struct tp_gpu_time *time, const struct tp_gpu_sweep *s,
				   const struct tp_event *event)
{
	struct tp_gpu_open open = {.end_ns = event->end_ns > event->begin_ns ? event->end_ns
								      : event->begin_ns,
			    .queue = event->queue, .kind = TP_GPU_COPY};
	const struct tp_occupancy *o;
	struct tp_name_of *of;

	if (event->kind == TP_REC_MEMCPY || event->kind == TP_REC_MEMSET)
		return open;
	open.kind = TP_GPU_COMPUTE;
	if (event->kind != TP_REC_KERNEL)
		return open;
	if (!tp_grow(&time->of, &time->cap_of, (uint64_t)event->name->same + 1, sizeof(*of))) {
		time->is_incomplete = true;
		return open;
	}
	of = &time->of[event->name->same];
	if (!of->is_looked_up) {
		of->is_looked_up = true;
		of->is_communication = tp_gpu_is_communication(event);
		of->uses_tensor_cores =
		    tp_tensor_cores_used(event->name->bytes, event->name->n_bytes);
	}
	open.kind = of->is_communication ? TP_GPU_COMM : TP_GPU_COMPUTE;
	open.uses_tensor_cores = of->uses_tensor_cores;
	o = tp_occupancy_of(&time->occupancies, s->pub.device, event);
	open.blocks = (float)(o->blocks < 1e6 ? o->blocks : 1e6);
	open.occupancy = (float)o->estimated;
	open.is_known = o->is_known;
	open.is_reported = o->is_reported;
	return open;
}

static bool is_late(const struct tp_event *event, const struct tp_launch_call *call)
{
	return tp_sub(event->begin_ns, call->end_ns) > LATE_NS;
}

/* Of all windows so far. */
static int64_t idle_in_steps(const struct tp_gpu_sweep *s)
{
	return tp_add(s->pub.total.idle_ns[TP_IDLE_HOST], s->sums.idle_ns[TP_IDLE_HOST]);
}

void tp_gpu_time_work(struct tp_gpu_time *time, const struct tp_event *event,
		      const struct tp_launch_call *call)
{
	enum tp_idle cause;
	struct tp_gpu_open open;
	struct tp_gpu_sweep *s;
	int64_t before_ns;

	time->waited_ns = 0;
	if (event->proc->at >= time->run->n_procs)
		return;
	s = find_sweep(time, event);
	if (!s)
		return;
	if (!s->has_begun)
		begin_sweep(time, s, event->begin_ns);
	s->pub.n_work++;
	s->pub.n_no_call += !call;
	if (call && call->n_work == 1)
		tp_gpu_take_launch(time, s, event, call);
	cause = tp_gpu_why(time, s, event, call);
	before_ns = idle_in_steps(s);
	if (cause == TP_IDLE_HOST && is_late(event, call)) {
		tp_gpu_advance(time, s, call->end_ns, cause);
		cause = TP_IDLE_OTHER;
	}
	tp_gpu_advance(time, s, event->begin_ns, cause);
	/* Less: it was the lead of a window. */
	time->waited_ns = tp_sub(idle_in_steps(s), before_ns);
	if (time->waited_ns < 0)
		time->waited_ns = 0;
	open = describe(time, s, event);
	s->pub.n_reported += open.is_reported;
	if (call && is_of_range(&time->steps[event->proc->at], s, call)) {
		if (!s->has_own && !s->n_open && is_late(event, call))
			tp_gpu_forget_lead(s);
		s->has_own = true;
		tp_gpu_extend_range(s, open.end_ns);
	}
	tp_gpu_push(time, s, &open);
}

void tp_gpu_time_step(struct tp_gpu_time *time, const struct tp_event *event)
{
	struct tp_gpu_steps *steps;
	int64_t begin_ns = event->begin_ns;

	if (event->proc->at >= time->run->n_procs)
		return;
	steps = &time->steps[event->proc->at];
	/* As breakdown.c does with steps that cross. */
	if (steps->n && steps->step[steps->n - 1].end_ns > begin_ns)
		steps->step[steps->n - 1].end_ns = begin_ns;
	if (!tp_grow(&steps->step, &steps->cap, (uint64_t)steps->n + 1, sizeof(*steps->step))) {
		time->is_incomplete = true;
		return;
	}
	steps->step[steps->n++] = (struct tp_gpu_step){
	    .index = event->link,
	    .begin_ns = begin_ns,
	    .end_ns = event->end_ns > begin_ns ? event->end_ns : begin_ns,
	    .window = event->window,
	};
	for (uint32_t i = 0; i < time->n_sweeps; i++)
		if (time->sweep[i]->pub.proc == event->proc)
			grow_steps(time, time->sweep[i]);
}

void tp_gpu_time_pieces(struct tp_gpu_time *time, int64_t piece_ns)
{
	for (uint32_t i = 0; i < time->n_windows; i++) {
		const struct tp_window *window = time->window[i];
		struct tp_event piece = {.proc = window->proc, .window = window->window};
		int64_t at = window->begin_ns > 0 ? window->begin_ns : 0;

		for (; at < window->end_ns; at = piece.end_ns) {
			piece.begin_ns = at;
			piece.end_ns = tp_sub(window->end_ns, at) > piece_ns ? at + piece_ns
									     : window->end_ns;
			tp_gpu_time_step(time, &piece);
			piece.link++;
		}
	}
}

static int compare_windows(const void *a, const void *b)
{
	const struct tp_window *x = *(const struct tp_window *const *)a,
			       *y = *(const struct tp_window *const *)b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static void init(struct tp_gpu_time *time, const struct tp_run *run)
{
	time->run = run;
	time->steps = tp_need(run->n_procs, sizeof(*time->steps));
	time->window = tp_need(run->n_windows, sizeof(struct tp_window *));
	for (uint32_t i = 0; i < run->n_windows; i++)
		time->window[time->n_windows++] = &run->window[i];
	qsort(time->window, time->n_windows, sizeof(struct tp_window *), compare_windows);
}

struct tp_gpu_time *tp_gpu_time_new(const struct tp_run *run)
{
	struct tp_gpu_time *time = tp_need(1, sizeof(*time));

	init(time, run);
	return time;
}

static int compare_sweeps(const void *a, const void *b)
{
	const struct tp_gpu_device *x = &(*(struct tp_gpu_sweep *const *)a)->pub,
				   *y = &(*(struct tp_gpu_sweep *const *)b)->pub;

	if (x->proc->at != y->proc->at)
		return x->proc->at < y->proc->at ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static void end_sweep(struct tp_gpu_time *time, struct tp_gpu_sweep *s)
{
	const struct tp_gpu_steps *steps = &time->steps[s->pub.proc->at];
	int64_t last = s->now_ns;

	for (uint32_t i = 0; i < s->n_open; i++)
		if (s->open[i].end_ns > last)
			last = s->open[i].end_ns;
	if (steps->n && steps->step[steps->n - 1].end_ns > last)
		last = steps->step[steps->n - 1].end_ns;
	for (uint32_t i = 0; i < time->n_windows; i++)
		if (time->window[i]->proc == s->pub.proc && time->window[i]->end_ns > last)
			last = time->window[i]->end_ns;
	if (last > TP_GPU_TIME_MAX_NS)
		last = TP_GPU_TIME_MAX_NS;
	/* Nobody asked for more. */
	tp_gpu_advance(time, s, last, tp_gpu_has_gap(time, s->pub.proc, s->now_ns, last) ? TP_IDLE_OTHER
											  : TP_IDLE_HOST);
	tp_gpu_close_range(s);
	s->pub.has_steps = steps->n != 0;
	if (!s->pub.has_steps)
		s->pub.total = s->whole;
	if (s->cap_steps < steps->n)
		time->is_incomplete = true;
}

void tp_gpu_time_end(struct tp_gpu_time *time)
{
	for (uint32_t i = 0; i < time->n_sweeps; i++)
		end_sweep(time, time->sweep[i]);
	if (time->n_sweeps)
		qsort(time->sweep, time->n_sweeps, sizeof(struct tp_gpu_sweep *), compare_sweeps);
}

static void release(void *state)
{
	struct tp_gpu_time *time = state;

	for (uint32_t i = 0; i < time->n_sweeps; i++) {
		struct tp_gpu_sweep *s = time->sweep[i];

		for (uint32_t k = 0; k < s->pub.n_queues; k++)
			free(s->pub.queue[k].start);
		free(s->pub.queue);
		free(s->pub.step);
		tp_spread_free(&s->pub.delay);
		free(s->open);
		free(s);
	}
	free(time->sweep);
	for (uint32_t i = 0; i < time->run->n_procs; i++) {
		free(time->steps[i].step);
		free(time->steps[i].gap);
	}
	free(time->steps);
	free(time->window);
	free(time->of);
}

void tp_gpu_time_free(struct tp_gpu_time *time)
{
	if (time)
		release(time);
	free(time);
}

int64_t tp_gpu_time_waited(const struct tp_gpu_time *time)
{
	return time->waited_ns;
}

uint32_t tp_gpu_time_count(const struct tp_gpu_time *time)
{
	return time->n_sweeps;
}

const struct tp_gpu_device *tp_gpu_time_at(const struct tp_gpu_time *time, uint32_t i)
{
	return &time->sweep[i]->pub;
}

const struct tp_gpu_step *tp_gpu_time_steps(const struct tp_gpu_time *time,
					    const struct tp_proc *proc, uint32_t *n)
{
	*n = time->steps[proc->at].n;
	return time->steps[proc->at].step;
}

bool tp_gpu_time_is_incomplete(const struct tp_gpu_time *time)
{
	return time->is_incomplete;
}

/* ---- the fact ---- */

static void take_work(void *state, const struct tp_event *event, struct tp_launch_call *call)
{
	tp_gpu_time_work(state, event, call);
}

static void begin_time(void *state, struct tp_facts *facts, const void *params)
{
	init(state, tp_facts_run(facts));
	tp_launches_read(tp_facts_want(facts, &tp_fact_launches_cut, NULL), take_work, NULL, state);
}

static void take_event(void *state, const struct tp_event *event)
{
	if (event->kind == TP_REC_MARK)
		tp_gpu_note_gap(state, event);
	else
		tp_gpu_time_step(state, event);
}

static void end_time(void *state)
{
	tp_gpu_time_end(state);
}

const struct tp_fact tp_fact_gpu_time = {
	.name = "GPU time",
	.bytes = sizeof(struct tp_gpu_time),
	.kinds = TP_FACT_KIND(TP_REC_STEP) | TP_FACT_KIND(TP_REC_MARK),
	.is_cut = true,
	.begin = begin_time,
	.event = take_event,
	.end = end_time,
	.free = release,
};
