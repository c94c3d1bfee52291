/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_time.c - what each device did in each step
 *
 * Time goes on from one end of work, or edge of a step or window, to the next (advance): in
 * between nothing changes, and what runs is added to what the time belongs to (add). A time
 * in which nothing runs waits for the next work, which says why.
 */
#include "merge/gpu_time.h"

#include <stdlib.h>
#include <string.h>

#include "merge/device.h"
#include "merge/grow.h"
#include "merge/occupancy.h"
#include "merge/sum.h"
#include "merge/tensor_cores.h"

/* As clip.h bounds events: further away no time is real. */
#define TIME_MAX_NS ((int64_t)1 << 60)

enum { STARTS_KEPT = 4096 }; /* of a queue: more than the driver lets wait */

enum kind { COMPUTE, COMM, COPY, N_KINDS };

/* Work that runs. */
struct open {
	int64_t end_ns;
	const struct tp_queue *queue;
	float blocks, occupancy;
	uint8_t kind;
	bool is_known, uses_tensor_cores;
};

struct sweep {			/* of a device */
	struct tp_gpu_device pub;
	bool has_begun;
	int64_t now_ns;
	struct open *open;	/* a heap: the first ends first */
	uint32_t n_open, cap_open;
	const struct tp_queue *last; /* the queue of the work that ended last */
	uint32_t n_kind[N_KINDS];
	double blocks, occupancy, n_known, n_tensor; /* sums over `open` */
	uint32_t at;		/* first step that has not ended */
	uint32_t cap_steps;
	/* The window whose steps are being added up; steps [range, ...) are of it. */
	uint32_t range;
	bool has_range, has_own;/* work launched in it has begun */
	int64_t range_end_ns;
	struct tp_gpu_figures lead, sums, tail; /* before its own work; up to range_end_ns; on */
	struct tp_gpu_figures whole;
	uint32_t window;	/* first one of the process that has not ended */
};

struct steps {			/* of a process */
	struct tp_gpu_step *step;
	uint32_t n, cap;
};

struct tp_gpu_time {
	const struct tp_run *run;
	struct steps *steps;	/* by tp_proc.at */
	const struct tp_window **window; /* by begin */
	uint32_t n_windows;
	struct sweep **sweep;
	uint32_t n_sweeps, cap_sweeps;
	struct tp_name_of {
		bool is_looked_up, is_communication, uses_tensor_cores;
	} *of;			/* by tp_string.same */
	uint32_t cap_of;
	bool is_incomplete;
};

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
	return event->kind == TP_REC_KERNEL && event->name->n_bytes >= 4 &&
	       !memcmp(event->name->bytes, "nccl", 4);
}

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
static struct tp_gpu_figures now_for(const struct sweep *s, int64_t ns, enum tp_idle cause)
{
	const uint32_t *n = s->n_kind;
	bool has_kernel = n[COMPUTE] || n[COMM];
	struct tp_gpu_figures f = {.all_ns = ns};

	f.busy_ns = s->n_open ? ns : 0;
	f.kernel_ns = has_kernel ? ns : 0;
	f.compute_ns = n[COMPUTE] ? ns : 0;
	f.comm_ns = n[COMM] ? ns : 0;
	f.copy_ns = n[COPY] ? ns : 0;
	f.compute_copy_ns = n[COMPUTE] && n[COPY] ? ns : 0;
	f.compute_comm_ns = n[COMPUTE] && n[COMM] ? ns : 0;
	if (!has_kernel)
		f.idle_ns[n[COPY] ? TP_IDLE_COPY : cause] = ns;
	f.sm_ns = (s->blocks < 1 ? s->blocks : 1) * (double)ns;
	f.occupancy_ns = s->occupancy * (double)ns;
	f.known_ns = s->n_known * (double)ns;
	f.run_ns = (double)(n[COMPUTE] + n[COMM]) * (double)ns;
	f.tensor_ns = s->n_tensor * (double)ns;
	return f;
}

static void close_range(struct sweep *s)
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

