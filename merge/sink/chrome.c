/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome.c - slices, counters and arrows as trace-event JSON
 */
#include "merge/sink/chrome.h"

#include <stdio.h>
#include <stdlib.h>

#include "merge/kit/json.h"

enum {
	/* An event without its strings is shorter than this: names of arguments and numbers. */
	ROOM = 2048,
	/* JSON of a name; longer ones are cut: demangled names of kernels have tens of KiB. */
	NAME_ROOM = 96 << 10,
};

struct lane {
	struct tp_lane lane;
	uint32_t n;
	char place[64];		/* ,"pid":1,"tid":2,"ts": */
};

static char *put_text(char *p, const char *text)
{
	return tp_json_text(p, text, strlen(text));
}

static char *put_place(char *p, const struct tp_lane *of, int64_t ns)
{
	const struct lane *lane = (const struct lane *)of;

	memcpy(p, lane->place, sizeof(lane->place));
	return tp_json_us(p + lane->n, ns);
}

/* Room for an event and n bytes of its strings; behind the comma. */
static char *begin_event(struct tp_chrome_file *file, size_t n)
{
	char *p = tp_outfile_room(file->out, n + ROOM);

	if (file->n_events++)
		*p++ = ',';
	*p++ = '\n';
	return p;
}

/* ---- who it happened to ---- */

/* text NULL: number, with that many decimals (0 or 3). */
static void put_meta(struct tp_chrome_file *file, const char *name, const struct tp_lane *lane,
		     const char *key, const char *text, int64_t number, int decimals)
{
	char *p = begin_event(file, 6 * TP_TITLE_MAX);

	p = tp_json_lit(p, "{\"ph\":\"M\",\"name\":\"");
	p = stpcpy(p, name);
	p = tp_json_lit(p, "\",\"ts\":0.000,\"pid\":");
	p = tp_json_u64(p, lane->pid);
	p = tp_json_lit(p, ",\"tid\":");
	p = tp_json_u64(p, lane->tid);
	p = tp_json_lit(p, ",\"args\":{\"");
	p = stpcpy(p, key);
	p = tp_json_lit(p, "\":");
	if (text) {
		*p++ = '"';
		p = put_text(p, text);
		*p++ = '"';
	} else {
		p = decimals ? tp_json_us(p, number) : tp_json_i64(p, number);
	}
	p = tp_json_lit(p, "}}");
	file->out->at = p;
}

/* What is said of a process of the host only. */
static void put_process_meta(const struct tp_chrome *c, struct tp_chrome_file *file,
			     const struct tp_lane *lane)
{
	if (lane->proc->rank >= 0)
		put_meta(file, "global_rank", lane, "value", NULL, lane->proc->rank, 0);
	put_meta(file, "clock_sync_timestamp_us", lane, "value", NULL,
		 (int64_t)(c->run->zero_real_ns / 1000), 0);
	for (uint32_t i = 0; i < c->run->n_windows; i++) {
		const struct tp_window *w = &c->run->window[i];

		if (w->proc != lane->proc || w->clock_error_ns < 0)
			continue;
		put_meta(file, "clock_sync_error_bound", lane, "value", NULL, w->clock_error_ns, 3);
		break;
	}
}

static void describe_lane(void *ctx, struct tp_lane *lane, int64_t ns)
{
	const struct tp_chrome *c = ctx;
	struct tp_chrome_file *file = c->file_of[lane->proc->at];
	struct lane *own = (struct lane *)lane;
	char *p = own->place;

	lane->is_described = true;
	if (!lane->top->is_described)
		describe_lane(ctx, lane->top, ns);
	p = tp_json_lit(p, ",\"pid\":");
	p = tp_json_u64(p, lane->pid);
	p = tp_json_lit(p, ",\"tid\":");
	p = tp_json_u64(p, lane->tid);
	p = tp_json_lit(p, ",\"ts\":");
	own->n = (uint32_t)(p - own->place);
	if (lane->kind != TP_LANE_PROCESS) {
		put_meta(file, "thread_name", lane, "name", lane->title, 0, 0);
		put_meta(file, "thread_sort_index", lane, "sort_index", NULL, lane->sort, 0);
		return;
	}
	put_meta(file, "process_name", lane, "name", lane->title, 0, 0);
	put_meta(file, "process_labels", lane, "labels", lane->label, 0, 0);
	put_meta(file, "process_sort_index", lane, "sort_index", NULL, lane->sort, 0);
	if (!lane->is_device)
		put_process_meta(c, file, lane);
}

