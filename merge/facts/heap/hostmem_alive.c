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
struct weight tp_hostmem_weigh(const struct account *account, uint64_t bytes, bool is_sampled)
{
	double p, s = (double)bytes;

	if (bytes > INT64_MAX / SHARE)
		bytes = INT64_MAX / SHARE;
	if (!is_sampled)
		return (struct weight){(int64_t)bytes, SHARE, 0};
	/* Nothing is sampled by its 0 bytes: as if it had one. */
	p = -expm1(-(s > 0 ? s : 1) / (double)account->pub.sample_bytes);
	return (struct weight){
		.bytes = (int64_t)llround(fmin(s / p, 0x1p60)),
		.shares = (int64_t)llround(fmin(SHARE / p, 0x1p60)),
		.variance = (1 - p) * (s / p) * (s / p),
	};
}

/* ---- rows and the peak ---- */

/* Index, or UINT32_MAX: out of memory. */
static uint32_t find_row(struct tp_hostmem *mem, struct account *account, uint32_t stack)
{
	uint32_t hash = stack * 0x9e3779b1u, at, row = tp_keyed_first(&account->rows, hash, &at);

	if (row != TP_NO_KEYED)
		return row;
	if (!tp_grow(&account->row, &account->cap_rows, (uint64_t)account->n_rows + 1,
		     sizeof(*account->row)) ||
	    !tp_keyed_add(&account->rows, hash, account->n_rows)) {
		mem->is_incomplete = true;
		return UINT32_MAX;
	}
	account->row[account->n_rows] = (struct row){
		.pub = {.stack = stack, .proc = account->pub.proc->at}, .epoch = account->epoch};
	return account->n_rows++;
}

static void note_beside_peak(struct account *account)
{
	memcpy(account->pub.mapped_at_peak, account->pub.mapped, sizeof(account->pub.mapped));
	for (uint32_t i = 0; i < TP_HOSTMEM_COUNTERS; i++)
		account->pub.counted[i].at_peak = account->pub.counted[i].last;
}

static void note_live(struct tp_hostmem *mem, struct account *account, int64_t now)
{
	struct tp_hostmem_step *step = account->step_at ? &mem->step[account->step_at - 1] : NULL;

	if (step && account->live_bytes > step->peak_live)
		step->peak_live = account->live_bytes;
	if (account->live_bytes <= (int64_t)account->pub.peak_bytes)
		return;
	account->pub.peak_bytes = (uint64_t)account->live_bytes;
	account->peak_shares = account->live_shares;
	account->pub.peak_ns = now;
	account->pub.is_peak_in_step = step != NULL;
	account->pub.peak_step = step ? step->step : 0;
	account->epoch++;
	note_beside_peak(account);
}

/* ---- steps ---- */

void tp_hostmem_end_step(struct tp_hostmem *mem, struct account *account)
{
	if (!account->step_at)
		return;
	mem->step[account->step_at - 1].end_live = account->live_bytes;
	account->step_at = 0;
	account->n_ended = account->step;
}

void tp_hostmem_take_step(struct tp_hostmem *mem, struct account *account, const struct tp_event *event)
{
	tp_hostmem_end_step(mem, account);
	if (!tp_grow(&mem->step, &mem->cap_steps, (uint64_t)mem->n_steps + 1,
		     sizeof(*mem->step))) {
		mem->is_incomplete = true;
		return;
	}
	mem->step[mem->n_steps++] = (struct tp_hostmem_step){
		.proc = event->proc->at, .window = event->window, .step = event->link,
		.begin_live = account->live_bytes, .end_live = account->live_bytes,
		.peak_live = account->live_bytes,
		.begin_ns = event->begin_ns, .end_ns = event->end_ns,
	};
	account->step_at = mem->n_steps;
	account->step++;
	account->step_end_ns = event->end_ns;
}

/* The step that lasts now; NULL: none. */
static struct tp_hostmem_step *step_at(struct tp_hostmem *mem, struct account *account, int64_t now)
{
	if (account->step_at && now >= account->step_end_ns)
		tp_hostmem_end_step(mem, account);
	return account->step_at ? &mem->step[account->step_at - 1] : NULL;
}

/* ---- blocks ---- */

static void remove_block(struct tp_hostmem *mem, struct account *account,
			 struct tp_hostmem_block *block, int64_t now)
{
	struct weight weight = tp_hostmem_weigh(account, block->bytes, block->is_sampled);
	struct row *row = &account->row[block->row - 1];
	struct tp_hostmem_step *step = step_at(mem, account, now);

	tp_hostmem_keep_peak(account, row);
	row->live_bytes = tp_sub(row->live_bytes, weight.bytes);
	row->live_shares = tp_sub(row->live_shares, weight.shares);
	account->live_bytes = tp_sub(account->live_bytes, weight.bytes);
	account->live_shares = tp_sub(account->live_shares, weight.shares);
	account->pub.n_frees += (uint64_t)weight.shares;
	if (!block->is_sampled &&
	    account->n_of_thread[block->thread] - block->nth < TP_HOSTMEM_TEMPORARY) {
		row->pub.n_temporary++;
		row->pub.temporary_bytes += block->bytes;
		account->pub.n_temporary++;
	}
	if (step) {
		step->n_frees += (uint64_t)weight.shares;
		step->free_bytes += (uint64_t)weight.bytes;
	}
	tp_hostmem_block_take(&account->blocks, block);
}

