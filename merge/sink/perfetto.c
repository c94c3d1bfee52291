/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.c - slices, counters and arrows as packets
 */
#include "merge/sink/perfetto.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- arguments ---- */

static char *put_list(char *p, const uint32_t of[3])
{
	char text[40];
	int n = snprintf(text, sizeof(text), "%u, %u, %u", of[0], of[1], of[2]);

	return tp_proto_bytes(p, ANNOTATION_STRING, text, (size_t)n);
}

static char *put_arg(char *p, const struct tp_arg *arg)
{
	char *at;

	p = tp_proto_begin(p, EVENT_ANNOTATIONS, &at);
	if (arg->name)
		p = tp_proto_text(p, ANNOTATION_NAME, arg->name, strlen(arg->name));
	else
		p = tp_proto_uint(p, ANNOTATION_NAME_IID, arg->key);
	switch ((enum tp_arg_kind)arg->kind) {
	case TP_ARG_UINT:
		p = tp_proto_uint(p, ANNOTATION_UINT, arg->number);
		break;
	case TP_ARG_INT:
		p = tp_proto_uint(p, ANNOTATION_INT, arg->number);
		break;
	case TP_ARG_DOUBLE:
	case TP_ARG_FIXED:
		p = tp_proto_fixed64(p, ANNOTATION_DOUBLE, arg->number);
		break;
	case TP_ARG_TEXT:
		p = tp_proto_text(p, ANNOTATION_STRING, arg->text, arg->n);
		break;
	case TP_ARG_LIST:
		p = put_list(p, arg->list);
		break;
	case TP_ARG_JSON:
		p = tp_proto_uint(p, ANNOTATION_STRING_IID, (uint64_t)arg->id + 1);
		break;
	case TP_ARG_NULL:
	case TP_ARG_ENCODED:
		break;
	}
	tp_proto_end(p, at);
	return p;
}

static char *put_args(char *p, const struct tp_args *args)
{
	for (const struct tp_arg *arg = args->arg; arg < args->arg + args->n; arg++) {
		if (arg->kind == TP_ARG_ENCODED) {
			memcpy(p, arg->text, arg->n);
			p += arg->n;
		} else {
			p = put_arg(p, arg);
		}
	}
	return p;
}

/* ---- slices ---- */

/* Bytes of a name that are shown. */
static size_t name_length(const struct tp_string *name)
{
	size_t n = name->n_bytes < TP_PERFETTO_NAME_MAX ? name->n_bytes : TP_PERFETTO_NAME_MAX;

	return name->kind == TP_STRING_OP || name->kind == TP_STRING_COUNTER
		       ? strnlen(name->bytes, n)
		       : n;
}

/* What the event of this packet names and its sequence has not seen yet. */
static char *put_new_names(struct tp_perfetto_sequence *q, char *p, const struct tp_slice *slice)
{
	const struct tp_string *name = slice->text || !slice->name->kind ? NULL : slice->name;
	char *at = NULL;

	if (name && tp_perfetto_is_new(&q->names, &q->cap_names, name->same)) {
		p = tp_proto_begin(p, PACKET_INTERNED_DATA, &at);
		p = tp_perfetto_put_interned(p, INTERNED_NAMES, (uint64_t)name->same + 1,
					     name->bytes, name_length(name));
	}
	for (uint32_t i = 0; slice->args.n_text && i < slice->args.n; i++) {
		const struct tp_arg *arg = &slice->args.arg[i];

		if (arg->kind != TP_ARG_JSON ||
		    !tp_perfetto_is_new(&q->strings, &q->cap_strings, arg->id))
			continue;
		if (!at)
			p = tp_proto_begin(p, PACKET_INTERNED_DATA, &at);
		p = tp_perfetto_put_interned(p, INTERNED_STRINGS, (uint64_t)arg->id + 1, arg->text,
					     arg->n);
	}
	if (at)
		tp_proto_end(p, at);
	return p;
}

/* Head of an event's packet: the distance to the one before, or (late) a time of its own; *at for the
 * packet, *event for the event in it. */
static char *begin_event(struct tp_perfetto *s, struct tp_perfetto_sequence *q, bool is_late,
			 size_t room, int64_t ns, char **at, char **event)
{
	char *p = tp_perfetto_begin_packet(s, q, room, at);

	p = tp_proto_uint(p, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
	if (is_late) {
		p = tp_proto_int(p, PACKET_TIMESTAMP, ns + s->base_ns);
		p = tp_proto_uint(p, PACKET_CLOCK_ID, BOOTTIME);
	} else {
		if (ns < q->last_ns)
			ns = q->last_ns;
		p = tp_proto_uint(p, PACKET_TIMESTAMP, (uint64_t)(ns - q->last_ns));
		q->last_ns = ns;
	}
	return tp_proto_begin(p, PACKET_TRACK_EVENT, event);
}

static char *put_slice_head(char *p, const struct tp_slice *slice)
{
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, slice->category);
	if (slice->text && slice->is_plain)
		return tp_proto_bytes(p, EVENT_NAME, slice->text, strlen(slice->text));
	if (slice->text)
		return tp_proto_text(p, EVENT_NAME, slice->text, strlen(slice->text));
	return tp_proto_uint(p, EVENT_NAME_IID,
			     slice->name->kind ? (uint64_t)slice->name->same + 1
					       : (uint64_t)TP_PERFETTO_NO_NAME);
}

