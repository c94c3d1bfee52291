/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_lanes.c - tracks as they are shown: processes, devices, threads, streams, further tracks;
 * their names, numbers and order
 */
#include <stdio.h>

#include "merge/kit/need.h"
#include "merge/sink/timeline_in.h"

/* torch.profiler's: devices behind all processes of the host. */
enum { SORT_OF_DEVICES = 0x1000000 };

static struct tp_lane *add_lane(struct tp_timeline *t, enum tp_lane_kind kind,
				const struct tp_proc *proc, struct tp_lane *top, uint64_t tid)
{
	struct tp_lane *lane = tp_need(1, t->encoder->lane_bytes);

	tp_need_room(&t->lane, &t->cap_lanes, (uint64_t)t->n_lanes + 1, sizeof(*t->lane));
	t->lane[t->n_lanes++] = lane;
	lane->kind = kind;
	lane->proc = proc;
	lane->top = top ? top : lane;
	lane->parent = top;
	lane->pid = lane->top->pid;
	lane->tid = tid;
	return lane;
}

static struct tp_lane *describe(struct tp_timeline *t, struct tp_lane *lane, int64_t ns)
{
	if (!lane->is_described)
		t->encoder->describe(t->ctx, lane, ns);
	return lane;
}

struct tp_lane *tp_timeline_process(struct tp_timeline *t, const struct tp_proc *proc)
{
	struct tp_lane *lane = t->process[proc->at];

	if (lane)
		return lane;
	lane = t->process[proc->at] = add_lane(t, TP_LANE_PROCESS, proc, NULL, 0);
	lane->pid = t->dialect->is_torch ? proc->pid : tp_title_pid(proc);
	lane->sort = (int64_t)lane->pid;
	tp_title_process(lane->title, proc);
	snprintf(lane->label, sizeof(lane->label), "%s", t->dialect->is_torch ? "CPU" : proc->host);
	return lane;
}

struct tp_lane *tp_timeline_device(struct tp_timeline *t, const struct tp_proc *proc, uint32_t id)
{
	struct tp_lane *lane;
	uint32_t number = 0;

	for (; number < t->n_devices; number++)
		if (t->device[number].proc == proc->at && t->device[number].id == id)
			return t->device[number].lane;
	tp_need_room(&t->device, &t->cap_devices, (uint64_t)number + 1, sizeof(*t->device));
	lane = add_lane(t, TP_LANE_PROCESS, proc, NULL, 0);
	lane->is_device = true;
	t->device[t->n_devices++] = (struct tp_timeline_device){proc->at, id, lane};
	lane->pid = t->dialect->is_torch ? id : tp_title_device_pid(proc, number);
	lane->sort = (int64_t)lane->pid + (t->dialect->is_torch ? SORT_OF_DEVICES : 0);
	tp_title_device(lane->title, proc, id);
	if (t->dialect->is_torch)
		snprintf(lane->label, sizeof(lane->label), "GPU %u", id);
	else
		snprintf(lane->label, sizeof(lane->label), "%s", proc->host);
	return lane;
}

/* tids are integers: one consumer converts them. Further tracks get numbers beyond Linux's. */
static uint64_t tid_of(const struct tp_thread *thread, uint32_t track, enum tp_track_family family)
{
	if (family != TP_TRACK_THREAD)
		return (uint64_t)TP_TITLE_ASYNC_TID + (family - 1) * TP_TITLE_FAMILY_TID + track;
	if (!track)
		return thread->tid ? thread->tid : TP_TITLE_NOBODY_TID;
	return (uint64_t)track * TP_TITLE_TRACK_TID + thread->tid;
}

/* Of a thread, or of its process when `family` says so. */
static struct tp_lane *add_thread(struct tp_timeline *t, const struct tp_event *event,
				  struct tp_track *track, enum tp_track_family family)
{
	bool is_below = track->at || family != TP_TRACK_THREAD;
	struct tp_lane *lane = add_lane(t, is_below ? TP_LANE_BELOW : TP_LANE_THREAD, event->proc,
					tp_timeline_process(t, event->proc),
					tid_of(event->thread, track->at, family));

	tp_title_track(lane->title, event->thread, track->at, family);
	lane->sort = tp_title_sort(event->thread, track->at, family);
	track->user = lane;
	if (track->at && family == TP_TRACK_THREAD) {
		struct tp_track *own = tp_tracks_main(&t->layout, event);

		lane->parent = own->user ? own->user : add_thread(t, event, own, family);
	}
	return lane;
}

struct tp_lane *tp_timeline_thread(struct tp_timeline *t, const struct tp_event *event,
				   struct tp_track *track)
{
	struct tp_lane *lane = track->user;

	if (__builtin_expect(lane && lane->is_described, 1))
		return lane;
	if (!lane)
		lane = add_thread(t, event, track, tp_tracks_family(event));
	return describe(t, lane, event->begin_ns);
}

struct tp_lane *tp_timeline_own(struct tp_timeline *t, const struct tp_event *event)
{
	return tp_timeline_thread(t, event, tp_tracks_main(&t->layout, event));
}

struct tp_lane *tp_timeline_stream(struct tp_timeline *t, const struct tp_event *event,
				   struct tp_track *track)
{
	const struct tp_queue *queue = event->queue;
	bool waits = event->kind == TP_REC_SYNC;
	struct tp_lane *lane = track->user;

	if (__builtin_expect(lane != NULL, 1))
		return lane;
	lane = add_lane(t, TP_LANE_THREAD, event->proc,
			tp_timeline_device(t, event->proc, queue->device),
			tp_title_stream_tid(event->proc, queue, track->at, waits));
	tp_title_stream(lane->title, event->proc, queue, track->at, waits);
	lane->sort = tp_title_stream_sort(event->proc, queue, track->at, waits);
	track->user = lane;
	return describe(t, lane, event->begin_ns);
}

struct tp_lane *tp_timeline_below(struct tp_timeline *t, const struct tp_event *event,
				  const char *title)
{
	struct tp_lane *thread = tp_timeline_own(t, event);
	struct tp_lane *lane = add_lane(t, TP_LANE_BELOW, event->proc, thread->top, 0);

	lane->parent = thread;
	snprintf(lane->title, sizeof(lane->title), "%s", title);
	return describe(t, lane, event->begin_ns);
}
