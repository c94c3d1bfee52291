/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_chrome.c - the trace-event JSON that Perfetto, Chrome, TensorBoard's plugin and HTA read
 *
 * One event a line, times relative to the run's begin in microseconds with three decimals
 * (absolute ones lose nanoseconds in a double), names and categories as torch's own profiler
 * writes them. Viewers say nothing about what they do not understand, so the rules that keep
 * them content stand beside the code that keeps them. Memory: names and tracks, not events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/feed.h"
#include "merge/json.h"
#include "merge/kineto.h"
#include "merge/links.h"
#include "merge/outfile.h"
#include "merge/sink.h"
#include "merge/tensors.h"
#include "merge/title.h"
#include "merge/tracks.h"

enum {
	/* An event without its strings is shorter than this. */
	EVENT_ROOM = 1024,
	/* Strings are cut to this many bytes of JSON: viewers show a line of it. */
	NAME_ROOM = 6 * 1024,
	ARGS_ROOM = 8 * 1024,
};

/* JSON of a string, made when it is first met. */
struct text {
	char *bytes;
	uint32_t n;
	bool is_made, is_loader;
};

struct chrome {
	const struct tp_run *run;
	struct tp_outfile *out;
	struct text *text;	/* by tp_string.same */
	uint32_t n_texts;
	struct tp_track_book book;
	struct tp_links links;
	struct tp_tensors *tensors;
	struct tp_feed feed;
	uint64_t n_events, n_ops, n_flows, n_unplaced;
	bool has_process[];	/* by proc */
};

/* ---- strings ---- */

/* Names that nothing could be read from still need one: consumers reject events without. */
static void make_name(struct text *text, const struct tp_string *s)
{
	static const char loader[] = "enumerate(Data";
	size_t n = s->kind == TP_STRING_OP || s->kind == TP_STRING_COUNTER
			   ? strnlen(s->bytes, s->n_bytes)
			   : s->n_bytes;

	text->is_loader = s->n_bytes >= sizeof(loader) - 1 &&
			  !memcmp(s->bytes, loader, sizeof(loader) - 1);
	if (n > NAME_ROOM / 6)
		n = NAME_ROOM / 6;
	text->bytes = malloc(6 * n + 1);
	if (text->bytes)
		text->n = (uint32_t)(tp_json_text(text->bytes, s->bytes, n) - text->bytes);
}

static void make_shapes(struct text *text, const struct tp_string *s)
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
	if (n > ARGS_ROOM) {
		free(all);
		return;
	}
	text->bytes = all;
	text->n = (uint32_t)n;
}

