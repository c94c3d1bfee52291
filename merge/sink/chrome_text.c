/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_text.c - strings of a run as JSON, each made once
 *
 * A launch that repeats has one LAUNCH string: its arguments, occupancy included, are text that
 * is copied.
 */
#include <stdio.h>
#include <stdlib.h>

#include "merge/facts/time/occupancy.h"
#include "merge/kit/grow.h"
#include "merge/model/device.h"
#include "merge/model/kineto.h"
#include "merge/sink/chrome.h"

bool tp_chrome_make_room(struct tp_chrome *c, const struct tp_event *event)
{
	uint32_t most = event->name->same;

	if (event->shapes->same > most)
		most = event->shapes->same;
	if (event->detail && event->detail->same > most)
		most = event->detail->same;
	return tp_grow(&c->text, &c->n_texts, (uint64_t)most + 1, sizeof(c->text[0]));
}

static bool begins_with(const struct tp_string *s, const char *text)
{
	size_t n = strlen(text);

	return s->n_bytes >= n && !memcmp(s->bytes, text, n);
}

#define OP_CATEGORY "cpu_op: "

/*
 * Operators have a namespace, nodes of the backward pass end in "Backward" and a number.
 * Programs that replay a recorded run, or mark what they do themselves, give ranges such names, or
 * the category cpu_op.
 */
static bool is_op_name(const struct tp_string *s)
{
	static const char backward[] = "Backward";
	size_t n = s->n_bytes;

	if (memmem(s->bytes, n, "::", 2))
		return true;
	while (n && s->bytes[n - 1] >= '0' && s->bytes[n - 1] <= '9')
		n--;
	return n >= sizeof(backward) - 1 &&
	       !memcmp(s->bytes + n - (sizeof(backward) - 1), backward, sizeof(backward) - 1);
}

/* torch-tb-profiler 0.4.3 knows these of two libraries. */
static bool is_collective_name(const struct tp_string *s)
{
	static const char *const known[] = {"broadcast", "reduce", "all_reduce", "all_gather",
					    "reduce_scatter"};
	uint32_t skip = 5;

	if (!begins_with(s, "nccl:") && !begins_with(s, "gloo:"))
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (s->n_bytes - skip == strlen(known[i]) &&
		    !memcmp(s->bytes + skip, known[i], strlen(known[i])))
			return true;
	}
	return false;
}

static void make_text(struct tp_chrome_text *text, const char *bytes, size_t n)
{
	char *json, *fitted;

	if (n > TP_CHROME_NAME_ROOM)
		n = TP_CHROME_NAME_ROOM;
	json = malloc(6 * n + 1);
	if (!json)
		return;
	text->n = (uint32_t)(tp_json_text(json, bytes, n) - json);
	if (text->n > TP_CHROME_NAME_ROOM)
		text->n = (uint32_t)(tp_json_text(json, bytes, TP_CHROME_NAME_ROOM / 6) - json);
	fitted = realloc(json, text->n + 1);
	text->bytes = fitted ? fitted : json;
}

/* Names that nothing could be read from still need one: consumers reject events without. */
static void make_name(struct tp_chrome_text *text, const struct tp_string *s)
{
	size_t n = s->kind == TP_STRING_OP || s->kind == TP_STRING_COUNTER
			   ? strnlen(s->bytes, s->n_bytes)
			   : s->n_bytes;

	bool is_marked = begins_with(s, OP_CATEGORY);

	text->is_loader = begins_with(s, "enumerate(Data");
	text->is_op = is_marked || is_op_name(s);
	text->is_collective = is_collective_name(s);
	if (is_marked)
		make_text(text, s->bytes + sizeof(OP_CATEGORY) - 1, n - (sizeof(OP_CATEGORY) - 1));
	else
		make_text(text, s->bytes, n);
}

static void make_shapes(struct tp_chrome_text *text, const struct tp_string *s)
{
	char *dims, *types, *all;
	int n;

	if (!tp_kineto_shapes(s, &dims, &types))
		return;
	n = asprintf(&all, "\"Input Dims\":%s,\"Input type\":%s", dims, types);
	free(dims);
	free(types);
	if (n < 0)
		return;
	if (n > TP_CHROME_ARGS_ROOM) {
		free(all);
		return;
	}
	text->bytes = all;
	text->n = (uint32_t)n;
}

static const struct tp_chrome_text none;

const struct tp_chrome_text *tp_chrome_text(struct tp_chrome *c, const struct tp_string *s)
{
	struct tp_chrome_text *text;

	if (s->same >= c->n_texts)
		return &none;
	text = &c->text[s->same];
	if (!text->is_made) {
		text->is_made = true;
		if (s->kind == TP_STRING_SHAPES)
			make_shapes(text, s);
		else if (s->kind)
			make_name(text, s);
	}
	return text;
}

