/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_end.c - the accounts of host memory are closed: what stayed, results
 */
#include <math.h>
#include <stdlib.h>

#include "merge/facts/heap/hostmem_in.h"

enum { LEAKED_STEPS = 2 };

/* ---- what stayed ---- */

struct leaked {
	uint32_t row, step;
};

static int compare_leaked(const void *a, const void *b)
{
	const struct leaked *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* What is alive now, by stack; and what of it is older than it should be. */
static void close_rows(struct tp_hostmem *mem, struct account *account)
{
	struct leaked *leaked = malloc((account->blocks.n + 1) * sizeof(*leaked));
	uint32_t n = 0;

	for (uint32_t i = 0; i < account->n_rows; i++) {
		struct row *row = &account->row[i];

		tp_hostmem_keep_peak(account, row);
		row->pub.end_bytes = (uint64_t)row->live_bytes;
		row->pub.end_blocks = (uint64_t)row->live_shares;
		row->pub.leaked_blocks = row->pub.leaked_bytes = 0;
		row->pub.n_leaked_steps = 0;
	}
	account->pub.leaked_blocks = account->pub.leaked_bytes = 0;
	if (!leaked) {
		mem->is_incomplete = true;
		return;
	}
	for (uint32_t i = 0; i < account->blocks.n_slots; i++) {
		const struct tp_hostmem_block *block = &account->blocks.slot[i];
		struct weight weight;
		struct row *row;

		if (!block->row || !block->step || account->n_ended < block->step + LEAKED_STEPS)
			continue;
		weight = tp_hostmem_weigh(account, block->bytes, block->is_sampled);
		row = &account->row[block->row - 1];
		row->pub.leaked_bytes += (uint64_t)weight.bytes;
		row->pub.leaked_blocks += (uint64_t)weight.shares;
		account->pub.leaked_bytes += (uint64_t)weight.bytes;
		account->pub.leaked_blocks += (uint64_t)weight.shares;
		leaked[n++] = (struct leaked){block->row - 1, block->step};
	}
	qsort(leaked, n, sizeof(*leaked), compare_leaked);
	for (uint32_t i = 0; i < n; i++)
		account->row[leaked[i].row].pub.n_leaked_steps +=
			!i || compare_leaked(&leaked[i - 1], &leaked[i]) != 0;
	free(leaked);
}

/* ---- results ---- */

static bool add_rows(struct tp_hostmem *mem, const struct account *account)
{
	if (!tp_grow(&mem->row, &mem->cap_rows, (uint64_t)mem->n_rows + account->n_rows,
		     sizeof(*mem->row)))
		return false;
	for (uint32_t i = 0; i < account->n_rows; i++) {
		struct tp_hostmem_row row = account->row[i].pub;

		row.n_allocs = tp_hostmem_blocks_of(row.n_allocs);
		row.peak_blocks = tp_hostmem_blocks_of(row.peak_blocks);
		row.end_blocks = tp_hostmem_blocks_of(row.end_blocks);
		row.leaked_blocks = tp_hostmem_blocks_of(row.leaked_blocks);
		row.error_bytes = sqrt(account->row[i].variance);
		mem->row[mem->n_rows++] = row;
	}
	return true;
}

static void close_account(struct tp_hostmem *mem, struct account *account)
{
	struct tp_hostmem_proc *pub = &account->pub;

	tp_hostmem_end_step(mem, account);
	close_rows(mem, account);
	pub->live_bytes = (uint64_t)account->live_bytes;
	pub->live_blocks = tp_hostmem_blocks_of((uint64_t)account->live_shares);
	pub->peak_blocks = tp_hostmem_blocks_of((uint64_t)account->peak_shares);
	pub->leaked_blocks = tp_hostmem_blocks_of(pub->leaked_blocks);
	pub->n_allocs = tp_hostmem_blocks_of(pub->n_allocs);
	pub->n_frees = tp_hostmem_blocks_of(pub->n_frees);
	pub->n_reallocs = tp_hostmem_blocks_of(pub->n_reallocs);
	pub->n_missed_frees += account->n_due;
	pub->error_bytes = sqrt(account->variance);
	for (uint32_t i = 0; i < TP_HOSTMEM_SIZES; i++)
		pub->size_count[i] = tp_hostmem_blocks_of(pub->size_count[i]);
	if (!tp_grow(&mem->proc, &mem->cap_procs, (uint64_t)mem->n_procs + 1,
		     sizeof(*mem->proc)) ||
	    !add_rows(mem, account)) {
		mem->is_incomplete = true;
		return;
	}
	mem->proc[mem->n_procs++] = *pub;
	tp_hostmem_blocks_free(&account->blocks);
	tp_hostmem_maps_free(&account->maps);
	tp_keyed_free(&account->rows);
	free(account->row);
	account->row = NULL;
	account->n_rows = account->cap_rows = 0;
}

void tp_hostmem_end(struct tp_hostmem *mem)
{
	uint32_t n_steps = 0;

	if (mem->is_ended)
		return;
	mem->is_ended = true;
	for (uint32_t i = 0; i < mem->run->n_procs; i++)
		if (mem->account[i].has_any)
			close_account(mem, &mem->account[i]);
	for (uint32_t i = 0; i < mem->n_steps; i++) {
		struct tp_hostmem_step step = mem->step[i];

		if (!mem->account[step.proc].has_any)
			continue;
		step.n_allocs = tp_hostmem_blocks_of(step.n_allocs);
		step.n_frees = tp_hostmem_blocks_of(step.n_frees);
		mem->step[n_steps++] = step;
	}
	mem->n_steps = n_steps;
}

const struct tp_hostmem_proc *tp_hostmem_procs(const struct tp_hostmem *mem, uint32_t *n)
{
	*n = mem->n_procs;
	return mem->proc;
}

const struct tp_hostmem_row *tp_hostmem_rows(const struct tp_hostmem *mem, uint32_t *n)
{
	*n = mem->n_rows;
	return mem->row;
}

const struct tp_hostmem_step *tp_hostmem_steps(const struct tp_hostmem *mem, uint32_t *n)
{
	*n = mem->n_steps;
	return mem->step;
}

struct tp_stacks *tp_hostmem_stacks(const struct tp_hostmem *mem)
{
	return mem->stacks;
}

bool tp_hostmem_is_incomplete(const struct tp_hostmem *mem)
{
	return mem->is_incomplete;
}
