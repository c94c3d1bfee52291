/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_packets.c - packets of a sequence: the one that makes it readable, descriptors of
 * processes, threads, tracks, counters
 *
 * The importer says nothing about most mistakes, so the rules stand beside the code:
 *	- MONOTONIC alone in a clock snapshot drops every event: times are BOOTTIME, and it is
 *	  named as the primary clock;
 *	- a packet holds one of snapshot, descriptor, event; interned names and defaults may go with
 *	  any of them;
 *	- a sequence's first packet clears its state, all later ones need it.
 * Each descriptor is written once, before the first event of its track.
 */
#include "merge/kit/need.h"
#include "merge/sink/perfetto.h"

enum { PACKET_ROOM = 4096 }; /* bytes of a packet without its strings */

char *tp_perfetto_begin_packet(struct tp_perfetto *s, const struct tp_perfetto_sequence *q,
			       size_t n, char **at)
{
	char *p = tp_proto_begin(tp_outfile_room(s->out, PACKET_ROOM + n), TRACE_PACKET, at);

	return tp_proto_uint(p, PACKET_SEQUENCE_ID, q->id);
}

void tp_perfetto_end_packet(struct tp_perfetto *s, char *p, char *at)
{
	tp_proto_end(p, at);
	s->out->at = p;
}

char *tp_perfetto_put_interned(char *p, uint32_t field, uint64_t iid, const char *bytes,
			       size_t n)
{
	char *at;

	p = tp_proto_begin(p, field, &at);
	p = tp_proto_uint(p, INTERNED_IID, iid);
	p = tp_proto_text(p, INTERNED_TEXT, bytes, n);
	tp_proto_end(p, at);
	return p;
}

