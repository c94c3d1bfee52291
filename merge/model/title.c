/* SPDX-License-Identifier: Apache-2.0 */
/*
 * title.c - how processes, devices, threads, streams, tracks and counters are called and sorted in
 * a timeline
 */
#include "merge/model/title.h"

#include <stdio.h>
#include <string.h>

#include "merge/kit/show.h"
#include "merge/model/label.h"
#include "runtime/base/text.h"
#include "runtime/trace/counter_names.h"

enum {
	PROGRAM_MOST = 100,		/* of its name, bytes */
	PIDS_OF_A_RANK = 100000,	/* processes of one rank: loader workers, restarts */
	DEVICES_FROM = 50000,		/* of these, numbers of devices */
	SORT_STEP = 100,		/* tracks of one thread */
	STREAMS_FROM = 1000000,		/* numbers of streams that cannot have their own */
	WAITS_FROM = 100,		/* tracks of what waits on a stream: beyond all of its work */
};

uint64_t tp_title_pid(const struct tp_proc *proc)
{
	uint64_t rank = proc->rank < 0 ? 0 : (uint64_t)proc->rank;

	return (rank + 1) * PIDS_OF_A_RANK + proc->at;
}

const char *tp_title_process(char buf[TP_TITLE_MAX], const struct tp_proc *proc)
{
	char whole[400];
	const char *program = tp_show_base(tp_label_program(whole, proc));
	struct tp_text text;

	tp_text_init(&text, buf, TP_TITLE_MAX);
	if (proc->rank >= 0)
		tp_text_fmt(&text, "rank %d", proc->rank);
	if (proc->worker)
		tp_text_fmt(&text, "%sworker %u", text.len ? " " : "", proc->worker);
	tp_text_fmt(&text, "%s%.*s (pid %u", text.len ? ": " : "", PROGRAM_MOST,
		    strcmp(program, "?") ? program : "python", proc->pid);
	if (proc->restart)
		tp_text_fmt(&text, ", restart %u", proc->restart);
	tp_text_fmt(&text, "%s)", tp_proc_died(proc) ? ", died" : "");
	return buf;
}

const char *tp_title_track(char buf[TP_TITLE_MAX], const struct tp_thread *thread, uint32_t track,
			   enum tp_track_family family)
{
	static const char *const name[] = {"", "async", "NCCL", "NCCL proxies"};
	int n;

	if (family != TP_TRACK_THREAD) {
		snprintf(buf, TP_TITLE_MAX, "%s %u", name[family], track);
		return buf;
	}
	if (!thread->tid)
		n = snprintf(buf, TP_TITLE_MAX, "threads without a name");
	else
		n = snprintf(buf, TP_TITLE_MAX, "thread %u (%s)", thread->tid,
			     thread->is_main ? "main" : thread->name[0] ? thread->name : "?");
	if (track)
		snprintf(buf + n, TP_TITLE_MAX - (size_t)n, ", overlapping %u", track);
	return buf;
}

int64_t tp_title_sort(const struct tp_thread *thread, uint32_t track, enum tp_track_family family)
{
	int64_t at = thread->is_main ? 0 : (int64_t)thread->slot + 1;

	if (family != TP_TRACK_THREAD)
		at = 100000 + (int64_t)family - 1;
	return at * SORT_STEP + track;
}

uint64_t tp_title_device_pid(const struct tp_proc *proc, uint32_t number)
{
	return tp_title_pid(proc) - proc->at + DEVICES_FROM + number;
}

const char *tp_title_device(char buf[TP_TITLE_MAX], const struct tp_proc *proc, uint32_t device)
{
	int n = 0;

	if (proc->rank >= 0)
		n = snprintf(buf, TP_TITLE_MAX, "rank %d: ", proc->rank);
	n += device == TP_NO_STREAM ? snprintf(buf + n, TP_TITLE_MAX - (size_t)n, "GPU ?")
				    : snprintf(buf + n, TP_TITLE_MAX - (size_t)n, "GPU %u", device);
	for (uint32_t i = 0; i < proc->n_devices; i++) {
		if (proc->device[i].id == device && proc->device[i].name[0])
			snprintf(buf + n, TP_TITLE_MAX - (size_t)n, " (%s)", proc->device[i].name);
	}
	return buf;
}

