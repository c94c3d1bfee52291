/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_modules.c - calls of nn.Modules
 *
 * As torch.profiler writes them with with_modules: slices on the thread itself, from which
 * TensorBoard's plugin makes its view by their ids. A call's slice ends with its last operator or
 * range, so that it never crosses one; it is put when the call is known to be over.
 *
 * Or on tracks of their own below the thread: one of the forward pass, one of the backward pass.
 * Inner calls are over first: those of an outermost one are put together, in order. In the
 * backward pass a module goes on from the first node of autograd that its forward operators made
 * to the last one before another module's, and an outer one around those of its inner ones, until
 * a next pass begins.
 *
 * Memory: the calls inside the outermost ones that go on.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/sink/timeline_in.h"
#include "runtime/base/text.h"

enum {
	HELD_MOST = 1 << 16,	/* calls of one outermost one */
	NAME_MOST = 400,	/* bytes */
	CLASS_MOST = 100,
};

struct pass {			/* forward or backward, of a thread */
	struct tp_track track;	/* ids of what is open are paths */
	const char *title;
};

struct thread {
	const struct tp_proc *proc;
	const struct tp_thread *thread;
	struct pass forward, backward;
	struct tp_module_call *held; /* calls that are over, but for the one around them */
	uint32_t n_held, cap_held;
	uint32_t n_passes;	/* as its process counted when backward's were opened */
};

struct tp_module_tracks {	/* of a process */
	struct thread *thread;	/* by index of the thread */
	uint32_t cap;
	uint32_t n_passes;	/* calls of outermost modules */
};

/* "nn.Module: blocks.0 (Block)"; of an outermost one its class. */
static void put_call(struct tp_timeline *t, struct tp_lane *lane,
		     const struct tp_module_call *call)
{
	const struct tp_module_paths *paths = tp_module_times_paths(t->modules);
	const struct tp_module_path *path = tp_module_paths_at(paths, call->path);
	char title[NAME_MOST + 2 * CLASS_MOST];
	uint32_t n, n_class;
	const char *name = tp_module_name(path, &n), *class = tp_module_class(path, &n_class);
	struct tp_slice *s = tp_timeline_begin(t, lane, TP_SLICE_MODULE, call->begin_ns,
					       call->end_ns);
	struct tp_text text;

	tp_text_init(&text, title, sizeof(title));
	tp_text_str(&text, t->dialect->module_prefix);
	tp_text_bytes(&text, name, n < NAME_MOST ? n : NAME_MOST);
	tp_text_str(&text, n ? " (" : "");
	tp_text_bytes(&text, n_class ? class : "?",
		      !n_class ? 1 : n_class < CLASS_MOST ? n_class : CLASS_MOST);
	tp_text_str(&text, n ? ")" : "");
	s->text = title;
	tp_arg_uint(&s->args, TP_KEY_PYTHON_ID, call->id);
	tp_arg_add(&s->args, TP_KEY_PYTHON_PARENT, call->outer_id ? TP_ARG_UINT : TP_ARG_NULL)
		->number = call->outer_id;
	tp_arg_uint(&s->args, TP_KEY_PYTHON_MODULE, call->path);
	tp_timeline_put(t);
}

/* NULL: of none of its process's. */
static struct thread *thread_of(struct tp_timeline *t, const struct tp_proc *proc,
				const struct tp_thread *thread)
{
	struct tp_module_tracks *of = &t->module_tracks[proc->at];
	uint32_t at = (uint32_t)(thread - proc->thread);

	if (at > proc->n_threads)
		return NULL;
	tp_need_room(&of->thread, &of->cap, (uint64_t)at + 1, sizeof(*of->thread));
	of->thread[at].proc = proc;
	of->thread[at].thread = thread;
	of->thread[at].forward.title = "modules";
	of->thread[at].backward.title = "modules, backward";
	return &of->thread[at];
}

static struct tp_lane *lane_of(struct tp_timeline *t, const struct thread *thread,
			       struct pass *pass, int64_t begin_ns)
{
	const struct tp_event at_begin = {.proc = thread->proc, .thread = thread->thread,
					  .begin_ns = begin_ns};

	if (!pass->track.user)
		pass->track.user = tp_timeline_below(t, &at_begin, pass->title);
	return pass->track.user;
}

/* ---- forward ---- */

