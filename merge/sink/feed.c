/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.c - open spans become events, in their place
 */
#include "merge/sink/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_open(const void *a, const void *b)
{
	const struct tp_event *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	/* Of one moment: the outer one first. */
	return (x->len > y->len) - (x->len < y->len);
}

int tp_feed_init(struct tp_feed *feed, const struct tp_run *run,
		 void (*each)(void *ctx, const struct tp_event *event), void *ctx)
{
	static const struct tp_string none = {.bytes = ""};

	memset(feed, 0, sizeof(*feed));
	feed->each = each;
	feed->ctx = ctx;
	feed->open = calloc(run->n_open + 1, sizeof(feed->open[0]));
	if (!feed->open)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n_open; i++) {
		const struct tp_open_at_end *from = &run->open[i];

		feed->open[i] = (struct tp_event){
			.proc = from->proc,
			.thread = from->thread,
			.kind = from->kind,
			.flags = TP_F_OPEN,
			.link = TP_NO_SEQ,
			.begin_ns = from->begin_ns,
			.end_ns = from->seen_ns,
			.len = from->depth,
			.name = from->name,
			.shapes = &none,
			.detail = &none,
		};
	}
	feed->n_open = run->n_open;
	if (feed->n_open)
		qsort(feed->open, feed->n_open, sizeof(feed->open[0]), compare_open);
	return 0;
}

static void give_open(struct tp_feed *feed)
{
	struct tp_event *event = &feed->open[feed->next++];

	event->len = (uint64_t)(event->end_ns - event->begin_ns);
	feed->each(feed->ctx, event);
}

void tp_feed_event(struct tp_feed *feed, const struct tp_event *event)
{
	while (feed->next < feed->n_open && feed->open[feed->next].begin_ns <= event->begin_ns)
		give_open(feed);
	feed->each(feed->ctx, event);
}

void tp_feed_end(struct tp_feed *feed)
{
	while (feed->next < feed->n_open)
		give_open(feed);
}

void tp_feed_free(struct tp_feed *feed)
{
	free(feed->open);
	feed->open = NULL;
}