/* ---- slices ---- */

static char *put_key(char *p, const struct tp_arg *arg)
{
	const struct tp_key_text *key = &tp_key_text[arg->key];

	if (__builtin_expect(!arg->name, 1)) {
		memcpy(p, key, sizeof(*key));	/* of one size: quicker than as long as it is */
		return p + key->n + 4;
	}
	p = tp_json_lit(p, ",\"");
	p = stpcpy(p, arg->name);
	return tp_json_lit(p, "\":");
}

static char *put_list(char *p, const uint32_t of[3])
{
	for (int i = 0; i < 3; i++) {
		*p++ = i ? ',' : '[';
		p = tp_json_u64(p, of[i]);
	}
	*p++ = ']';
	return p;
}

/* Each with a comma in front. */
static char *put_args(char *p, const struct tp_args *args)
{
	for (const struct tp_arg *arg = args->arg; arg < args->arg + args->n; arg++) {
		if (arg->kind != TP_ARG_ENCODED)
			p = put_key(p, arg);
		switch ((enum tp_arg_kind)arg->kind) {
		case TP_ARG_UINT:
			p = tp_json_u64(p, arg->number);
			break;
		case TP_ARG_INT:
			p = tp_json_i64(p, (int64_t)arg->number);
			break;
		case TP_ARG_DOUBLE:
			p = tp_json_double(p, arg->real);
			break;
		case TP_ARG_FIXED:
			p = tp_json_fixed(p, arg->real);
			break;
		case TP_ARG_TEXT:
			*p++ = '"';
			p = tp_json_text(p, arg->text, arg->n);
			*p++ = '"';
			break;
		case TP_ARG_LIST:
			p = put_list(p, arg->list);
			break;
		case TP_ARG_NULL:
			p = tp_json_lit(p, "null");
			break;
		case TP_ARG_JSON:
		case TP_ARG_ENCODED:
			memcpy(p, arg->text, arg->n);
			p += arg->n;
			break;
		}
	}
	return p;
}

static char *put_name(char *p, const struct tp_slice *s)
{
	if (s->text)
		return s->is_plain ? stpcpy(p, s->text) : put_text(p, s->text);
	/* Names that nothing could be read from still need one: consumers reject events without. */
	if (!s->written->n)
		return tp_json_lit(p, "(no name)");
	memcpy(p, s->written->bytes, s->written->n);
	return p + s->written->n;
}

void tp_chrome_init(struct tp_chrome *c, const struct tp_run *run,
		    const struct tp_dialect *dialect)
{
	*c = (struct tp_chrome){.run = run, .dialect = dialect};
	for (uint32_t i = 1; i < TP_SLICE_CATEGORIES; i++) {
		struct tp_chrome_head *head = &c->head[i];
		bool is_instant = i >= TP_SLICE_INSTANTS;
		const char *scope = i == TP_SLICE_PEAK ? "\",\"s\":\"p" : "\",\"s\":\"t";

		head->n = (uint32_t)snprintf(head->text, sizeof(head->text),
					     "{\"ph\":\"%s\",\"cat\":\"%s%s\",\"name\":\"",
					     is_instant ? "i" : "X", tp_slice_category(dialect, i),
					     is_instant ? scope : "");
	}
}

