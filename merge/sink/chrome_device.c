/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_device.c - what happened on devices: kernels, copies, waits, memory, and the arrows to
 * them from the calls that started them
 */
#include <stdio.h>

#include "merge/model/device.h"
#include "merge/sink/chrome.h"

static const char *category_of(uint8_t kind)
{
	switch (kind) {
	case TP_REC_MEMCPY:
		return "gpu_memcpy";
	case TP_REC_MEMSET:
		return "gpu_memset";
	default:
		/* A graph whose nodes are not recorded one by one is work as well. */
		return "kernel";
	}
}

/* Bytes a nanosecond, of the event as it is shown. */
static char *put_bandwidth(char *p, uint64_t bytes, int64_t ns)
{
	p = tp_json_lit(p, ",\"bytes\":");
	p = tp_json_u64(p, bytes);
	if (ns > 0) {
		p = tp_json_lit(p, ",\"memory bandwidth (GB/s)\":");
		p = tp_json_fixed(p, (double)bytes / (double)ns);
	}
	return p;
}

static char *put_work_args(struct tp_chrome *c, char *p, const struct tp_event *event,
			   const struct tp_chrome_text *detail, uint32_t external)
{
	p = tp_json_lit(p, "\"External id\":");
	p = tp_json_u64(p, external);
	p = tp_json_lit(p, ",\"correlation\":");
	p = tp_json_u64(p, event->link);
	*p++ = ',';
	memcpy(p, detail->bytes, detail->n);
	p += detail->n;
	if (event->kind == TP_REC_MEMCPY || event->kind == TP_REC_MEMSET)
		p = put_bandwidth(p, event->arg, event->end_ns - event->begin_ns);
	if (event->kind == TP_REC_GRAPH && event->arg && !tp_device_launch(event).graph) {
		p = tp_json_lit(p, ",\"graph id\":");
		p = tp_json_u64(p, event->arg);
	}
	if (event->flags & TP_F_PARTIAL)
		p = tp_json_lit(p, ",\"Times are guessed\":1");
	return p;
}

void tp_chrome_put_work(struct tp_chrome *c, const struct tp_event *event,
			const struct tp_launch_call *call)
{
	const struct tp_chrome_text *name = tp_chrome_text(c, event->name);
	const struct tp_chrome_text *detail = tp_chrome_detail(c, event);
	uint32_t owner = tp_launch_noted(&c->owner_of, call);
	int64_t begin_ns = event->begin_ns;
	struct tp_track *track = tp_tracks_place_work(&c->book, event, &begin_ns, NULL, NULL);
	const struct tp_chrome_track *numbers = track ? tp_chrome_stream(c, event, track) : NULL;
	char *p;

	if (!numbers || !detail->n) {
		c->n_unplaced++;
		return;
	}
	p = tp_chrome_begin_event(c, name->n + detail->n);
	p = tp_json_lit(p, "{\"ph\":\"X\",\"cat\":\"");
	p = stpcpy(p, category_of(event->kind));
	p = tp_json_lit(p, "\",\"name\":\"");
	p = tp_chrome_put_name(p, name);
	*p++ = '"';
	p = tp_chrome_put_place(p, numbers, begin_ns);
	p = tp_json_lit(p, ",\"dur\":");
	p = tp_json_us(p, event->end_ns - begin_ns);
	p = tp_json_lit(p, ",\"args\":{");
	p = put_work_args(c, p, event, detail, owner & ~TP_CHROME_OFF_TRACK);
	p = tp_json_lit(p, "}}");
	c->file->out->at = p;
	/* An arrow back in time (clocks that are off by more than a launch takes) is an error. */
	if (call && !(owner & TP_CHROME_OFF_TRACK) && call->begin_ns <= begin_ns) {
		struct tp_event launch = {.proc = event->proc, .thread = call->thread};
		struct tp_track *from = tp_tracks_main(&c->book, &launch);

		if (from && from->user)
			tp_chrome_put_flow(c, "ac2g", from->user, call->begin_ns, numbers,
					   begin_ns);
	}
}

