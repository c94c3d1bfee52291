/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_device.c - what happened on devices: kernels, copies, waits, and the arrows to them from
 * the calls that started them
 */
#include <string.h>

#include "merge/model/device.h"
#include "merge/sink/timeline_in.h"

static enum tp_slice_category category_of(uint8_t kind)
{
	switch (kind) {
	case TP_REC_MEMCPY:
		return TP_SLICE_MEMCPY;
	case TP_REC_MEMSET:
		return TP_SLICE_MEMSET;
	default:
		/* A graph whose nodes are not recorded one by one is work as well. */
		return TP_SLICE_KERNEL;
	}
}

static void add_work_args(struct tp_timeline *t, struct tp_args *args, const struct tp_event *event,
			  const struct tp_fragment *detail, uint32_t external, uint32_t comm)
{
	int64_t ns = event->end_ns - event->begin_ns;

	tp_arg_uint(args, TP_KEY_EXTERNAL_ID, external);
	tp_arg_uint(args, TP_KEY_CORRELATION, event->link);
	tp_arg_encoded(args, detail);
	/* 0: not known. */
	if ((event->kind == TP_REC_MEMCPY || event->kind == TP_REC_MEMSET) && event->arg) {
		tp_arg_uint(args, TP_KEY_COPIED, event->arg);
		if (ns > 0)	/* bytes a nanosecond */
			tp_arg_double(args, TP_KEY_BANDWIDTH, TP_ARG_FIXED,
				      (double)event->arg / (double)ns);
	}
	if (event->kind == TP_REC_GRAPH && event->arg && !tp_device_launch(event).graph)
		tp_arg_uint(args, TP_KEY_GRAPH, event->arg);
	if (event->flags & TP_F_PARTIAL)
		tp_arg_uint(args, TP_KEY_GUESSED, 1);
	if (event->kind == TP_REC_KERNEL)
		tp_timeline_add_comm(t, args, comm);
}

/* *begin_ns: where it begins on its track, perhaps later. NULL: it is not in the file. */
static struct tp_lane *put_work(struct tp_timeline *t, const struct tp_event *event,
				uint32_t external, uint32_t comm, int64_t *begin_ns)
{
	const struct tp_fragment *detail = tp_timeline_detail(t, event);
	struct tp_track *track = tp_tracks_place_work(&t->layout, event, begin_ns, t->pop, t);
	struct tp_lane *lane;
	struct tp_slice *s;

	if (!tp_timeline_is_placed(t, track))
		return NULL;
	lane = tp_timeline_stream(t, event, track);
	s = tp_timeline_begin_named(t, lane, category_of(event->kind), *begin_ns, event->end_ns,
				    event->name);
	add_work_args(t, &s->args, event, detail, external, comm);
	tp_timeline_put(t);
	return lane;
}

void tp_timeline_work(struct tp_timeline *t, const struct tp_event *event)
{
	struct tp_event placed = *event;

	/* What is kept until its call is known is where the arrow ends. */
	if (!t->dialect->has_external_ids) {
		const struct tp_launch_call *call = tp_launches_find(t->launches, event);
		struct tp_lane *lane = put_work(t, event, 0, tp_launch_noted(&t->comm_of, call),
						&placed.begin_ns);

		if (!lane)
			return;
		placed.arg = (uintptr_t)lane;
	}
	tp_launches_work(t->launches, &placed);
}

void tp_timeline_launch(void *timeline, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_timeline *t = timeline;
	uint32_t owner = tp_launch_noted(&t->owner_of, call);
	int64_t begin_ns = event->begin_ns;
	struct tp_lane *lane;

	if (t->dialect->has_external_ids)
		lane = put_work(t, event, owner & ~TP_TIMELINE_OFF_TRACK,
				tp_launch_noted(&t->comm_of, call), &begin_ns);
	else
		lane = (struct tp_lane *)(uintptr_t)event->arg;
	/* An arrow back in time (clocks that are off by more than a launch takes) is an error. */
	if (!lane || !call || owner & TP_TIMELINE_OFF_TRACK || call->begin_ns > begin_ns)
		return;
	/* Where ends of arrows come after slices, nothing is left of one without length. */
	if (t->dialect->needs_length &&
	    (call->end_ns <= call->begin_ns || event->end_ns <= begin_ns))
		return;
	tp_timeline_arrow(t, TP_SLICE_LAUNCH, call->thread, call->begin_ns, lane, begin_ns);
}

/* ---- waits ---- */

static void add_sync_args(const struct tp_timeline *t, struct tp_args *args,
			  const struct tp_event *event, uint32_t external, bool is_on_host)
{
	struct tp_sync_what sync = tp_device_sync(event);
	const char *kind = tp_device_sync_name(sync.kind);

	tp_arg_uint(args, TP_KEY_EXTERNAL_ID, external);
	tp_arg_text(args, TP_KEY_SYNC_KIND, TP_ARG_TEXT, kind, strlen(kind));
	if (sync.kind == TP_SYNC_EVENT || sync.kind == TP_SYNC_STREAM_WAIT) {
		/* -1: not known. */
		tp_arg_int(args, TP_KEY_WAIT_STREAM, (int64_t)sync.recorded_stream - 1);
		tp_arg_int(args, TP_KEY_WAIT_CORRELATION,
			   event->arg >> 32 ? (int64_t)(event->arg >> 32)
					    : t->dialect->no_correlation);
		tp_arg_uint(args, TP_KEY_WAIT_EVENT, (uint32_t)event->arg);
	}
	/* HTA takes what has a stream for work of a device. */
	if (!is_on_host || !t->dialect->has_external_ids)
		tp_arg_int(args, TP_KEY_STREAM, (int32_t)event->queue->stream);
	tp_arg_uint(args, TP_KEY_CORRELATION, event->link);
	tp_arg_int(args, TP_KEY_DEVICE, (int32_t)event->queue->device);
	tp_arg_uint(args, TP_KEY_CONTEXT, event->queue->context);
}

/*
 * A wait of the host lies on the thread that made the call, inside it; torch.profiler puts all
 * waits on the device, where they cross its work: they get a row of their own there.
 */
void tp_timeline_sync(struct tp_timeline *t, const struct tp_event *event)
{
	const struct tp_launch_call *call =
		event->queue ? tp_launches_find(t->launches, event) : NULL;
	bool is_on_host = call && !t->dialect->is_torch &&
			  tp_device_sync(event).kind != TP_SYNC_STREAM_WAIT;
	int64_t begin_ns = event->begin_ns, end_ns = event->end_ns;
	struct tp_event on_host = *event;
	struct tp_track *track;
	struct tp_lane *lane;
	struct tp_slice *s;

	if (!event->queue)
		return;
	if (is_on_host) {
		on_host.thread = call->thread;
		track = tp_tracks_place_call(&t->layout, &on_host, &begin_ns, &end_ns, t->pop, t);
	} else {
		track = tp_tracks_place_work(&t->layout, event, &begin_ns, t->pop, t);
	}
	if (!tp_timeline_is_placed(t, track))
		return;
	if (is_on_host)
		tp_track_set_id(track, tp_track_inside(track));
	lane = is_on_host ? tp_timeline_thread(t, &on_host, track)
			  : tp_timeline_stream(t, event, track);
	s = tp_timeline_begin_named(t, lane, TP_SLICE_SYNC, begin_ns, end_ns, event->name);
	add_sync_args(t, &s->args, event,
		      tp_launch_noted(&t->owner_of, call) & ~TP_TIMELINE_OFF_TRACK, is_on_host);
	tp_timeline_put(t);
}