static const struct text *text_of(struct chrome *c, const struct tp_string *s)
{
	static const struct text none = {.bytes = NULL};
	struct text *text;

	if (s->same >= c->n_texts) {
		/* Strings are known before the first event; none comes later. */
		return &none;
	}
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

/* ---- events ---- */

static char *begin_event(struct chrome *c, size_t n)
{
	char *p = tp_outfile_room(c->out, n + EVENT_ROOM);

	if (c->n_events++)
		*p++ = ',';
	*p++ = '\n';
	return p;
}

/* tids are integers: one consumer converts them. Further tracks get numbers beyond Linux's. */
static uint64_t tid_of(const struct tp_thread *thread, uint32_t track, bool is_async)
{
	if (is_async)
		return (uint64_t)TP_TITLE_ASYNC_TID + track;
	if (!track)
		return thread->tid ? thread->tid : TP_TITLE_NOBODY_TID;
	return (uint64_t)track * TP_TITLE_TRACK_TID + thread->tid;
}

static void put_meta(struct chrome *c, const char *name, uint64_t pid, uint64_t tid,
		     const char *key, const char *value)
{
	char *p = begin_event(c, NAME_ROOM);

	p = tp_json_lit(p, "{\"ph\":\"M\",\"name\":\"");
	p = stpcpy(p, name);
	p = tp_json_lit(p, "\",\"ts\":0.000,\"pid\":");
	p = tp_json_u64(p, pid);
	p = tp_json_lit(p, ",\"tid\":");
	p = tp_json_u64(p, tid);
	p = tp_json_lit(p, ",\"args\":{\"");
	p = stpcpy(p, key);
	p = tp_json_lit(p, "\":");
	p = stpcpy(p, value);
	p = tp_json_lit(p, "}}");
	c->out->at = p;
}

static void put_meta_text(struct chrome *c, const char *name, uint64_t pid, uint64_t tid,
			  const char *key, const char *value)
{
	char quoted[6 * TP_TITLE_MAX + 3], *p = quoted;

	*p++ = '"';
	p = tp_json_text(p, value, strlen(value));
	*p++ = '"';
	*p = 0;
	put_meta(c, name, pid, tid, key, quoted);
}

static void put_meta_number(struct chrome *c, const char *name, uint64_t pid, uint64_t tid,
			    const char *key, int64_t value)
{
	char number[32];

	*tp_json_i64(number, value) = 0;
	put_meta(c, name, pid, tid, key, number);
}

static void describe_process(struct chrome *c, const struct tp_proc *proc)
{
	uint64_t pid = tp_title_pid(proc);
	char title[TP_TITLE_MAX];

	put_meta_text(c, "process_name", pid, 0, "name", tp_title_process(title, proc));
	put_meta_text(c, "process_labels", pid, 0, "labels", proc->host);
	put_meta_number(c, "process_sort_index", pid, 0, "sort_index", (int64_t)pid);
	if (proc->rank >= 0)
		put_meta_number(c, "global_rank", pid, 0, "value", proc->rank);
	put_meta_number(c, "clock_sync_timestamp_us", pid, 0, "value",
			(int64_t)(c->run->zero_real_ns / 1000));
	for (uint32_t i = 0; i < c->run->n_windows; i++) {
		const struct tp_window *w = &c->run->window[i];
		char bound[32];

		if (w->proc != proc || w->clock_error_ns < 0)
			continue;
		*tp_json_us(bound, w->clock_error_ns) = 0;
		put_meta(c, "clock_sync_error_bound", pid, 0, "value", bound);
		break;
	}
}

/* Before the first event of a track. */
static void describe_track(struct chrome *c, const struct tp_event *event,
			   struct tp_track *track, bool is_async)
{
	uint64_t pid = tp_title_pid(event->proc), tid = tid_of(event->thread, track->at, is_async);
	char title[TP_TITLE_MAX];

	if (track->user)
		return;
	/* Any address will do: it says "described". */
	track->user = c;
	if (!c->has_process[event->proc->at]) {
		c->has_process[event->proc->at] = true;
		describe_process(c, event->proc);
	}
	put_meta_text(c, "thread_name", pid, tid, "name",
		      tp_title_track(title, event->thread, track->at, is_async));
	put_meta_number(c, "thread_sort_index", pid, tid, "sort_index",
			tp_title_sort(event->thread, track->at, is_async));
}

static char *put_place(char *p, uint64_t pid, uint64_t tid, int64_t begin_ns)
{
	p = tp_json_lit(p, ",\"pid\":");
	p = tp_json_u64(p, pid);
	p = tp_json_lit(p, ",\"tid\":");
	p = tp_json_u64(p, tid);
	p = tp_json_lit(p, ",\"ts\":");
	return tp_json_us(p, begin_ns);
}

static char *put_name(char *p, const struct text *name)
{
	if (!name->n)
		return tp_json_lit(p, "(no name)");
	memcpy(p, name->bytes, name->n);
	return p + name->n;
}

static char *put_op_args(struct chrome *c, char *p, const struct tp_event *event)
{
	const struct text *shapes = text_of(c, event->shapes);

	p = tp_json_lit(p, "\"External id\":");
	p = tp_json_u64(p, ++c->n_ops);
	if (event->kind == TP_REC_OP && event->link != TP_NO_SEQ) {
		p = tp_json_lit(p, ",\"Sequence number\":");
		p = tp_json_u64(p, event->link);
		p = tp_json_lit(p, ",\"Fwd thread id\":");
		p = tp_json_u64(p, event->flags & TP_F_ASYNC ? 0 : TP_ARG_THREAD(event->arg));
	}
	if (shapes->n) {
		*p++ = ',';
		memcpy(p, shapes->bytes, shapes->n);
		p += shapes->n;
	}
	return p;
}

static char *put_flags(char *p, uint8_t flags, bool is_first)
{
	static const struct {
		uint8_t flag;
		const char *text;
	} shown[] = {
		{TP_F_EARLY, "\"Began before the window\":1"},
		{TP_F_OPEN, "\"Unfinished\":1"},
	};

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		if (!(flags & shown[i].flag))
			continue;
		if (!is_first)
			*p++ = ',';
		p = stpcpy(p, shown[i].text);
		is_first = false;
	}
	return p;
}

