/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_modules.c - calls of nn.Modules on tracks of their own below their thread: one of the
 * forward pass, one of the backward pass
 *
 * A call is known to be over some time after its end, inner ones first: those of an outermost one
 * are written together, in order. In the backward pass a module goes on from the first node of
 * autograd that its forward operators made to the last one before another module's, and an outer
 * one around those of its inner ones, until a next pass begins.
 *
 * Memory: the calls inside of the outermost ones that go on.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/module_times.h"
#include "merge/kit/grow.h"
#include "merge/sink/perfetto.h"
#include "runtime/base/text.h"

enum {
	HELD_MOST = 1 << 16,	/* calls of one outermost one */
	NAME_MOST = 400,
};

enum pass { FORWARD, BACKWARD, N_PASSES };
static const char *const track_name[N_PASSES] = {"modules", "modules, backward"};

struct span {
	int64_t begin_ns, end_ns;
	uint64_t id;		/* of calls: an outer one's is lower */
	uint32_t path;
};

/* Of a thread. */
struct lane {
	const struct tp_proc *proc;
	const struct tp_thread *thread;
	struct tp_perfetto_sequence *q[N_PASSES];
	struct span *held;	/* calls that are over, but for the one around them */
	uint32_t n_held, cap_held;
	struct span *open;	/* of the backward pass, outermost first */
	uint32_t depth, cap_open;
	uint32_t n_passes;	/* as its process counted when they were opened */
};

struct tp_perfetto_modules {
	struct tp_perfetto *s;
	struct tp_facts *facts;		/* of its own: they get spans that are open, too */
	struct tp_module_times *times;
	struct proc {
		struct lane *lane;	/* by index of the thread */
		uint32_t cap;
		uint32_t n_passes;	/* calls of outermost modules */
	} *proc;
	uint32_t n_procs;
};

static struct lane *lane_of(struct tp_perfetto_modules *m, const struct tp_proc *proc,
			    const struct tp_thread *thread)
{
	struct proc *of = &m->proc[proc->at];
	uint32_t at = (uint32_t)(thread - proc->thread);

	if (at > proc->n_threads ||
	    !tp_grow(&of->lane, &of->cap, (uint64_t)at + 1, sizeof(*of->lane)))
		return NULL;
	of->lane[at].proc = proc;
	of->lane[at].thread = thread;
	return &of->lane[at];
}

/* NULL: out of memory. */
static struct tp_perfetto_sequence *open_track(struct tp_perfetto *s, const struct tp_proc *proc,
					       const struct tp_thread *thread, enum pass pass,
					       int64_t begin_ns)
{
	const struct tp_event at_begin = {.proc = proc, .thread = thread, .begin_ns = begin_ns};
	struct tp_track *own = tp_tracks_main(&s->book, &at_begin);
	const struct tp_perfetto_sequence *of_thread =
		own ? tp_perfetto_sequence_of(s, own, &at_begin, TP_TRACK_THREAD) : NULL;
	struct tp_perfetto_sequence *q = of_thread ? calloc(1, sizeof(*q)) : NULL;
	char *packet, *at, *p;

	if (!q)
		return NULL;
	q->uuid = ++s->n_uuids;
	tp_perfetto_open_sequence(s, q, begin_ns);
	p = tp_perfetto_begin_packet(s, q, 0, &packet);
	p = tp_proto_begin(p, PACKET_TRACK_DESCRIPTOR, &at);
	p = tp_proto_uint(p, DESCRIPTOR_UUID, q->uuid);
	p = tp_proto_uint(p, DESCRIPTOR_PARENT, of_thread->uuid);
	p = tp_proto_text(p, DESCRIPTOR_NAME, track_name[pass], strlen(track_name[pass]));
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
	return q;
}

