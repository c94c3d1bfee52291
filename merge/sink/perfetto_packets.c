/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_packets.c - packets of a sequence: the one that makes it readable, heads of
 *events
 *
 * The importer says nothing about most mistakes, so the rules stand beside the code:
 *	- MONOTONIC alone in a clock snapshot drops every event: times are BOOTTIME, and it
 *is named as the primary clock;
 *	- a packet holds one of snapshot, descriptor, event; interned names and defaults may
 *go with any of them;
 *	- a sequence's first packet clears its state, all later ones need it.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/sink/perfetto.h"

enum { PACKET_ROOM = 2048 }; /* bytes of a packet without its strings */

const char *const tp_perfetto_category_name[N_CATEGORIES] = {
    [CAT_OP] = "cpu_op",
    [CAT_ANNOTATION] = "user_annotation",
    [CAT_MEMORY] = "cpu_instant_event",
    [CAT_MARK] = "mark",
    [CAT_FLOW] = "fwdbwd",
    [CAT_RUNTIME] = "cuda_runtime",
    [CAT_DRIVER] = "cuda_driver",
    [CAT_OVERHEAD] = "overhead",
    [CAT_KERNEL] = "kernel",
    [CAT_MEMCPY] = "gpu_memcpy",
    [CAT_MEMSET] = "gpu_memset",
    [CAT_SYNC] = "cuda_sync",
    [CAT_LAUNCH] = "ac2g",
    [CAT_COLL] = "collective",
    [CAT_XFER] = "collective_proxy",
    [CAT_MODULE] = "module",
};

static const char *const argument_name[N_ARGUMENTS] = {
    [ARG_SEQUENCE] = "Sequence number",
    [ARG_FORWARD] = "Fwd thread id",
    [ARG_DIMS] = "Input Dims",
    [ARG_TYPES] = "Input type",
    [ARG_EPOCH] = "epoch",
    [ARG_STEP] = "step in epoch",
    [ARG_EARLY] = "Began before the window",
    [ARG_OPEN] = "Unfinished",
    [ARG_ADDRESS] = "Addr",
    [ARG_BYTES] = "Bytes",
    [ARG_DEVICE_ID] = "Device Id",
    [ARG_DEVICE_TYPE] = "Device Type",
    [ARG_ALLOCATED] = "Total Allocated",
    [ARG_RESERVED] = "Total Reserved",
    [ARG_VALUE] = "value",
    [ARG_CORRELATION] = "correlation",
    [ARG_RETURNED] = "returned",
    [ARG_DEVICE] = "device",
    [ARG_CONTEXT] = "context",
    [ARG_STREAM] = "stream",
    [ARG_REGISTERS] = "registers per thread",
    [ARG_SHARED] = "shared memory",
    [ARG_BLOCKS] = "blocks per SM",
    [ARG_WARPS] = "warps per SM",
    [ARG_GRID] = "grid",
    [ARG_BLOCK] = "block",
    [ARG_CLUSTER] = "cluster",
    [ARG_OCCUPANCY] = "est. achieved occupancy %",
    [ARG_COPIED] = "bytes",
    [ARG_BANDWIDTH] = "memory bandwidth (GB/s)",
    [ARG_GRAPH] = "graph id",
    [ARG_GRAPH_NODE] = "graph node id",
    [ARG_FROM_DEVICE] = "fromDevice",
    [ARG_TO_DEVICE] = "toDevice",
    [ARG_SYNC_KIND] = "cuda_sync_kind",
    [ARG_WAIT_STREAM] = "wait_on_stream",
    [ARG_WAIT_CORRELATION] = "wait_on_cuda_event_record_corr_id",
    [ARG_WAIT_EVENT] = "wait_on_cuda_event_id",
    [ARG_GUESSED] = "Times are guessed",
};

char *tp_perfetto_begin_packet(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
			       size_t n, char **at)
{
	char *p =
	    tp_proto_begin(tp_outfile_room(s->out, PACKET_ROOM + n), TRACE_PACKET, at);

	return tp_proto_uint(p, PACKET_SEQUENCE_ID, q->id);
}

void tp_perfetto_end_packet(struct tp_perfetto *s, char *p, char *at)
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

/* The packet that makes a sequence readable: its clock, its default track, fixed names. */
void tp_perfetto_open_sequence(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
			       int64_t begin_ns)
{
	char *packet, *at, *inner, *p;

	q->id = ++s->n_sequences;
	q->last_ns = begin_ns;
	p = tp_perfetto_begin_packet(s, q, 0, &packet);
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
		p = tp_perfetto_put_interned(p, INTERNED_CATEGORIES, i,
					     tp_perfetto_category_name[i],
					     strlen(tp_perfetto_category_name[i]));
	for (uint32_t i = 1; i < N_ARGUMENTS; i++)
		p = tp_perfetto_put_interned(p, INTERNED_ANNOTATION_NAMES, i,
					     argument_name[i], strlen(argument_name[i]));
	p = tp_perfetto_put_interned(p, INTERNED_NAMES, IID_NO_NAME, "(no name)", 9);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

/* Head of an event's packet; *at for the packet, *event for the event in it. */
char *tp_perfetto_begin_event(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
			      int64_t ns, uint32_t type, char **at, char **event)
{
	/* Longest strings: a name, two texts of shapes, with their UTF-8 repaired. */
	char *p = tp_perfetto_begin_packet(
	    s, q, 3 * TP_PERFETTO_NAME_MAX + 2 * TP_PERFETTO_SHAPES_MAX, at);

	if (ns < q->last_ns)
		ns = q->last_ns;
	p = tp_proto_uint(p, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
	p = tp_proto_uint(p, PACKET_TIMESTAMP, (uint64_t)(ns - q->last_ns));
	q->last_ns = ns;
	p = tp_proto_begin(p, PACKET_TRACK_EVENT, event);
	return tp_proto_uint(p, EVENT_TYPE, type);
}

void tp_perfetto_free_sequence(void *sequence)
{
	struct tp_perfetto_sequence *q = sequence;

	if (!q)
		return;
	free(q->names);
	free(q->strings);
	free(q);
}
