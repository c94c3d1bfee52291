/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.c - blocks of all files -> one stream of events by begin time
 *
 * A block is decoded when the present reaches its first event and forgotten after its last,
 * so memory is that of the blocks around the present. Each decoded block is in order by itself
 * (decode.c), a heap holds one entry per decoded block.
 *
 * Order: begin time; then the longer span first, so that a parent comes before its child;
 * then STEP, RANGE, OP, CALL; then as recorded: the events behind a FRAME need it, also those of
 * its own time.
 */
#include <errno.h>
#include <stdlib.h>

#include "merge/decode.h"
#include "merge/grow.h"
#include "merge/progress.h"

enum { PROGRESS_EVENTS = 1 << 16 };

struct head {
	int64_t begin, end;
	uint32_t order;		/* of kinds at equal times */
	uint32_t decoded;	/* index in fuse.open */
	const struct tp_decoded *block;	/* the same */
};

struct fuse {
	struct tp_run_in *run;
	tp_fuse_event_fn each;
	void *ctx;
	struct tp_decoded **open;	/* free places are NULL */
	uint32_t n_open, cap_open;
	struct head *heap;
	uint32_t n_heap, cap_heap;
	struct tp_decoder decoder;
	uint32_t next;		/* block not opened yet */
	uint64_t n_decoded;
	int64_t present;	/* begin of the last event handed out */
	struct tp_progress progress;
	int err;
};

/* ---- the heap ---- */

/* Of one process: by window; what a ring holds came after what a file holds; then as they lie
 * there. */
static bool is_recorded_before(const struct tp_decoded *a, const struct tp_decoded *b)
{
	const struct tp_source *x = a->source, *y = b->source;

	if (x->proc != y->proc)
		return x->proc->pub.at < y->proc->pub.at;
	if (x->window != y->window)
		return a->window < b->window;
	if (!x->rest != !y->rest)
		return !x->rest;
	return a->block < b->block;
}

static inline bool is_before(const struct head *a, const struct head *b)
{
	if (a->begin != b->begin)
		return a->begin < b->begin;
	if (a->end != b->end)
		return a->end > b->end;
	if (a->order != b->order)
		return a->order < b->order;
	return is_recorded_before(a->block, b->block);
}

static void sift_down(struct fuse *f, uint32_t at)
{
	struct head *heap = f->heap, moving = heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= f->n_heap)
			break;
		if (child + 1 < f->n_heap && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &moving))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

static void sift_up(struct fuse *f, uint32_t at)
{
	struct head *heap = f->heap, moving = heap[at];

	while (at && is_before(&moving, &heap[(at - 1) / 2])) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = moving;
}

static inline const struct tp_rec *present_rec(const struct tp_decoded *d)
{
	return &d->rec[d->key[d->at] & (TP_BLOCK_EVENTS_MAX - 1)];
}

static inline void set_head(struct head *head, const struct tp_decoded *d)
{
	const struct tp_rec *rec = present_rec(d);

	head->begin = (int64_t)rec->time;
	head->end = tp_decode_end(rec);
	head->order = tp_decode_kind_order(rec->kind);
}

static void close_block(struct fuse *f, struct tp_decoded *d)
{
	struct tp_source *source = d->source;

	tp_decode_release(&f->decoder, d);
	if (!--source->n_blocks_left)
		tp_run_park(source);
}

static void open_next(struct fuse *f)
{
	const struct tp_block_ref *ref = &f->run->block[f->next++];
	struct tp_source *source = &f->run->source[ref->source];
	struct tp_decoded *d = tp_decode_block(&f->decoder, ref, f->present);
	uint32_t place = 0;

	f->n_decoded += ref->n_events;
	f->err = f->decoder.err;
	if (!d || !d->n) {
		if (d)
			tp_decode_release(&f->decoder, d);
		if (!--source->n_blocks_left)
			tp_run_park(source);
		return;
	}
	while (place < f->n_open && f->open[place])
		place++;
	if (!tp_grow(&f->open, &f->cap_open, place + 1, sizeof(f->open[0])) ||
	    !tp_grow(&f->heap, &f->cap_heap, f->n_heap + 1, sizeof(f->heap[0]))) {
		close_block(f, d);
		f->err = -ENOMEM;
		return;
	}
	if (place == f->n_open)
		f->n_open++;
	f->open[place] = d;
	f->heap[f->n_heap].decoded = place;
	f->heap[f->n_heap].block = d;
	set_head(&f->heap[f->n_heap], d);
	sift_up(f, f->n_heap++);
}

/* ---- events ---- */

static bool is_wanted(const struct tp_proc_in *proc, int64_t begin)
{
	for (uint32_t i = 0; i < proc->n_chosen; i++) {
		if (begin >= proc->chosen[i].first && begin < proc->chosen[i].last)
			return true;
	}
	return false;
}