static void expire_due(struct account *account, int64_t now)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < account->n_due; i++) {
		if (account->due[i].until_ns < now)
			account->pub.n_missed_frees++;
		else
			account->due[kept++] = account->due[i];
	}
	account->n_due = kept;
}

static void add_due(struct account *account, const struct tp_event *event)
{
	expire_due(account, event->begin_ns);
	if (account->n_due == DUE_MAX) {
		account->pub.n_missed_frees++;
		return;
	}
	account->due[account->n_due++] = (struct due){
		.address = event->arg, .until_ns = tp_add(event->begin_ns, DUE_NS),
		.other = event->thread,
	};
}

/* The free was due of a block that is gone already. */
static bool take_due(struct account *account, const struct tp_event *event)
{
	expire_due(account, event->begin_ns);
	for (uint32_t i = 0; i < account->n_due; i++) {
		if (account->due[i].address != event->arg || account->due[i].other == event->thread)
			continue;
		account->n_due--;
		memmove(&account->due[i], &account->due[i + 1],
			(account->n_due - i) * sizeof(account->due[0]));
		account->pub.n_late_frees++;
		return true;
	}
	return false;
}

static uint32_t size_class(uint64_t bytes)
{
	uint32_t class = bytes ? 63 - (uint32_t)__builtin_clzll(bytes) : 0;

	return class < TP_HOSTMEM_SIZES ? class : TP_HOSTMEM_SIZES - 1;
}

bool tp_hostmem_has_threads(struct tp_hostmem *mem, struct account *account)
{
	/* One more than are counted: nobody's. */
	if (!account->n_of_thread)
		account->n_of_thread = calloc(account->pub.proc->n_threads + 1,
					   sizeof(*account->n_of_thread));
	if (!account->moved_of_thread)
		account->moved_of_thread = calloc(account->pub.proc->n_threads + 1, 1);
	if (account->n_of_thread && account->moved_of_thread)
		return true;
	mem->is_incomplete = true;
	return false;
}

void tp_hostmem_take_alloc(struct tp_hostmem *mem, struct account *account, const struct tp_event *event)
{
	bool is_sampled = event->flags & TP_F_SAMPLED;
	struct weight weight = tp_hostmem_weigh(account, event->len, is_sampled);
	uint32_t thread = tp_thread_at(event),
		 at = find_row(mem, account, mem->is_plain ? 0 : tp_stacks_of(mem->stacks, event)),
		 class = size_class(event->len);
	struct tp_hostmem_step *step = step_at(mem, account, event->begin_ns);
	struct tp_hostmem_block block, *old;
	struct row *row;

	if (at == UINT32_MAX || !tp_hostmem_has_threads(mem, account))
		return;
	old = tp_hostmem_block_at(&account->blocks, event->arg);
	if (old) {
		remove_block(mem, account, old, event->begin_ns);
		add_due(account, event);
	}
	block = (struct tp_hostmem_block){
		.address = event->arg, .bytes = event->len, .row = at + 1,
		.nth = ++account->n_of_thread[thread], .step = step ? account->step : 0,
		.thread = (uint16_t)thread, .is_sampled = is_sampled,
	};
	if (!tp_hostmem_block_put(&account->blocks, &block)) {
		mem->is_incomplete = true;
		return;
	}
	row = &account->row[at];
	tp_hostmem_keep_peak(account, row);
	row->pub.n_allocs += (uint64_t)weight.shares;
	row->pub.alloc_bytes += (uint64_t)weight.bytes;
	row->variance += weight.variance;
	row->live_bytes = tp_add(row->live_bytes, weight.bytes);
	row->live_shares = tp_add(row->live_shares, weight.shares);
	account->pub.n_allocs += (uint64_t)weight.shares;
	account->pub.n_reallocs += event->flags & TP_F_MOVED ? (uint64_t)weight.shares : 0;
	account->pub.alloc_bytes += (uint64_t)weight.bytes;
	account->pub.is_sampled |= is_sampled;
	account->pub.size_count[class] += (uint64_t)weight.shares;
	account->pub.size_bytes[class] += (uint64_t)weight.bytes;
	account->variance += weight.variance;
	account->live_bytes = tp_add(account->live_bytes, weight.bytes);
	account->live_shares = tp_add(account->live_shares, weight.shares);
	if (step) {
		step->n_allocs += (uint64_t)weight.shares;
		step->alloc_bytes += (uint64_t)weight.bytes;
	}
	note_live(mem, account, event->begin_ns);
}

void tp_hostmem_take_free(struct tp_hostmem *mem, struct account *account, const struct tp_event *event)
{
	struct tp_hostmem_block *block;

	if (account->n_due && take_due(account, event))
		return;
	block = tp_hostmem_block_at(&account->blocks, event->arg);
	if (block)
		remove_block(mem, account, block, event->begin_ns);
	else
		account->pub.n_unknown_frees++;
}