/* "blocks.0 (Block)"; of an outermost one its class. */
static void put_begin(struct tp_perfetto_modules *m, struct tp_perfetto_sequence *q,
		      const struct span *span)
{
	const struct tp_module_paths *paths = tp_module_times_paths(m->times);
	const struct tp_module_path *path = tp_module_paths_at(paths, span->path);
	uint32_t n, n_class;
	const char *name = tp_module_name(path, &n), *class = tp_module_class(path, &n_class);
	char title[NAME_MOST], *packet, *at, *p;
	struct tp_text text;

	tp_text_init(&text, title, sizeof(title));
	tp_text_bytes(&text, name, n < NAME_MOST / 2 ? n : NAME_MOST / 2);
	tp_text_str(&text, n ? " (" : "");
	tp_text_bytes(&text, n_class ? class : "?",
		      !n_class ? 1 : n_class < NAME_MOST / 4 ? n_class : NAME_MOST / 4);
	tp_text_str(&text, n ? ")" : "");
	p = tp_perfetto_begin_event(m->s, q, span->begin_ns, TYPE_BEGIN, &packet, &at);
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, CAT_MODULE);
	p = tp_proto_text(p, EVENT_NAME, title, text.len);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(m->s, p, packet);
}

static void put_end(struct tp_perfetto_modules *m, struct tp_perfetto_sequence *q, int64_t end_ns)
{
	char *packet, *at, *p;

	p = tp_perfetto_begin_event(m->s, q, end_ns, TYPE_END, &packet, &at);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(m->s, p, packet);
}

/* ---- forward ---- */

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* In order, each inside of what it lies in. The places of those that are written keep the ends of
 * those that are open. */
static void write_held(struct tp_perfetto_modules *m, struct lane *lane)
{
	struct tp_perfetto_sequence *q;
	uint32_t depth = 0;

	if (!lane->n_held)
		return;
	qsort(lane->held, lane->n_held, sizeof(*lane->held), compare_spans);
	if (!lane->q[FORWARD])
		lane->q[FORWARD] = open_track(m->s, lane->proc, lane->thread, FORWARD,
					      lane->held[0].begin_ns);
	q = lane->q[FORWARD];
	if (!q)
		m->s->n_unplaced += lane->n_held;
	for (uint32_t i = 0; q && i < lane->n_held; i++) {
		struct span span = lane->held[i];

		while (depth && lane->held[depth - 1].end_ns <= span.begin_ns)
			put_end(m, q, lane->held[--depth].end_ns);
		if (depth && lane->held[depth - 1].end_ns < span.end_ns)
			span.end_ns = lane->held[depth - 1].end_ns;
		put_begin(m, q, &span);
		lane->held[depth++] = span;
	}
	while (depth)
		put_end(m, q, lane->held[--depth].end_ns);
	lane->n_held = 0;
}

static void take_call(void *ctx, const struct tp_module_call *call)
{
	struct tp_perfetto_modules *m = ctx;
	struct lane *lane = lane_of(m, call->proc, call->thread);

	if (!lane || !tp_grow(&lane->held, &lane->cap_held, (uint64_t)lane->n_held + 1,
			      sizeof(*lane->held))) {
		m->s->n_unplaced++;
		return;
	}
	lane->held[lane->n_held++] = (struct span){
		.begin_ns = call->begin_ns, .end_ns = call->end_ns, .id = call->id,
		.path = call->path,
	};
	if (!call->outer_id || lane->n_held == HELD_MOST)
		write_held(m, lane);
}

/* ---- backward ---- */

static void close_backward(struct tp_perfetto_modules *m, struct lane *lane, uint32_t depth)
{
	while (lane->depth > depth)
		put_end(m, lane->q[BACKWARD], lane->open[--lane->depth].end_ns);
}

/* The path and those outside of it that are not open yet. */
static void open_backward(struct tp_perfetto_modules *m, struct lane *lane, uint32_t path,
			  const struct tp_event *event)
{
	const struct tp_module_paths *paths = tp_module_times_paths(m->times);
	uint32_t depth = tp_module_paths_at(paths, path)->depth;

	if (!tp_grow(&lane->open, &lane->cap_open, (uint64_t)depth, sizeof(*lane->open))) {
		m->s->n_unplaced++;
		return;
	}
	for (uint32_t at = path, i = depth; i-- > lane->depth;
	     at = tp_module_paths_at(paths, at)->outer)
		lane->open[i] = (struct span){.begin_ns = event->begin_ns, .path = at};
	for (; lane->depth < depth; lane->depth++)
		put_begin(m, lane->q[BACKWARD], &lane->open[lane->depth]);
	for (uint32_t i = 0; i < depth; i++)
		if (lane->open[i].end_ns < event->end_ns)
			lane->open[i].end_ns = event->end_ns;
}

