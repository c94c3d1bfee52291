/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_queue.c - unfinished work by stream, and the names of what comes first
 */
#include "runtime/probe/gpu/cupti_queue.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/trace/kinds.h"

enum {
	N_STREAMS = 64,
	STREAMS_TOLD = 3,
	NAME_BYTES = 64,
};

struct stream {
	struct tp_device_place place;
	uint32_t n;
	uint32_t first;		/* id of the call */
	char name[NAME_BYTES];	/* of what it called */
};

static struct {
	bool is_asked;
	uint32_t n_streams, n_others;	/* others: pieces of work in more streams than fit */
	struct stream stream[N_STREAMS];
} queue;

void tp_cupti_queue_begin(void)
{
	memset(&queue, 0, sizeof(queue));
	queue.is_asked = true;
}

void tp_cupti_queue_forked(void)
{
	memset(&queue, 0, sizeof(queue));
}

/* The last word of a mangled name's path: spin_kernel of _ZN2at4cuda11spin_kernelEl. */
static void put_kernel(struct tp_text *out, const char *name)
{
	const char *at = name, *word = name;
	size_t n = strlen(name), n_word = n;

	if (!strncmp(at, "_Z", 2)) {
		at += 2;
		at += *at == 'N';
		while (*at >= '1' && *at <= '9') {
			size_t len = 0;

			while (*at >= '0' && *at <= '9' && len < n)
				len = len * 10 + (size_t)(*at++ - '0');
			if (len > strlen(at))
				break;
			word = at;
			n_word = len;
			at += len;
		}
	}
	tp_text_bytes(out, word, n_word);
}

static struct stream *find_stream(const struct tp_device_place *place)
{
	struct stream *stream = queue.stream;

	for (uint32_t i = 0; i < queue.n_streams; i++, stream++)
		if (!memcmp(&stream->place, place, sizeof(*place)))
			return stream;
	if (queue.n_streams == N_STREAMS)
		return NULL;
	queue.n_streams++;
	*stream = (struct stream){.place = *place};
	return stream;
}

void tp_cupti_queue_note(uint8_t kind, const struct tp_cupti_record *from)
{
	bool is_kernel = kind == TP_REC_KERNEL;
	struct stream *stream;
	struct tp_text name;

	if (!queue.is_asked)
		return;
	stream = find_stream(is_kernel ? &from->launch.place : &from->transfer.place);
	if (!stream) {
		queue.n_others++;
		return;
	}
	stream->n++;
	if (stream->n > 1 && (int32_t)(from->correlation - stream->first) >= 0)
		return;
	stream->first = from->correlation;
	tp_text_init(&name, stream->name, sizeof(stream->name));
	if (is_kernel && from->name)
		put_kernel(&name, from->name);
	else
		tp_text_str(&name, is_kernel ? "a kernel" : kind == TP_REC_MEMSET ? "a memset" : "a copy");
}

/* The one that was called first has the most that waits for it. */
static struct stream *take_first(void)
{
	struct stream *first = NULL;

	for (uint32_t i = 0; i < queue.n_streams; i++) {
		struct stream *stream = &queue.stream[i];

		if (stream->n && (!first || (int32_t)(stream->first - first->first) < 0))
			first = stream;
	}
	return first;
}

void tp_cupti_queue_tell(struct tp_text *out)
{
	uint32_t n_more = queue.n_others, n_streams = 0;

	for (struct stream *stream; n_streams < STREAMS_TOLD && (stream = take_first()); n_streams++) {
		tp_text_fmt(out, "%sstream %u of GPU %u has %u piece%s of work that %s not done, ",
			    n_streams ? "; " : "", stream->place.stream, stream->place.device, stream->n,
			    stream->n == 1 ? "" : "s", stream->n == 1 ? "is" : "are");
		tp_text_fmt(out, "%s%s", stream->n == 1 ? "" : "the first of them ", stream->name);
		stream->n = 0;
	}
	for (uint32_t i = 0; i < queue.n_streams; i++)
		n_more += queue.stream[i].n;
	if (n_more)
		tp_text_fmt(out, "; other streams have %u", n_more);
	queue.is_asked = false;
	queue.n_streams = queue.n_others = 0;
}
