/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_alive.c - blocks that are alive, by stack: the peak, the steps
 *
 * What each stack held at the peak is not copied at each new peak: a row that changes for the
 * first time since then still has its value of that moment, and keeps it aside.
 *
 * The allocation that reuses an address can come before the free of the block that was there:
 * clocks of two threads differ a little, and a free is recorded before it is done. Then the old
 * block is gone at once, and the free that is still due is taken for its own when it comes from
 * another thread, soon enough.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/heap/hostmem_in.h"
#include "merge/kit/sum.h"

enum { DUE_NS = 100000 };	/* a free may be that late */

/* ---- what a block counts for ---- */

/* A block of s bytes is sampled with probability p = 1 - exp(-s / mean); it stands for 1 / p. */
struct weight tp_hostmem_weigh(const struct book *book, uint64_t bytes, bool is_sampled)
{
	double p, s = (double)bytes;

	if (bytes > INT64_MAX / SHARE)
		bytes = INT64_MAX / SHARE;
	if (!is_sampled)
		return (struct weight){(int64_t)bytes, SHARE, 0};
	/* Nothing is sampled by its 0 bytes: as if it had one. */
	p = -expm1(-(s > 0 ? s : 1) / (double)book->pub.sample_bytes);
	return (struct weight){
		.bytes = (int64_t)llround(fmin(s / p, 0x1p60)),
		.shares = (int64_t)llround(fmin(SHARE / p, 0x1p60)),
		.variance = (1 - p) * (s / p) * (s / p),
	};
}

/* ---- rows and the peak ---- */

/* Index, or UINT32_MAX: out of memory. */
static uint32_t find_row(struct tp_hostmem *mem, struct book *book, uint32_t stack)
{
	uint32_t hash = stack * 0x9e3779b1u, at, row = tp_keyed_first(&book->rows, hash, &at);

	if (row != TP_NO_KEYED)
		return row;
	if (!tp_grow(&book->row, &book->cap_rows, (uint64_t)book->n_rows + 1,
		     sizeof(*book->row)) ||
	    !tp_keyed_add(&book->rows, hash, book->n_rows)) {
		mem->is_incomplete = true;
		return UINT32_MAX;
	}
	book->row[book->n_rows] = (struct row){
		.pub = {.stack = stack, .proc = book->pub.proc->at}, .epoch = book->epoch};
	return book->n_rows++;
}

static void note_beside_peak(struct book *book)
{
	memcpy(book->pub.mapped_at_peak, book->pub.mapped, sizeof(book->pub.mapped));
	for (uint32_t i = 0; i < TP_HOSTMEM_COUNTERS; i++)
		book->pub.counted[i].at_peak = book->pub.counted[i].last;
}

static void note_live(struct tp_hostmem *mem, struct book *book, int64_t now)
{
	struct tp_hostmem_step *step = book->step_at ? &mem->step[book->step_at - 1] : NULL;

	if (step && book->live_bytes > step->peak_live)
		step->peak_live = book->live_bytes;
	if (book->live_bytes <= (int64_t)book->pub.peak_bytes)
		return;
	book->pub.peak_bytes = (uint64_t)book->live_bytes;
	book->peak_shares = book->live_shares;
	book->pub.peak_ns = now;
	book->pub.is_peak_in_step = step != NULL;
	book->pub.peak_step = step ? step->step : 0;
	book->epoch++;
	note_beside_peak(book);
}

/* ---- steps ---- */

void tp_hostmem_end_step(struct tp_hostmem *mem, struct book *book)
{
	if (!book->step_at)
		return;
	mem->step[book->step_at - 1].end_live = book->live_bytes;
	book->step_at = 0;
	book->n_ended = book->step;
}

void tp_hostmem_take_step(struct tp_hostmem *mem, struct book *book, const struct tp_event *event)
{
	tp_hostmem_end_step(mem, book);
	if (!tp_grow(&mem->step, &mem->cap_steps, (uint64_t)mem->n_steps + 1,
		     sizeof(*mem->step))) {
		mem->is_incomplete = true;
		return;
	}
	mem->step[mem->n_steps++] = (struct tp_hostmem_step){
		.proc = event->proc->at, .window = event->window, .step = event->link,
		.begin_live = book->live_bytes, .end_live = book->live_bytes,
		.peak_live = book->live_bytes,
		.begin_ns = event->begin_ns, .end_ns = event->end_ns,
	};
	book->step_at = mem->n_steps;
	book->step++;
	book->step_end_ns = event->end_ns;
}

/* The step that lasts now; NULL: none. */
static struct tp_hostmem_step *step_at(struct tp_hostmem *mem, struct book *book, int64_t now)
{
	if (book->step_at && now >= book->step_end_ns)
		tp_hostmem_end_step(mem, book);
	return book->step_at ? &mem->step[book->step_at - 1] : NULL;
}

/* ---- blocks ---- */

static void remove_block(struct tp_hostmem *mem, struct book *book,
			 struct tp_hostmem_block *block, int64_t now)
{
	struct weight weight = tp_hostmem_weigh(book, block->bytes, block->is_sampled);
	struct row *row = &book->row[block->row - 1];
	struct tp_hostmem_step *step = step_at(mem, book, now);

