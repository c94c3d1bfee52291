/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_host.c - what happened on threads: operators, ranges, steps, calls, collectives, memory,
 * counters
 */
#include <stdio.h>
#include <string.h>

#include "merge/model/coll.h"
#include "merge/sink/timeline_in.h"
#include "runtime/base/text.h"
#include "runtime/trace/torch_names.h"

/* ---- spans ---- */

static bool is_operator(const struct tp_timeline *t, const struct tp_event *event,
			const struct tp_fragment *name)
{
	if (event->kind != TP_REC_RANGE)
		return event->kind == TP_REC_OP;
	/* The plugin reads the loader's time only from operators. */
	return name->is_loader || (t->dialect->is_torch && name->is_op);
}

/*
 * The External id of what is started inside this span: torch.profiler's is that of the innermost
 * operator. Outside all of them an annotation tells more than nothing, but to the plugin, which
 * knows none but collectives; those own their kernels there.
 */
static uint32_t id_for_work(const struct tp_timeline *t, const struct tp_event *event,
			    const struct tp_fragment *name, const struct tp_track *track,
			    bool is_op)
{
	uint32_t own = (uint32_t)t->n_ops & ~TP_TIMELINE_OFF_TRACK;
	uint32_t outer = tp_track_inside(track);

	if (is_op)
		return own;
	if (event->kind == TP_REC_STEP)
		return outer;
	if (t->dialect->is_for_plugin)
		return name->is_collective ? own : outer;
	return outer ? outer : own;
}

static void add_shapes(struct tp_timeline *t, struct tp_args *args, const struct tp_string *shapes)
{
	const struct tp_fragment *json = tp_timeline_string(t, shapes);

	if (!json->n)
		return;
	tp_arg_text(args, TP_KEY_DIMS, TP_ARG_JSON, json->bytes, json->n)->id = 2 * shapes->same;
	tp_arg_text(args, TP_KEY_TYPES, TP_ARG_JSON, json->bytes + json->n, json->n_second)->id =
		2 * shapes->same + 1;
}

static void add_span_args(struct tp_timeline *t, struct tp_args *args, const struct tp_event *event)
{
	const struct tp_fragment *stack = tp_timeline_stack(t, event);

	tp_arg_uint(args, TP_KEY_EXTERNAL_ID, t->n_ops);
	if (event->kind == TP_REC_OP && event->link != TP_NO_SEQ) {
		tp_arg_uint(args, TP_KEY_SEQUENCE, event->link);
		tp_arg_uint(args, TP_KEY_FORWARD,
			    event->flags & TP_F_ASYNC ? 0 : TP_ARG_THREAD(event->arg));
	}
	add_shapes(t, args, event->shapes);
	if (tp_timeline_string(t, event->shapes)->has_group)
		tp_timeline_add_comm(t, args, tp_timeline_comm_span(t, event));
	if (stack)
		tp_arg_encoded(args, stack);
	if (event->kind == TP_REC_STEP) {
		tp_arg_uint(args, TP_KEY_EPOCH, event->arg >> 32);
		tp_arg_uint(args, TP_KEY_STEP, (uint32_t)event->arg);
	}
	if (event->flags & TP_F_EARLY)
		tp_arg_uint(args, TP_KEY_EARLY, 1);
	if (event->flags & TP_F_OPEN)
		tp_arg_uint(args, TP_KEY_OPEN, 1);
}

static void put_backward_arrow(struct tp_timeline *t, const struct tp_event *event,
			       struct tp_lane *to)
{
	const struct tp_link_op *from = tp_links_backward(&t->links, event);
	enum tp_slice_category category = TP_SLICE_BACKWARD;

	if (!from)
		return;
	/* Of modules without a backward pass, as in evaluation, the plugin makes nodes without times
	 * and rejects the file: where there are modules it is told of no backward pass. */
	if (t->dialect->is_for_plugin && tp_module_times_has_any(t->modules))
		category = TP_SLICE_BACKWARD_PLAIN;
	/* The ends lie at the begins of their slices, hence inside. */
	tp_timeline_arrow(t, category, from->thread, from->begin_ns, to, event->begin_ns);
}

/* The plugin counts collectives of all ranks, and leaves out its view of them where the counts differ: one
 * from before the window is recorded only by ranks on which it had not ended by then. */
static bool is_other_windows(const struct tp_timeline *t, const struct tp_event *event,
			     const struct tp_fragment *name)
{
	return t->dialect->is_torch && name->is_collective && event->flags & TP_F_EARLY;
}

