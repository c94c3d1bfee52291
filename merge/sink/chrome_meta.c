/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_meta.c - what stands around the events of a file, and who they happened to
 *
 * Processes, devices, threads and streams are described when they are first met.
 */
#include <stdio.h>
#include <stdlib.h>

#include "merge/kineto/kineto_in.h"
#include "merge/kit/grow.h"
#include "merge/sink/chrome.h"

enum {
	/* torch.profiler's: devices behind all processes of the host. */
	SORT_OF_DEVICES = 0x1000000,
	DEVICES_MAX = 64,	/* in deviceProperties; the plugin's own limit */
};

char *tp_chrome_begin_event(struct tp_chrome *c, size_t n)
{
	char *p = tp_outfile_room(c->file->out, n + TP_CHROME_ROOM);

	if (c->file->n_events++)
		*p++ = ',';
	*p++ = '\n';
	return p;
}

static void put_meta(struct tp_chrome *c, const char *name, uint64_t pid, uint64_t tid,
		     const char *key, const char *value)
{
	char *p = tp_chrome_begin_event(c, 6 * TP_TITLE_MAX);

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
	c->file->out->at = p;
}

static void put_meta_text(struct tp_chrome *c, const char *name, uint64_t pid, uint64_t tid,
			  const char *key, const char *value)
{
	char quoted[6 * TP_TITLE_MAX + 3], *p = quoted;

	*p++ = '"';
	p = tp_json_text(p, value, strlen(value));
	*p++ = '"';
	*p = 0;
	put_meta(c, name, pid, tid, key, quoted);
}

static void put_meta_number(struct tp_chrome *c, const char *name, uint64_t pid, uint64_t tid,
			    const char *key, int64_t value)
{
	char number[32];

	*tp_json_i64(number, value) = 0;
	put_meta(c, name, pid, tid, key, number);
}

/* ---- processes and devices ---- */

uint64_t tp_chrome_process(struct tp_chrome *c, const struct tp_proc *proc)
{
	uint64_t pid = c->style->has_real_ids ? proc->pid : tp_title_pid(proc);
	char title[TP_TITLE_MAX];

	if (c->has_process[proc->at])
		return pid;
	c->has_process[proc->at] = true;
	put_meta_text(c, "process_name", pid, 0, "name", tp_title_process(title, proc));
	put_meta_text(c, "process_labels", pid, 0, "labels",
		      c->style->has_real_ids ? "CPU" : proc->host);
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
	return pid;
}

static uint64_t device_pid(const struct tp_chrome *c, const struct tp_proc *proc, uint32_t number)
{
	return c->style->has_real_ids ? c->device[number].id : tp_title_device_pid(proc, number);
}

uint64_t tp_chrome_device(struct tp_chrome *c, const struct tp_proc *proc, uint32_t id)
{
	char title[TP_TITLE_MAX], label[32];
	uint32_t number = 0;
	uint64_t pid;

	while (number < c->n_devices &&
	       (c->device[number].proc != proc->at || c->device[number].id != id))
		number++;
	if (number < c->n_devices)
		return device_pid(c, proc, number);
	if (!tp_grow(&c->device, &c->cap_devices, (uint64_t)number + 1, sizeof(c->device[0])))
		return tp_title_device_pid(proc, number);
	c->device[c->n_devices++] = (struct tp_chrome_device){proc->at, id};
	pid = device_pid(c, proc, number);
	snprintf(label, sizeof(label), "GPU %u", id);
	put_meta_text(c, "process_name", pid, 0, "name", tp_title_device(title, proc, id));
	put_meta_text(c, "process_labels", pid, 0, "labels",
		      c->style->has_real_ids ? label : proc->host);
	put_meta_number(c, "process_sort_index", pid, 0, "sort_index",
			(int64_t)pid + (c->style->has_real_ids ? SORT_OF_DEVICES : 0));
	return pid;
}

/* ---- threads and streams ---- */

static struct tp_chrome_track *add_track(struct tp_track *track, uint64_t pid, uint64_t tid)
{
	struct tp_chrome_track *numbers = malloc(sizeof(*numbers));

	if (numbers)
		*numbers = (struct tp_chrome_track){pid, tid};
	track->user = numbers;
	return numbers;
}

