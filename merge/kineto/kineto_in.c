/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_in.c - a trace of torch.profiler: its outer parts, one after the other
 *
 * {"schemaVersion": 1, "deviceProperties": [...], "traceEvents": [...], ...}, in any order,
 * or only the array. Events become records in kineto_records.c.
 */
#include "merge/kineto/kineto_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kineto/kineto_records.h"
#include "merge/kineto/stream_in.h"

struct reading {
	struct tp_stream_in stream;
	struct tp_kineto_records *records;
	struct tp_kineto_report *report;
	uint64_t n_events;
};

static void note_trouble(struct reading *r, uint64_t offset, const char *what)
{
	if (r->report->trouble[0])
		return;
	snprintf(r->report->trouble, sizeof(r->report->trouble), "%s", what);
	r->report->offset = offset;
}

/* What stands at the present of the stream. */
static struct tp_json_in look(const struct reading *r)
{
	return (struct tp_json_in){.at = r->stream.at, .end = r->stream.end};
}

/* The value that was too short: false, there is no more of it. */
static bool get_more(struct reading *r)
{
	if (tp_stream_more(&r->stream))
		return true;
	note_trouble(r, r->stream.offset,
		     r->stream.trouble			       ? r->stream.trouble
		     : r->stream.end - r->stream.at >= TP_STREAM_MOST ? "one value is too long"
							       : "the file ends in the middle");
	return false;
}

/* After an event that cannot be read: to where the next one seems to begin. */
static bool resynchronise(struct reading *r)
{
	for (;;) {
		const char *p = r->stream.at;

		while ((p = memchr(p, '{', (size_t)(r->stream.end - p)))) {
			struct tp_json_in in = {.at = p, .end = r->stream.end};
			struct tp_kineto_event event;

			if (p > r->stream.at && tp_kineto_event(&in, &event) && event.phase) {
				tp_stream_use(&r->stream, p);
				return true;
			}
			if (in.is_short && p > r->stream.at)
				break;
			p++;
		}
		tp_stream_use(&r->stream, p ? p : r->stream.end);
		if (!tp_stream_more(&r->stream))
			return false;
	}
}

/* The elements of traceEvents; the stream stands behind its '['. False: nothing follows. */
static bool read_events(struct reading *r)
{
	bool is_first = true;

	for (;;) {
		struct tp_json_in in = look(r);
		struct tp_kineto_event event;
		bool was_first = is_first;

		if (!tp_json_in_item(&in, &is_first) && !in.is_short && !in.is_bad) {
			tp_stream_use(&r->stream, in.at);
			return true;
		}
		if (!in.is_short && !in.is_bad && tp_kineto_event(&in, &event)) {
			r->n_events++;
			tp_kineto_records_event(r->records, &event);
			tp_stream_use(&r->stream, in.at);
			continue;
		}
		is_first = was_first;
		if (in.is_short) {
			/* An array that is cut between two events is no loss that we can see. */
			if (!get_more(r))
				return false;
			continue;
		}
		note_trouble(r, r->stream.offset + (uint64_t)(in.at - r->stream.at),
			     "damaged: what cannot be read there is left out");
		r->report->n_bad++;
		if (!resynchronise(r))
			return false;
		is_first = true;
	}
}

/* A member of the outer object. */
static bool read_member(struct reading *r, const struct tp_json_text *key, const char *value)
{
	struct tp_json_in in;
	char name[64];
	uint32_t n = tp_json_in_plain(key, name, sizeof(name) - 1);

	name[n] = 0;
	tp_stream_use(&r->stream, value);
	in = look(r);
	if (!strcmp(name, "traceEvents") && tp_json_in_peek(&in) == '[') {
		tp_stream_use(&r->stream, in.at + 1);
		return read_events(r);
	}
	for (;;) {
		const char *from;

		in = look(r);
		if (tp_json_in_skip(&in, &from)) {
			tp_kineto_records_fact(r->records, name, from, in.at);
			tp_stream_use(&r->stream, in.at);
			return true;
		}
		if (in.is_bad) {
			note_trouble(r, r->stream.offset, "damaged: not JSON");
			return false;
		}
		if (!get_more(r))
			return false;
	}
}

static void read_object(struct reading *r)
{
	bool is_first = true;

	for (;;) {
		struct tp_json_in in = look(r);
		struct tp_json_text key;
		bool was_first = is_first;

		if (tp_json_in_key(&in, &key, &is_first) && tp_json_in_peek(&in)) {
			if (!read_member(r, &key, in.at))
				return;
			continue;
		}
		is_first = was_first;
		if (!in.is_short) {
			if (in.is_bad)
				note_trouble(r, r->stream.offset, "damaged: not JSON");
			return;
		}
		if (!get_more(r))
			return;
	}
}

static void read_all(struct reading *r)
{
	for (;;) {
		struct tp_json_in in = look(r);
		char c = tp_json_in_peek(&in);

		if (c) {
			tp_stream_use(&r->stream, c == '{' || c == '[' ? in.at + 1 : in.at);
			if (c == '{')
				read_object(r);
			else if (c == '[')
				read_events(r);
			else
				note_trouble(r, r->stream.offset, "damaged: not JSON");
			return;
		}
		if (!get_more(r))
			return;
	}
}

int tp_kineto_convert(const char *path, const char *name, const char *to,
		      struct tp_kineto_report *report)
{
	struct reading r = {.report = report};
	int err;

	memset(report, 0, sizeof(*report));
	err = tp_stream_open(&r.stream, path);
	if (err)
		return err;
	r.records = tp_kineto_records_new(path, name, to, report, &err);
	if (r.records) {
		read_all(&r);
		err = tp_kineto_records_end(r.records);
	}
	tp_stream_close(&r.stream);
	return !err && !report->n_read ? -ENODATA : err;
}

bool tp_kineto_is_ours(const char *path)
{
	struct tp_stream_in stream;
	bool is_ours;

	if (tp_stream_open(&stream, path))
		return false;
	tp_stream_more(&stream);
	is_ours = memmem(stream.at, (size_t)(stream.end - stream.at), TP_KINETO_OURS,
			 strlen(TP_KINETO_OURS)) != NULL;
	tp_stream_close(&stream);
	return is_ours;
}

bool tp_kineto_is_one(const char *path)
{
	static const char *const words[] = {"\"traceEvents\"", "\"schemaVersion\"", "\"ph\"",
					    "\"deviceProperties\"", "\"distributedInfo\""};
	struct tp_stream_in stream;
	bool is_one = false;

	if (tp_stream_open(&stream, path))
		return false;
	tp_stream_more(&stream);
	while (stream.at < stream.end && strchr(" \t\r\n", *stream.at) && *stream.at)
		stream.at++;
	if (*stream.at == '{' || *stream.at == '[') {
		for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			is_one |= memmem(stream.at, (size_t)(stream.end - stream.at), words[i],
					 strlen(words[i])) != NULL;
	}
	tp_stream_close(&stream);
	return is_one;
}