/* ---- arguments of device work ---- */

static char *put_place(char *p, const struct tp_device_place *place)
{
	p = tp_json_lit(p, "\"device\":");
	p = tp_json_i64(p, (int32_t)place->device);
	p = tp_json_lit(p, ",\"context\":");
	p = tp_json_u64(p, place->context);
	p = tp_json_lit(p, ",\"stream\":");
	/* HTA takes stream 0 for the host. */
	return tp_json_i64(p, place->stream ? (int32_t)place->stream : TP_TITLE_STREAM_0);
}

static char *put_graph(char *p, uint32_t graph, uint64_t node)
{
	if (graph) {
		p = tp_json_lit(p, ",\"graph id\":");
		p = tp_json_u64(p, graph);
	}
	if (node) {
		p = tp_json_lit(p, ",\"graph node id\":");
		p = tp_json_u64(p, node);
	}
	return p;
}

static char *put_three(char *p, const char *name, const uint32_t of[3])
{
	p = stpcpy(p, name);
	for (int i = 0; i < 3; i++) {
		*p++ = i ? ',' : '[';
		p = tp_json_u64(p, of[i]);
	}
	*p++ = ']';
	return p;
}

static char *put_launch(char *p, const struct tp_launch *launch, const struct tp_device *device)
{
	struct tp_occupancy occupancy = tp_occupancy(device, launch);

	p = put_place(p, &launch->place);
	if (launch->block[0]) {
		p = tp_json_lit(p, ",\"registers per thread\":");
		p = tp_json_u64(p, launch->registers);
		p = tp_json_lit(p, ",\"shared memory\":");
		p = tp_json_u64(p, (uint64_t)launch->shared_static + launch->shared_dynamic);
		if (occupancy.blocks > 0) {
			p = tp_json_lit(p, ",\"blocks per SM\":");
			p = tp_json_double(p, occupancy.blocks);
			p = tp_json_lit(p, ",\"warps per SM\":");
			p = tp_json_double(p, occupancy.warps);
		}
		p = put_three(p, ",\"grid\":", launch->grid);
		p = put_three(p, ",\"block\":", launch->block);
		if (launch->cluster[0])
			p = put_three(p, ",\"cluster\":", launch->cluster);
		if (occupancy.blocks_per_sm) {
			p = tp_json_lit(p, ",\"est. achieved occupancy %\":");
			p = tp_json_u64(p, tp_kineto_percent(occupancy.estimated));
		}
	}
	return put_graph(p, launch->graph, launch->graph_node);
}

static char *put_transfer(char *p, const struct tp_transfer *transfer)
{
	p = put_place(p, &transfer->place);
	if (transfer->copy_kind && transfer->from_device != transfer->to_device) {
		p = tp_json_lit(p, ",\"fromDevice\":");
		p = tp_json_u64(p, transfer->from_device);
		p = tp_json_lit(p, ",\"toDevice\":");
		p = tp_json_u64(p, transfer->to_device);
	}
	if (!transfer->copy_kind) {
		p = tp_json_lit(p, ",\"value\":");
		p = tp_json_u64(p, transfer->value);
	}
	return put_graph(p, transfer->graph, transfer->graph_node);
}

static void make_detail(struct tp_chrome_text *text, const struct tp_event *event,
			const struct tp_device *device)
{
	char json[1024], *end;

	if (event->detail->kind == TP_STRING_LAUNCH) {
		struct tp_launch launch = tp_device_launch(event);

		end = put_launch(json, &launch, device);
	} else if (event->detail->kind == TP_STRING_TRANSFER) {
		struct tp_transfer transfer = tp_device_transfer(event);

		end = put_transfer(json, &transfer);
	} else {
		const struct tp_device_place place = {event->queue->device, event->queue->context,
						      event->queue->stream};

		end = put_place(json, &place);
	}
	free(text->bytes);
	text->n = (uint32_t)(end - json);
	text->bytes = malloc(text->n);
	if (text->bytes)
		memcpy(text->bytes, json, text->n);
	else
		text->n = 0;
}

const struct tp_chrome_text *tp_chrome_detail(struct tp_chrome *c, const struct tp_event *event)
{
	const struct tp_device *device = tp_device_of(event->proc, event->queue->device);
	struct tp_chrome_text *text = &c->no_detail;

	/* What has no string of its own differs from event to event. */
	if (event->detail->kind && event->detail->same < c->n_texts)
		text = &c->text[event->detail->same];
	/* Another process may call another device by the same id. */
	if (text != &c->no_detail && text->is_made &&
	    (text->device == device ||
	     (text->device && device && !memcmp(text->device, device, sizeof(*device)))))
		return text;
	text->is_made = true;
	text->device = device;
	make_detail(text, event, device);
	return text;
}