bool tp_perfetto_is_new(uint64_t **bitmap, uint32_t *cap, uint32_t at)
{
	uint64_t bit = 1ull << (at & 63);

	tp_need_room(bitmap, cap, at / 64 + 1, sizeof((*bitmap)[0]));
	if ((*bitmap)[at / 64] & bit)
		return false;
	(*bitmap)[at / 64] |= bit;
	return true;
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

/* Its clock, its default track (0: none), fixed names. */
static void open_sequence(struct tp_perfetto *s, struct tp_perfetto_sequence *q, uint64_t uuid,
			  int64_t ns)
{
	char *packet, *at, *inner, *p;

	q->id = ++s->n_sequences;
	q->last_ns = ns;
	p = tp_perfetto_begin_packet(s, q, 0, &packet);
	p = tp_proto_uint(p, PACKET_SEQUENCE_FLAGS, FLAG_STATE_CLEARED);
	p = tp_proto_uint(p, PACKET_FIRST_ON_SEQUENCE, 1);
	p = tp_proto_begin(p, PACKET_CLOCK_SNAPSHOT, &at);
	p = put_clock(p, BOOTTIME, ns + s->base_ns, false);
	p = put_clock(p, REALTIME, ns + (int64_t)s->run->zero_real_ns, false);
	p = put_clock(p, DELTA_CLOCK, ns + s->base_ns, true);
	p = tp_proto_uint(p, SNAPSHOT_PRIMARY, BOOTTIME);
	tp_proto_end(p, at);
	p = tp_proto_begin(p, PACKET_DEFAULTS, &at);
	p = tp_proto_uint(p, DEFAULTS_CLOCK_ID, DELTA_CLOCK);
	if (uuid) {
		p = tp_proto_begin(p, DEFAULTS_TRACK_EVENT, &inner);
		p = tp_proto_uint(p, EVENT_TRACK_UUID, uuid);
		tp_proto_end(p, inner);
	}
	tp_proto_end(p, at);
	p = tp_proto_begin(p, PACKET_INTERNED_DATA, &at);
	for (uint32_t i = 1; i < TP_SLICE_CATEGORIES; i++) {
		const char *name = tp_slice_category(&tp_dialect_perfetto, i);

		p = tp_perfetto_put_interned(p, INTERNED_CATEGORIES, i, name, strlen(name));
	}
	for (uint32_t i = 1; i < TP_KEYS; i++)
		if (tp_key_text[i].in & tp_dialect_perfetto.bit)
			p = tp_perfetto_put_interned(p, INTERNED_ANNOTATION_NAMES, i,
						     tp_key_text[i].json + 2, tp_key_text[i].n);
	p = tp_perfetto_put_interned(p, INTERNED_NAMES, TP_PERFETTO_NO_NAME, "(no name)", 9);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

void tp_perfetto_open(struct tp_perfetto *s, struct tp_perfetto_lane *process,
		      struct tp_perfetto_sequence *q, int64_t ns)
{
	if (q->id)
		return;
	open_sequence(s, q, 0, ns);
	tp_perfetto_describe_process(s, q, process);
}

/* ---- descriptors ---- */

static char *begin_descriptor(struct tp_perfetto *s, const struct tp_perfetto_sequence *q,
			      uint64_t uuid, char **packet, char **at)
{
	char *p = tp_perfetto_begin_packet(s, q, 12 * TP_TITLE_MAX, packet);

	p = tp_proto_begin(p, PACKET_TRACK_DESCRIPTOR, at);
	return tp_proto_uint(p, DESCRIPTOR_UUID, uuid);
}

static char *put_text(char *p, uint32_t field, const char *text)
{
	return tp_proto_text(p, field, text, strlen(text));
}

void tp_perfetto_describe_process(struct tp_perfetto *s, const struct tp_perfetto_sequence *q,
				  struct tp_perfetto_lane *lane)
{
	char *packet, *at, *inner, *p;

	if (lane->lane.is_described)
		return;
	lane->lane.is_described = true;
	lane->uuid = ++s->n_uuids;
	p = begin_descriptor(s, q, lane->uuid, &packet, &at);
	p = tp_proto_begin(p, DESCRIPTOR_PROCESS, &inner);
	p = tp_proto_uint(p, PROCESS_PID, lane->lane.pid);
	p = tp_proto_int(p, PROCESS_SORT, lane->lane.sort);
	p = put_text(p, PROCESS_NAME, lane->lane.title);
	if (lane->lane.label[0])
		p = put_text(p, PROCESS_LABELS, lane->lane.label);
	tp_proto_end(p, inner);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

void tp_perfetto_describe_lane(void *ctx, struct tp_lane *lane, int64_t ns)
{
	struct tp_perfetto_lane *own = (struct tp_perfetto_lane *)lane;
	struct tp_perfetto *s = ctx;
	char *packet, *at, *inner, *p;

	own->uuid = ++s->n_uuids;
	lane->is_described = true;
	open_sequence(s, &own->own, own->uuid, ns);
	tp_perfetto_describe_process(s, &own->own, (struct tp_perfetto_lane *)lane->top);
	if (!lane->parent->is_described)
		tp_perfetto_describe_lane(ctx, lane->parent, ns);
	p = begin_descriptor(s, &own->own, own->uuid, &packet, &at);
	if (lane->kind == TP_LANE_BELOW) {
		p = tp_proto_uint(p, DESCRIPTOR_PARENT,
				  ((struct tp_perfetto_lane *)lane->parent)->uuid);
		p = put_text(p, DESCRIPTOR_NAME, lane->title);
	} else {
		p = tp_proto_begin(p, DESCRIPTOR_THREAD, &inner);
		p = tp_proto_uint(p, THREAD_PID, lane->pid);
		p = tp_proto_uint(p, THREAD_TID, lane->tid);
		p = tp_proto_int(p, THREAD_SORT, lane->sort);
		p = put_text(p, THREAD_NAME, lane->title);
		tp_proto_end(p, inner);
	}
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

uint64_t tp_perfetto_counter(struct tp_perfetto *s, const struct tp_perfetto_sequence *q,
			     const struct tp_point *point)
{
	struct tp_perfetto_lane *process = (struct tp_perfetto_lane *)point->process;
	struct tp_perfetto_counter *counter;
	char *packet, *at, *inner, *p;

	for (uint32_t i = 0; i < process->n_counters; i++) {
		if (process->counter[i].key == point->key)
			return process->counter[i].uuid;
	}
	tp_need_room(&process->counter, &process->cap_counters, process->n_counters + 1,
		     sizeof(*counter));
	counter = &process->counter[process->n_counters++];
	counter->key = point->key;
	counter->uuid = ++s->n_uuids;
	p = begin_descriptor(s, q, counter->uuid, &packet, &at);
	p = tp_proto_uint(p, DESCRIPTOR_PARENT, ((struct tp_perfetto_lane *)point->lane)->uuid);
	p = put_text(p, DESCRIPTOR_NAME, point->title);
	p = tp_proto_begin(p, DESCRIPTOR_COUNTER, &inner);
	p = tp_proto_text(p, COUNTER_UNIT_NAME, point->unit, strnlen(point->unit, 16));
	tp_proto_end(p, inner);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
	return counter->uuid;
}
