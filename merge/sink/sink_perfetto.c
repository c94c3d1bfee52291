/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_perfetto.c - Perfetto's own trace format (protobuf), a sixth of the JSON's size
 *
 * A track is a sequence of its own: begin and end packets in time order, times as
 * differences to the packet before, names sent once. perfetto.h lists the parts; what the
 * importer takes amiss stands in perfetto_packets.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/names.h"
#include "merge/model/sink.h"
#include "merge/sink/perfetto.h"

/* ---- spans ---- */

/*
 * One end of an arrow. The start is known only when the backward node comes, long after its
 * operator: ends of arrows are packets of their own, the importer sorts them to their
 * times.
 */
static void put_flow_end(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
			 enum tp_perfetto_category category, uint64_t uuid, int64_t ns,
			 char phase, uint64_t id)
{
	char *packet, *at, *inner, *p;

	p = tp_perfetto_begin_packet(s, q, 0, &packet);
	p = tp_proto_uint(p, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
	p = tp_proto_int(p, PACKET_TIMESTAMP, ns + s->base_ns);
	p = tp_proto_uint(p, PACKET_CLOCK_ID, BOOTTIME);
	p = tp_proto_begin(p, PACKET_TRACK_EVENT, &at);
	p = tp_proto_uint(p, EVENT_TRACK_UUID, uuid);
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, category);
	p = tp_proto_bytes(p, EVENT_NAME, tp_perfetto_category_name[category],
			   strlen(tp_perfetto_category_name[category]));
	p = tp_proto_begin(p, EVENT_LEGACY, &inner);
	p = tp_proto_uint(p, LEGACY_PHASE, (uint64_t)phase);
	p = tp_proto_uint(p, LEGACY_UNSCOPED_ID, id);
	if (phase == 'f')
		p = tp_proto_uint(p, LEGACY_BIND_TO_ENCLOSING, 1);
	tp_proto_end(p, inner);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

void tp_perfetto_put_flow(struct tp_perfetto *s, const struct tp_event *event,
			  enum tp_perfetto_category category, uint64_t from, int64_t from_ns,
			  uint64_t to, int64_t to_ns)
{
	struct tp_perfetto_sequence *q =
	    tp_perfetto_process_sequence(s, &s->process[event->proc->at].instants, event);

	if (!q)
		return;
	s->n_flows++;
	put_flow_end(s, q, category, from, from_ns, 's', s->n_flows);
	put_flow_end(s, q, category, to, to_ns, 'f', s->n_flows);
}

static void put_backward_flow(struct tp_perfetto *s, const struct tp_event *event,
			      uint64_t uuid)
{
	const struct tp_link_op *from = tp_links_backward(&s->links, event);
	const struct tp_perfetto_sequence *of_start;
	struct tp_event at_start;
	struct tp_track *track;

	if (!from)
		return;
	at_start = *event;
	at_start.thread = from->thread;
	at_start.flags = 0;
	track = tp_tracks_main(&s->book, &at_start);
	of_start = track ? track->user : NULL;
	if (of_start)
		tp_perfetto_put_flow(s, event, CAT_FLOW, of_start->uuid, from->begin_ns, uuid,
				     event->begin_ns);
}

void tp_perfetto_put_end(void *state, struct tp_track *track, int64_t end_ns)
{
	struct tp_perfetto *s = state;
	struct tp_perfetto_sequence *q = track->user;
	char *packet, *at, *p;

	if (!q)
		return;
	p = tp_perfetto_begin_event(s, q, end_ns, TYPE_END, &packet, &at);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

static void put_begin(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
		      const struct tp_event *event)
{
	bool is_op = event->kind == TP_REC_OP ||
		     (event->kind == TP_REC_RANGE && tp_name_is_loader(event->name));
	char *packet, *at, *p;

	p = tp_perfetto_begin_event(s, q, event->begin_ns, TYPE_BEGIN, &packet, &at);
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, is_op ? CAT_OP : CAT_ANNOTATION);
	if (event->kind == TP_REC_STEP) {
		char name[32];
		int n = snprintf(name, sizeof(name), "ProfilerStep#%u", event->link);

		p = tp_proto_bytes(p, EVENT_NAME, name, (size_t)n);
	} else {
		p = tp_proto_uint(p, EVENT_NAME_IID,
				  event->name->kind ? (uint64_t)event->name->same + 1
						    : (uint64_t)IID_NO_NAME);
	}
	p = tp_perfetto_put_arguments(s, p, event);
	tp_proto_end(p, at);
	p = tp_perfetto_put_new_names(s, q, p, event);
	tp_perfetto_end_packet(s, p, packet);
}

static void put_span(struct tp_perfetto *s, const struct tp_event *event)
{
	int64_t end_ns = event->end_ns;
	struct tp_track *track = tp_tracks_place(&s->book, event, &end_ns, tp_perfetto_put_end, s);
	struct tp_perfetto_sequence *q;

	q = track ? tp_perfetto_sequence_of(s, track, event, tp_tracks_family(event))
		  : NULL;
	if (!q) {
		s->n_unplaced++;
		return;
	}
	tp_perfetto_load_shapes(s, event->shapes);
	put_begin(s, q, event);
	tp_links_forward(&s->links, event);
	if (event->flags & TP_F_BACKWARD && !track->at)
		put_backward_flow(s, event, q->uuid);
}

/* ---- what has no length ---- */

/* On the track of its thread, in the process's sequence for what has no length. */
static char *begin_instant(struct tp_perfetto *s, const struct tp_event *event,
			   struct tp_perfetto_sequence **q, char **packet, char **at)
{
	struct tp_track *track = tp_tracks_main(&s->book, event);
	const struct tp_perfetto_sequence *of_thread =
	    track ? tp_perfetto_sequence_of(s, track, event, TP_TRACK_THREAD) : NULL;
	char *p;

	*q = tp_perfetto_process_sequence(s, &s->process[event->proc->at].instants, event);
	if (!of_thread || !*q)
		return NULL;
	p = tp_perfetto_begin_event(s, *q, event->begin_ns, TYPE_INSTANT, packet, at);
	return tp_proto_uint(p, EVENT_TRACK_UUID, of_thread->uuid);
}

static char *begin_counter(struct tp_perfetto *s, struct tp_perfetto_sequence **on,
			   const struct tp_event *event, uint64_t key, const char *title,
			   const char *unit, char **packet, char **at)
{
	struct tp_perfetto_process *process = &s->process[event->proc->at];
	struct tp_perfetto_sequence *q = tp_perfetto_process_sequence(s, on, event);
	uint64_t parent, uuid;
	char *p;

	if (!q)
		return NULL;
	parent = tp_title_is_of_device(event->name)
		     ? tp_perfetto_device(s, q, event->proc, event->link)
		     : process->uuid;
	uuid = tp_perfetto_counter_of(s, process, q, parent, key, title, unit);
	if (!uuid)
		return NULL;
	p = tp_perfetto_begin_event(s, q, event->begin_ns, TYPE_COUNTER, packet, at);
	return tp_proto_uint(p, EVENT_TRACK_UUID, uuid);
}

static void put_counter_on(struct tp_perfetto *s, struct tp_perfetto_sequence **on,
			   const struct tp_event *event)
{
	char title[TP_TITLE_MAX], *packet, *at, *p;

	tp_title_counter(title, event->name, event->link);
	p = begin_counter(s, on, event, (uint64_t)event->name->same << 32 | event->link, title,
			  tp_title_unit(event->name), &packet, &at);
	if (!p)
		return;
	if (event->flags & TP_F_DOUBLE)
		p = tp_proto_fixed64(p, EVENT_DOUBLE_VALUE, event->arg);
	else
		p = tp_proto_int(p, EVENT_COUNTER_VALUE, (int64_t)event->arg);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

static void put_counter(struct tp_perfetto *s, const struct tp_event *event)
{
	put_counter_on(s, &s->process[event->proc->at].counters, event);
}

/* A point of the curve of host memory. */
static void put_heap(void *state, const struct tp_event *counter)
{
	struct tp_perfetto *s = state;

	put_counter_on(s, &s->process[counter->proc->at].heap, counter);
}

/* A point of the curve of a device's use. */
static void put_gpu(void *state, const struct tp_event *counter)
{
	struct tp_perfetto *s = state;

	put_counter_on(s, &s->process[counter->proc->at].gpu, counter);
}

/* When it was is known at the end only: a time of its own, not the distance to the one before. */
static void put_heap_peak(struct tp_perfetto *s, const struct tp_hostmem_proc *proc)
{
	struct tp_perfetto_process *process = &s->process[proc->proc->at];
	struct tp_event moment = {.proc = proc->proc, .begin_ns = proc->peak_ns};
	struct tp_perfetto_sequence *q = tp_perfetto_process_sequence(s, &process->heap, &moment);
	static const char name[] = "peak of host memory (heap)";
	char *packet, *at, *p;

	if (!q)
		return;
	p = tp_perfetto_begin_packet(s, q, 0, &packet);
	p = tp_proto_uint(p, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
	p = tp_proto_int(p, PACKET_TIMESTAMP, proc->peak_ns + s->base_ns);
	p = tp_proto_uint(p, PACKET_CLOCK_ID, BOOTTIME);
	p = tp_proto_begin(p, PACKET_TRACK_EVENT, &at);
	p = tp_proto_uint(p, EVENT_TYPE, TYPE_INSTANT);
	p = tp_proto_uint(p, EVENT_TRACK_UUID, process->uuid);
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, CAT_MEMORY);
	p = tp_proto_bytes(p, EVENT_NAME, name, sizeof(name) - 1);
	p = tp_perfetto_put_uint(p, ARG_BYTES, proc->peak_bytes);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

/* The curve that the instants of torch's own profiler leave to its viewer to draw. */
static void put_tensor_curve(struct tp_perfetto *s, const struct tp_event *event,
			     const struct tp_tensor_change *change)
{
	char title[TP_TITLE_MAX], *packet, *at, *p;

	if (change->device_index < 0)
		snprintf(title, sizeof(title), "tensors, %s",
			 change->device_type ? "device" : "CPU");
	else if (change->device_type == 1)
		snprintf(title, sizeof(title), "tensors, GPU %d", change->device_index);
	else
		snprintf(title, sizeof(title), "tensors, device %d:%d", change->device_type,
			 change->device_index);
	p = begin_counter(s, &s->process[event->proc->at].counters, event,
			  1ull << 63 | event->link, title, "B", &packet, &at);
	if (!p)
		return;
	p = tp_proto_int(p, EVENT_COUNTER_VALUE, change->allocated);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

static void put_tensor(struct tp_perfetto *s, const struct tp_event *event)
{
	struct tp_tensor_change change;
	char *packet, *at, *p;
	struct tp_perfetto_sequence *q;

	if (!tp_tensors_note(s->tensors, event, &change) || !change.is_known)
		return;
	p = begin_instant(s, event, &q, &packet, &at);
	if (!p)
		return;
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, CAT_MEMORY);
	p = tp_proto_bytes(p, EVENT_NAME, "[memory]", 8);
	p = tp_perfetto_put_uint(p, ARG_ADDRESS, change.address);
	p = tp_perfetto_put_int(p, ARG_BYTES, change.bytes);
	p = tp_perfetto_put_int(p, ARG_DEVICE_ID, change.device_index);
	p = tp_perfetto_put_int(p, ARG_DEVICE_TYPE, change.device_type);
	p = tp_perfetto_put_int(p, ARG_ALLOCATED, change.allocated);
	p = tp_perfetto_put_int(p, ARG_RESERVED, change.reserved);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
	put_tensor_curve(s, event, &change);
}

static void put_mark(struct tp_perfetto *s, const struct tp_event *event)
{
	char *packet, *at, *p;
	struct tp_perfetto_sequence *q;

	p = begin_instant(s, event, &q, &packet, &at);
	if (!p)
		return;
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, CAT_MARK);
	p = tp_proto_text(p, EVENT_NAME, event->name->bytes,
			  tp_perfetto_name_length(event->name));
	if (event->flags & TP_F_DOUBLE)
		p = tp_perfetto_put_double(p, ARG_VALUE, event->arg);
	else
		p = tp_perfetto_put_int(p, ARG_VALUE, (int64_t)event->arg);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

static void put_event(void *state, const struct tp_event *event)
{
	struct tp_perfetto *s = state;
	struct tp_event counter;

	switch (event->kind) {
	case TP_REC_STEP:
		put_tensor(s, event);
		put_span(s, event);
		break;
	case TP_REC_OP:
	case TP_REC_RANGE:
		put_span(s, event);
		tp_perfetto_modules_event(s, event);
		break;
	case TP_REC_FRAME:
	case TP_REC_STACK:
	case TP_REC_NNMODULE:
		tp_perfetto_modules_event(s, event);
		break;
	case TP_REC_ALLOC:
	case TP_REC_FREE:
	case TP_REC_TOTALS:
		put_tensor(s, event);
		break;
	case TP_REC_DEVALLOC:
	case TP_REC_DEVFREE:
		if (tp_devmem_curve_change(&s->device_memory, event, &counter))
			put_counter(s, &counter);
		break;
	case TP_REC_HEAPALLOC:
	case TP_REC_HEAPFREE:
		tp_heapcurve_event(&s->host_memory, event);
		break;
	case TP_REC_CALL:
	case TP_REC_OVERHEAD:
		tp_perfetto_put_call(s, event);
		break;
	case TP_REC_KERNEL:
	case TP_REC_MEMCPY:
	case TP_REC_MEMSET:
	case TP_REC_GRAPH:
		if (event->queue)
			tp_perfetto_put_work(s, event);
		tp_gpucurve_event(&s->gpu_use, s->run, event);
		break;
	case TP_REC_SYNC:
		if (event->queue)
			tp_perfetto_put_sync(s, event);
		break;
	case TP_REC_COLL:
	case TP_REC_XFER:
		tp_perfetto_put_coll(s, event);
		break;
	case TP_REC_COUNTER:
		tp_devmem_curve_counter(&s->device_memory, event);
		put_counter(s, event);
		break;
	case TP_REC_MARK:
		put_mark(s, event);
		break;
	}
}

/* ---- begin and end ---- */

static void free_state(struct tp_perfetto *s)
{
	for (uint32_t i = 0; i < s->n_shapes; i++) {
		free(s->shapes[i].dims);
		free(s->shapes[i].types);
	}
	free(s->shapes);
	for (uint32_t i = 0; s->process && i < s->run->n_procs; i++) {
		tp_perfetto_free_sequence(s->process[i].counters);
		tp_perfetto_free_sequence(s->process[i].instants);
		tp_perfetto_free_sequence(s->process[i].heap);
		tp_perfetto_free_sequence(s->process[i].gpu);
		free(s->process[i].counter);
	}
	free(s->process);
	tp_tracks_free(&s->book, tp_perfetto_free_sequence);
	tp_links_free(&s->links);
	tp_tensors_free(s->tensors);
	tp_feed_free(&s->feed);
	tp_launches_free(s->launches);
	tp_launch_notes_free(&s->off_track);
	tp_perfetto_modules_free(s);
	tp_devmem_curve_fini(&s->device_memory);
	tp_heapcurve_fini(&s->host_memory);
	tp_gpucurve_fini(&s->gpu_use);
	free(s->device);
	free(s);
}

static void *begin(struct tp_facts *facts, const char *path)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct tp_perfetto *s = calloc(1, sizeof(*s));

	if (!s)
		goto no_memory;
	s->run = run;
	s->launches = tp_launches_new(run);
	s->process = calloc(run->n_procs + 1, sizeof(s->process[0]));
	s->tensors = tp_tensors_new(run);
	if (!s->process || !s->tensors ||
	    tp_tracks_init(&s->book, run) || tp_links_init(&s->links, run) ||
	    tp_feed_init(&s->feed, run, put_event, s) || tp_perfetto_modules_init(s))
		goto no_memory;
	tp_launches_read(s->launches, tp_perfetto_put_launch, NULL, s);
	tp_heapcurve_init(&s->host_memory, run, tp_hostmem_want(facts, true), put_heap, s);
	/* Only spans that never ended may have begun before time 0. */
	for (uint32_t i = 0; i < run->n_open; i++) {
		if (-run->open[i].begin_ns > s->base_ns)
			s->base_ns = -run->open[i].begin_ns;
	}
	s->out = tp_outfile_open(path);
	if (!s->out) {
		free_state(s);
		return NULL;
	}
	return s;
no_memory:
	fprintf(stderr, "trainprof-merge: cannot write '%s': out of memory\n", path);
	if (s)
		free_state(s);
	return NULL;
}

static void event(void *state, const struct tp_event *one)
{
	struct tp_perfetto *s = state;

	tp_feed_event(&s->feed, one);
}

static int end(void *state, const struct tp_run *run)
{
	struct tp_perfetto *s = state;
	const struct tp_hostmem_proc *proc;
	uint64_t n_unplaced;
	uint32_t n;
	int err;

	(void)run;
	tp_feed_end(&s->feed);
	tp_launches_end(s->launches);
	tp_perfetto_modules_end(s);
	tp_gpucurve_end(&s->gpu_use, put_gpu, s);
	proc = tp_heapcurve_end(&s->host_memory, &n);
	for (uint32_t i = 0; i < n; i++)
		put_heap_peak(s, &proc[i]);
	tp_tracks_pop_all(&s->book, tp_perfetto_put_end, s);
	err = tp_outfile_close(s->out);
	n_unplaced = s->n_unplaced;
	free_state(s);
	if (n_unplaced)
		fprintf(stderr,
			"trainprof-merge: %llu spans overlap too many others and are not "
			"in the file\n",
			(unsigned long long)n_unplaced);
	return err;
}

const struct tp_sink tp_sink_perfetto = {
    .name = "perfetto",
    .help = "protobuf for ui.perfetto.dev and its trace processor (.pftrace.gz)",
    .hint = "open it in https://ui.perfetto.dev",
    .suffix = ".pftrace.gz",
    .begin = begin,
    .event = event,
    .end = end,
};
