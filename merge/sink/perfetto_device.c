/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_device.c - calls of CUDA on threads, work and waits on streams, arrows between them
 */
#include <stdio.h>
#include <string.h>

#include "merge/facts/time/occupancy.h"
#include "merge/model/device.h"
#include "merge/model/kineto.h"
#include "merge/sink/perfetto.h"

static char *put_double(char *p, enum tp_perfetto_argument name, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return tp_perfetto_put_double(p, name, bits);
}

static char *put_three(char *p, enum tp_perfetto_argument name, const uint32_t of[3])
{
	char text[40];

	snprintf(text, sizeof(text), "%u, %u, %u", of[0], of[1], of[2]);
	return tp_perfetto_put_text(p, name, text);
}

static char *put_place(char *p, const struct tp_queue *queue)
{
	p = tp_perfetto_put_int(p, ARG_DEVICE, (int32_t)queue->device);
	p = tp_perfetto_put_uint(p, ARG_CONTEXT, queue->context);
	return tp_perfetto_put_int(p, ARG_STREAM, (int32_t)queue->stream);
}

static char *put_graph(char *p, uint32_t graph, uint64_t node)
{
	if (graph)
		p = tp_perfetto_put_uint(p, ARG_GRAPH, graph);
	if (node)
		p = tp_perfetto_put_uint(p, ARG_GRAPH_NODE, node);
	return p;
}

static char *put_launch(char *p, const struct tp_event *event)
{
	struct tp_launch launch = tp_device_launch(event);
	struct tp_occupancy occupancy =
	    tp_occupancy(tp_device_of(event->proc, event->queue->device), &launch);

	if (launch.block[0]) {
		p = tp_perfetto_put_uint(p, ARG_REGISTERS, launch.registers);
		p = tp_perfetto_put_uint(
		    p, ARG_SHARED, (uint64_t)launch.shared_static + launch.shared_dynamic);
		if (occupancy.blocks > 0) {
			p = put_double(p, ARG_BLOCKS, occupancy.blocks);
			p = put_double(p, ARG_WARPS, occupancy.warps);
		}
		p = put_three(p, ARG_GRID, launch.grid);
		p = put_three(p, ARG_BLOCK, launch.block);
		if (launch.cluster[0])
			p = put_three(p, ARG_CLUSTER, launch.cluster);
		if (occupancy.blocks_per_sm)
			p = tp_perfetto_put_uint(p, ARG_OCCUPANCY,
						 tp_kineto_percent(occupancy.estimated));
	}
	return put_graph(p, event->kind == TP_REC_GRAPH ? (uint32_t)event->arg : launch.graph,
			 launch.graph_node);
}

static char *put_transfer(char *p, const struct tp_event *event, int64_t ns)
{
	struct tp_transfer transfer = tp_device_transfer(event);

	p = tp_perfetto_put_uint(p, ARG_COPIED, event->arg);
	if (ns > 0)
		p = put_double(p, ARG_BANDWIDTH, (double)event->arg / (double)ns);
	if (transfer.copy_kind && transfer.from_device != transfer.to_device) {
		p = tp_perfetto_put_uint(p, ARG_FROM_DEVICE, transfer.from_device);
		p = tp_perfetto_put_uint(p, ARG_TO_DEVICE, transfer.to_device);
	}
	if (!transfer.copy_kind)
		p = tp_perfetto_put_uint(p, ARG_VALUE, transfer.value);
	return put_graph(p, transfer.graph, transfer.graph_node);
}

static char *put_sync_args(char *p, const struct tp_event *event)
{
	struct tp_sync_what sync = tp_device_sync(event);

	p = tp_perfetto_put_text(p, ARG_SYNC_KIND, tp_device_sync_name(sync.kind));
	if (sync.kind == TP_SYNC_EVENT || sync.kind == TP_SYNC_STREAM_WAIT) {
		p = tp_perfetto_put_int(p, ARG_WAIT_STREAM, (int64_t)sync.recorded_stream - 1);
		p = tp_perfetto_put_uint(p, ARG_WAIT_CORRELATION, event->arg >> 32);
		p = tp_perfetto_put_uint(p, ARG_WAIT_EVENT, (uint32_t)event->arg);
	}
	return p;
}

static char *put_arguments(char *p, const struct tp_event *event, int64_t ns)
{
	if (event->kind != TP_REC_OVERHEAD)
		p = tp_perfetto_put_uint(p, ARG_CORRELATION, event->link);
	if (event->queue)
		p = put_place(p, event->queue);
	switch (event->kind) {
	case TP_REC_CALL:
		if (TP_ARG_RETURNED(event->arg))
			p = tp_perfetto_put_uint(p, ARG_RETURNED, TP_ARG_RETURNED(event->arg));
		return p;
	case TP_REC_SYNC:
		return put_sync_args(p, event);
	case TP_REC_KERNEL:
	case TP_REC_GRAPH:
		p = put_launch(p, event);
		break;
	case TP_REC_MEMCPY:
	case TP_REC_MEMSET:
		p = put_transfer(p, event, ns);
		break;
	}
	if (event->queue && event->flags & TP_F_PARTIAL)
		p = tp_perfetto_put_uint(p, ARG_GUESSED, 1);
	return p;
}