void tp_timeline_span(struct tp_timeline *t, const struct tp_event *event)
{
	const struct tp_fragment *name = tp_timeline_string(t, event->name);
	bool is_op = is_operator(t, event, name);
	int64_t end_ns = event->end_ns;
	struct tp_track *track;
	struct tp_lane *lane;
	struct tp_slice *s;
	char step[32];

	if (is_other_windows(t, event, name))
		return;
	track = tp_tracks_place(&t->layout, event, &end_ns, t->pop, t);
	if (!tp_timeline_is_placed(t, track))
		return;
	lane = tp_timeline_thread(t, event, track);
	/* torch's readers take each range with such a name for a step. */
	if (event->kind == TP_REC_STEP && event->proc->has_own_steps && t->dialect->is_torch)
		return;
	/* It adds begin and length as doubles, and drops a step that seems to reach into the next. */
	if (event->kind == TP_REC_STEP && t->dialect->is_for_plugin && end_ns > event->begin_ns)
		end_ns--;
	t->n_ops++;
	tp_track_set_id(track, id_for_work(t, event, name, track, is_op));
	s = tp_timeline_begin_named(t, lane, is_op ? TP_SLICE_OP : TP_SLICE_ANNOTATION,
				    event->begin_ns, end_ns, event->name);
	if (event->kind == TP_REC_STEP) {
		snprintf(step, sizeof(step), TP_NAME_PROFILER_STEP "%u", event->link);
		s->text = step;
		s->is_plain = true;
	}
	add_span_args(t, &s->args, event);
	tp_timeline_put(t);
	tp_links_forward(&t->links, event);
	if (event->flags & TP_F_BACKWARD && !track->at)
		put_backward_arrow(t, event, lane);
}

/* A call of CUDA's runtime or driver API, or what CUPTI itself took on this thread. */
void tp_timeline_call(struct tp_timeline *t, const struct tp_event *event)
{
	struct tp_event placed = *event;
	struct tp_track *track = tp_tracks_place_call(&t->layout, event, &placed.begin_ns,
						      &placed.end_ns, t->pop, t);
	struct tp_lane *lane;
	uint32_t external, comm;
	struct tp_slice *s;

	if (!tp_timeline_is_placed(t, track))
		return;
	lane = tp_timeline_thread(t, event, track);
	external = tp_track_inside(track);
	tp_track_set_id(track, external);
	s = tp_timeline_begin_named(t, lane,
				    event->kind == TP_REC_OVERHEAD ? TP_SLICE_OVERHEAD
				    : event->flags & TP_F_DRIVER   ? TP_SLICE_DRIVER
								   : TP_SLICE_RUNTIME,
				    placed.begin_ns, placed.end_ns, event->name);
	if (event->kind == TP_REC_CALL) {
		tp_arg_uint(&s->args, TP_KEY_EXTERNAL_ID, external);
		tp_arg_uint(&s->args, TP_KEY_CORRELATION, event->link);
		if (TP_ARG_RETURNED(event->arg))
			tp_arg_uint(&s->args, TP_KEY_RETURNED, TP_ARG_RETURNED(event->arg));
	}
	tp_timeline_put(t);
	placed.end_ns = event->end_ns;
	if (event->kind != TP_REC_CALL)
		return;
	tp_launches_call(t->launches, &placed);
	tp_launch_note(&t->owner_of, &placed,
		       external | (track->at ? TP_TIMELINE_OFF_TRACK : 0));
	comm = tp_timeline_comm_at(t, &placed);
	if (comm)
		tp_launch_note(&t->comm_of, &placed, comm);
}

/* A collective of NCCL, or what its proxies do for one. */
void tp_timeline_coll(struct tp_timeline *t, const struct tp_event *event)
{
	int64_t end_ns = event->end_ns;
	struct tp_track *track = tp_tracks_place(&t->layout, event, &end_ns, t->pop, t);
	struct tp_lane *lane;
	struct tp_coll_arg arg[TP_COLL_ARGS];
	char texts[64], title[TP_COLL_TITLE];
	uint32_t n = tp_coll_args(event, arg, texts);
	struct tp_slice *s;

	if (!tp_timeline_is_placed(t, track))
		return;
	lane = tp_timeline_thread(t, event, track);
	s = tp_timeline_begin(t, lane, event->kind == TP_REC_COLL ? TP_SLICE_COLL : TP_SLICE_XFER,
			      event->begin_ns, end_ns);
	s->text = tp_coll_title(title, event->name);
	for (uint32_t i = 0; i < n; i++) {
		if (arg[i].text)
			tp_arg_text(&s->args, TP_KEY_NONE, TP_ARG_TEXT, arg[i].text,
				    strnlen(arg[i].text, TP_COLL_TEXT_MAX));
		else
			tp_arg_int(&s->args, TP_KEY_NONE, arg[i].value);
		s->args.arg[i].name = arg[i].name;
	}
	tp_timeline_put(t);
}

