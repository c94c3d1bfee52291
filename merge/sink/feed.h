/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - events of a run with the spans that never ended put among them
 *
 * What a dead process was inside is known from its ring, not from events; on a timeline
 * it is a span like the others, to the last sign of life, marked TP_F_OPEN.
 */
#ifndef TP_MERGE_FEED_H
#define TP_MERGE_FEED_H

#include "merge/model/model.h"

struct tp_feed {
	void (*each)(void *ctx, const struct tp_event *event);
	void *ctx;
	struct tp_event *open;	/* by begin, the longer and outer first */
	uint32_t n_open, next;
};

int tp_feed_init(struct tp_feed *feed, const struct tp_run *run,
		 void (*each)(void *ctx, const struct tp_event *event), void *ctx);
void tp_feed_event(struct tp_feed *feed, const struct tp_event *event);
void tp_feed_end(struct tp_feed *feed);		/* those that began after the last event */
void tp_feed_free(struct tp_feed *feed);

#endif