static void put_flow(struct chrome *c, const struct tp_event *event, uint64_t tid)
{
	const struct tp_link_op *from = tp_links_backward(&c->links, event);
	uint64_t pid = tp_title_pid(event->proc);
	char *p;

	if (!from)
		return;
	/* Ids are of the whole run: two ranks must not share one. The ends lie at the begins of
	 * their slices, hence inside. */
	c->n_flows++;
	p = begin_event(c, 0);
	p = tp_json_lit(p, "{\"ph\":\"s\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"id\":");
	p = tp_json_u64(p, c->n_flows);
	p = put_place(p, pid, tid_of(from->thread, 0, false), from->begin_ns);
	*p++ = '}';
	c->out->at = p;
	p = begin_event(c, 0);
	p = tp_json_lit(p, "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"id\":");
	p = tp_json_u64(p, c->n_flows);
	p = put_place(p, pid, tid, event->begin_ns);
	*p++ = '}';
	c->out->at = p;
}

static void put_span(struct chrome *c, const struct tp_event *event)
{
	bool is_async = event->flags & TP_F_ASYNC;
	int64_t end_ns = event->end_ns;
	struct tp_track *track = tp_tracks_place(&c->book, event, &end_ns, NULL, NULL);
	const struct text *name = text_of(c, event->name);
	const struct text *shapes = text_of(c, event->shapes);
	uint64_t tid;
	char *p;

	if (!track) {
		c->n_unplaced++;
		return;
	}
	describe_track(c, event, track, is_async);
	tid = tid_of(event->thread, track->at, is_async);
	p = begin_event(c, name->n + shapes->n);
	/* The plugin reads the loader's time only from operators. */
	if (event->kind == TP_REC_OP || (event->kind == TP_REC_RANGE && name->is_loader))
		p = tp_json_lit(p, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"");
	else
		p = tp_json_lit(p, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"");
	if (event->kind == TP_REC_STEP) {
		p = tp_json_lit(p, "ProfilerStep#");
		p = tp_json_u64(p, event->link);
	} else {
		p = put_name(p, name);
	}
	*p++ = '"';
	p = put_place(p, tp_title_pid(event->proc), tid, event->begin_ns);
	p = tp_json_lit(p, ",\"dur\":");
	p = tp_json_us(p, end_ns - event->begin_ns);
	p = tp_json_lit(p, ",\"args\":{");
	p = put_op_args(c, p, event);
	if (event->kind == TP_REC_STEP) {
		p = tp_json_lit(p, ",\"epoch\":");
		p = tp_json_u64(p, event->arg >> 32);
		p = tp_json_lit(p, ",\"step in epoch\":");
		p = tp_json_u64(p, (uint32_t)event->arg);
	}
	p = put_flags(p, event->flags, false);
	p = tp_json_lit(p, "}}");
	c->out->at = p;
	tp_links_forward(&c->links, event);
	if (event->flags & TP_F_BACKWARD && !track->at)
		put_flow(c, event, tid);
}