/* ---- waits ---- */

static char *put_sync_args(char *p, const struct tp_event *event, uint32_t external,
			   bool is_on_host)
{
	struct tp_sync_what sync = tp_device_sync(event);

	p = tp_json_lit(p, "\"External id\":");
	p = tp_json_u64(p, external);
	p = tp_json_lit(p, ",\"cuda_sync_kind\":\"");
	p = stpcpy(p, tp_device_sync_name(sync.kind));
	*p++ = '"';
	if (sync.kind == TP_SYNC_EVENT || sync.kind == TP_SYNC_STREAM_WAIT) {
		/* -1: not known. */
		p = tp_json_lit(p, ",\"wait_on_stream\":");
		p = tp_json_i64(p, (int64_t)sync.recorded_stream - 1);
		p = tp_json_lit(p, ",\"wait_on_cuda_event_record_corr_id\":");
		p = tp_json_i64(p, event->arg >> 32 ? (int64_t)(event->arg >> 32) : -1);
		p = tp_json_lit(p, ",\"wait_on_cuda_event_id\":");
		p = tp_json_u64(p, (uint32_t)event->arg);
	}
	/* HTA takes what has a stream for work of a device. */
	if (!is_on_host) {
		p = tp_json_lit(p, ",\"stream\":");
		p = tp_json_i64(p, (int32_t)sync.place.stream);
	}
	p = tp_json_lit(p, ",\"correlation\":");
	p = tp_json_u64(p, event->link);
	p = tp_json_lit(p, ",\"device\":");
	p = tp_json_i64(p, (int32_t)event->queue->device);
	p = tp_json_lit(p, ",\"context\":");
	return tp_json_u64(p, event->queue->context);
}

/*
 * A wait of the host lies on the thread that made the call, inside it; torch.profiler puts all
 * waits on the device, where they cross its work: they get a row of their own there.
 */
void tp_chrome_put_sync(struct tp_chrome *c, const struct tp_event *event)
{
	const struct tp_launch_call *call = tp_launches_find(c->launches, event);
	const struct tp_chrome_text *name = tp_chrome_text(c, event->name);
	bool is_on_host = call && !c->style->has_real_ids &&
			  tp_device_sync(event).kind != TP_SYNC_STREAM_WAIT;
	int64_t begin_ns = event->begin_ns, end_ns = event->end_ns;
	const struct tp_chrome_track *numbers = NULL;
	struct tp_event on_host = *event;
	struct tp_track *track;
	char *p;

	if (is_on_host) {
		on_host.thread = call->thread;
		on_host.queue = NULL;
		track = tp_tracks_place_call(&c->book, &on_host, &begin_ns, &end_ns, NULL, NULL);
		if (track) {
			tp_track_set_id(track, tp_track_inside(track));
			numbers = tp_chrome_thread(c, &on_host, track);
		}
	} else {
		track = tp_tracks_place_work(&c->book, event, &begin_ns, NULL, NULL);
		if (track)
			numbers = tp_chrome_stream(c, event, track);
	}
	if (!numbers) {
		c->n_unplaced++;
		return;
	}
	p = tp_chrome_begin_event(c, name->n);
	p = tp_json_lit(p, "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"");
	p = tp_chrome_put_name(p, name);
	*p++ = '"';
	p = tp_chrome_put_place(p, numbers, begin_ns);
	p = tp_json_lit(p, ",\"dur\":");
	p = tp_json_us(p, end_ns - begin_ns);
	p = tp_json_lit(p, ",\"args\":{");
	p = put_sync_args(p, event, tp_launch_noted(&c->owner_of, call) & ~TP_CHROME_OFF_TRACK,
			  is_on_host);
	p = tp_json_lit(p, "}}");
	c->file->out->at = p;
}

/* ---- memory ---- */

void tp_chrome_put_device_memory(struct tp_chrome *c, const struct tp_event *event)
{
	struct tp_event counter;

	if (tp_devmem_curve_change(&c->device_memory, event, &counter))
		tp_chrome_put_counter(c, &counter);
}
