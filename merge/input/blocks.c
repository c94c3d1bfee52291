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
	struct tp_event event[TP_PART_MOST];
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

#define KIND(kind) (UINT64_C(1) << (TP_REC_##kind & 63))

/* A bit for each kind; those that are not known are taken for others. */
static uint64_t kinds_of(const struct tp_rec *rec, uint32_t n)
{
	uint64_t kinds = 0;

	for (uint32_t i = 0; i < n; i++)
		kinds |= UINT64_C(1) << (rec[i].kind & 63);
	return kinds;
}

/* Of a device; calls and overhead are of a thread. */
static const uint64_t device_kinds = KIND(KERNEL) | KIND(MEMCPY) | KIND(MEMSET) | KIND(SYNC) | KIND(GRAPH) |
				     KIND(DEVALLOC) | KIND(DEVFREE);

bool tp_blocks_part(struct tp_blocks *blocks, struct tp_block_part *part)
{
	struct tp_decoded *now = &blocks->now;

	part->n = 0;
	while (!part->n && open_block(blocks)) {
		uint32_t n = now->n - now->at < TP_PART_MOST ? now->n - now->at : TP_PART_MOST;
		const struct tp_rec *rec = now->rec + now->at;
		struct tp_proc_in *proc = now->source->proc;

		uint64_t kinds = kinds_of(rec, n);

		*part = (struct tp_block_part){.proc = &proc->pub, .window = now->window, .n = n};
		/* Two profilers of one process tell some steps twice. */
		if (!(kinds & device_kinds) && !proc->twin) {
			part->rec = rec;
			part->has_calls = kinds & (KIND(CALL) | KIND(OVERHEAD));
			part->thread = now->thread + now->at;
			part->ids = &proc->ids;
		} else {
			part->n = tp_events_make(now, now->at, n, blocks->event);
			part->event = blocks->event;
		}
		now->at += n;
	}
	blocks->run->pub.n_events += part->n;
	return part->n;
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