static void put_tensor(struct chrome *c, const struct tp_event *event)
{
	struct tp_tensor_change change;
	struct tp_track *track;
	char *p;

	if (!tp_tensors_note(c->tensors, event, &change) || !change.is_known)
		return;
	track = tp_tracks_main(&c->book, event);
	if (!track)
		return;
	describe_track(c, event, track, false);
	p = begin_event(c, 0);
	p = tp_json_lit(p, "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\"");
	p = put_place(p, tp_title_pid(event->proc), tid_of(event->thread, 0, false),
		      event->begin_ns);
	p = tp_json_lit(p, ",\"args\":{\"Total Reserved\":");
	p = tp_json_i64(p, change.reserved);
	p = tp_json_lit(p, ",\"Total Allocated\":");
	p = tp_json_i64(p, change.allocated);
	p = tp_json_lit(p, ",\"Bytes\":");
	p = tp_json_i64(p, change.bytes);
	p = tp_json_lit(p, ",\"Device Id\":");
	p = tp_json_i64(p, change.device_index);
	p = tp_json_lit(p, ",\"Device Type\":");
	p = tp_json_i64(p, change.device_type);
	p = tp_json_lit(p, ",\"Addr\":");
	p = tp_json_u64(p, change.address);
	p = tp_json_lit(p, "}}");
	c->out->at = p;
}

/* Of a counter or a mark. */
static char *put_value(char *p, const struct tp_event *event)
{
	double value;

	if (!(event->flags & TP_F_DOUBLE))
		return tp_json_i64(p, (int64_t)event->arg);
	memcpy(&value, &event->arg, sizeof(value));
	return tp_json_double(p, value);
}

static void put_counter(struct chrome *c, const struct tp_event *event)
{
	const char *unit = tp_title_unit(event->name);
	char title[TP_TITLE_MAX];
	char *p;

	if (!*unit)
		unit = "value";
	if (!c->has_process[event->proc->at]) {
		c->has_process[event->proc->at] = true;
		describe_process(c, event->proc);
	}
	tp_title_counter(title, event->name, event->link);
	p = begin_event(c, 6 * TP_TITLE_MAX);
	p = tp_json_lit(p, "{\"ph\":\"C\",\"name\":\"");
	p = tp_json_text(p, title, strlen(title));
	*p++ = '"';
	p = put_place(p, tp_title_pid(event->proc), 0, event->begin_ns);
	/* Perfetto calls the track by both: "RSS B". */
	p = tp_json_lit(p, ",\"args\":{\"");
	p = tp_json_text(p, unit, strnlen(unit, 16));
	p = tp_json_lit(p, "\":");
	p = put_value(p, event);
	p = tp_json_lit(p, "}}");
	c->out->at = p;
}

static void put_mark(struct chrome *c, const struct tp_event *event)
{
	struct tp_track *track = tp_tracks_main(&c->book, event);
	const struct text *name = text_of(c, event->name);
	char *p;

	if (!track)
		return;
	describe_track(c, event, track, false);
	p = begin_event(c, name->n);
	p = tp_json_lit(p, "{\"ph\":\"i\",\"cat\":\"mark\",\"s\":\"t\",\"name\":\"");
	p = put_name(p, name);
	*p++ = '"';
	p = put_place(p, tp_title_pid(event->proc), tid_of(event->thread, 0, false),
		      event->begin_ns);
	p = tp_json_lit(p, ",\"args\":{\"value\":");
	p = put_value(p, event);
	p = tp_json_lit(p, "}}");
	c->out->at = p;
}

static void put_event(void *state, const struct tp_event *event)
{
	struct chrome *c = state;

	switch (event->kind) {
	case TP_REC_STEP:
		put_tensor(c, event);
		put_span(c, event);
		break;
	case TP_REC_OP:
	case TP_REC_RANGE:
		put_span(c, event);
		break;
	case TP_REC_ALLOC:
	case TP_REC_FREE:
	case TP_REC_TOTALS:
		put_tensor(c, event);
		break;
	case TP_REC_COUNTER:
		put_counter(c, event);
		break;
	case TP_REC_MARK:
		put_mark(c, event);
		break;
	}
}