static inline const struct tp_string *string_of(struct fuse *f, const struct tp_proc_in *proc,
						uint32_t id)
{
	const struct tp_string *s;

	if (!id)
		return &f->run->strings.none;
	s = tp_ids_get(&proc->ids, id);
	if (__builtin_expect(s != NULL, 1))
		return s;
	f->run->n_unknown_ids++;
	return &f->run->strings.none;
}

static void place_device(struct fuse *f, struct tp_proc_in *proc, struct tp_event *event)
{
	const struct tp_string *launch = &f->run->strings.none;

	if (event->kind == TP_REC_KERNEL)
		launch = string_of(f, proc, (uint32_t)event->arg);
	tp_queues_place(proc, event, &f->run->strings.none, event->name, launch);
}

static inline void hand_out(struct fuse *f, const struct tp_decoded *d)
{
	uint32_t i = d->key[d->at] & (TP_BLOCK_EVENTS_MAX - 1);
	const struct tp_rec *rec = &d->rec[i];
	struct tp_proc_in *proc = d->source->proc;
	struct tp_event event;

	event.begin_ns = (int64_t)rec->time;
	f->present = event.begin_ns;
	/* A stack from before the chosen steps may be that of an event in them. */
	if (f->run->options.steps && !is_of_stacks(rec->kind) && !is_wanted(proc, event.begin_ns))
		return;
	event.len = tp_rec_len(rec);
	event.end_ns = event.begin_ns + (tp_decode_is_span[rec->kind] ? (int64_t)event.len : 0);
	event.proc = &proc->pub;
	event.thread = &proc->pub.thread[d->thread[i]];
	event.window = d->window;
	event.kind = rec->kind;
	event.flags = rec->flags;
	event.link = rec->link;
	event.arg = rec->arg;
	event.name = string_of(f, proc, rec->name);
	event.shapes = rec->kind == TP_REC_OP || rec->kind == TP_REC_RANGE
			       ? string_of(f, proc, TP_ARG_SHAPES(rec->arg))
			       : &f->run->strings.none;
	event.queue = NULL;
	event.detail = &f->run->strings.none;
	if (rec->kind >= TP_REC_CALL && rec->kind <= TP_REC_DEVFREE)
		place_device(f, proc, &event);
	f->run->pub.n_events++;
	f->each(f->ctx, &event);
}

/* Hands out from the first block of the heap for as long as it stays the first. */
static void drain_top(struct fuse *f)
{
	struct head *heap = f->heap;
	struct tp_decoded *d = f->open[heap[0].decoded];
	int64_t until = f->next < f->run->n_blocks ? f->run->block[f->next].first_ns : INT64_MAX;
	const struct head *second = NULL;

	if (f->n_heap > 1)
		second = f->n_heap > 2 && is_before(&heap[2], &heap[1]) ? &heap[2] : &heap[1];
	for (;;) {
		hand_out(f, d);
		if (++d->at == d->n) {
			f->open[heap[0].decoded] = NULL;
			close_block(f, d);
			heap[0] = heap[--f->n_heap];
			break;
		}
		set_head(&heap[0], d);
		/* An event at the very begin of the next block may come after one of it. */
		if (heap[0].begin >= until || (second && !is_before(&heap[0], second)))
			break;
	}
	if (f->n_heap)
		sift_down(f, 0);
}

int tp_fuse_events(struct tp_run *run, tp_fuse_event_fn each, void *ctx)
{
	struct tp_run_in *in = tp_run_inside(run);
	struct fuse f = {.run = in, .each = each, .ctx = ctx, .present = INT64_MIN};
	uint64_t say_at = PROGRESS_EVENTS;

	f.err = tp_decoder_init(&f.decoder, in);
	if (f.err)
		return f.err;
	tp_progress_begin(&f.progress, in->options.is_quiet, in->n_events_due);
	while (!f.err && (f.n_heap || f.next < in->n_blocks)) {
		while (f.next < in->n_blocks && !f.err &&
		       (!f.n_heap || in->block[f.next].first_ns <= f.heap[0].begin))
			open_next(&f);
		if (f.n_heap && !f.err)
			drain_top(&f);
		if (f.n_decoded >= say_at) {
			tp_progress_at(&f.progress, f.n_decoded);
			say_at = f.n_decoded + PROGRESS_EVENTS;
		}
	}
	tp_progress_end(&f.progress);
	if (in->n_unknown_ids)
		tp_run_issue(run, NULL, true, "%llu events name strings that no file holds",
			     (unsigned long long)in->n_unknown_ids);
	run->n_distinct_strings = in->strings.n_strings;

	for (uint32_t i = 0; i < f.n_open; i++) {
		if (f.open[i])
			tp_decode_release(&f.decoder, f.open[i]);
	}
	tp_decoder_free(&f.decoder);
	free(f.open);
	free(f.heap);
	return f.err;
}
static inline bool is_of_stacks(uint8_t kind)
{
	return kind == TP_REC_FRAME || kind == TP_REC_STACK || kind == TP_REC_NNMODULE;
}