/* A node of autograd. */
static void take_node(struct tp_perfetto_modules *m, const struct tp_event *event)
{
	struct tp_origin origin = tp_origins_of(tp_module_times_origins(m->times), event);
	const struct tp_module_paths *paths = tp_module_times_paths(m->times);
	struct proc *proc = &m->proc[event->proc->at];
	struct lane *lane;

	if (!origin.path || !origin.is_backward)
		return;
	lane = lane_of(m, event->proc, event->thread);
	if (lane && !lane->q[BACKWARD])
		lane->q[BACKWARD] = open_track(m->s, event->proc, event->thread, BACKWARD,
					       event->begin_ns);
	if (!lane || !lane->q[BACKWARD]) {
		m->s->n_unplaced++;
		return;
	}
	if (lane->n_passes != proc->n_passes)
		close_backward(m, lane, 0);
	lane->n_passes = proc->n_passes;
	while (lane->depth && !tp_module_paths_is_outside(paths, lane->open[lane->depth - 1].path,
							  origin.path))
		close_backward(m, lane, lane->depth - 1);
	open_backward(m, lane, origin.path, event);
}

/* ---- the rest ---- */

void tp_perfetto_modules_event(struct tp_perfetto *s, const struct tp_event *event)
{
	struct tp_perfetto_modules *m = s->modules;
	bool is_told = event->kind == TP_REC_FRAME || event->kind == TP_REC_STACK ||
		       event->kind == TP_REC_NNMODULE;

	/* Most runs have none: nothing is kept then. */
	if (!is_told && !tp_module_times_has_any(m->times))
		return;
	tp_facts_event(m->facts, event);
	if (event->kind == TP_REC_STACK && event->flags & TP_STACK_CALL) {
		struct tp_module_paths *paths = tp_module_times_paths(m->times);
		uint32_t path = tp_module_paths_of(paths, event);

		m->proc[event->proc->at].n_passes += tp_module_paths_at(paths, path)->depth == 1;
	}
	if (event->kind == TP_REC_OP && event->flags & TP_F_BACKWARD &&
	    !(event->flags & TP_F_ASYNC))
		take_node(m, event);
}

int tp_perfetto_modules_init(struct tp_perfetto *s)
{
	struct tp_perfetto_modules *m = calloc(1, sizeof(*m));

	s->modules = m;
	if (!m)
		return -1;
	m->s = s;
	m->n_procs = s->run->n_procs;
	m->proc = calloc(m->n_procs + 1, sizeof(*m->proc));
	if (!m->proc)
		return -1;
	m->facts = tp_facts_new(s->run);
	m->times = tp_facts_want(m->facts, &tp_fact_module_times, NULL);
	tp_module_times_read(m->times, take_call, m);
	return 0;
}

void tp_perfetto_modules_end(struct tp_perfetto *s)
{
	struct tp_perfetto_modules *m = s->modules;

	tp_facts_end(m->facts);
	for (uint32_t p = 0; p < m->n_procs; p++)
		for (uint32_t i = 0; i < m->proc[p].cap; i++) {
			write_held(m, &m->proc[p].lane[i]);
			close_backward(m, &m->proc[p].lane[i], 0);
		}
}

void tp_perfetto_modules_free(struct tp_perfetto *s)
{
	struct tp_perfetto_modules *m = s->modules;

	if (!m)
		return;
	for (uint32_t p = 0; m->proc && p < m->n_procs; p++) {
		for (uint32_t i = 0; i < m->proc[p].cap; i++) {
			struct lane *lane = &m->proc[p].lane[i];

			for (uint32_t pass = 0; pass < N_PASSES; pass++)
				tp_perfetto_free_sequence(lane->q[pass]);
			free(lane->held);
			free(lane->open);
		}
		free(m->proc[p].lane);
	}
	free(m->proc);
	tp_facts_free(m->facts);
	free(m);
}