	tp_hostmem_keep_peak(book, row);
	row->live_bytes = tp_sub(row->live_bytes, weight.bytes);
	row->live_shares = tp_sub(row->live_shares, weight.shares);
	book->live_bytes = tp_sub(book->live_bytes, weight.bytes);
	book->live_shares = tp_sub(book->live_shares, weight.shares);
	book->pub.n_frees += (uint64_t)weight.shares;
	if (!block->is_sampled &&
	    book->n_of_thread[block->thread] - block->nth < TP_HOSTMEM_TEMPORARY) {
		row->pub.n_temporary++;
		row->pub.temporary_bytes += block->bytes;
		book->pub.n_temporary++;
	}
	if (step) {
		step->n_frees += (uint64_t)weight.shares;
		step->free_bytes += (uint64_t)weight.bytes;
	}
	tp_hostmem_block_take(&book->blocks, block);
}

static void expire_due(struct book *book, int64_t now)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < book->n_due; i++) {
		if (book->due[i].until_ns < now)
			book->pub.n_missed_frees++;
		else
			book->due[kept++] = book->due[i];
	}
	book->n_due = kept;
}

static void add_due(struct book *book, const struct tp_event *event)
{
	expire_due(book, event->begin_ns);
	if (book->n_due == DUE_MAX) {
		book->pub.n_missed_frees++;
		return;
	}
	book->due[book->n_due++] = (struct due){
		.address = event->arg, .until_ns = tp_add(event->begin_ns, DUE_NS),
		.other = event->thread,
	};
}

/* The free was due of a block that is gone already. */
static bool take_due(struct book *book, const struct tp_event *event)
{
	expire_due(book, event->begin_ns);
	for (uint32_t i = 0; i < book->n_due; i++) {
		if (book->due[i].address != event->arg || book->due[i].other == event->thread)
			continue;
		book->n_due--;
		memmove(&book->due[i], &book->due[i + 1],
			(book->n_due - i) * sizeof(book->due[0]));
		book->pub.n_late_frees++;
		return true;
	}
	return false;
}

static uint32_t size_class(uint64_t bytes)
{
	uint32_t class = bytes ? 63 - (uint32_t)__builtin_clzll(bytes) : 0;

	return class < TP_HOSTMEM_SIZES ? class : TP_HOSTMEM_SIZES - 1;
}

bool tp_hostmem_has_threads(struct tp_hostmem *mem, struct book *book)
{
	/* One more than are counted: nobody's. */
	if (!book->n_of_thread)
		book->n_of_thread = calloc(book->pub.proc->n_threads + 1,
					   sizeof(*book->n_of_thread));
	if (!book->moved_of_thread)
		book->moved_of_thread = calloc(book->pub.proc->n_threads + 1, 1);
	if (book->n_of_thread && book->moved_of_thread)
		return true;
	mem->is_incomplete = true;
	return false;
}

void tp_hostmem_take_alloc(struct tp_hostmem *mem, struct book *book, const struct tp_event *event)
{
	bool is_sampled = event->flags & TP_F_SAMPLED;
	struct weight weight = tp_hostmem_weigh(book, event->len, is_sampled);
	uint32_t thread = tp_thread_at(event),
		 at = find_row(mem, book, mem->is_plain ? 0 : tp_stacks_of(mem->stacks, event)),
		 class = size_class(event->len);
	struct tp_hostmem_step *step = step_at(mem, book, event->begin_ns);
	struct tp_hostmem_block block, *old;
	struct row *row;

	if (at == UINT32_MAX || !tp_hostmem_has_threads(mem, book))
		return;
	old = tp_hostmem_block_at(&book->blocks, event->arg);
	if (old) {
		remove_block(mem, book, old, event->begin_ns);
		add_due(book, event);
	}
	block = (struct tp_hostmem_block){
		.address = event->arg, .bytes = event->len, .row = at + 1,
		.nth = ++book->n_of_thread[thread], .step = step ? book->step : 0,
		.thread = (uint16_t)thread, .is_sampled = is_sampled,
	};
	if (!tp_hostmem_block_put(&book->blocks, &block)) {
		mem->is_incomplete = true;
		return;
	}
	row = &book->row[at];
	tp_hostmem_keep_peak(book, row);
	row->pub.n_allocs += (uint64_t)weight.shares;
	row->pub.alloc_bytes += (uint64_t)weight.bytes;
	row->variance += weight.variance;
	row->live_bytes = tp_add(row->live_bytes, weight.bytes);
	row->live_shares = tp_add(row->live_shares, weight.shares);
	book->pub.n_allocs += (uint64_t)weight.shares;
	book->pub.n_reallocs += event->flags & TP_F_MOVED ? (uint64_t)weight.shares : 0;
	book->pub.alloc_bytes += (uint64_t)weight.bytes;
	book->pub.is_sampled |= is_sampled;
	book->pub.size_count[class] += (uint64_t)weight.shares;
	book->pub.size_bytes[class] += (uint64_t)weight.bytes;
	book->variance += weight.variance;
	book->live_bytes = tp_add(book->live_bytes, weight.bytes);
	book->live_shares = tp_add(book->live_shares, weight.shares);
	if (step) {
		step->n_allocs += (uint64_t)weight.shares;
		step->alloc_bytes += (uint64_t)weight.bytes;
	}
	note_live(mem, book, event->begin_ns);
}

void tp_hostmem_take_free(struct tp_hostmem *mem, struct book *book, const struct tp_event *event)
{
	struct tp_hostmem_block *block;

	if (book->n_due && take_due(book, event))
		return;
	block = tp_hostmem_block_at(&book->blocks, event->arg);
	if (block)
		remove_block(mem, book, block, event->begin_ns);
	else
		book->pub.n_unknown_frees++;
}