/* ---- what has no length ---- */

static void put_point(struct tp_timeline *t, const struct tp_event *event, struct tp_lane *lane,
		      struct tp_point *point)
{
	point->lane = lane;
	point->process = tp_timeline_process(t, event->proc);
	point->ns = event->begin_ns;
	t->encoder->point(t->ctx, point);
}

/* The curve that the instants of torch's own profiler leave to its viewer to draw. */
static void put_tensor_curve(struct tp_timeline *t, const struct tp_event *event,
			     const struct tp_tensor_change *change)
{
	char title[64];
	struct tp_point point = {.key = 1ull << 63 | event->link, .title = title, .unit = "B",
				 .bits = (uint64_t)change->allocated};
	struct tp_text text;

	tp_text_init(&text, title, sizeof(title));
	tp_text_str(&text, change->device_type == 1 && change->device_index >= 0 ? "tensors, GPU "
			   : change->device_index >= 0 ? "tensors, device "
			   : change->device_type       ? "tensors, device"
						       : "tensors, CPU");
	if (change->device_index >= 0 && change->device_type != 1) {
		tp_text_i64(&text, change->device_type);
		tp_text_char(&text, ':');
	}
	if (change->device_index >= 0)
		tp_text_i64(&text, change->device_index);
	put_point(t, event, tp_timeline_process(t, event->proc), &point);
}

void tp_timeline_tensor(struct tp_timeline *t, const struct tp_event *event)
{
	struct tp_tensor_change change;
	struct tp_slice *s;

	if (!tp_tensors_note(t->tensors, event, &change) || !change.is_known)
		return;
	s = tp_timeline_begin(t, tp_timeline_own(t, event), TP_SLICE_TENSOR, event->begin_ns,
			      event->begin_ns);
	s->text = "[memory]";
	s->is_plain = true;
	tp_arg_int(&s->args, TP_KEY_RESERVED, change.reserved);
	tp_arg_int(&s->args, TP_KEY_ALLOCATED, change.allocated);
	tp_arg_int(&s->args, TP_KEY_SIZE, change.bytes);
	tp_arg_int(&s->args, TP_KEY_DEVICE_ID, change.device_index);
	tp_arg_int(&s->args, TP_KEY_DEVICE_TYPE, change.device_type);
	if (change.address)
		tp_arg_uint(&s->args, TP_KEY_ADDRESS, change.address);
	tp_timeline_put(t);
	if (t->dialect->has_tensor_curves && change.is_total_known)
		put_tensor_curve(t, event, &change);
}

void tp_timeline_mark(struct tp_timeline *t, const struct tp_event *event)
{
	struct tp_slice *s = tp_timeline_begin_named(t, tp_timeline_own(t, event), TP_SLICE_MARK,
						     event->begin_ns, event->begin_ns,
						     event->name);

	tp_arg_add(&s->args, TP_KEY_VALUE, event->flags & TP_F_DOUBLE ? TP_ARG_DOUBLE : TP_ARG_INT)
		->number = event->arg;
	tp_timeline_put(t);
}

void tp_timeline_counter(struct tp_timeline *t, const struct tp_event *event,
			 enum tp_point_group group)
{
	char title[TP_TITLE_MAX];
	struct tp_point point = {
		.group = group,
		.key = (uint64_t)event->name->same << 32 | event->link,
		.title = title,
		.unit = tp_title_unit(event->name),
		.is_double = event->flags & TP_F_DOUBLE,
		.bits = event->arg,
	};

	if (!tp_timeline_shows(t, event->proc))
		return;
	tp_title_counter(title, event->name, event->link);
	put_point(t, event,
		  tp_title_is_of_device(event->name)
			  ? tp_timeline_device(t, event->proc, event->link)
			  : tp_timeline_process(t, event->proc),
		  &point);
}

void tp_timeline_heap_peak(struct tp_timeline *t, const struct tp_hostmem_proc *proc)
{
	struct tp_slice *s = tp_timeline_begin(t, tp_timeline_process(t, proc->proc), TP_SLICE_PEAK,
					       proc->peak_ns, proc->peak_ns);

	s->text = "peak of host memory (heap)";
	tp_arg_uint(&s->args, TP_KEY_SIZE, proc->peak_bytes);
	tp_arg_uint(&s->args, TP_KEY_LIVE_BLOCKS, proc->peak_blocks);
	tp_timeline_put(t);
}
