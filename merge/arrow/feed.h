/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - a table of rows that are made while its consumer takes them: one pass over the run, by pieces
 *
 * Memory: what the facts of the pass keep, one batch, and what a single piece of the pass brings. Runs
 * behind the guard (guard.h); the source may be taken from and freed in any thread.
 */
#ifndef TP_MERGE_ARROW_FEED_H
#define TP_MERGE_ARROW_FEED_H

#include "merge/arrow/raw.h"
#include "merge/arrow/stream.h"

struct tp_feed_of {
	struct tp_run *run;		/* the feed's from now on */
	const struct tp_raw *raw;
	const uint8_t *picked;		/* of the columns of the table; NULL: all */
	uint32_t n_picked;
	bool has_steps;			/* some were chosen */
	void (*done)(void *ctx);	/* the run is not needed any more, nor what it was opened with */
	void *ctx;
};
/* Inside the guard. */
struct tp_source *tp_feed_new(const struct tp_feed_of *of);

#endif
