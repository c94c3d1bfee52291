/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_perfetto.c - Perfetto's own trace format (protobuf), a sixth of the JSON's size
 *
 * A track is a sequence of its own: begin and end packets in time order, times as differences
 * to the packet before, names sent once. The importer says nothing about most mistakes (a name
 * it does not know, an end that is missing), so the rules stand beside the code:
 *	- MONOTONIC alone in a clock snapshot drops every event: times are BOOTTIME, and it is
 *	  named as the primary clock;
 *	- a packet holds one of snapshot, descriptor, event; interned names and defaults may go
 *	  with any of them;
 *	- a sequence's first packet clears its state, all later ones need it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/feed.h"
#include "merge/grow.h"
#include "merge/kineto.h"
#include "merge/links.h"
#include "merge/outfile.h"
#include "merge/perfetto_fields.h"
#include "merge/proto.h"
#include "merge/sink.h"
#include "merge/tensors.h"
#include "merge/title.h"
#include "merge/tracks.h"

enum category { CAT_OP = 1, CAT_ANNOTATION, CAT_MEMORY, CAT_MARK, CAT_FLOW, N_CATEGORIES };
static const char *const category_name[N_CATEGORIES] = {
	[CAT_OP] = "cpu_op", [CAT_ANNOTATION] = "user_annotation",
	[CAT_MEMORY] = "cpu_instant_event", [CAT_MARK] = "mark",
	[CAT_FLOW] = "fwdbwd",
};

enum argument {
	ARG_SEQUENCE = 1, ARG_FORWARD, ARG_DIMS, ARG_TYPES, ARG_EPOCH, ARG_STEP, ARG_EARLY, ARG_OPEN,
	ARG_ADDRESS, ARG_BYTES, ARG_DEVICE_ID, ARG_DEVICE_TYPE, ARG_ALLOCATED, ARG_RESERVED,
	ARG_VALUE, N_ARGUMENTS
};
static const char *const argument_name[N_ARGUMENTS] = {
	[ARG_SEQUENCE] = "Sequence number", [ARG_FORWARD] = "Fwd thread id",
	[ARG_DIMS] = "Input Dims", [ARG_TYPES] = "Input type", [ARG_EPOCH] = "epoch",
	[ARG_STEP] = "step in epoch", [ARG_EARLY] = "Began before the window",
	[ARG_OPEN] = "Unfinished", [ARG_ADDRESS] = "Addr", [ARG_BYTES] = "Bytes",
	[ARG_DEVICE_ID] = "Device Id", [ARG_DEVICE_TYPE] = "Device Type",
	[ARG_ALLOCATED] = "Total Allocated", [ARG_RESERVED] = "Total Reserved",
	[ARG_VALUE] = "value",
};

enum {
	PACKET_ROOM = 2048,	/* of a packet without its strings */
	NAME_MAX = 1024,	/* bytes of a name that are kept */
	SHAPES_MAX = 4096,
	IID_NO_NAME = 1,	/* name iids are tp_string.same + 1 */
};

/* A sequence of packets. */
struct sequence {
	uint32_t id;
	uint64_t uuid;			/* its default track; 0: none */
	int64_t last_ns;
	uint64_t *names, *strings;	/* bitmaps by tp_string.same: already sent */
	uint32_t cap_names, cap_strings;
};

/* Of a process: its track, the sequence of what lies on no thread, its counters. */
struct counter {
	uint64_t key, uuid;
};

struct process {
	uint64_t uuid;
	struct sequence *counters, *instants;
	struct counter *counter;
	uint32_t n_counters, cap_counters;
};

struct perfetto {
	const struct tp_run *run;
	struct tp_outfile *out;
	struct process *process;	/* by proc */
	struct tp_track_book book;
	struct tp_links links;
	struct tp_tensors *tensors;
	struct tp_feed feed;
	uint32_t n_sequences;
	uint64_t n_uuids;
	int64_t base_ns;		/* added to all times: none is negative */
	char **dims, **types;		/* JSON of SHAPES strings, by tp_string.same */
	uint32_t n_shapes;
	uint64_t n_unplaced, n_flows;
};

/* ---- packets ---- */