/* An earlier queue of the device that is of another context (and, is_stream, of this number). */
static bool has_double(const struct tp_proc *proc, const struct tp_queue *queue, bool is_stream)
{
	for (uint32_t i = 0; i < proc->n_queues && i < queue->at; i++) {
		const struct tp_queue *other = proc->queue[i];

		if (other->device == queue->device && other->context != queue->context &&
		    (!is_stream || other->stream == queue->stream))
			return true;
	}
	return false;
}

const char *tp_title_stream(char buf[TP_TITLE_MAX], const struct tp_proc *proc,
			    const struct tp_queue *queue, uint32_t track, bool waits)
{
	int n;

	if (queue->stream == TP_NO_STREAM)
		n = snprintf(buf, TP_TITLE_MAX, "no stream");
	else
		n = snprintf(buf, TP_TITLE_MAX, "stream %u", queue->stream);
	if (has_double(proc, queue, false))
		n += snprintf(buf + n, TP_TITLE_MAX - (size_t)n, " (context %u)", queue->context);
	if (waits)
		n += snprintf(buf + n, TP_TITLE_MAX - (size_t)n, ", waits");
	if (track)
		snprintf(buf + n, TP_TITLE_MAX - (size_t)n, ", overlapping %u", track);
	return buf;
}

uint64_t tp_title_stream_tid(const struct tp_proc *proc, const struct tp_queue *queue,
			     uint32_t track, bool waits)
{
	uint64_t tid = queue->stream;

	if (!tid)
		tid = TP_TITLE_STREAM_0;
	if (tid >= STREAMS_FROM || has_double(proc, queue, true))
		tid = STREAMS_FROM + queue->at;
	return tid + (uint64_t)(track + (waits ? WAITS_FROM : 0)) * TP_TITLE_TRACK_TID;
}

int64_t tp_title_stream_sort(const struct tp_proc *proc, const struct tp_queue *queue,
			     uint32_t track, bool waits)
{
	int64_t at = (int64_t)tp_title_stream_tid(proc, queue, 0, false);

	return at * 2 * SORT_STEP + track + (waits ? SORT_STEP : 0);
}

/* The text after the first NUL, when the bytes have one. */
static const char *second_part(const struct tp_string *s)
{
	size_t n = strnlen(s->bytes, s->n_bytes);

	return n < s->n_bytes ? s->bytes + n + 1 : "";
}

const char *tp_title_unit(const struct tp_string *name)
{
	return name->kind == TP_STRING_COUNTER ? second_part(name) : "";
}

const char *tp_title_group(const struct tp_string *name)
{
	size_t at = strnlen(name->bytes, name->n_bytes) + 1;

	/* Behind the name and the unit. */
	if (name->kind != TP_STRING_COUNTER || at >= name->n_bytes)
		return "";
	at += strnlen(name->bytes + at, name->n_bytes - at) + 1;
	return at < name->n_bytes ? name->bytes + at : "";
}

bool tp_title_is_of_device(const struct tp_string *name)
{
	const char *group = tp_title_group(name);

	return !strncmp(group, "device", 6) || !strncmp(group, "GPU", 3);
}

const char *tp_title_counter(char buf[TP_TITLE_MAX], const struct tp_string *name,
			     uint32_t instance)
{
	int n = snprintf(buf, TP_TITLE_MAX, "%.100s", name->n_bytes ? name->bytes : "counter");

	/* Cores are counted from 0: the first one needs its number as much as the others. */
	if ((instance && !tp_title_is_of_device(name)) || !strcmp(name->bytes, TP_COUNTER_CORE))
		snprintf(buf + n, TP_TITLE_MAX - (size_t)n, " %u", instance);
	return buf;
}
