/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clip.h - events with their spans cut to the window that recorded them, in order of begin
 *
 * A span that was already open when its window opened has its true begin, which may lie long
 * before the window, inside another window even. Figures about a window count only the part
 * inside it. Such a span is held back until its window's start has come, so that what
 * follows still sees events in begin order, the enclosing ones first. Work of a device that
 * ends after its window (TP_F_AFTER) keeps its end.
 */
#ifndef TP_MERGE_CLIP_H
#define TP_MERGE_CLIP_H

#include "merge/model/model.h"

typedef void (*tp_clip_fn)(void *ctx, const struct tp_event *event);

struct tp_clip {
	const struct tp_run *run;
	tp_clip_fn each;
	void *ctx;
	struct tp_event *held;	/* ordered by begin_ns */
	uint32_t n_held, cap_held;
	uint32_t last_window;	/* the one found last: most often it is asked for again */
};

void tp_clip_init(struct tp_clip *clip, const struct tp_run *run, tp_clip_fn each, void *ctx);
/* In begin order; hands it, cut, to `each`, now or later. */
void tp_clip_event(struct tp_clip *clip, const struct tp_event *event);
/* Hands out what is still held; frees. */
void tp_clip_end(struct tp_clip *clip);

#endif
