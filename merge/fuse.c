/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.c - blocks of all files -> one stream of events by begin time
 *
 * A block is decoded when the present reaches its first event and forgotten after its last,
 * so memory is that of the blocks around the present. Each decoded block is sorted by itself
 * (radix on the bits that differ), a heap holds one entry per decoded block.
 *
 * Order: begin time; then the longer span first, so that a parent comes before its child;
 * then STEP, RANGE, OP. Files are not trusted: a block whose events lie outside the bounds
 * of its head would break the order and is left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/grow.h"
#include "merge/progress.h"
#include "merge/run.h"

enum {
	INDEX_BITS = 14,		/* of an event in its block */
	DIGIT_BITS = 11,
	POOLED_EVENTS = TP_BLOCK_EVENTS_MAX / 2,
	POOL_BLOCKS = 64,
	PROGRESS_EVENTS = 1 << 16,
};
_Static_assert(TP_BLOCK_EVENTS_MAX == 1 << INDEX_BITS, "an index fits its bits");

/* Ticks are gone: time is the begin in ns of the run, len the duration in ns of a span. */
struct decoded {
	struct tp_rec *rec;
	uint16_t *thread;	/* index in proc->thread */
	uint64_t *key;		/* begin - base, then the index: in order */
	uint32_t n, at;
	int64_t base;
	struct tp_source *source;
	bool is_pooled;
};

struct head {
	int64_t begin, end;
	uint32_t order;		/* of kinds at equal times */
	uint32_t decoded;	/* index in fuse.open */
};

struct fuse {
	struct tp_run_in *run;
	tp_fuse_event_fn each;
	void *ctx;
	struct decoded **open;	/* free places are NULL */
	uint32_t n_open, cap_open;
	struct head *heap;
	uint32_t n_heap, cap_heap;
	struct decoded *pool[POOL_BLOCKS];
	uint32_t n_pool;
	uint64_t *scratch;
	uint32_t next;		/* block not opened yet */
	uint64_t n_decoded;
	int64_t present;	/* begin of the last event handed out */
	struct tp_progress progress;
	int err;
};

static const bool is_span[256] = {
#define _(id, NAME, text, span, since) [id] = span,
#include "runtime/trace/records.def"
#undef _
};

static uint32_t kind_order(uint8_t kind)
{
	switch (kind) {
	case TP_REC_STEP:
		return 0;
	case TP_REC_RANGE:
		return 1;
	case TP_REC_OP:
		return 2;
	default:
		return kind + 2u;
	}
}

static inline int64_t end_of(const struct tp_rec *rec)
{
	return (int64_t)rec->time + (is_span[rec->kind] ? (int64_t)tp_rec_len(rec) : 0);
}

/* ---- one block ---- */

static void release_block(struct fuse *f, struct decoded *d)
{
	if (d->is_pooled && f->n_pool < POOL_BLOCKS) {
		f->pool[f->n_pool++] = d;
		return;
	}
	free(d->rec);
	free(d->thread);
	free(d->key);
	free(d);
}

static struct decoded *take_block(struct fuse *f, uint32_t n)
{
	bool is_pooled = n > POOLED_EVENTS;
	uint32_t room = is_pooled ? TP_BLOCK_EVENTS_MAX : n;
	struct decoded *d;

	if (is_pooled && f->n_pool)
		return f->pool[--f->n_pool];
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->is_pooled = is_pooled;
	d->rec = malloc(room * sizeof(d->rec[0]));
	d->thread = malloc(room * sizeof(d->thread[0]));
	d->key = malloc(room * sizeof(d->key[0]));
	if (d->rec && d->thread && d->key)
		return d;
	d->is_pooled = false;
	release_block(f, d);
	return NULL;
}

/* At equal begin times, within a block: is event a handed out before event b? */
static bool comes_first(const struct tp_rec *rec, uint32_t a, uint32_t b)
{
	int64_t end_a = end_of(&rec[a]), end_b = end_of(&rec[b]);
	uint32_t order_a = kind_order(rec[a].kind), order_b = kind_order(rec[b].kind);

	if (end_a != end_b)
		return end_a > end_b;
	if (order_a != order_b)
		return order_a < order_b;
	/* Spans are recorded when they end: of two equal ones the later is the parent. */
	return is_span[rec[a].kind] ? a > b : a < b;
}