/* ---- begin and end ---- */

/* First in the file: one consumer finds the rank by a search for "rank": and a blank, line
 * by line; the object must not begin with "meta" or "libs" (another format's mark). */
static void put_header(struct chrome *c)
{
	const struct tp_run *run = c->run;
	char *p = tp_outfile_room(c->out, EVENT_ROOM);
	bool is_one_rank = run->n_procs > 0;

	p = tp_json_lit(p, "{\n\"schemaVersion\": 1,\n");
	for (uint32_t i = 1; i < run->n_procs; i++)
		is_one_rank &= run->proc[i]->rank == run->proc[0]->rank;
	if (is_one_rank && run->proc[0]->rank >= 0) {
		p = tp_json_lit(p, "\"distributedInfo\": {\"backend\": \"\", \"rank\": ");
		p = tp_json_i64(p, run->proc[0]->rank);
		p = tp_json_lit(p, ", \"world_size\": ");
		p = tp_json_i64(p, run->proc[0]->world_size);
		p = tp_json_lit(p, "},\n");
	}
	p = tp_json_lit(p, "\"deviceProperties\": [],\n\"displayTimeUnit\": \"ms\",\n"
			   "\"baseTimeNanoseconds\": ");
	p = tp_json_u64(p, run->zero_real_ns);
	p = tp_json_lit(p, ",\n\"traceEvents\": [");
	c->out->at = p;
}

static void free_state(struct chrome *c)
{
	for (uint32_t i = 0; i < c->n_texts; i++)
		free(c->text[i].bytes);
	free(c->text);
	tp_tracks_free(&c->book, NULL);
	tp_links_free(&c->links);
	tp_tensors_free(c->tensors);
	tp_feed_free(&c->feed);
	free(c);
}

static void *begin(const struct tp_run *run, const char *path)
{
	struct chrome *c = calloc(1, sizeof(*c) + run->n_procs);

	if (!c)
		goto no_memory;
	c->run = run;
	c->n_texts = run->n_distinct_strings;
	c->text = calloc(c->n_texts + 1, sizeof(c->text[0]));
	c->tensors = tp_tensors_new(run);
	if (!c->text || !c->tensors || tp_tracks_init(&c->book, run) ||
	    tp_links_init(&c->links, run) || tp_feed_init(&c->feed, run, put_event, c))
		goto no_memory;
	c->out = tp_outfile_open(path);
	if (!c->out) {
		free_state(c);
		return NULL;
	}
	put_header(c);
	return c;
no_memory:
	fprintf(stderr, "trainprof-merge: cannot write '%s': out of memory\n", path);
	if (c)
		free_state(c);
	return NULL;
}

static void event(void *state, const struct tp_event *one)
{
	struct chrome *c = state;

	tp_feed_event(&c->feed, one);
}

static int end(void *state, const struct tp_run *run)
{
	struct chrome *c = state;
	uint64_t n_unplaced;
	char *p;
	int err;

	tp_feed_end(&c->feed);
	p = tp_outfile_room(c->out, EVENT_ROOM);
	p = tp_json_lit(p, "\n],\n\"traceName\": \"trainprof\"\n}\n");
	c->out->at = p;
	err = tp_outfile_close(c->out);
	n_unplaced = c->n_unplaced;
	free_state(c);
	if (n_unplaced)
		fprintf(stderr, "trainprof-merge: %llu spans overlap too many others and are not "
				"in the file\n", (unsigned long long)n_unplaced);
	return err;
}

const struct tp_sink tp_sink_chrome = {
	.name = "chrome",
	.help = "JSON for ui.perfetto.dev, chrome://tracing, TensorBoard, HTA (.json.gz)",
	.suffix = ".json.gz",
	.begin = begin,
	.event = event,
	.end = end,
};
