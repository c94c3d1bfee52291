/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_tracks.c - descriptors of processes, devices, threads, streams, further tracks, counters
 *
 * Each is written once, when its first event comes, before that event.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/sink/perfetto.h"

static struct tp_perfetto_process *open_process(struct tp_perfetto *s,
						const struct tp_proc *proc,
						struct tp_perfetto_sequence *q)
{
	struct tp_perfetto_process *process = &s->process[proc->at];
	char title[TP_TITLE_MAX], *packet, *at, *inner, *p;

	if (process->uuid)
		return process;
	process->uuid = ++s->n_uuids;
	tp_title_process(title, proc);
	p = tp_perfetto_begin_packet(s, q, 6 * TP_TITLE_MAX, &packet);
	p = tp_proto_begin(p, PACKET_TRACK_DESCRIPTOR, &at);
	p = tp_proto_uint(p, DESCRIPTOR_UUID, process->uuid);
	p = tp_proto_begin(p, DESCRIPTOR_PROCESS, &inner);
	p = tp_proto_uint(p, PROCESS_PID, tp_title_pid(proc));
	p = tp_proto_uint(p, PROCESS_SORT, tp_title_pid(proc));
	p = tp_proto_text(p, PROCESS_NAME, title, strlen(title));
	if (proc->host[0])
		p = tp_proto_text(p, PROCESS_LABELS, proc->host, strlen(proc->host));
	tp_proto_end(p, inner);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
	return process;
}

/* A thread, or a track below one (or below its process) with a name of its own. */
static void describe_track(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
			   const struct tp_event *event, uint32_t track,
			   enum tp_track_family family, uint64_t parent)
{
	char title[TP_TITLE_MAX], *packet, *at, *inner, *p;

	tp_title_track(title, event->thread, track, family);
	p = tp_perfetto_begin_packet(s, q, 6 * TP_TITLE_MAX, &packet);
	p = tp_proto_begin(p, PACKET_TRACK_DESCRIPTOR, &at);
	p = tp_proto_uint(p, DESCRIPTOR_UUID, q->uuid);
	if (track || family != TP_TRACK_THREAD) {
		p = tp_proto_uint(p, DESCRIPTOR_PARENT, parent);
		p = tp_proto_text(p, DESCRIPTOR_NAME, title, strlen(title));
	} else {
		p = tp_proto_begin(p, DESCRIPTOR_THREAD, &inner);
		p = tp_proto_uint(p, THREAD_PID, tp_title_pid(event->proc));
		p = tp_proto_uint(p, THREAD_TID,
				  event->thread->tid ? event->thread->tid
						     : TP_TITLE_NOBODY_TID);
		p = tp_proto_int(p, THREAD_SORT, tp_title_sort(event->thread, 0, TP_TRACK_THREAD));
		p = tp_proto_text(p, THREAD_NAME, title, strlen(title));
		tp_proto_end(p, inner);
	}
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

/* The sequence of a track, described when it is first met. NULL: out of memory. */
struct tp_perfetto_sequence *tp_perfetto_sequence_of(struct tp_perfetto *s,
						     struct tp_track *track,
						     const struct tp_event *event,
						     enum tp_track_family family)
{
	struct tp_perfetto_sequence *q = track->user;
	uint64_t parent;