static enum tp_perfetto_category category_of(const struct tp_event *event)
{
	switch (event->kind) {
	case TP_REC_CALL:
		return event->flags & TP_F_DRIVER ? CAT_DRIVER : CAT_RUNTIME;
	case TP_REC_OVERHEAD:
		return CAT_OVERHEAD;
	case TP_REC_MEMCPY:
		return CAT_MEMCPY;
	case TP_REC_MEMSET:
		return CAT_MEMSET;
	case TP_REC_SYNC:
		return CAT_SYNC;
	default:
		return CAT_KERNEL;
	}
}

/* The begin of a slice; its end comes when the track is popped. */
static void put_begin(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
		      const struct tp_event *event, int64_t begin_ns, int64_t end_ns)
{
	char *packet, *at, *p;

	p = tp_perfetto_begin_event(s, q, begin_ns, TYPE_BEGIN, &packet, &at);
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, category_of(event));
	p = tp_proto_uint(p, EVENT_NAME_IID,
			  event->name->kind ? (uint64_t)event->name->same + 1
					    : (uint64_t)IID_NO_NAME);
	p = put_arguments(p, event, end_ns - begin_ns);
	tp_proto_end(p, at);
	p = tp_perfetto_put_new_names(s, q, p, event);
	tp_perfetto_end_packet(s, p, packet);
}

void tp_perfetto_put_call(struct tp_perfetto *s, const struct tp_event *event)
{
	int64_t begin_ns = event->begin_ns, end_ns = event->end_ns;
	struct tp_track *track =
	    tp_tracks_place_call(&s->book, event, &begin_ns, &end_ns, tp_perfetto_put_end, s);
	struct tp_perfetto_sequence *q =
	    track ? tp_perfetto_sequence_of(s, track, event, TP_TRACK_THREAD) : NULL;
	struct tp_event placed = *event;

	if (!q) {
		s->n_unplaced++;
		return;
	}
	put_begin(s, q, event, begin_ns, end_ns);
	placed.begin_ns = begin_ns;
	if (event->kind != TP_REC_CALL)
		return;
	tp_launches_call(s->launches, &placed);
	tp_launch_note(&s->off_track, s->launches, &placed, track->at != 0);
}

void tp_perfetto_put_work(struct tp_perfetto *s, const struct tp_event *event)
{
	int64_t begin_ns = event->begin_ns;
	struct tp_track *track =
	    tp_tracks_place_work(&s->book, event, &begin_ns, tp_perfetto_put_end, s);
	struct tp_perfetto_sequence *q = track ? tp_perfetto_stream_of(s, track, event) : NULL;
	struct tp_event placed = *event;

	if (!q) {
		s->n_unplaced++;
		return;
	}
	put_begin(s, q, event, begin_ns, event->end_ns);
	/* Its call may not be known yet: what is kept until then is where the arrow ends. */
	placed.begin_ns = begin_ns;
	placed.arg = q->uuid;
	tp_launches_work(s->launches, &placed);
}

void tp_perfetto_put_launch(void *state, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_perfetto *s = state;
	const struct tp_perfetto_sequence *from;
	struct tp_event launch;
	struct tp_track *track;

	/* The ends of arrows come in packets of their own, after those of a slice without length:
	 * there is nothing left to lead to. None goes back in time, by clocks that are off. */
	if (!call || tp_launch_noted(&s->off_track, call) || call->end_ns <= call->begin_ns ||
	    event->end_ns <= event->begin_ns || call->begin_ns > event->begin_ns)
		return;
	launch = (struct tp_event){.proc = event->proc, .thread = call->thread};
	track = tp_tracks_main(&s->book, &launch);
	from = track ? track->user : NULL;
	if (from)
		tp_perfetto_put_flow(s, event, CAT_LAUNCH, from->uuid, call->begin_ns, event->arg,
				     event->begin_ns);
}

/* A wait of the host lies on its thread, inside its call; others on a row of their stream. */
void tp_perfetto_put_sync(struct tp_perfetto *s, const struct tp_event *event)
{
	const struct tp_launch_call *call = tp_launches_find(s->launches, event);
	bool is_on_host = call && tp_device_sync(event).kind != TP_SYNC_STREAM_WAIT;
	int64_t begin_ns = event->begin_ns, end_ns = event->end_ns;
	struct tp_perfetto_sequence *q = NULL;
	struct tp_event on_host = *event;
	struct tp_track *track;

	if (is_on_host) {
		on_host.thread = call->thread;
		track = tp_tracks_place_call(&s->book, &on_host, &begin_ns, &end_ns,
					     tp_perfetto_put_end, s);
		if (track)
			q = tp_perfetto_sequence_of(s, track, &on_host, TP_TRACK_THREAD);
	} else {
		track = tp_tracks_place_work(&s->book, event, &begin_ns, tp_perfetto_put_end, s);
		if (track)
			q = tp_perfetto_stream_of(s, track, event);
	}
	if (q)
		put_begin(s, q, event, begin_ns, end_ns);
	else
		s->n_unplaced++;
}
