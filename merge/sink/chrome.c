/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome.c - the state of a sink of trace-event JSON, and which writer each event goes to
 */
#include "merge/sink/chrome.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/kit/grow.h"

/* False: the process has none. */
static bool select_file(struct tp_chrome *c, const struct tp_proc *proc)
{
	if (c->file_of)
		c->file = &c->file_of[proc->at];
	return c->file->out != NULL;
}

static void put_work(void *state, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_chrome *c = state;

	if (select_file(c, event->proc))
		tp_chrome_put_work(c, event, call);
}

/* A point of a curve that is computed here. */
static void put_point(void *state, const struct tp_event *counter)
{
	struct tp_chrome *c = state;

	if (select_file(c, counter->proc))
		tp_chrome_put_counter(c, counter);
}

static void put_event(void *state, const struct tp_event *event)
{
	struct tp_chrome *c = state;

	tp_chrome_modules_event(c, event);
	if (!select_file(c, event->proc) || !tp_chrome_make_room(c, event))
		return;
	switch (event->kind) {
	case TP_REC_STEP:
		tp_chrome_put_tensor(c, event);
		tp_chrome_put_span(c, event);
		break;
	case TP_REC_OP:
	case TP_REC_RANGE:
		tp_chrome_put_span(c, event);
		break;
	case TP_REC_CALL:
	case TP_REC_OVERHEAD:
		tp_chrome_put_call(c, event);
		break;
	case TP_REC_KERNEL:
	case TP_REC_MEMCPY:
	case TP_REC_MEMSET:
	case TP_REC_GRAPH:
		if (event->queue)
			tp_launches_work(c->launches, event);
		/* torch.profiler's readers compute it themselves. */
		if (!c->style->has_real_ids)
			tp_gpucurve_event(&c->gpu_use, c->run, event);
		break;
	case TP_REC_SYNC:
		if (event->queue)
			tp_chrome_put_sync(c, event);
		break;
	case TP_REC_ALLOC:
	case TP_REC_FREE:
	case TP_REC_TOTALS:
		tp_chrome_put_tensor(c, event);
		break;
	case TP_REC_DEVALLOC:
	case TP_REC_DEVFREE:
		tp_chrome_put_device_memory(c, event);
		break;
	case TP_REC_COLL:
	case TP_REC_XFER:
		/* torch.profiler and its readers know nothing of it. */
		if (!c->style->has_real_ids)
			tp_chrome_put_coll(c, event);
		break;
	case TP_REC_HEAPALLOC:
	case TP_REC_HEAPFREE:
		/* torch.profiler and its readers know nothing of these. */
		if (!c->style->has_real_ids)
			tp_heapcurve_event(&c->host_memory, event);
		break;
	case TP_REC_COUNTER:
		tp_devmem_curve_counter(&c->device_memory, event);
		tp_chrome_put_counter(c, event);
		break;
	case TP_REC_MARK:
		tp_chrome_put_mark(c, event);
		break;
	}
}

int tp_chrome_init(struct tp_chrome *c, struct tp_facts *facts,
		   const struct tp_chrome_style *style)
{
	const struct tp_run *run = tp_facts_run(facts);

	*c = (struct tp_chrome){.run = run, .style = style};
	c->has_process = calloc(run->n_procs + 1, sizeof(c->has_process[0]));
	c->tensors = tp_tensors_new(run);
	c->launches = tp_launches_new(run);
	if (!c->has_process || !c->tensors ||
	    !tp_grow(&c->text, &c->n_texts, (uint64_t)run->n_distinct_strings + 1,
		     sizeof(c->text[0])) ||
	    tp_tracks_init(&c->book, run) || tp_links_init(&c->links, run) ||
	    tp_feed_init(&c->feed, run, put_event, c) || tp_chrome_modules_init(c))
		return -ENOMEM;
	tp_launches_read(c->launches, put_work, NULL, c);
	tp_heapcurve_init(&c->host_memory, run, tp_hostmem_want(facts, true), put_point, c);
	return 0;
}

void tp_chrome_fini(struct tp_chrome *c)
{
	for (uint32_t i = 0; i < c->n_texts; i++)
		free(c->text[i].bytes);
	free(c->text);
	free(c->no_detail.bytes);
	free(c->device);
	free(c->has_process);
	tp_tracks_free(&c->book, free);
	tp_links_free(&c->links);
	tp_tensors_free(c->tensors);
	tp_feed_free(&c->feed);
	tp_launches_free(c->launches);
	tp_launch_notes_free(&c->owner_of);
	tp_devmem_curve_fini(&c->device_memory);
	tp_heapcurve_fini(&c->host_memory);
	tp_gpucurve_fini(&c->gpu_use);
	tp_chrome_modules_fini(c);
}

void tp_chrome_event(struct tp_chrome *c, const struct tp_event *event)
{
	tp_feed_event(&c->feed, event);
}

void tp_chrome_end(struct tp_chrome *c)
{
	const struct tp_hostmem_proc *proc;
	uint32_t n;

	tp_feed_end(&c->feed);
	tp_launches_end(c->launches);
	tp_chrome_modules_end(c);
	tp_gpucurve_end(&c->gpu_use, put_point, c);
	proc = tp_heapcurve_end(&c->host_memory, &n);
	for (uint32_t i = 0; i < n; i++)
		tp_chrome_put_heap_peak(c, &proc[i]);
}

void tp_chrome_say_unplaced(const struct tp_chrome *c)
{
	if (c->n_unplaced)
		fprintf(stderr,
			"trainprof-merge: %llu spans overlap too many others and are not "
			"in the file\n",
			(unsigned long long)c->n_unplaced);
}
