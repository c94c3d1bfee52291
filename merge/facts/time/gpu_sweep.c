/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_sweep.c - a device's time, from one end of work, or edge of a step or window, to the next
 *
 * In between nothing changes: what runs is added to what the time belongs to (add). A time in
 * which nothing runs waits for the next work, which says why.
 */
#include "merge/facts/time/gpu_time_in.h"

#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"
#include "runtime/base/begins.h"

/* ---- adding up ---- */

void tp_gpu_add(struct tp_gpu_figures *to, const struct tp_gpu_figures *from)
{
	to->all_ns = tp_add(to->all_ns, from->all_ns);
	to->busy_ns = tp_add(to->busy_ns, from->busy_ns);
	to->kernel_ns = tp_add(to->kernel_ns, from->kernel_ns);
	to->compute_ns = tp_add(to->compute_ns, from->compute_ns);
	to->comm_ns = tp_add(to->comm_ns, from->comm_ns);
	to->copy_ns = tp_add(to->copy_ns, from->copy_ns);
	to->compute_copy_ns = tp_add(to->compute_copy_ns, from->compute_copy_ns);
	to->compute_comm_ns = tp_add(to->compute_comm_ns, from->compute_comm_ns);
	for (uint32_t i = 0; i < TP_IDLE_N; i++)
		to->idle_ns[i] = tp_add(to->idle_ns[i], from->idle_ns[i]);
	to->sm_ns += from->sm_ns;
	to->occupancy_ns += from->occupancy_ns;
	to->known_ns += from->known_ns;
	to->run_ns += from->run_ns;
	to->tensor_ns += from->tensor_ns;
}

/* What runs now, for so long. */
static struct tp_gpu_figures now_for(const struct tp_gpu_sweep *s, int64_t ns,
				     enum tp_idle cause)
{
	const uint32_t *n = s->n_kind;
	bool has_kernel = n[TP_GPU_COMPUTE] || n[TP_GPU_COMM];
	struct tp_gpu_figures f = {.all_ns = ns};

	f.busy_ns = s->n_open ? ns : 0;
	f.kernel_ns = has_kernel ? ns : 0;
	f.compute_ns = n[TP_GPU_COMPUTE] ? ns : 0;
	f.comm_ns = n[TP_GPU_COMM] ? ns : 0;
	f.copy_ns = n[TP_GPU_COPY] ? ns : 0;
	f.compute_copy_ns = n[TP_GPU_COMPUTE] && n[TP_GPU_COPY] ? ns : 0;
	f.compute_comm_ns = n[TP_GPU_COMPUTE] && n[TP_GPU_COMM] ? ns : 0;
	if (!has_kernel)
		f.idle_ns[n[TP_GPU_COPY] ? TP_IDLE_COPY : cause] = ns;
	f.sm_ns = (s->blocks < 1 ? s->blocks : 1) * (double)ns;
	f.occupancy_ns = s->occupancy * (double)ns;
	f.known_ns = s->n_known * (double)ns;
	f.run_ns = (double)(n[TP_GPU_COMPUTE] + n[TP_GPU_COMM]) * (double)ns;
	f.tensor_ns = s->n_tensor * (double)ns;
	return f;
}

void tp_gpu_close_range(struct tp_gpu_sweep *s)
{
	if (s->has_range)
		tp_gpu_add(&s->pub.total, &s->sums);
	/* Without any work of its own, nothing tells what is the lead. */
	if (s->has_range && !s->has_own)
		tp_gpu_add(&s->pub.total, &s->lead);
	s->has_range = s->has_own = false;
	s->range_end_ns = INT64_MIN;
	memset(&s->lead, 0, sizeof(s->lead));
	memset(&s->sums, 0, sizeof(s->sums));
	memset(&s->tail, 0, sizeof(s->tail));
}

static void end_lead(struct tp_gpu_sweep *s)
{
	tp_gpu_add(&s->lead, &s->sums);
	memset(&s->sums, 0, sizeof(s->sums));
}

void tp_gpu_forget_lead(struct tp_gpu_sweep *s)
{
	memset(&s->sums, 0, sizeof(s->sums));
	memset(&s->tail, 0, sizeof(s->tail));
}

void tp_gpu_extend_range(struct tp_gpu_sweep *s, int64_t end_ns)
{
	if (end_ns <= s->range_end_ns)
		return;
	tp_gpu_add(&s->sums, &s->tail);
	memset(&s->tail, 0, sizeof(s->tail));
	s->range_end_ns = end_ns;
}

const struct tp_window *tp_gpu_window_at(const struct tp_gpu_time *time,
					 const struct tp_gpu_sweep *s, uint32_t *i)
{
	for (; *i < time->n_windows; ++*i)
		if (time->window[*i]->proc == s->pub.proc)
			return time->window[*i];
	return NULL;
}

/* Steps and windows that are over at `now` are left; the next edge after it. */
static int64_t next_edge(const struct tp_gpu_time *time, struct tp_gpu_sweep *s,
			 const struct tp_gpu_steps *steps, bool *is_in_step,
			 bool *is_in_window)
{
	const struct tp_window *window;
	int64_t edge = INT64_MAX;

	*is_in_step = *is_in_window = false;
	while (s->at < steps->n && steps->step[s->at].end_ns <= s->now_ns)
		s->at++;
	if (s->at < steps->n) {
		const struct tp_gpu_step *step = &steps->step[s->at];

		*is_in_step = step->begin_ns <= s->now_ns;
		edge = *is_in_step ? step->end_ns : step->begin_ns;
		if (*is_in_step && (!s->has_range ||
				    steps->step[s->range].window != step->window)) {
			tp_gpu_close_range(s);
			s->has_range = true;
			s->range = s->at;
		}
	}
	if (*is_in_step)
		tp_gpu_extend_range(s, steps->step[s->at].end_ns);
	while ((window = tp_gpu_window_at(time, s, &s->window)) && window->end_ns <= s->now_ns)
		s->window++;
	if (window) {
		*is_in_window = window->begin_ns <= s->now_ns;
		if ((*is_in_window ? window->end_ns : window->begin_ns) < edge)
			edge = *is_in_window ? window->end_ns : window->begin_ns;
	}
	return edge;
}

