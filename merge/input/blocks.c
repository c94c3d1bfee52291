/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks.c - what query engines take of a run: its events block by block, in no other order than they
 * were recorded in, and its strings
 *
 * Memory: one block.
 */
#include <errno.h>
#include <stdlib.h>

#include "merge/input/decode.h"
#include "merge/input/fuse.h"

struct tp_blocks {
	struct tp_run_in *run;
	struct tp_decoder decoder;
	struct tp_decoded now;	/* its events are the decoder's */
	uint32_t next;		/* block */
};

struct tp_blocks *tp_blocks_begin(struct tp_run *run)
{
	struct tp_blocks *blocks = calloc(1, sizeof(*blocks));

	if (!blocks)
		return NULL;
	blocks->run = tp_run_inside(run);
	if (tp_decoder_init(&blocks->decoder, blocks->run)) {
		tp_decoder_free(&blocks->decoder);
		free(blocks);
		return NULL;
	}
	return blocks;
}

/* False: there is none. What cannot be read becomes an issue. */
static bool open_block(struct tp_blocks *blocks)
{
	struct tp_decoded *now = &blocks->now;

	while (now->at == now->n) {
		if (blocks->next == blocks->run->n_blocks)
			return false;
		tp_decode_block(&blocks->decoder, &blocks->run->block[blocks->next++], now);
		if (now->err)
			tp_decode_complain(blocks->run, now);
	}
	return true;
}

uint32_t tp_blocks_some(struct tp_blocks *blocks, struct tp_event *event, uint32_t max)
{
	struct tp_decoded *now = &blocks->now;
	uint32_t n_made = 0;

	while (!n_made && open_block(blocks)) {
		uint32_t n = now->n - now->at < max ? now->n - now->at : max;

		n_made = tp_events_make(blocks->run, now, now->at, n, event);
		now->at += n;
	}
	blocks->run->pub.n_events += n_made;
	return n_made;
}

void tp_blocks_end(struct tp_blocks *blocks)
{
	tp_events_end(blocks->run);
	tp_decoder_free(&blocks->decoder);
	free(blocks);
}

const struct tp_string **tp_run_strings(struct tp_run *run, uint32_t *n)
{
	const struct tp_strings *strings = &tp_run_inside(run)->strings;

	*n = strings->n_strings;
	return tp_strings_list(strings);
}