static char *begin_packet(struct perfetto *s, struct sequence *q, size_t n, char **at)
{
	char *p = tp_proto_begin(tp_outfile_room(s->out, PACKET_ROOM + n), TRACE_PACKET, at);

	return tp_proto_uint(p, PACKET_SEQUENCE_ID, q->id);
}

static void end_packet(struct perfetto *s, char *p, char *at)
{
	tp_proto_end(p, at);
	s->out->at = p;
}

static char *put_clock(char *p, uint32_t id, int64_t ns, bool is_incremental)
{
	char *at;

	p = tp_proto_begin(p, SNAPSHOT_CLOCKS, &at);
	p = tp_proto_uint(p, CLOCK_ID, id);
	p = tp_proto_int(p, CLOCK_TIMESTAMP, ns);
	if (is_incremental)
		p = tp_proto_uint(p, CLOCK_IS_INCREMENTAL, 1);
	tp_proto_end(p, at);
	return p;
}

static char *put_interned(char *p, uint32_t field, uint64_t iid, const char *bytes, size_t n)
{
	char *at;

	p = tp_proto_begin(p, field, &at);
	p = tp_proto_uint(p, INTERNED_IID, iid);
	p = tp_proto_text(p, INTERNED_TEXT, bytes, n);
	tp_proto_end(p, at);
	return p;
}

/* The packet that makes a sequence readable: its clock, its default track, fixed names. */
static void open_sequence(struct perfetto *s, struct sequence *q, int64_t begin_ns)
{
	char *packet, *at, *inner, *p;

	q->id = ++s->n_sequences;
	q->last_ns = begin_ns;
	p = begin_packet(s, q, 0, &packet);
	p = tp_proto_uint(p, PACKET_SEQUENCE_FLAGS, FLAG_STATE_CLEARED);
	p = tp_proto_uint(p, PACKET_FIRST_ON_SEQUENCE, 1);
	p = tp_proto_begin(p, PACKET_CLOCK_SNAPSHOT, &at);
	p = put_clock(p, BOOTTIME, begin_ns + s->base_ns, false);
	p = put_clock(p, REALTIME, begin_ns + (int64_t)s->run->zero_real_ns, false);
	p = put_clock(p, DELTA_CLOCK, begin_ns + s->base_ns, true);
	p = tp_proto_uint(p, SNAPSHOT_PRIMARY, BOOTTIME);
	tp_proto_end(p, at);
	p = tp_proto_begin(p, PACKET_DEFAULTS, &at);
	p = tp_proto_uint(p, DEFAULTS_CLOCK_ID, DELTA_CLOCK);
	if (q->uuid) {
		p = tp_proto_begin(p, DEFAULTS_TRACK_EVENT, &inner);
		p = tp_proto_uint(p, EVENT_TRACK_UUID, q->uuid);
		tp_proto_end(p, inner);
	}
	tp_proto_end(p, at);
	p = tp_proto_begin(p, PACKET_INTERNED_DATA, &at);
	for (uint32_t i = 1; i < N_CATEGORIES; i++)
		p = put_interned(p, INTERNED_CATEGORIES, i, category_name[i],
				 strlen(category_name[i]));
	for (uint32_t i = 1; i < N_ARGUMENTS; i++)
		p = put_interned(p, INTERNED_ANNOTATION_NAMES, i, argument_name[i],
				 strlen(argument_name[i]));
	p = put_interned(p, INTERNED_NAMES, IID_NO_NAME, "(no name)", 9);
	tp_proto_end(p, at);
	end_packet(s, p, packet);
}