static void order_ties(struct decoded *d)
{
	const uint64_t mask = TP_BLOCK_EVENTS_MAX - 1;

	for (uint32_t i = 1; i < d->n; i++) {
		uint64_t key = d->key[i];
		uint32_t k = i;

		while (k && d->key[k - 1] >> INDEX_BITS == key >> INDEX_BITS &&
		       comes_first(d->rec, key & mask, d->key[k - 1] & mask)) {
			d->key[k] = d->key[k - 1];
			k--;
		}
		d->key[k] = key;
	}
}

/* Stable; the low INDEX_BITS are in order already. */
static void sort_keys(struct decoded *d, uint64_t *scratch, uint64_t most)
{
	uint64_t *from = d->key, *to = scratch;
	uint32_t count[1 << DIGIT_BITS];

	for (uint32_t shift = INDEX_BITS; shift < 64 && most >> shift; shift += DIGIT_BITS) {
		const uint64_t mask = (1 << DIGIT_BITS) - 1;
		uint64_t *swap = from;
		uint32_t sum = 0;

		memset(count, 0, sizeof(count));
		for (uint32_t i = 0; i < d->n; i++)
			count[from[i] >> shift & mask]++;
		for (uint32_t i = 0; i <= mask; i++) {
			uint32_t n = count[i];

			count[i] = sum;
			sum += n;
		}
		for (uint32_t i = 0; i < d->n; i++)
			to[count[from[i] >> shift & mask]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != d->key)
		memcpy(d->key, from, d->n * sizeof(from[0]));
}

/* Ticks -> ns, slots -> threads, and the keys. False: times that cannot be. */
static bool place_events(struct decoded *d, const struct tp_slots *slots)
{
	struct tp_proc_in *proc = d->source->proc;
	uint32_t hint = 0, n_threads = proc->pub.n_threads;
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (uint32_t i = 0; i < d->n; i++) {
		struct tp_rec *rec = &d->rec[i];
		uint16_t slot = d->thread[i];
		uint16_t thread = slot < slots->n ? slots->thread[slot] : TP_NO_THREAD;
		int64_t begin;

		if (rec->time >> 62)
			return false;
		begin = tp_run_ns(proc, &hint, rec->time);
		if (is_span[rec->kind]) {
			int64_t end = tp_run_ns(proc, &hint, rec->time + tp_rec_len(rec));

			tp_rec_set_len(rec, (uint64_t)(end - begin));
		}
		rec->time = (uint64_t)begin;
		d->thread[i] = thread < n_threads ? thread : (uint16_t)n_threads;
		if (begin < least)
			least = begin;
		if (begin > most)
			most = begin;
	}
	if (!d->n)
		return true;
	if (most - least >= 1ll << (64 - INDEX_BITS - 1))
		return false;
	d->base = least;
	for (uint32_t i = 0; i < d->n; i++)
		d->key[i] = (uint64_t)((int64_t)d->rec[i].time - least) << INDEX_BITS | i;
	return true;
}

static uint64_t greatest_key(const struct decoded *d)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < d->n; i++)
		most |= d->key[i];
	return most;
}

static void leave_out(struct fuse *f, const struct tp_block_ref *ref, const char *why)
{
	const struct tp_source *source = &f->run->source[ref->source];

	tp_run_issue(&f->run->pub, &source->proc->pub, true,
		     "'%s': %u events of a block are left out: %s", source->path, ref->n_events, why);
}

/* A complaint of the reader while events are read; the run counts it. */
static void complain_events(void *ctx, const char *path, uint64_t offset, const char *what)
{
	struct fuse *f = ctx;

	tp_run_issue(&f->run->pub, NULL, true, "'%s': offset %llu: %s", path,
		     (unsigned long long)offset, what);
}

/* Decoded and in order; NULL: left out (said), or out of memory (f->err). */
static struct decoded *decode_block(struct fuse *f, const struct tp_block_ref *ref)
{
	struct tp_source *source = &f->run->source[ref->source];
	struct decoded *d = take_block(f, ref->n_events);
	struct tp_reader *reader;
	int err;

