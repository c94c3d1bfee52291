/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.c - blocks of all files -> one stream of events by begin time
 *
 * A slice of a block (decode.c) is opened when the present reaches its first event and
 * forgotten after its last; the next ones that will be due are decoded meanwhile (ahead.c).
 * Slices are so large that those around the present fit in SLICES_BYTES. Each is in order by
 * itself, a heap holds one entry per open slice.
 *
 * Order: begin time; then the longer span first, so that a parent comes before its child;
 * then STEP, RANGE, OP, CALL; then as recorded: the events behind a FRAME need it, also those of
 * its own time.
 */
#include <errno.h>
#include <stdlib.h>

#include "merge/input/ahead.h"
#include "merge/input/chosen.h"
#include "merge/input/fuse.h"
#include "merge/kit/grow.h"
#include "merge/kit/progress.h"
#include "merge/kit/stats.h"
#include "merge/kit/sum.h"
#include "runtime/trace/kinds.h"

enum {
	PROGRESS_EVENTS = 1 << 16,
	SLICES_BYTES = 144 << 20,
	/* Each slice decodes its block anew: an event costs 0.1 us in whole blocks, 0.5 in slices of
	 * this many, 3.4 in slices of 256. Above 2,000 blocks at a time memory grows by 68 KiB each. */
	SLICE_LEAST = 2048,
	/* Slices decoded before they are due: enough for all threads, little beside the open ones. */
	AHEAD = TP_AHEAD_TASKS / 2,
	/* Children of a place in the heap of heads: these lie in one line of the cache. */
	HEAP_WAYS = 4,
};

/* Of an open slice; small, for there may be a thousand. */
struct head {
	int64_t begin;
	struct tp_decoded *slice;
};

/* A slice that is not open yet. */
struct due {
	int64_t at_ns;
	const struct tp_block_ref *ref;
	uint32_t from;
	uint32_t task;		/* of those asked for */
};

struct tp_fuse {
	struct tp_run_in *run;
	tp_fuse_event_fn each;
	void *ctx;
	struct head *heap;
	uint32_t n_heap, cap_heap;
	struct due *later;	/* behind open slices: a heap, the earliest first */
	uint32_t n_later, cap_later;
	struct due asked[TP_AHEAD_TASKS];	/* the earliest last */
	uint32_t n_asked;
	struct tp_ahead *ahead;
	uint32_t next;		/* first block of which no slice was asked for */
	uint64_t n_opened, say_at;	/* events */
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
	return a->ref->at < b->ref->at;
}

static bool is_tie_before(const struct tp_decoded *a, const struct tp_decoded *b)
{
	const struct tp_rec *x = &a->rec[a->at], *y = &b->rec[b->at];
	int64_t end_x = tp_decode_end(x), end_y = tp_decode_end(y);
	uint32_t order_x = tp_decode_kind_order(x->kind), order_y = tp_decode_kind_order(y->kind);

	if (end_x != end_y)
		return end_x > end_y;
	return order_x != order_y ? order_x < order_y : is_recorded_before(a, b);
}

static inline bool is_before(const struct head *a, const struct head *b)
{
	if (__builtin_expect(a->begin == b->begin, 0))
		return is_tie_before(a->slice, b->slice);
	return a->begin < b->begin;
}

/* The first of the children of a place; n_heap: it has none. */
static inline uint32_t first_child(const struct head *heap, uint32_t n_heap, uint32_t at)
{
	uint32_t child = HEAP_WAYS * at + 1, first = child;

	if (child >= n_heap)
		return n_heap;
	for (uint32_t k = child + 1; k < child + HEAP_WAYS && k < n_heap; k++)
		first = is_before(&heap[k], &heap[first]) ? k : first;
	return first;
}