/* Head of an event's packet; *at for the packet, *event for the event in it. */
static char *begin_event(struct perfetto *s, struct sequence *q, int64_t ns, uint32_t type,
			 char **at, char **event)
{
	/* Longest strings: a name, two texts of shapes, with their UTF-8 repaired. */
	char *p = begin_packet(s, q, 3 * NAME_MAX + 2 * SHAPES_MAX, at);

	if (ns < q->last_ns)
		ns = q->last_ns;
	p = tp_proto_uint(p, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
	p = tp_proto_uint(p, PACKET_TIMESTAMP, (uint64_t)(ns - q->last_ns));
	q->last_ns = ns;
	p = tp_proto_begin(p, PACKET_TRACK_EVENT, event);
	return tp_proto_uint(p, EVENT_TYPE, type);
}

/* ---- descriptors ---- */

static struct process *open_process(struct perfetto *s, const struct tp_proc *proc,
				    struct sequence *q)
{
	struct process *process = &s->process[proc->at];
	char title[TP_TITLE_MAX], *packet, *at, *inner, *p;

	if (process->uuid)
		return process;
	process->uuid = ++s->n_uuids;
	tp_title_process(title, proc);
	p = begin_packet(s, q, 6 * TP_TITLE_MAX, &packet);
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
	end_packet(s, p, packet);
	return process;
}

/* A thread, or a track below one (or below its process) with a name of its own. */
static void describe_track(struct perfetto *s, struct sequence *q, const struct tp_event *event,
			   uint32_t track, bool is_async, uint64_t parent)
{
	char title[TP_TITLE_MAX], *packet, *at, *inner, *p;

	tp_title_track(title, event->thread, track, is_async);
	p = begin_packet(s, q, 6 * TP_TITLE_MAX, &packet);
	p = tp_proto_begin(p, PACKET_TRACK_DESCRIPTOR, &at);
	p = tp_proto_uint(p, DESCRIPTOR_UUID, q->uuid);
	if (track || is_async) {
		p = tp_proto_uint(p, DESCRIPTOR_PARENT, parent);
		p = tp_proto_text(p, DESCRIPTOR_NAME, title, strlen(title));
	} else {
		p = tp_proto_begin(p, DESCRIPTOR_THREAD, &inner);
		p = tp_proto_uint(p, THREAD_PID, tp_title_pid(event->proc));
		p = tp_proto_uint(p, THREAD_TID,
				  event->thread->tid ? event->thread->tid : TP_TITLE_NOBODY_TID);
		p = tp_proto_int(p, THREAD_SORT, tp_title_sort(event->thread, 0, false));
		p = tp_proto_text(p, THREAD_NAME, title, strlen(title));
		tp_proto_end(p, inner);
	}
	tp_proto_end(p, at);
	end_packet(s, p, packet);
}

/* The sequence of a track, described when it is first met. NULL: out of memory. */
static struct sequence *sequence_of(struct perfetto *s, struct tp_track *track,
				    const struct tp_event *event, bool is_async)
{
	struct sequence *q = track->user;
	uint64_t parent;

	if (q)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->uuid = ++s->n_uuids;
	open_sequence(s, q, event->begin_ns);
	parent = open_process(s, event->proc, q)->uuid;
	if (track->at && !is_async) {
		struct tp_track *own = tp_tracks_main(&s->book, event);
		const struct sequence *of_thread =
			own ? sequence_of(s, own, event, false) : NULL;

		if (of_thread)
			parent = of_thread->uuid;
	}
	describe_track(s, q, event, track->at, is_async, parent);
	track->user = q;
	return q;
}

/* A sequence of a process for packets that name their track. */
static struct sequence *process_sequence(struct perfetto *s, struct sequence **q,
					 const struct tp_event *event)
{
	if (!*q) {
		*q = calloc(1, sizeof(**q));
		if (!*q)
			return NULL;
		open_sequence(s, *q, event->begin_ns);
		open_process(s, event->proc, *q);
	}
	return *q;
}

/* ---- names and arguments ---- */

/* True the first time; also when memory is out: sent twice is not wrong. */
static bool is_new(uint64_t **bitmap, uint32_t *cap, uint32_t same)
{
	uint64_t bit = 1ull << (same & 63);

	if (!tp_grow(bitmap, cap, same / 64 + 1, sizeof((*bitmap)[0])))
		return true;
	if ((*bitmap)[same / 64] & bit)
		return false;
	(*bitmap)[same / 64] |= bit;
	return true;
}

static size_t name_length(const struct tp_string *name)
{
	size_t n = name->n_bytes < NAME_MAX ? name->n_bytes : NAME_MAX;

	return name->kind == TP_STRING_OP || name->kind == TP_STRING_COUNTER
		       ? strnlen(name->bytes, n)
		       : n;
}

static void load_shapes(struct perfetto *s, const struct tp_string *shapes)
{
	if (shapes->same >= s->n_shapes || s->dims[shapes->same] ||
	    shapes->kind != TP_STRING_SHAPES)
		return;
	if (!tp_kineto_shapes(shapes, &s->dims[shapes->same], &s->types[shapes->same]))
		s->dims[shapes->same] = s->types[shapes->same] = NULL;
}

static bool has_shapes(const struct perfetto *s, const struct tp_string *shapes)
{
	return shapes->same < s->n_shapes && s->dims[shapes->same] &&
	       strlen(s->dims[shapes->same]) <= SHAPES_MAX &&
	       strlen(s->types[shapes->same]) <= SHAPES_MAX;
}

static char *put_uint(char *p, enum argument name, uint64_t value)
{
	char *at;

	p = tp_proto_begin(p, EVENT_ANNOTATIONS, &at);
	p = tp_proto_uint(p, ANNOTATION_NAME_IID, name);
	p = tp_proto_uint(p, ANNOTATION_UINT, value);
	tp_proto_end(p, at);
	return p;
}

static char *put_int(char *p, enum argument name, int64_t value)
{
	char *at;

	p = tp_proto_begin(p, EVENT_ANNOTATIONS, &at);
	p = tp_proto_uint(p, ANNOTATION_NAME_IID, name);
	p = tp_proto_int(p, ANNOTATION_INT, value);
	tp_proto_end(p, at);
	return p;
}

static char *put_string(char *p, enum argument name, uint64_t iid)
{
	char *at;

	p = tp_proto_begin(p, EVENT_ANNOTATIONS, &at);
	p = tp_proto_uint(p, ANNOTATION_NAME_IID, name);
	p = tp_proto_uint(p, ANNOTATION_STRING_IID, iid);
	tp_proto_end(p, at);
	return p;
}

static char *put_arguments(const struct perfetto *s, char *p, const struct tp_event *event)
{
	if (event->kind == TP_REC_STEP) {
		p = put_uint(p, ARG_EPOCH, event->arg >> 32);
		p = put_uint(p, ARG_STEP, (uint32_t)event->arg);
	} else if (event->kind == TP_REC_OP && event->link != TP_NO_SEQ) {
		p = put_uint(p, ARG_SEQUENCE, event->link);
		p = put_uint(p, ARG_FORWARD,
			     event->flags & TP_F_ASYNC ? 0 : TP_ARG_THREAD(event->arg));
	}
	if (has_shapes(s, event->shapes)) {
		p = put_string(p, ARG_DIMS, 2 * (uint64_t)event->shapes->same + 2);
		p = put_string(p, ARG_TYPES, 2 * (uint64_t)event->shapes->same + 3);
	}
	if (event->flags & TP_F_EARLY)
		p = put_uint(p, ARG_EARLY, 1);
	if (event->flags & TP_F_OPEN)
		p = put_uint(p, ARG_OPEN, 1);
	return p;
}

/* What the event of this packet names and its sequence has not seen yet. */
static char *put_new_names(struct perfetto *s, struct sequence *q, char *p,
			   const struct tp_event *event)
{
	const struct tp_string *name = event->name, *shapes = event->shapes;
	bool sends_name = event->kind != TP_REC_STEP && name->kind &&
			  is_new(&q->names, &q->cap_names, name->same);
	bool sends_shapes = has_shapes(s, shapes) &&
			    is_new(&q->strings, &q->cap_strings, shapes->same);
	char *at;

	if (!sends_name && !sends_shapes)
		return p;
	p = tp_proto_begin(p, PACKET_INTERNED_DATA, &at);
	if (sends_name)
		p = put_interned(p, INTERNED_NAMES, (uint64_t)name->same + 1, name->bytes,
				 name_length(name));
	if (sends_shapes) {
		const char *dims = s->dims[shapes->same], *types = s->types[shapes->same];

		p = put_interned(p, INTERNED_STRINGS, 2 * (uint64_t)shapes->same + 2, dims,
				 strlen(dims));
		p = put_interned(p, INTERNED_STRINGS, 2 * (uint64_t)shapes->same + 3, types,
				 strlen(types));
	}
	tp_proto_end(p, at);
	return p;
}

/* ---- spans ---- */

static bool is_loader(const struct tp_string *name)
{
	static const char loader[] = "enumerate(Data";

	return name->n_bytes >= sizeof(loader) - 1 &&
	       !memcmp(name->bytes, loader, sizeof(loader) - 1);
}

/*
 * One end of an arrow. The start is known only when the backward node comes, long after its
 * operator: ends of arrows are packets of their own, the importer sorts them to their times.
 */
static void put_flow_end(struct perfetto *s, struct sequence *q, uint64_t uuid, int64_t ns,
			 char phase, uint64_t id)
{
	char *packet, *at, *inner, *p;

	p = begin_packet(s, q, 0, &packet);
	p = tp_proto_uint(p, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
	p = tp_proto_int(p, PACKET_TIMESTAMP, ns + s->base_ns);
	p = tp_proto_uint(p, PACKET_CLOCK_ID, BOOTTIME);
	p = tp_proto_begin(p, PACKET_TRACK_EVENT, &at);
	p = tp_proto_uint(p, EVENT_TRACK_UUID, uuid);
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, CAT_FLOW);
	p = tp_proto_bytes(p, EVENT_NAME, category_name[CAT_FLOW], strlen(category_name[CAT_FLOW]));
	p = tp_proto_begin(p, EVENT_LEGACY, &inner);
	p = tp_proto_uint(p, LEGACY_PHASE, (uint64_t)phase);
	p = tp_proto_uint(p, LEGACY_UNSCOPED_ID, id);
	if (phase == 'f')
		p = tp_proto_uint(p, LEGACY_BIND_TO_ENCLOSING, 1);
	tp_proto_end(p, inner);
	tp_proto_end(p, at);
	end_packet(s, p, packet);
}

static void put_flow(struct perfetto *s, const struct tp_event *event, uint64_t uuid)
{
	const struct tp_link_op *from = tp_links_backward(&s->links, event);
	struct tp_event at_start;
	struct tp_track *track;
	struct sequence *of_start, *q;

	if (!from)
		return;
	at_start = *event;
	at_start.thread = from->thread;
	at_start.flags = 0;
	track = tp_tracks_main(&s->book, &at_start);
	of_start = track ? track->user : NULL;
	q = process_sequence(s, &s->process[event->proc->at].instants, event);
	if (!of_start || !q)
		return;
	s->n_flows++;
	put_flow_end(s, q, of_start->uuid, from->begin_ns, 's', s->n_flows);
	put_flow_end(s, q, uuid, event->begin_ns, 'f', s->n_flows);
}

static void put_end(void *ctx, struct tp_track *track, int64_t end_ns)
{
	struct perfetto *s = ctx;
	struct sequence *q = track->user;
	char *packet, *at, *p;

	if (!q)
		return;
	p = begin_event(s, q, end_ns, TYPE_END, &packet, &at);
	tp_proto_end(p, at);
	end_packet(s, p, packet);
}

static void put_begin(struct perfetto *s, struct sequence *q, const struct tp_event *event)
{
	bool is_op = event->kind == TP_REC_OP ||
		     (event->kind == TP_REC_RANGE && is_loader(event->name));
	char *packet, *at, *p;

	p = begin_event(s, q, event->begin_ns, TYPE_BEGIN, &packet, &at);
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
	p = put_arguments(s, p, event);
	tp_proto_end(p, at);
	p = put_new_names(s, q, p, event);
	end_packet(s, p, packet);
}

static void put_span(struct perfetto *s, const struct tp_event *event)
{
	int64_t end_ns = event->end_ns;
	struct tp_track *track = tp_tracks_place(&s->book, event, &end_ns, put_end, s);
	struct sequence *q;

	q = track ? sequence_of(s, track, event, event->flags & TP_F_ASYNC) : NULL;
	if (!q) {
		s->n_unplaced++;
		return;
	}
	load_shapes(s, event->shapes);
	put_begin(s, q, event);
	tp_links_forward(&s->links, event);
	if (event->flags & TP_F_BACKWARD && !track->at)
		put_flow(s, event, q->uuid);
}

/* ---- what has no length ---- */

/* On the track of its thread, in the process's sequence for what has no length. */
static char *begin_instant(struct perfetto *s, const struct tp_event *event,
			   struct sequence **q, char **packet, char **at)
{
	struct tp_track *track = tp_tracks_main(&s->book, event);
	const struct sequence *of_thread = track ? sequence_of(s, track, event, false) : NULL;
	char *p;

	*q = process_sequence(s, &s->process[event->proc->at].instants, event);
	if (!of_thread || !*q)
		return NULL;
	p = begin_event(s, *q, event->begin_ns, TYPE_INSTANT, packet, at);
	return tp_proto_uint(p, EVENT_TRACK_UUID, of_thread->uuid);
}

static uint64_t counter_of(struct perfetto *s, struct process *process, struct sequence *q,
			   uint64_t key, const char *title, const char *unit)
{
	struct counter *counter;
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
	p = begin_packet(s, q, 6 * TP_TITLE_MAX, &packet);
	p = tp_proto_begin(p, PACKET_TRACK_DESCRIPTOR, &at);
	p = tp_proto_uint(p, DESCRIPTOR_UUID, counter->uuid);
	p = tp_proto_uint(p, DESCRIPTOR_PARENT, process->uuid);
	p = tp_proto_text(p, DESCRIPTOR_NAME, title, strlen(title));
	p = tp_proto_begin(p, DESCRIPTOR_COUNTER, &inner);
	p = tp_proto_text(p, COUNTER_UNIT_NAME, unit, strnlen(unit, 16));
	tp_proto_end(p, inner);
	tp_proto_end(p, at);
	end_packet(s, p, packet);
	return counter->uuid;
}

static char *begin_counter(struct perfetto *s, const struct tp_event *event, uint64_t key,
			   const char *title, const char *unit, char **packet, char **at)
{
	struct process *process = &s->process[event->proc->at];
	struct sequence *q = process_sequence(s, &process->counters, event);
	uint64_t uuid = q ? counter_of(s, process, q, key, title, unit) : 0;
	char *p;

	if (!uuid)
		return NULL;
	p = begin_event(s, q, event->begin_ns, TYPE_COUNTER, packet, at);
	return tp_proto_uint(p, EVENT_TRACK_UUID, uuid);
}

static void put_counter(struct perfetto *s, const struct tp_event *event)
{
	char title[TP_TITLE_MAX], *packet, *at, *p;

	tp_title_counter(title, event->name, event->link);
	p = begin_counter(s, event, (uint64_t)event->name->same << 32 | event->link, title,
			  tp_title_unit(event->name), &packet, &at);
	if (!p)
		return;
	if (event->flags & TP_F_DOUBLE)
		p = tp_proto_fixed64(p, EVENT_DOUBLE_VALUE, event->arg);
	else
		p = tp_proto_int(p, EVENT_COUNTER_VALUE, (int64_t)event->arg);
	tp_proto_end(p, at);
	end_packet(s, p, packet);
}

/* The curve that the instants of torch's own profiler leave to its viewer to draw. */
static void put_tensor_curve(struct perfetto *s, const struct tp_event *event,
			     const struct tp_tensor_change *change)
{
	char title[TP_TITLE_MAX], *packet, *at, *p;

	if (change->device_index < 0)
		snprintf(title, sizeof(title), "tensors, %s", change->device_type ? "device" : "CPU");
	else
		snprintf(title, sizeof(title), "tensors, device %d:%d", change->device_type,
			 change->device_index);
	p = begin_counter(s, event, 1ull << 63 | event->link, title, "B", &packet, &at);
	if (!p)
		return;
	p = tp_proto_int(p, EVENT_COUNTER_VALUE, change->allocated);
	tp_proto_end(p, at);
	end_packet(s, p, packet);
}

static void put_tensor(struct perfetto *s, const struct tp_event *event)
{
	struct tp_tensor_change change;
	char *packet, *at, *p;
	struct sequence *q;

	if (!tp_tensors_note(s->tensors, event, &change) || !change.is_known)
		return;
	p = begin_instant(s, event, &q, &packet, &at);
	if (!p)
		return;
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, CAT_MEMORY);
	p = tp_proto_bytes(p, EVENT_NAME, "[memory]", 8);
	p = put_uint(p, ARG_ADDRESS, change.address);
	p = put_int(p, ARG_BYTES, change.bytes);
	p = put_int(p, ARG_DEVICE_ID, change.device_index);
	p = put_int(p, ARG_DEVICE_TYPE, change.device_type);
	p = put_int(p, ARG_ALLOCATED, change.allocated);
	p = put_int(p, ARG_RESERVED, change.reserved);
	tp_proto_end(p, at);
	end_packet(s, p, packet);
	put_tensor_curve(s, event, &change);
}