/* tids are integers: one consumer converts them. Further tracks get numbers beyond Linux's. */
static uint64_t thread_tid(const struct tp_thread *thread, uint32_t track,
			   enum tp_track_family family)
{
	if (family != TP_TRACK_THREAD)
		return (uint64_t)TP_TITLE_ASYNC_TID + (family - 1) * TP_TITLE_FAMILY_TID + track;
	if (!track)
		return thread->tid ? thread->tid : TP_TITLE_NOBODY_TID;
	return (uint64_t)track * TP_TITLE_TRACK_TID + thread->tid;
}

const struct tp_chrome_track *tp_chrome_thread(struct tp_chrome *c, const struct tp_event *event,
					       struct tp_track *track)
{
	enum tp_track_family family = tp_tracks_family(event);
	struct tp_chrome_track *numbers;
	char title[TP_TITLE_MAX];

	if (__builtin_expect(track->user != NULL, 1))
		return track->user;
	numbers = add_track(track, tp_chrome_process(c, event->proc),
			    thread_tid(event->thread, track->at, family));
	if (!numbers)
		return NULL;
	put_meta_text(c, "thread_name", numbers->pid, numbers->tid, "name",
		      tp_title_track(title, event->thread, track->at, family));
	put_meta_number(c, "thread_sort_index", numbers->pid, numbers->tid, "sort_index",
			tp_title_sort(event->thread, track->at, family));
	return numbers;
}

const struct tp_chrome_track *tp_chrome_stream(struct tp_chrome *c, const struct tp_event *event,
					       struct tp_track *track)
{
	const struct tp_proc *proc = event->proc;
	const struct tp_queue *queue = event->queue;
	bool waits = event->kind == TP_REC_SYNC;
	struct tp_chrome_track *numbers;
	char title[TP_TITLE_MAX];

	if (__builtin_expect(track->user != NULL, 1))
		return track->user;
	numbers = add_track(track, tp_chrome_device(c, proc, queue->device),
			    tp_title_stream_tid(proc, queue, track->at, waits));
	if (!numbers)
		return NULL;
	put_meta_text(c, "thread_name", numbers->pid, numbers->tid, "name",
		      tp_title_stream(title, proc, queue, track->at, waits));
	put_meta_number(c, "thread_sort_index", numbers->pid, numbers->tid, "sort_index",
			tp_title_stream_sort(proc, queue, track->at, waits));
	return numbers;
}

/* ---- parts of events ---- */

char *tp_chrome_put_place(char *p, const struct tp_chrome_track *track, int64_t begin_ns)
{
	p = tp_json_lit(p, ",\"pid\":");
	p = tp_json_u64(p, track->pid);
	p = tp_json_lit(p, ",\"tid\":");
	p = tp_json_u64(p, track->tid);
	p = tp_json_lit(p, ",\"ts\":");
	return tp_json_us(p, begin_ns);
}

char *tp_chrome_put_name(char *p, const struct tp_chrome_text *name)
{
	if (!name->n)
		return tp_json_lit(p, "(no name)");
	memcpy(p, name->bytes, name->n);
	return p + name->n;
}

static void put_flow_end(struct tp_chrome *c, const char *category, const char *phase,
			 const struct tp_chrome_track *track, int64_t ns)
{
	char *p = tp_chrome_begin_event(c, 0);

	p = tp_json_lit(p, "{\"ph\":\"");
	p = stpcpy(p, phase);
	p = tp_json_lit(p, ",\"cat\":\"");
	p = stpcpy(p, category);
	p = tp_json_lit(p, "\",\"name\":\"");
	p = stpcpy(p, category);
	p = tp_json_lit(p, "\",\"id\":");
	p = tp_json_u64(p, c->n_flows);
	p = tp_chrome_put_place(p, track, ns);
	*p++ = '}';
	c->file->out->at = p;
}

void tp_chrome_put_flow(struct tp_chrome *c, const char *category,
			const struct tp_chrome_track *from, int64_t from_ns,
			const struct tp_chrome_track *to, int64_t to_ns)
{
	/* Ids are of the whole run: two ranks must not share one. */
	c->n_flows++;
	put_flow_end(c, category, "s\"", from, from_ns);
	put_flow_end(c, category, "f\",\"bp\":\"e\"", to, to_ns);
}