	if (!d) {
		f->err = -ENOMEM;
		return NULL;
	}
	d->source = source;
	d->n = ref->n_events;
	d->at = 0;
	if (source->rest) {
		err = tp_recover_events(source->rest, ref->at, d->rec, d->thread, d->n);
		if (err)
			leave_out(f, ref, strerror(-err));
	} else {
		reader = tp_run_reader(f->run, source);
		err = reader ? 0 : -EIO;
		if (reader) {
			reader->complain = complain_events;
			reader->complain_ctx = f;
			if (ref->at >= reader->n_blocks ||
			    reader->block[ref->at].head.n_items != ref->n_events)
				err = -ESTALE;
			else
				err = tp_reader_events(reader, ref->at, d->rec, d->thread);
		}
	}
	if (!err && !place_events(d, &source->slots[ref->slots])) {
		err = -EBADMSG;
		leave_out(f, ref, "their times cannot be");
	}
	if (!err && d->base < f->present) {
		err = -EBADMSG;
		leave_out(f, ref, "they lie before the block says it begins");
	}
	if (err) {
		release_block(f, d);
		return NULL;
	}
	sort_keys(d, f->scratch, greatest_key(d));
	order_ties(d);
	return d;
}

/* ---- the heap ---- */

static inline bool is_before(const struct head *a, const struct head *b)
{
	if (a->begin != b->begin)
		return a->begin < b->begin;
	if (a->end != b->end)
		return a->end > b->end;
	if (a->order != b->order)
		return a->order < b->order;
	return a->decoded < b->decoded;
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

static inline const struct tp_rec *present_rec(const struct decoded *d)
{
	return &d->rec[d->key[d->at] & (TP_BLOCK_EVENTS_MAX - 1)];
}

static inline void set_head(struct head *head, const struct decoded *d)
{
	const struct tp_rec *rec = present_rec(d);

	head->begin = (int64_t)rec->time;
	head->end = end_of(rec);
	head->order = kind_order(rec->kind);
}

static void close_block(struct fuse *f, struct decoded *d)
{
	struct tp_source *source = d->source;

	release_block(f, d);
	if (!--source->n_blocks_left)
		tp_run_park(source);
}

static void open_next(struct fuse *f)
{
	const struct tp_block_ref *ref = &f->run->block[f->next++];
	struct tp_source *source = &f->run->source[ref->source];
	struct decoded *d = decode_block(f, ref);
	uint32_t place = 0;

	f->n_decoded += ref->n_events;
	if (!d || !d->n) {
		if (d)
			release_block(f, d);
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

static inline void hand_out(struct fuse *f, const struct decoded *d)
{
	uint32_t i = d->key[d->at] & (TP_BLOCK_EVENTS_MAX - 1);
	const struct tp_rec *rec = &d->rec[i];
	const struct tp_proc_in *proc = d->source->proc;
	const struct tp_run *run = &f->run->pub;
	struct tp_event event;

	event.begin_ns = (int64_t)rec->time;
	f->present = event.begin_ns;
	if (f->run->options.steps && !is_wanted(proc, event.begin_ns))
		return;
	event.len = tp_rec_len(rec);
	event.end_ns = event.begin_ns + (is_span[rec->kind] ? (int64_t)event.len : 0);
	event.proc = &proc->pub;
	event.thread = &proc->pub.thread[d->thread[i]];
	event.window = run->window[d->source->window].window;
	event.kind = rec->kind;
	event.flags = rec->flags;
	event.link = rec->link;
	event.arg = rec->arg;
	event.name = string_of(f, proc, rec->name);
	event.shapes = rec->kind == TP_REC_OP || rec->kind == TP_REC_RANGE
			       ? string_of(f, proc, TP_ARG_SHAPES(rec->arg))
			       : &f->run->strings.none;
	f->run->pub.n_events++;
	f->each(f->ctx, &event);
}

/* Hands out from the first block of the heap for as long as it stays the first. */
static void drain_top(struct fuse *f)
{
	struct head *heap = f->heap;
	struct decoded *d = f->open[heap[0].decoded];
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

	f.scratch = malloc(TP_BLOCK_EVENTS_MAX * sizeof(f.scratch[0]));
	if (!f.scratch)
		return -ENOMEM;
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
			release_block(&f, f.open[i]);
	}
	while (f.n_pool) {
		struct decoded *d = f.pool[--f.n_pool];

		d->is_pooled = false;
		release_block(&f, d);
	}
	free(f.open);
	free(f.heap);
	free(f.scratch);
	return f.err;
}