static int compare_calls(const void *a, const void *b)
{
	const struct tp_module_call *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* In order, each inside what it lies in. */
static void put_held(struct tp_timeline *t, struct thread *thread)
{
	struct tp_track *track = &thread->forward.track;
	struct tp_lane *lane;

	if (!thread->n_held)
		return;
	qsort(thread->held, thread->n_held, sizeof(*thread->held), compare_calls);
	lane = lane_of(t, thread, &thread->forward, thread->held[0].begin_ns);
	for (uint32_t i = 0; i < thread->n_held; i++) {
		struct tp_module_call *call = &thread->held[i];

		tp_track_push(track, call->begin_ns, &call->end_ns, t->pop, t);
		put_call(t, lane, call);
	}
	tp_tracks_pop(track, INT64_MAX, t->pop, t);
	thread->n_held = 0;
}

static void take_call(void *timeline, const struct tp_module_call *call)
{
	struct tp_timeline *t = timeline;
	const struct tp_event at = {.proc = call->proc, .thread = call->thread,
				    .begin_ns = call->begin_ns};
	struct thread *thread;

	if (!tp_timeline_shows(t, call->proc))
		return;
	if (!t->dialect->has_module_tracks) {
		put_call(t, tp_timeline_own(t, &at), call);
		return;
	}
	thread = thread_of(t, call->proc, call->thread);
	if (!thread) {
		t->n_unplaced++;
		return;
	}
	tp_need_room(&thread->held, &thread->cap_held, (uint64_t)thread->n_held + 1,
		     sizeof(*thread->held));
	thread->held[thread->n_held++] = *call;
	if (!call->outer_id || thread->n_held == HELD_MOST)
		put_held(t, thread);
}

/* ---- backward ---- */

static void close_backward(struct tp_timeline *t, struct tp_track *track, uint32_t depth)
{
	while (track->depth > depth) {
		track->depth--;
		t->pop(t, track, track->open[track->depth].end_ns);
	}
}

/* The path and those outside it that are not open yet. */
static void open_backward(struct tp_timeline *t, struct tp_track *track, uint32_t path,
			  const struct tp_event *event)
{
	const struct tp_module_paths *paths = tp_module_times_paths(t->modules);
	uint32_t depth = tp_module_paths_at(paths, path)->depth;

	tp_need_room(&track->open, &track->cap, depth, sizeof(*track->open));
	for (uint32_t at = path, i = depth; i-- > track->depth;
	     at = tp_module_paths_at(paths, at)->outer)
		track->open[i] = (struct tp_track_span){.id = at};
	for (; track->depth < depth; track->depth++) {
		struct tp_module_call call = {.path = track->open[track->depth].id,
					      .begin_ns = event->begin_ns};

		put_call(t, track->user, &call);
	}
	for (uint32_t i = 0; i < depth; i++)
		if (track->open[i].end_ns < event->end_ns)
			track->open[i].end_ns = event->end_ns;
}

/* A node of autograd. */
static void take_node(struct tp_timeline *t, const struct tp_event *event)
{
	struct tp_origin origin = tp_origins_of(tp_module_times_origins(t->modules), event);
	const struct tp_module_paths *paths = tp_module_times_paths(t->modules);
	struct tp_module_tracks *of = &t->module_tracks[event->proc->at];
	struct thread *thread;
	struct tp_track *track;

	if (!origin.path || !origin.is_backward)
		return;
	thread = thread_of(t, event->proc, event->thread);
	if (!thread) {
		t->n_unplaced++;
		return;
	}
	lane_of(t, thread, &thread->backward, event->begin_ns);
	track = &thread->backward.track;
	if (thread->n_passes != of->n_passes)
		close_backward(t, track, 0);
	thread->n_passes = of->n_passes;
	while (track->depth &&
	       !tp_module_paths_is_outside(paths, track->open[track->depth - 1].id, origin.path))
		close_backward(t, track, track->depth - 1);
	open_backward(t, track, origin.path, event);
}

/* ---- the rest ---- */

void tp_timeline_modules_event(struct tp_timeline *t, const struct tp_event *event)
{
	tp_facts_event(t->facts, event);
	if (!t->dialect->has_module_tracks)
		return;
	if (event->kind == TP_REC_STACK && event->flags & TP_STACK_CALL) {
		struct tp_module_paths *paths = tp_module_times_paths(t->modules);
		uint32_t path = tp_module_paths_of(paths, event);

		t->module_tracks[event->proc->at].n_passes +=
			tp_module_paths_at(paths, path)->depth == 1;
	}
	if (event->kind == TP_REC_OP && event->flags & TP_F_BACKWARD &&
	    !(event->flags & TP_F_ASYNC))
		take_node(t, event);
}

void tp_timeline_modules_init(struct tp_timeline *t)
{
	t->module_tracks = tp_need(t->run->n_procs + 1, sizeof(*t->module_tracks));
	t->facts = tp_facts_new(t->run);
	t->modules = tp_facts_want(t->facts, &tp_fact_module_times, NULL);
	tp_module_times_read(t->modules, take_call, t);
}

void tp_timeline_modules_end(struct tp_timeline *t)
{
	tp_facts_end(t->facts);
	for (uint32_t p = 0; p < t->run->n_procs; p++)
		for (uint32_t i = 0; i < t->module_tracks[p].cap; i++) {
			struct thread *thread = &t->module_tracks[p].thread[i];

			put_held(t, thread);
			close_backward(t, &thread->backward.track, 0);
		}
}

void tp_timeline_modules_free(struct tp_timeline *t)
{
	for (uint32_t p = 0; p < t->run->n_procs; p++) {
		for (uint32_t i = 0; i < t->module_tracks[p].cap; i++) {
			struct thread *thread = &t->module_tracks[p].thread[i];

			free(thread->forward.track.open);
			free(thread->backward.track.open);
			free(thread->held);
		}
		free(t->module_tracks[p].thread);
	}
	free(t->module_tracks);
	tp_facts_free(t->facts);
}