static void put_slice(void *ctx, const struct tp_slice *s)
{
	const struct tp_chrome *c = ctx;
	struct tp_chrome_file *file = c->file_of[s->lane->proc->at];
	const struct tp_chrome_head *head = &c->head[s->category];
	char *p, *at;

	if (!s->lane->is_described)
		describe_lane(ctx, s->lane, s->begin_ns);
	p = begin_event(file, s->args.n_text + (s->text ? 6 * strlen(s->text) : s->written->n));
	memcpy(p, head->text, sizeof(head->text));
	p = put_name(p + head->n, s);
	*p++ = '"';
	p = put_place(p, s->lane, s->begin_ns);
	if (s->category < TP_SLICE_INSTANTS) {
		p = tp_json_lit(p, ",\"dur\":");
		p = tp_json_us(p, s->end_ns - s->begin_ns);
	}
	if (s->args.n) {
		p = at = tp_json_lit(p, ",\"args\":");
		p = put_args(p, &s->args);
		*at = '{';	/* where the first one's comma is */
		*p++ = '}';
	}
	*p++ = '}';
	file->out->at = p;
}

static void make_name(struct tp_fragment *name, const char *bytes, size_t n)
{
	char *json, *fitted;

	if (n > NAME_ROOM)
		n = NAME_ROOM;
	json = malloc(6 * n + 1);
	if (!json)
		return;
	name->n = (uint32_t)(tp_json_text(json, bytes, n) - json);
	if (name->n > NAME_ROOM)
		name->n = (uint32_t)(tp_json_text(json, bytes, NAME_ROOM / 6) - json);
	fitted = realloc(json, name->n + 1);
	name->bytes = fitted ? fitted : json;
}

/* ---- counters and arrows ---- */

static void put_point(void *ctx, const struct tp_point *point)
{
	const struct tp_chrome *c = ctx;
	struct tp_chrome_file *file = c->file_of[point->lane->proc->at];
	const char *unit = *point->unit ? point->unit : "value";
	double value;
	char *p;

	if (!point->lane->is_described)
		describe_lane(ctx, point->lane, point->ns);
	p = begin_event(file, 6 * TP_TITLE_MAX);
	p = tp_json_lit(p, "{\"ph\":\"C\",\"name\":\"");
	p = put_text(p, point->title);
	*p++ = '"';
	p = put_place(p, point->lane, point->ns);
	/* Perfetto calls the track by both: "RSS B". */
	p = tp_json_lit(p, ",\"args\":{\"");
	p = tp_json_text(p, unit, strnlen(unit, 16));
	p = tp_json_lit(p, "\":");
	memcpy(&value, &point->bits, sizeof(value));
	p = point->is_double ? tp_json_double(p, value) : tp_json_i64(p, (int64_t)point->bits);
	p = tp_json_lit(p, "}}");
	file->out->at = p;
}

static void put_flow_end(const struct tp_chrome *c, const struct tp_flow *flow, const char *phase,
			 const struct tp_lane *lane, int64_t ns)
{
	struct tp_chrome_file *file = c->file_of[lane->proc->at];
	const char *category = tp_slice_category(c->dialect, flow->category);
	char *p = begin_event(file, 0);

	p = tp_json_lit(p, "{\"ph\":\"");
	p = stpcpy(p, phase);
	p = tp_json_lit(p, ",\"cat\":\"");
	p = stpcpy(p, category);
	p = tp_json_lit(p, "\",\"name\":\"");
	p = stpcpy(p, category);
	p = tp_json_lit(p, "\",\"id\":");
	p = tp_json_u64(p, flow->id);
	p = put_place(p, lane, ns);
	*p++ = '}';
	file->out->at = p;
}

static void put_flow(void *ctx, const struct tp_flow *flow)
{
	put_flow_end(ctx, flow, "s\"", flow->from, flow->from_ns);
	put_flow_end(ctx, flow, "f\",\"bp\":\"e\"", flow->to, flow->to_ns);
}

const struct tp_encoder tp_chrome_encoder = {
	.lane_bytes = sizeof(struct lane),
	.describe = describe_lane,
	.slice = put_slice,
	.point = put_point,
	.flow = put_flow,
	.make_name = make_name,
	.put_args = put_args,
};