static void sift_down(struct tp_fuse *f, uint32_t at)
{
	struct head *heap = f->heap, moving = heap[at];
	uint32_t child;

	while ((child = first_child(heap, f->n_heap, at)) < f->n_heap &&
	       is_before(&heap[child], &moving)) {
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

static void sift_up(struct tp_fuse *f, uint32_t at)
{
	struct head *heap = f->heap, moving = heap[at];

	while (at && is_before(&moving, &heap[(at - 1) / HEAP_WAYS])) {
		heap[at] = heap[(at - 1) / HEAP_WAYS];
		at = (at - 1) / HEAP_WAYS;
	}
	heap[at] = moving;
}

/* ---- which slice is next ---- */

static inline bool is_due_before(const struct due *a, const struct due *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns;
	return a->ref < b->ref;
}

static bool put_later(struct tp_fuse *f, struct due due)
{
	uint32_t at = f->n_later;

	if (!tp_grow(&f->later, &f->cap_later, (uint64_t)at + 1, sizeof(due)))
		return false;
	f->n_later++;
	while (at && is_due_before(&due, &f->later[(at - 1) / 2])) {
		f->later[at] = f->later[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	f->later[at] = due;
	return true;
}

static void drop_first_later(struct tp_fuse *f)
{
	struct due last = f->later[--f->n_later];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < f->n_later) {
		if (child + 1 < f->n_later && is_due_before(&f->later[child + 1], &f->later[child]))
			child++;
		if (!is_due_before(&f->later[child], &last))
			break;
		f->later[at] = f->later[child];
		at = child;
	}
	f->later[at] = last;
}

/* Of those not asked for; false: there is none. */
static bool find_next(const struct tp_fuse *f, struct due *due)
{
	struct due block = {0};

	if (f->next < f->run->n_blocks)
		block = (struct due){.at_ns = f->run->block[f->next].first_ns,
				     .ref = &f->run->block[f->next]};
	*due = block;
	if (f->n_later && (!block.ref || is_due_before(&f->later[0], &block)))
		*due = f->later[0];
	return due->ref != NULL;
}

static void skip_blocks(struct tp_fuse *f)
{
	while (f->next < f->run->n_blocks && !tp_chosen_block(f->run, &f->run->block[f->next]))
		f->n_opened += f->run->block[f->next++].n_events;
}

/* What find_next found is seen to. */
static void drop_next(struct tp_fuse *f, const struct due *due)
{
	if (due->from) {
		drop_first_later(f);
	} else {
		f->next++;
		skip_blocks(f);
	}
}

static void ask_next(struct tp_fuse *f, struct due due)
{
	uint32_t at = f->n_asked++;

	drop_next(f, &due);
	due.task = tp_ahead_ask(f->ahead, due.ref, due.from);
	while (at && is_due_before(&f->asked[at - 1], &due)) {
		f->asked[at] = f->asked[at - 1];
		at--;
	}
	f->asked[at] = due;
}

/* The earliest AHEAD are asked for, and what became known later and is due before one of them. */
static void ask_ahead(struct tp_fuse *f)
{
	struct due due;

	while (f->n_asked < TP_AHEAD_TASKS && find_next(f, &due) &&
	       (f->n_asked < AHEAD || is_due_before(&due, &f->asked[0])))
		ask_next(f, due);
}

/* When the next slice has to be opened; INT64_MAX: there is none. */
static int64_t next_ns(const struct tp_fuse *f)
{
	struct due due;
	int64_t at = find_next(f, &due) ? due.at_ns : INT64_MAX;

	if (f->n_asked && f->asked[f->n_asked - 1].at_ns < at)
		at = f->asked[f->n_asked - 1].at_ns;
	return at;
}

static struct tp_decoded *take_next(struct tp_fuse *f)
{
	struct due due;

	/* More are due at a time than may be asked for: one of those that had to wait. */
	if (find_next(f, &due) &&
	    (!f->n_asked || is_due_before(&due, &f->asked[f->n_asked - 1]))) {
		drop_next(f, &due);
		return tp_ahead_now(f->ahead, due.ref, due.from);
	}
	return tp_ahead_take(f->ahead, f->asked[--f->n_asked].task);
}

static void open_next(struct tp_fuse *f)
{
	struct tp_decoded *d = take_next(f);

	if (!d) {
		f->err = -ENOMEM;
		return;
	}
	if (!d->err && (int64_t)d->rec[0].time < f->present) {
		d->trouble = TP_DECODE_EARLY;
		d->err = -EBADMSG;
	}
	if (d->err == -ENOMEM)
		f->err = -ENOMEM;
	else if (d->err)
		tp_decode_complain(f->run, d);
	f->n_opened += d->err ? d->ref->n_events : d->n;
	if (!d->err && tp_decode_has_more(d) &&
	    !put_later(f, (struct due){.at_ns = d->next_ns, .ref = d->ref, .from = d->from + d->n}))
		f->err = -ENOMEM;
	if (!tp_grow(&f->heap, &f->cap_heap, (uint64_t)f->n_heap + 1, sizeof(f->heap[0])))
		f->err = -ENOMEM;
	if (d->err || f->err) {
		tp_ahead_release(f->ahead, d);
	} else {
		f->heap[f->n_heap].slice = d;
		f->heap[f->n_heap].begin = (int64_t)d->rec[0].time;
		sift_up(f, f->n_heap++);
	}
	ask_ahead(f);
}

/* ---- events ---- */

static inline void hand_out(struct tp_fuse *f, const struct tp_decoded *d)
{
	const struct tp_rec *rec = &d->rec[d->at];
	struct tp_event event;

	f->present = (int64_t)rec->time;
	if (f->run->options.steps && !tp_chosen_event(d->source->proc, d->window, rec))
		return;
	if (!tp_events_make_one(d, d->at, &event))
		return;
	f->run->pub.n_events++;
	f->each(f->ctx, &event);
}

/* Hands out from the first slice of the heap for as long as it stays the first. */
static void drain_top(struct tp_fuse *f)
{
	struct head *heap = f->heap;
	struct tp_decoded *d = heap[0].slice;
	int64_t until = next_ns(f);
	uint32_t child = first_child(heap, f->n_heap, 0);
	const struct head *second = child < f->n_heap ? &heap[child] : NULL;

	for (;;) {
		/* Hundreds of slices take turns: by its next one this would be out of the cache. */
		__builtin_prefetch(&d->rec[d->at + 2]);
		hand_out(f, d);
		if (++d->at == d->n) {
			tp_ahead_release(f->ahead, d);
			heap[0] = heap[--f->n_heap];
			break;
		}
		heap[0].begin = (int64_t)d->rec[d->at].time;
		/* An event at the very begin of the next slice may come after one of it. */
		if (heap[0].begin >= until || (second && !is_before(&heap[0], second)))
			break;
	}
	if (f->n_heap)
		sift_down(f, 0);
}

/* The most blocks that lie around one moment. 0: out of memory. */
static uint32_t count_around(const struct tp_run_in *run)
{
	int64_t *last = malloc((run->n_blocks + 1) * sizeof(last[0]));
	uint32_t over = 0, most = 1;

	if (!last)
		return 0;
	for (uint32_t i = 0; i < run->n_blocks; i++)
		last[i] = run->block[i].last_ns;
	tp_sort_i64(last, run->n_blocks);
	for (uint32_t i = 0; i < run->n_blocks; i++) {
		/* Each ends after it began: `over` comes to a stop at this one. */
		while (last[over] < run->block[i].first_ns)
			over++;
		if (i + 1 - over > most)
			most = i + 1 - over;
	}
	free(last);
	return most;
}

static int begin_fuse(struct tp_fuse *f)
{
	uint32_t most = count_around(f->run), n = TP_BLOCK_EVENTS_MAX;

	if (!most)
		return -ENOMEM;
	if ((uint64_t)n * most * TP_DECODED_BYTES > SLICES_BYTES)
		n = (uint32_t)(SLICES_BYTES / TP_DECODED_BYTES / most);
	f->ahead = tp_ahead_start(f->run, n < SLICE_LEAST ? SLICE_LEAST : n);
	return f->ahead ? 0 : -ENOMEM;
}

struct tp_fuse *tp_fuse_begin(struct tp_run *run, tp_fuse_event_fn each, void *ctx)
{
	struct tp_run_in *in = tp_run_inside(run);
	struct tp_fuse *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	*f = (struct tp_fuse){.run = in, .each = each, .ctx = ctx, .present = INT64_MIN,
			      .say_at = PROGRESS_EVENTS};
	f->err = begin_fuse(f);
	if (f->err) {
		free(f);
		return NULL;
	}
	tp_progress_begin(&f->progress, in->options.is_quiet, in->n_events_due);
	skip_blocks(f);
	ask_ahead(f);
	return f;
}

bool tp_fuse_some(struct tp_fuse *f)
{
	int64_t next = next_ns(f);

	if (f->err)
		return false;
	if (next != INT64_MAX && (!f->n_heap || next <= f->heap[0].begin))
		open_next(f);
	else if (f->n_heap)
		drain_top(f);
	else
		return false;
	if (f->n_opened >= f->say_at) {
		tp_progress_at(&f->progress, f->n_opened);
		f->say_at = f->n_opened + PROGRESS_EVENTS;
	}
	return true;
}

int tp_fuse_end(struct tp_fuse *f)
{
	struct tp_run *run = &f->run->pub;
	int err = f->err;

	tp_progress_end(&f->progress);
	tp_events_end(f->run);
	for (uint32_t i = 0; i < f->n_heap; i++)
		tp_ahead_release(f->ahead, f->heap[i].slice);
	tp_ahead_stop(f->ahead);
	free(f->later);
	free(f->heap);
	free(f);
	run->n_distinct_strings = tp_run_inside(run)->strings.n_strings;
	return err;
}

int tp_fuse_events(struct tp_run *run, tp_fuse_event_fn each, void *ctx)
{
	struct tp_fuse *f = tp_fuse_begin(run, each, ctx);

	while (f && tp_fuse_some(f))
		;
	return f ? tp_fuse_end(f) : -ENOMEM;
}