/* The window's steps, or the work launched in them, last to there. */
static void extend_range(struct sweep *s, int64_t end_ns)
{
	if (end_ns <= s->range_end_ns)
		return;
	tp_gpu_add(&s->sums, &s->tail);
	memset(&s->tail, 0, sizeof(s->tail));
	s->range_end_ns = end_ns;
}

/* The first window of the device's process from the i-th on; NULL: none. */
static const struct tp_window *window_at(const struct tp_gpu_time *time, const struct sweep *s,
					 uint32_t *i)
{
	for (; *i < time->n_windows; ++*i)
		if (time->window[*i]->proc == s->pub.proc)
			return time->window[*i];
	return NULL;
}

/* Steps and windows that are over at `now` are left; the next edge after it. */
static int64_t next_edge(const struct tp_gpu_time *time, struct sweep *s, const struct steps *steps,
			 bool *is_in_step, bool *is_in_window)
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
			close_range(s);
			s->has_range = true;
			s->range = s->at;
		}
	}
	if (*is_in_step)
		extend_range(s, steps->step[s->at].end_ns);
	while ((window = window_at(time, s, &s->window)) && window->end_ns <= s->now_ns)
		s->window++;
	if (window) {
		*is_in_window = window->begin_ns <= s->now_ns;
		if ((*is_in_window ? window->end_ns : window->begin_ns) < edge)
			edge = *is_in_window ? window->end_ns : window->begin_ns;
	}
	return edge;
}

