/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - which part of the timeline takes an event, and the timeline's beginning and end
 */
#include "merge/sink/timeline_in.h"

#include <stdio.h>
#include <stdlib.h>

#include "merge/kit/need.h"
#include "merge/kit/say.h"
#include "runtime/trace/kinds.h"

struct tp_slice *tp_timeline_begin(struct tp_timeline *t, struct tp_lane *lane,
				   enum tp_slice_category category, int64_t begin_ns,
				   int64_t end_ns)
{
	struct tp_slice *s = &t->slice;

	s->lane = lane;
	s->category = category;
	s->begin_ns = begin_ns;
	s->end_ns = end_ns;
	s->name = NULL;
	s->text = NULL;
	s->is_plain = false;
	s->args.in = t->dialect->bit;
	s->args.n = 0;
	s->args.n_text = 0;
	return s;
}

struct tp_slice *tp_timeline_begin_named(struct tp_timeline *t, struct tp_lane *lane,
					 enum tp_slice_category category, int64_t begin_ns,
					 int64_t end_ns, const struct tp_string *name)
{
	struct tp_slice *s = tp_timeline_begin(t, lane, category, begin_ns, end_ns);

	s->name = name;
	s->written = tp_timeline_string(t, name);
	return s;
}

void tp_timeline_arrow(struct tp_timeline *t, enum tp_slice_category category,
		       const struct tp_thread *thread, int64_t from_ns, struct tp_lane *to,
		       int64_t to_ns)
{
	struct tp_event at_start = {.proc = to->proc, .thread = thread};
	struct tp_track *track = tp_tracks_main(&t->layout, &at_start);
	struct tp_flow flow = {
		.category = category, .from = track->user, .to = to,
		.from_ns = from_ns, .to_ns = to_ns,
	};

	if (!flow.from || !flow.from->is_described)
		return;
	/* Ids are of the whole run: two ranks must not share one. */
	flow.id = ++t->n_flows;
	t->encoder->flow(t->ctx, &flow);
}

static void end_slice(void *timeline, struct tp_track *track, int64_t end_ns)
{
	struct tp_timeline *t = timeline;

	t->encoder->end(t->ctx, track->user, end_ns);
}

static void put_heap_point(void *timeline, const struct tp_event *counter)
{
	tp_timeline_counter(timeline, counter, TP_POINT_HEAP);
}

static void put_gpu_point(void *timeline, const struct tp_event *counter)
{
	tp_timeline_counter(timeline, counter, TP_POINT_GPU);
}

static void put_counter(struct tp_timeline *t, const struct tp_event *event)
{
	tp_devmem_curve_counter(&t->device_memory, event);
	tp_timeline_counter(t, event, TP_POINT_AS_IT_COMES);
}

static void take_device_memory(struct tp_timeline *t, const struct tp_event *event)
{
	struct tp_event counter;

	if (tp_devmem_curve_change(&t->device_memory, event, &counter))
		tp_timeline_counter(t, &counter, TP_POINT_AS_IT_COMES);
}

/* torch.profiler and its readers know nothing of collectives inside NCCL, and of the heap. */
static void take_coll(struct tp_timeline *t, const struct tp_event *event)
{
	if (!t->dialect->is_torch)
		tp_timeline_coll(t, event);
}

static void take_heap(struct tp_timeline *t, const struct tp_event *event)
{
	if (!t->dialect->is_torch)
		tp_heapcurve_event(&t->host_memory, event);
}

static void take_work(struct tp_timeline *t, const struct tp_event *event)
{
	if (event->queue)
		tp_timeline_work(t, event);
	/* torch.profiler's readers compute it themselves. */
	if (!t->dialect->is_torch)
		tp_gpucurve_event(&t->gpu_use, t->run, event);
}

static void put_step(struct tp_timeline *t, const struct tp_event *event)
{
	tp_timeline_tensor(t, event);
	tp_timeline_span(t, event);
}

static void (*const take[TP_REC_N])(struct tp_timeline *t, const struct tp_event *event) = {
	[TP_REC_STEP] = put_step,
	[TP_REC_OP] = tp_timeline_span,
	[TP_REC_RANGE] = tp_timeline_span,
	[TP_REC_CALL] = tp_timeline_call,
	[TP_REC_OVERHEAD] = tp_timeline_call,
	[TP_REC_KERNEL] = take_work,
	[TP_REC_MEMCPY] = take_work,
	[TP_REC_MEMSET] = take_work,
	[TP_REC_GRAPH] = take_work,
	[TP_REC_SYNC] = tp_timeline_sync,
	[TP_REC_COLL] = take_coll,
	[TP_REC_XFER] = take_coll,
	[TP_REC_COUNTER] = put_counter,
	[TP_REC_MARK] = tp_timeline_mark,
	[TP_REC_ALLOC] = tp_timeline_tensor,
	[TP_REC_FREE] = tp_timeline_tensor,
	[TP_REC_TOTALS] = tp_timeline_tensor,
	[TP_REC_DEVALLOC] = take_device_memory,
	[TP_REC_DEVFREE] = take_device_memory,
	[TP_REC_HEAPALLOC] = take_heap,
	[TP_REC_HEAPFREE] = take_heap,
};