static void put_mark(struct perfetto *s, const struct tp_event *event)
{
	char *packet, *at, *p;
	struct sequence *q;

	p = begin_instant(s, event, &q, &packet, &at);
	if (!p)
		return;
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, CAT_MARK);
	p = tp_proto_text(p, EVENT_NAME, event->name->bytes, name_length(event->name));
	p = put_int(p, ARG_VALUE, (int64_t)event->arg);
	tp_proto_end(p, at);
	end_packet(s, p, packet);
}

static void put_event(void *state, const struct tp_event *event)
{
	struct perfetto *s = state;

	switch (event->kind) {
	case TP_REC_STEP:
		put_tensor(s, event);
		put_span(s, event);
		break;
	case TP_REC_OP:
	case TP_REC_RANGE:
		put_span(s, event);
		break;
	case TP_REC_ALLOC:
	case TP_REC_FREE:
	case TP_REC_TOTALS:
		put_tensor(s, event);
		break;
	case TP_REC_COUNTER:
		put_counter(s, event);
		break;
	case TP_REC_MARK:
		put_mark(s, event);
		break;
	}
}

/* ---- begin and end ---- */

static void free_sequence(void *sequence)
{
	struct sequence *q = sequence;

	if (!q)
		return;
	free(q->names);
	free(q->strings);
	free(q);
}