	if (q)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->uuid = ++s->n_uuids;
	tp_perfetto_open_sequence(s, q, event->begin_ns);
	parent = open_process(s, event->proc, q)->uuid;
	if (track->at && family == TP_TRACK_THREAD) {
		struct tp_track *own = tp_tracks_main(&s->book, event);
		const struct tp_perfetto_sequence *of_thread =
		    own ? tp_perfetto_sequence_of(s, own, event, TP_TRACK_THREAD) : NULL;

		if (of_thread)
			parent = of_thread->uuid;
	}
	describe_track(s, q, event, track->at, family, parent);
	track->user = q;
	return q;
}

uint64_t tp_perfetto_device(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
			    const struct tp_proc *proc, uint32_t id)
{
	char title[TP_TITLE_MAX], *packet, *at, *inner, *p;
	struct tp_perfetto_device *device;
	uint32_t number = 0;

	for (; number < s->n_devices; number++) {
		if (s->device[number].proc == proc->at && s->device[number].id == id)
			return s->device[number].uuid;
	}
	if (!tp_grow(&s->device, &s->cap_devices, (uint64_t)number + 1, sizeof(*device)))
		return 0;
	device = &s->device[s->n_devices++];
	*device = (struct tp_perfetto_device){proc->at, id, ++s->n_uuids};
	tp_title_device(title, proc, id);
	p = tp_perfetto_begin_packet(s, q, 6 * TP_TITLE_MAX, &packet);
	p = tp_proto_begin(p, PACKET_TRACK_DESCRIPTOR, &at);
	p = tp_proto_uint(p, DESCRIPTOR_UUID, device->uuid);
	p = tp_proto_begin(p, DESCRIPTOR_PROCESS, &inner);
	p = tp_proto_uint(p, PROCESS_PID, tp_title_device_pid(proc, number));
	p = tp_proto_uint(p, PROCESS_SORT, tp_title_device_pid(proc, number));
	p = tp_proto_text(p, PROCESS_NAME, title, strlen(title));
	if (proc->host[0])
		p = tp_proto_text(p, PROCESS_LABELS, proc->host, strlen(proc->host));
	tp_proto_end(p, inner);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
	return device->uuid;
}

/* Streams are threads of their device, as in the JSON; tracks of one's waits, and further ones,
 * have numbers of their own. */
static void describe_stream(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
			    const struct tp_event *event, uint32_t track)
{
	const struct tp_queue *queue = event->queue;
	const struct tp_proc *proc = event->proc;
	bool waits = event->kind == TP_REC_SYNC;
	char title[TP_TITLE_MAX], *packet, *at, *inner, *p;
	uint32_t number = 0;

	while (s->device[number].proc != proc->at || s->device[number].id != queue->device)
		number++;
	tp_title_stream(title, proc, queue, track, waits);
	p = tp_perfetto_begin_packet(s, q, 6 * TP_TITLE_MAX, &packet);
	p = tp_proto_begin(p, PACKET_TRACK_DESCRIPTOR, &at);
	p = tp_proto_uint(p, DESCRIPTOR_UUID, q->uuid);
	p = tp_proto_begin(p, DESCRIPTOR_THREAD, &inner);
	p = tp_proto_uint(p, THREAD_PID, tp_title_device_pid(proc, number));
	p = tp_proto_uint(p, THREAD_TID, tp_title_stream_tid(proc, queue, track, waits));
	p = tp_proto_int(p, THREAD_SORT, tp_title_stream_sort(proc, queue, track, waits));
	p = tp_proto_text(p, THREAD_NAME, title, strlen(title));
	tp_proto_end(p, inner);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

struct tp_perfetto_sequence *tp_perfetto_stream_of(struct tp_perfetto *s, struct tp_track *track,
						   const struct tp_event *event)
{
	struct tp_perfetto_sequence *q = track->user;

	if (q)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->uuid = ++s->n_uuids;
	tp_perfetto_open_sequence(s, q, event->begin_ns);
	if (!tp_perfetto_device(s, q, event->proc, event->queue->device)) {
		free(q);
		return NULL;
	}
	describe_stream(s, q, event, track->at);
	track->user = q;
	return q;
}

/* A sequence of a process for packets that name their track. */
struct tp_perfetto_sequence *tp_perfetto_process_sequence(struct tp_perfetto *s,
							  struct tp_perfetto_sequence **q,
							  const struct tp_event *event)
{
	if (!*q) {
		*q = calloc(1, sizeof(**q));
		if (!*q)
			return NULL;
		tp_perfetto_open_sequence(s, *q, event->begin_ns);
		open_process(s, event->proc, *q);
	}
	return *q;
}

uint64_t tp_perfetto_counter_of(struct tp_perfetto *s, struct tp_perfetto_process *process,
				struct tp_perfetto_sequence *q, uint64_t parent, uint64_t key,
				const char *title, const char *unit)
{
	struct tp_perfetto_counter *counter;
	char *packet, *at, *inner, *p;

	for (uint32_t i = 0; i < process->n_counters; i++) {
		if (process->counter[i].key == key)
			return process->counter[i].uuid;
	}
	if (!tp_grow(&process->counter, &process->cap_counters, process->n_counters + 1,
		     sizeof(*counter)))
		return 0;
	counter = &process->counter[process->n_counters++];
	counter->key = key;
	counter->uuid = ++s->n_uuids;
	p = tp_perfetto_begin_packet(s, q, 6 * TP_TITLE_MAX, &packet);
	p = tp_proto_begin(p, PACKET_TRACK_DESCRIPTOR, &at);
	p = tp_proto_uint(p, DESCRIPTOR_UUID, counter->uuid);
	p = tp_proto_uint(p, DESCRIPTOR_PARENT, parent);
	p = tp_proto_text(p, DESCRIPTOR_NAME, title, strlen(title));
	p = tp_proto_begin(p, DESCRIPTOR_COUNTER, &inner);
	p = tp_proto_text(p, COUNTER_UNIT_NAME, unit, strnlen(unit, 16));
	tp_proto_end(p, inner);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
	return counter->uuid;
}