/* Most runs have no modules: nothing is kept then. Memory and devices are the views' business. */
static bool is_of_modules(struct tp_timeline *t, uint8_t kind)
{
	t->has_stacks |= kind == TP_REC_STACK;
	return tp_kind_is_stack(kind) || (t->has_stacks && tp_kind_has_shapes(kind));
}

static void take_fed(void *timeline, const struct tp_event *event)
{
	struct tp_timeline *t = timeline;
	bool is_of_module = is_of_modules(t, event->kind);

	/* Stacks that are arguments come from it; tracks of modules come behind their thread's. */
	if (is_of_module && !t->dialect->has_module_tracks)
		tp_timeline_modules_event(t, event);
	if (event->kind < TP_REC_N && take[event->kind] && tp_timeline_shows(t, event->proc)) {
		tp_timeline_make_room(t, event);
		take[event->kind](t, event);
	}
	if (is_of_module && t->dialect->has_module_tracks)
		tp_timeline_modules_event(t, event);
}

struct tp_timeline *tp_timeline_new(struct tp_facts *facts, const struct tp_dialect *dialect,
				    const struct tp_encoder *encoder, void *ctx,
				    const bool *is_left_out)
{
	struct tp_timeline *t = tp_need(1, sizeof(*t));

	t->run = tp_facts_run(facts);
	t->dialect = dialect;
	t->encoder = encoder;
	t->ctx = ctx;
	t->is_left_out = is_left_out;
	t->pop = encoder->end ? end_slice : NULL;
	t->process = tp_need(t->run->n_procs + 1, sizeof(*t->process));
	t->tensors = tp_tensors_new(t->run);
	t->launches = tp_launches_new(t->run);
	t->owner_of = tp_launches_notes(t->launches);
	t->comm_of = tp_launches_notes(t->launches);
	tp_tracks_init(&t->layout, t->run);
	if (!t->tensors || tp_links_init(&t->links, t->run) ||
	    tp_feed_init(&t->feed, t->run, take_fed, t))
		tp_need_failed();
	tp_timeline_modules_init(t);
	tp_timeline_comms_init(t);
	tp_launches_read(t->launches, tp_timeline_launch, NULL, t);
	tp_heapcurve_init(&t->host_memory, t->run,
			  dialect->is_torch ? NULL : tp_hostmem_want(facts, true), put_heap_point, t);
	return t;
}

void tp_timeline_event(struct tp_timeline *t, const struct tp_event *event)
{
	tp_feed_event(&t->feed, event);
}

void tp_timeline_end(struct tp_timeline *t)
{
	const struct tp_hostmem_proc *proc;
	uint32_t n;

	tp_feed_end(&t->feed);
	tp_launches_end(t->launches);
	tp_timeline_modules_end(t);
	tp_gpucurve_end(&t->gpu_use, put_gpu_point, t);
	proc = tp_heapcurve_end(&t->host_memory, &n);
	for (uint32_t i = 0; i < n; i++)
		tp_timeline_heap_peak(t, &proc[i]);
	tp_tracks_pop_all(&t->layout, t->pop, t);
}

void tp_timeline_say_unplaced(const struct tp_timeline *t)
{
	if (t->n_unplaced)
		tp_say("%llu spans overlap too many others and are not "
			"in the file",
			(unsigned long long)t->n_unplaced);
}

static void free_fragments(struct tp_fragment *fragment, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(fragment[i].bytes);
	free(fragment);
}

void tp_timeline_free(struct tp_timeline *t)
{
	for (uint32_t i = 0; i < t->n_lanes; i++) {
		if (t->encoder->drop)
			t->encoder->drop(t->lane[i]);
		free(t->lane[i]);
	}
	free(t->lane);
	free(t->process);
	free(t->device);
	free_fragments(t->of_string, t->n_strings);
	free_fragments(t->of_stack, t->n_stacks);
	free(t->no_detail.bytes);
	tp_tracks_free(&t->layout);
	tp_links_free(&t->links);
	tp_tensors_free(t->tensors);
	tp_feed_free(&t->feed);
	tp_launches_free(t->launches);
	tp_timeline_comms_free(t);
	tp_devmem_curve_fini(&t->device_memory);
	tp_heapcurve_fini(&t->host_memory);
	tp_gpucurve_fini(&t->gpu_use);
	tp_timeline_modules_free(t);
	free(t);
}