/* ---- head and tail ---- */

static char *put_device(char *p, uint32_t id, const struct tp_device *device)
{
	static const struct tp_device unknown;
	struct number {
		const char *name;
		uint64_t value;
	};

	if (!device)
		device = &unknown;
	p = tp_json_lit(p, "{\"id\": ");
	p = tp_json_u64(p, id);
	p = tp_json_lit(p, ", \"name\": \"");
	p = tp_json_text(p, device->name, strlen(device->name));
	*p++ = '"';
	for (const struct number *n = (const struct number[]){
		     {"totalGlobalMem", device->memory_bytes},
		     {"computeMajor", device->major},
		     {"computeMinor", device->minor},
		     {"maxThreadsPerBlock", device->block_threads},
		     {"maxThreadsPerMultiprocessor", device->sm_threads},
		     {"regsPerBlock", device->block_registers},
		     {"regsPerMultiprocessor", device->sm_registers},
		     {"warpSize", device->warp_threads},
		     {"sharedMemPerBlock", device->block_shared},
		     {"sharedMemPerMultiprocessor", device->sm_shared},
		     {"numSms", device->n_sms},
		     {"sharedMemPerBlockOptin", device->block_shared_optin},
		     {NULL, 0}};
	     n->name; n++) {
		p = tp_json_lit(p, ", \"");
		p = stpcpy(p, n->name);
		p = tp_json_lit(p, "\": ");
		p = tp_json_u64(p, n->value);
	}
	*p++ = '}';
	return p;
}

/* Readers take the properties of device n from the n-th place: unknown ones fill the gaps. */
static void put_devices(struct tp_chrome *c, const struct tp_proc *proc)
{
	uint32_t n = 0;
	char *p = tp_outfile_room(c->file->out, TP_CHROME_ROOM);

	p = tp_json_lit(p, "\"deviceProperties\": [");
	for (uint32_t i = 0; proc && i < proc->n_devices && proc->device[i].id < DEVICES_MAX; i++) {
		for (; n <= proc->device[i].id; n++) {
			c->file->out->at = p;
			p = tp_outfile_room(c->file->out, TP_CHROME_ROOM);
			p = n ? tp_json_lit(p, ",\n  ") : tp_json_lit(p, "\n  ");
			p = put_device(p, n, n == proc->device[i].id ? &proc->device[i] : NULL);
		}
	}
	p = tp_json_lit(p, "],\n");
	c->file->out->at = p;
}

void tp_chrome_put_head(struct tp_chrome *c, const struct tp_proc *proc)
{
	char *p = tp_outfile_room(c->file->out, TP_CHROME_ROOM);

	/* The object must not begin with "meta" or "libs" (another format's mark). */
	p = tp_json_lit(p, "{\n\"schemaVersion\": 1," TP_KINETO_OURS);
	if (proc && (proc->rank >= 0 || c->style->has_real_ids)) {
		/* One consumer finds the rank by a search for "rank": and a blank, line by line:
		 * before everything else. */
		p = tp_json_lit(p, "\"distributedInfo\": {\"backend\": \"");
		if (c->style->has_real_ids)
			p = stpcpy(p, proc->n_devices ? "nccl" : "gloo");
		p = tp_json_lit(p, "\", \"rank\": ");
		p = tp_json_i64(p, proc->rank < 0 ? 0 : proc->rank);
		p = tp_json_lit(p, ", \"world_size\": ");
		p = tp_json_i64(p, proc->world_size < 1 && proc->rank < 0 ? 1 : proc->world_size);
		p = tp_json_lit(p, "},\n");
	}
	c->file->out->at = p;
	put_devices(c, proc);
	p = tp_outfile_room(c->file->out, TP_CHROME_ROOM);
	p = tp_json_lit(p, "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": ");
	p = tp_json_u64(p, c->run->zero_real_ns);
	p = tp_json_lit(p, ",\n\"traceEvents\": [");
	c->file->out->at = p;
}

void tp_chrome_put_tail(struct tp_chrome *c)
{
	char *p = tp_outfile_room(c->file->out, TP_CHROME_ROOM);

	p = tp_json_lit(p, "\n],\n\"traceName\": \"trainprof\"\n}\n");
	c->file->out->at = p;
}