static void free_state(struct perfetto *s)
{
	for (uint32_t i = 0; i < s->n_shapes; i++) {
		if (s->dims)
			free(s->dims[i]);
		if (s->types)
			free(s->types[i]);
	}
	free(s->dims);
	free(s->types);
	for (uint32_t i = 0; s->process && i < s->run->n_procs; i++) {
		free_sequence(s->process[i].counters);
		free_sequence(s->process[i].instants);
		free(s->process[i].counter);
	}
	free(s->process);
	tp_tracks_free(&s->book, free_sequence);
	tp_links_free(&s->links);
	tp_tensors_free(s->tensors);
	tp_feed_free(&s->feed);
	free(s);
}

static void *begin(const struct tp_run *run, const char *path)
{
	struct perfetto *s = calloc(1, sizeof(*s));

	if (!s)
		goto no_memory;
	s->run = run;
	s->n_shapes = run->n_distinct_strings;
	s->dims = calloc(s->n_shapes + 1, sizeof(s->dims[0]));
	s->types = calloc(s->n_shapes + 1, sizeof(s->types[0]));
	s->process = calloc(run->n_procs + 1, sizeof(s->process[0]));
	s->tensors = tp_tensors_new(run);
	if (!s->dims || !s->types || !s->process || !s->tensors ||
	    tp_tracks_init(&s->book, run) || tp_links_init(&s->links, run) ||
	    tp_feed_init(&s->feed, run, put_event, s))
		goto no_memory;
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
	struct perfetto *s = state;

	tp_feed_event(&s->feed, one);
}

static int end(void *state, const struct tp_run *run)
{
	struct perfetto *s = state;
	uint64_t n_unplaced;
	int err;

	(void)run;
	tp_feed_end(&s->feed);
	tp_tracks_pop_all(&s->book, put_end, s);
	err = tp_outfile_close(s->out);
	n_unplaced = s->n_unplaced;
	free_state(s);
	if (n_unplaced)
		fprintf(stderr, "trainprof-merge: %llu spans overlap too many others and are not "
				"in the file\n", (unsigned long long)n_unplaced);
	return err;
}

const struct tp_sink tp_sink_perfetto = {
	.name = "perfetto",
	.help = "protobuf for ui.perfetto.dev and its trace processor (.pftrace.gz)",
	.suffix = ".pftrace.gz",
	.begin = begin,
	.event = event,
	.end = end,
};