/* From now to `to`, in which no work begins or ends. */
static void add(struct tp_gpu_time *time, struct sweep *s, int64_t to, enum tp_idle cause)
{
	const struct steps *steps = &time->steps[s->pub.proc->at];

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

/* ---- what runs ---- */

static void push(struct tp_gpu_time *time, struct sweep *s, const struct open *open)
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

static void pop(struct sweep *s)
{
	struct open gone = s->open[0], last = s->open[--s->n_open];
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

/* Up to `to`; `cause` is why nothing runs where nothing does. */
static void advance(struct tp_gpu_time *time, struct sweep *s, int64_t to, enum tp_idle cause)
{
	while (s->n_open && s->open[0].end_ns <= to) {
		add(time, s, s->open[0].end_ns, cause);
		pop(s);
		/* Until now only what was asked for before the window ran. */
		if (s->has_range && !s->has_own) {
			tp_gpu_add(&s->lead, &s->sums);
			memset(&s->sums, 0, sizeof(s->sums));
		}
	}
	add(time, s, to, cause);
}

/* ---- queues ---- */

static struct tp_gpu_queue *find_queue(struct tp_gpu_time *time, struct sweep *s,
				       const struct tp_queue *queue)
{
	struct tp_gpu_device *d = &s->pub;

	for (uint32_t i = 0; i < d->n_queues; i++)
		if (d->queue[i].queue == queue)
			return &d->queue[i];
	if (!tp_grow(&d->queue, &d->cap_queues, (uint64_t)d->n_queues + 1, sizeof(*d->queue))) {
		time->is_incomplete = true;
		return NULL;
	}
	d->queue[d->n_queues].queue = queue;
	return &d->queue[d->n_queues++];
}

/* The i-th of the starts kept, the oldest first. */
static int64_t start_at(const struct tp_gpu_queue *q, uint32_t i)
{
	return q->start[(q->next_start + q->cap_starts - q->n_starts + i) % q->cap_starts];
}

static bool make_room_for_start(struct tp_gpu_queue *q)
{
	uint32_t cap = q->cap_starts ? q->cap_starts * 2 : 32;
	int64_t *start;

	if (q->n_starts < q->cap_starts || q->cap_starts == STARTS_KEPT)
		return true;
	start = malloc(cap * sizeof(*start));
	if (!start)
		return false;
	for (uint32_t i = 0; i < q->n_starts; i++)
		start[i] = start_at(q, i);
	free(q->start);
	q->start = start;
	q->cap_starts = cap;
	q->next_start = q->n_starts;
	return true;
}

/*
 * Work of a queue begins in the order of its calls: at the call of one, those before it wait
 * that began only later.
 */
static void take_launch(struct tp_gpu_time *time, struct sweep *s, const struct tp_event *event,
			const struct tp_launch_call *call)
{
	struct tp_gpu_queue *q = find_queue(time, s, event->queue);
	int64_t delay = tp_sub(event->begin_ns, call->begin_ns);
	uint32_t low = 0, high;

	if (delay < 0) {
		s->pub.n_before_call++;
		if (-delay > s->pub.most_before_ns)
			s->pub.most_before_ns = -delay;
		delay = 0;
	}
	if (!tp_spread_add(&s->pub.delay, delay))
		time->is_incomplete = true;
	if (!q || !make_room_for_start(q)) {
		time->is_incomplete = true;
		return;
	}
	q->n_launches++;
	q->wait_ns = tp_add(q->wait_ns, delay);
	for (high = q->n_starts; low < high;) {
		uint32_t middle = (low + high) / 2;

		if (start_at(q, middle) <= call->begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (q->n_starts - low + 1 > q->depth_most)
		q->depth_most = q->n_starts - low + 1;
	q->start[q->next_start] = event->begin_ns;
	q->next_start = (q->next_start + 1) % q->cap_starts;
	if (q->n_starts < q->cap_starts)
		q->n_starts++;
}

/* ---- events ---- */

static void grow_steps(struct tp_gpu_time *time, struct sweep *s)
{
	uint32_t n = time->steps[s->pub.proc->at].n;

	if (n && !tp_grow(&s->pub.step, &s->cap_steps, n, sizeof(*s->pub.step)))
		time->is_incomplete = true;
}

static struct sweep *find_sweep(struct tp_gpu_time *time, const struct tp_event *event)
{
	struct sweep *s;

	for (uint32_t i = 0; i < time->n_sweeps; i++) {
		s = time->sweep[i];
		if (s->pub.proc == event->proc && s->pub.id == event->queue->device)
			return s;
	}
	s = calloc(1, sizeof(*s));
	if (!s || !tp_grow(&time->sweep, &time->cap_sweeps, (uint64_t)time->n_sweeps + 1,
			   sizeof(struct sweep *))) {
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
static void begin_sweep(struct tp_gpu_time *time, struct sweep *s, int64_t now)
{
	const struct steps *steps = &time->steps[s->pub.proc->at];
	const struct tp_window *window = window_at(time, s, &s->window);

	s->has_begun = true;
	s->now_ns = now;
	if (steps->n && steps->step[0].begin_ns < s->now_ns)
		s->now_ns = steps->step[0].begin_ns;
	if (window && window->begin_ns < s->now_ns)
		s->now_ns = window->begin_ns;
	if (s->now_ns < -TIME_MAX_NS)
		s->now_ns = -TIME_MAX_NS;
}

/* Why nothing runs between the end of what runs now and the begin of this. */
static enum tp_idle why(const struct sweep *s, const struct tp_event *event,
			const struct tp_launch_call *call)
{
	const struct tp_queue *last = s->last;
	int64_t idle_ns = s->now_ns;

	for (uint32_t i = 0; i < s->n_open; i++) {
		if (s->open[i].end_ns >= idle_ns) {
			idle_ns = s->open[i].end_ns;
			last = s->open[i].queue;
		}
	}
	if (!call)
		return TP_IDLE_OTHER;
	if (call->end_ns > idle_ns)
		return TP_IDLE_HOST;
	return last && last != event->queue ? TP_IDLE_QUEUE : TP_IDLE_OTHER;
}

/* Was it asked for in a step of the window being added up? Such work belongs to it though it
 * runs on behind it. */
static bool is_of_range(const struct steps *steps, const struct sweep *s,
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

static struct open describe(struct tp_gpu_time *time, const struct sweep *s,
			    const struct tp_event *event)
{
	struct open open = {.end_ns = event->end_ns > event->begin_ns ? event->end_ns
								      : event->begin_ns,
			    .queue = event->queue, .kind = COPY};
	struct tp_launch launch;
	struct tp_occupancy o;
	struct tp_name_of *of;

	if (event->kind == TP_REC_MEMCPY || event->kind == TP_REC_MEMSET)
		return open;
	open.kind = COMPUTE;
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
	open.kind = of->is_communication ? COMM : COMPUTE;
	open.uses_tensor_cores = of->uses_tensor_cores;
	launch = tp_device_launch(event);
	o = tp_occupancy(s->pub.device, &launch);
	open.blocks = (float)(o.blocks < 1e6 ? o.blocks : 1e6);
	open.occupancy = (float)o.estimated;
	open.is_known = o.blocks_per_sm != 0;
	return open;
}

void tp_gpu_time_work(struct tp_gpu_time *time, const struct tp_event *event,
		      const struct tp_launch_call *call)
{
	enum tp_idle cause;
	struct open open;
	struct sweep *s;

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
		take_launch(time, s, event, call);
	cause = why(s, event, call);
	advance(time, s, event->begin_ns, cause);
	open = describe(time, s, event);
	push(time, s, &open);
	if (call && is_of_range(&time->steps[event->proc->at], s, call)) {
		s->has_own = true;
		extend_range(s, open.end_ns);
	}
}

void tp_gpu_time_step(struct tp_gpu_time *time, const struct tp_event *event)
{
	struct steps *steps;
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

static int compare_windows(const void *a, const void *b)
{
	const struct tp_window *x = *(const struct tp_window *const *)a,
			       *y = *(const struct tp_window *const *)b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

struct tp_gpu_time *tp_gpu_time_new(const struct tp_run *run)
{
	struct tp_gpu_time *time = calloc(1, sizeof(*time));

	if (!time)
		return NULL;
	time->run = run;
	time->steps = calloc(run->n_procs + 1, sizeof(*time->steps));
	time->window = malloc((run->n_windows + 1) * sizeof(struct tp_window *));
	if (!time->steps || !time->window) {
		tp_gpu_time_free(time);
		return NULL;
	}
	for (uint32_t i = 0; i < run->n_windows; i++)
		time->window[time->n_windows++] = &run->window[i];
	qsort(time->window, time->n_windows, sizeof(struct tp_window *), compare_windows);
	return time;
}

static int compare_sweeps(const void *a, const void *b)
{
	const struct tp_gpu_device *x = &(*(struct sweep *const *)a)->pub,
				   *y = &(*(struct sweep *const *)b)->pub;

	if (x->proc->at != y->proc->at)
		return x->proc->at < y->proc->at ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static void end_sweep(struct tp_gpu_time *time, struct sweep *s)
{
	const struct steps *steps = &time->steps[s->pub.proc->at];
	int64_t last = s->now_ns;

	for (uint32_t i = 0; i < s->n_open; i++)
		if (s->open[i].end_ns > last)
			last = s->open[i].end_ns;
	if (steps->n && steps->step[steps->n - 1].end_ns > last)
		last = steps->step[steps->n - 1].end_ns;
	for (uint32_t i = 0; i < time->n_windows; i++)
		if (time->window[i]->proc == s->pub.proc && time->window[i]->end_ns > last)
			last = time->window[i]->end_ns;
	if (last > TIME_MAX_NS)
		last = TIME_MAX_NS;
	/* Nobody asked for more. */
	advance(time, s, last, TP_IDLE_HOST);
	close_range(s);
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
		qsort(time->sweep, time->n_sweeps, sizeof(struct sweep *), compare_sweeps);
}

void tp_gpu_time_free(struct tp_gpu_time *time)
{
	if (!time)
		return;
	for (uint32_t i = 0; i < time->n_sweeps; i++) {
		struct sweep *s = time->sweep[i];

		for (uint32_t k = 0; k < s->pub.n_queues; k++)
			free(s->pub.queue[k].start);
		free(s->pub.queue);
		free(s->pub.step);
		tp_spread_free(&s->pub.delay);
		free(s->open);
		free(s);
	}
	free(time->sweep);
	for (uint32_t i = 0; time->steps && i < time->run->n_procs; i++)
		free(time->steps[i].step);
	free(time->steps);
	free(time->window);
	free(time->of);
	free(time);
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
