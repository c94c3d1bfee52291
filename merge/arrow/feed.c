/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.c - a table of rows that are made while its consumer takes them: one pass over the run, by pieces
 */
#include "merge/arrow/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/arrow/guard.h"

struct feed {
	struct tp_source source;	/* first */
	struct tp_feed_of of;
	struct tp_raw_rows rows;
	struct tp_facts *facts;		/* these two, or blocks, or neither */
	struct tp_fuse *fuse;
	struct tp_blocks *blocks;
	void *state;			/* of raw->part */
	struct tp_event some[TP_PART_MOST];	/* in order */
	uint32_t n_some;
	bool is_over, is_broken;	/* broken: memory was out in the middle of something */
	struct tp_batch *next;		/* taken, to be handed out */
	char why[512];
};

static void put_some(struct feed *feed)
{
	const struct tp_block_part part = {.n = feed->n_some, .event = feed->some};

	feed->of.raw->part(feed->state, &feed->rows, &part);
	feed->n_some = 0;
}

/* Events in order, of a table that is put by column: steps were chosen. */
static void take_event(void *ctx, const struct tp_event *event)
{
	struct feed *feed = ctx;

	feed->some[feed->n_some++] = *event;
	if (feed->n_some == TP_PART_MOST)
		put_some(feed);
}

static void begin_feed(struct feed *feed)
{
	const struct tp_raw *raw = feed->of.raw;

	if (raw->part) {
		feed->state = raw->begin_parts(feed->of.run, &feed->rows);
		if (feed->of.has_steps)
			feed->fuse = tp_fuse_begin(feed->of.run, take_event, feed);
		else
			feed->blocks = tp_blocks_begin(feed->of.run);
	} else if (raw->fact || raw->needs_events) {
		feed->facts = tp_facts_new(feed->of.run);
		if (raw->fact)
			tp_facts_want(feed->facts, raw->fact, &(struct tp_raw_to){.rows = &feed->rows});
		feed->fuse = tp_fuse_begin(feed->of.run, tp_facts_event, feed->facts);
	}
	if (!feed->fuse && !feed->blocks && !raw->show)
		tp_need_failed();
}

/* The pass is over. */
static int end_feed(struct feed *feed)
{
	int err = feed->fuse ? tp_fuse_end(feed->fuse) : 0;

	feed->fuse = NULL;
	if (feed->n_some)
		put_some(feed);
	if (feed->blocks)
		tp_blocks_end(feed->blocks);
	feed->blocks = NULL;
	if (feed->facts && !err)
		tp_facts_end(feed->facts);
	if (feed->of.raw->show)
		feed->of.raw->show(feed->of.run, &feed->rows);
	tp_raw_rows_end(&feed->rows);
	feed->is_over = true;
	return -err;
}

static bool read_some(struct feed *feed)
{
	struct tp_block_part part;

	if (feed->blocks) {
		bool is_there = tp_blocks_part(feed->blocks, &part);

		if (is_there)
			feed->of.raw->part(feed->state, &feed->rows, &part);
		return is_there;
	}
	return feed->fuse && tp_fuse_some(feed->fuse);
}

static int make_next(void *ctx)
{
	struct feed *feed = ctx;
	int err = 0;

	while (!err && !(feed->next = tp_raw_rows_take(&feed->rows)) && !feed->is_over)
		if (!read_some(feed))
			err = end_feed(feed);
	return err;
}

static struct tp_batch *next_batch(struct tp_source *source, int *err, const char **why)
{
	struct feed *feed = (struct feed *)source;
	struct tp_text said;

	tp_text_init(&said, feed->why, sizeof(feed->why));
	feed->next = NULL;
	if (feed->is_broken)
		*err = ENOMEM;
	else
		*err = tp_guard(make_next, feed, &said);
	if (!*err)
		return feed->next;
	feed->is_broken = true;
	if (!said.len)
		tp_text_str(&said, strerror(*err));
	*why = feed->why;
	return NULL;
}

/* What memory ran out in is not whole, and stays. */
static void drop(void *ctx)
{
	struct feed *feed = ctx;

	if (feed->is_broken)
		return;
	if (feed->fuse)
		tp_fuse_end(feed->fuse);
	if (feed->blocks)
		tp_blocks_end(feed->blocks);
	tp_facts_free(feed->facts);
	tp_raw_rows_free(&feed->rows);
	tp_run_free(feed->of.run);
	feed->of.done(feed->of.ctx);
	free(feed->state);
	free(feed);
}

static void free_feed(struct tp_source *source)
{
	tp_guard_quiet(drop, source);
}

struct tp_source *tp_feed_new(const struct tp_feed_of *of)
{
	struct feed *feed = tp_need(1, sizeof(*feed));

	feed->source = (struct tp_source){.next = next_batch, .free = free_feed};
	feed->of = *of;
	tp_raw_rows_init(&feed->rows, of->raw->name, of->raw->help, of->raw->column);
	if (of->picked)
		tp_raw_rows_pick(&feed->rows, of->picked, of->n_picked);
	feed->source.shape = feed->rows.shape;
	begin_feed(feed);
	return &feed->source;
}