/* From now to `to`, in which no work begins or ends. */
static void add(struct tp_gpu_time *time, struct tp_gpu_sweep *s, int64_t to,
		enum tp_idle cause)
{
	const struct tp_gpu_steps *steps = &time->steps[s->pub.proc->at];

	while (s->now_ns < to) {
		bool is_in_step, is_in_window;
		int64_t until = next_edge(time, s, steps, &is_in_step, &is_in_window);
		struct tp_gpu_figures f;

		if (s->has_range && s->range_end_ns > s->now_ns && s->range_end_ns < until)
			until = s->range_end_ns;
		if (until > to)
			until = to;
		f = now_for(s, until - s->now_ns, cause);
		if (is_in_step && s->at < s->cap_steps)
			tp_gpu_add(&s->pub.step[s->at], &f);
		if (s->has_range)
			tp_gpu_add(s->now_ns < s->range_end_ns ? &s->sums : &s->tail, &f);
		if (is_in_window || s->n_open)
			tp_gpu_add(&s->whole, &f);
		s->now_ns = until;
	}
}

/* ---- why nothing runs ---- */

void tp_gpu_note_gap(struct tp_gpu_time *time, const struct tp_event *event)
{
	static const char name[] = "trainprof: CUPTI was ";
	struct tp_gpu_steps *of = &time->steps[event->proc->at];

	if (!event->name->bytes || !tp_begins(event->name->bytes, event->name->n_bytes, name))
		return;
	if (!tp_grow(&of->gap, &of->cap_gaps, (uint64_t)of->n_gaps + 1, sizeof(*of->gap))) {
		time->is_incomplete = true;
		return;
	}
	of->gap[of->n_gaps++] = (struct tp_gpu_gap){event->begin_ns,
						    tp_add(event->begin_ns, (int64_t)event->arg)};
}

bool tp_gpu_has_gap(const struct tp_gpu_time *time, const struct tp_proc *proc, int64_t begin_ns,
		    int64_t end_ns)
{
	const struct tp_gpu_steps *of = &time->steps[proc->at];

	for (uint32_t i = of->n_gaps; i-- > 0;)
		if (of->gap[i].begin_ns < end_ns && of->gap[i].end_ns > begin_ns)
			return true;
	return false;
}

enum tp_idle tp_gpu_why(const struct tp_gpu_time *time, const struct tp_gpu_sweep *s,
			const struct tp_event *event, const struct tp_launch_call *call)
{
	const struct tp_queue *last = s->last;
	int64_t idle_ns = s->now_ns;

	for (uint32_t i = 0; i < s->n_open; i++) {
		if (s->open[i].end_ns >= idle_ns) {
			idle_ns = s->open[i].end_ns;
			last = s->open[i].queue;
		}
	}
	if (!call || tp_gpu_has_gap(time, event->proc, idle_ns, event->begin_ns))
		return TP_IDLE_OTHER;
	if (call->end_ns > idle_ns)
		return TP_IDLE_HOST;
	return last && last != event->queue ? TP_IDLE_QUEUE : TP_IDLE_OTHER;
}

/* ---- what runs ---- */

void tp_gpu_push(struct tp_gpu_time *time, struct tp_gpu_sweep *s,
		 const struct tp_gpu_open *open)
{
	uint32_t at = s->n_open;

	if (!tp_grow(&s->open, &s->cap_open, (uint64_t)at + 1, sizeof(*s->open))) {
		time->is_incomplete = true;
		return;
	}
	s->n_open++;
	for (; at && s->open[(at - 1) / 2].end_ns > open->end_ns; at = (at - 1) / 2)
		s->open[at] = s->open[(at - 1) / 2];
	s->open[at] = *open;
	s->n_kind[open->kind]++;
	s->blocks += open->blocks;
	s->occupancy += open->occupancy;
	s->n_known += open->is_known;
	s->n_tensor += open->uses_tensor_cores;
}

static void pop(struct tp_gpu_sweep *s)
{
	struct tp_gpu_open gone = s->open[0], last = s->open[--s->n_open];
	uint32_t at = 0;

	for (uint32_t child; (child = at * 2 + 1) < s->n_open; at = child) {
		if (child + 1 < s->n_open && s->open[child + 1].end_ns < s->open[child].end_ns)
			child++;
		if (last.end_ns <= s->open[child].end_ns)
			break;
		s->open[at] = s->open[child];
	}
	s->open[at] = last;
	s->n_kind[gone.kind]--;
	s->blocks -= gone.blocks;
	s->occupancy -= gone.occupancy;
	s->n_known -= gone.is_known;
	s->n_tensor -= gone.uses_tensor_cores;
	/* No error of many sums stays. */
	if (!s->n_open)
		s->blocks = s->occupancy = s->n_known = s->n_tensor = 0;
	s->last = gone.queue;
}

void tp_gpu_advance(struct tp_gpu_time *time, struct tp_gpu_sweep *s, int64_t to,
		    enum tp_idle cause)
{
	while (s->n_open && s->open[0].end_ns <= to) {
		add(time, s, s->open[0].end_ns, cause);
		pop(s);
		/* Until now only what was asked for before the window ran. */
		if (s->has_range && !s->has_own)
			end_lead(s);
	}
	add(time, s, to, cause);
}