/* The begin of a slice, or an instant. */
static void put_slice(void *ctx, const struct tp_slice *slice)
{
	struct tp_perfetto_lane *lane = (struct tp_perfetto_lane *)slice->lane;
	struct tp_perfetto_lane *top = (struct tp_perfetto_lane *)slice->lane->top;
	size_t room = 3 * (slice->text ? strlen(slice->text) : name_length(slice->name)) +
		      slice->args.n_text;
	bool is_instant = slice->category >= TP_SLICE_INSTANTS;
	struct tp_perfetto_sequence *q = &lane->own;
	struct tp_perfetto *s = ctx;
	char *packet, *at, *p;

	if (is_instant) {
		q = lane == top ? &top->points[TP_POINT_HEAP] : &top->instants;
		tp_perfetto_open(s, top, q, slice->begin_ns);
	}
	p = begin_event(s, q, lane == top, room, slice->begin_ns, &packet, &at);
	p = tp_proto_uint(p, EVENT_TYPE, is_instant ? TYPE_INSTANT : TYPE_BEGIN);
	if (is_instant)
		p = tp_proto_uint(p, EVENT_TRACK_UUID, lane->uuid);
	p = put_slice_head(p, slice);
	p = put_args(p, &slice->args);
	tp_proto_end(p, at);
	p = put_new_names(q, p, slice);
	tp_perfetto_end_packet(s, p, packet);
}

static void put_end(void *ctx, struct tp_lane *lane, int64_t ns)
{
	char *packet, *at, *p;

	p = begin_event(ctx, &((struct tp_perfetto_lane *)lane)->own, false, 0, ns, &packet, &at);
	p = tp_proto_uint(p, EVENT_TYPE, TYPE_END);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(ctx, p, packet);
}

/* ---- counters and arrows ---- */

static void put_point(void *ctx, const struct tp_point *point)
{
	struct tp_perfetto_lane *process = (struct tp_perfetto_lane *)point->process;
	struct tp_perfetto_sequence *q = &process->points[point->group];
	char *packet, *at, *p;
	uint64_t uuid;

	tp_perfetto_open(ctx, process, q, point->ns);
	tp_perfetto_describe_process(ctx, q, (struct tp_perfetto_lane *)point->lane);
	uuid = tp_perfetto_counter(ctx, q, point);
	p = begin_event(ctx, q, false, 0, point->ns, &packet, &at);
	p = tp_proto_uint(p, EVENT_TYPE, TYPE_COUNTER);
	p = tp_proto_uint(p, EVENT_TRACK_UUID, uuid);
	p = point->is_double ? tp_proto_fixed64(p, EVENT_DOUBLE_VALUE, point->bits)
			     : tp_proto_uint(p, EVENT_COUNTER_VALUE, point->bits);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(ctx, p, packet);
}

/*
 * One end of an arrow. The start is known only when the backward node comes, long after its
 * operator: ends of arrows are packets of their own, the importer sorts them to their
 * times.
 */
static void put_flow_end(struct tp_perfetto *s, const struct tp_flow *flow, char phase,
			 const struct tp_lane *lane, int64_t ns)
{
	struct tp_perfetto_lane *process = (struct tp_perfetto_lane *)flow->from->top;
	const char *name = tp_slice_category(&tp_dialect_perfetto, flow->category);
	char *packet, *at, *inner, *p;

	p = begin_event(s, &process->instants, true, 0, ns, &packet, &at);
	p = tp_proto_uint(p, EVENT_TRACK_UUID, ((const struct tp_perfetto_lane *)lane)->uuid);
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, flow->category);
	p = tp_proto_bytes(p, EVENT_NAME, name, strlen(name));
	p = tp_proto_begin(p, EVENT_LEGACY, &inner);
	p = tp_proto_uint(p, LEGACY_PHASE, (uint64_t)phase);
	p = tp_proto_uint(p, LEGACY_UNSCOPED_ID, flow->id);
	if (phase == 'f')
		p = tp_proto_uint(p, LEGACY_BIND_TO_ENCLOSING, 1);
	tp_proto_end(p, inner);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}

static void put_flow(void *ctx, const struct tp_flow *flow)
{
	struct tp_perfetto_lane *process = (struct tp_perfetto_lane *)flow->from->top;

	tp_perfetto_open(ctx, process, &process->instants, flow->to_ns);
	put_flow_end(ctx, flow, 's', flow->from, flow->from_ns);
	put_flow_end(ctx, flow, 'f', flow->to, flow->to_ns);
}

static void free_sequence(struct tp_perfetto_sequence *q)
{
	free(q->names);
	free(q->strings);
}

static void drop_lane(struct tp_lane *of)
{
	struct tp_perfetto_lane *lane = (struct tp_perfetto_lane *)of;

	free_sequence(&lane->own);
	free_sequence(&lane->instants);
	for (uint32_t i = 0; i < TP_POINT_GROUPS; i++)
		free_sequence(&lane->points[i]);
	free(lane->counter);
}

const struct tp_encoder tp_perfetto_encoder = {
	.lane_bytes = sizeof(struct tp_perfetto_lane),
	.describe = tp_perfetto_describe_lane,
	.drop = drop_lane,
	.slice = put_slice,
	.end = put_end,
	.point = put_point,
	.flow = put_flow,
	.put_args = put_args,
};
