/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_end.c - the books of host memory are closed: what stayed, results
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
static void close_rows(struct tp_hostmem *mem, struct book *book)
{
	struct leaked *leaked = malloc((book->blocks.n + 1) * sizeof(*leaked));
	uint32_t n = 0;

	for (uint32_t i = 0; i < book->n_rows; i++) {
		struct row *row = &book->row[i];

		tp_hostmem_keep_peak(book, row);
		row->pub.end_bytes = (uint64_t)row->live_bytes;
		row->pub.end_blocks = (uint64_t)row->live_shares;
		row->pub.leaked_blocks = row->pub.leaked_bytes = 0;
		row->pub.n_leaked_steps = 0;
	}
	book->pub.leaked_blocks = book->pub.leaked_bytes = 0;
	if (!leaked) {
		mem->is_incomplete = true;
		return;
	}
	for (uint32_t i = 0; i < book->blocks.n_slots; i++) {
		const struct tp_hostmem_block *block = &book->blocks.slot[i];
		struct weight weight;
		struct row *row;

		if (!block->row || !block->step || book->n_ended < block->step + LEAKED_STEPS)
			continue;
		weight = tp_hostmem_weigh(book, block->bytes, block->is_sampled);
		row = &book->row[block->row - 1];
		row->pub.leaked_bytes += (uint64_t)weight.bytes;
		row->pub.leaked_blocks += (uint64_t)weight.shares;
		book->pub.leaked_bytes += (uint64_t)weight.bytes;
		book->pub.leaked_blocks += (uint64_t)weight.shares;
		leaked[n++] = (struct leaked){block->row - 1, block->step};
	}
	qsort(leaked, n, sizeof(*leaked), compare_leaked);
	for (uint32_t i = 0; i < n; i++)
		book->row[leaked[i].row].pub.n_leaked_steps +=
			!i || compare_leaked(&leaked[i - 1], &leaked[i]) != 0;
	free(leaked);
}

/* ---- results ---- */

static bool add_rows(struct tp_hostmem *mem, const struct book *book)
{
	if (!tp_grow(&mem->row, &mem->cap_rows, (uint64_t)mem->n_rows + book->n_rows,
		     sizeof(*mem->row)))
		return false;
	for (uint32_t i = 0; i < book->n_rows; i++) {
		struct tp_hostmem_row row = book->row[i].pub;

		row.n_allocs = tp_hostmem_blocks_of(row.n_allocs);
		row.peak_blocks = tp_hostmem_blocks_of(row.peak_blocks);
		row.end_blocks = tp_hostmem_blocks_of(row.end_blocks);
		row.leaked_blocks = tp_hostmem_blocks_of(row.leaked_blocks);
		row.error_bytes = sqrt(book->row[i].variance);
		mem->row[mem->n_rows++] = row;
	}
	return true;
}

static void close_book(struct tp_hostmem *mem, struct book *book)
{
	struct tp_hostmem_proc *pub = &book->pub;

	tp_hostmem_end_step(mem, book);
	close_rows(mem, book);
	pub->live_bytes = (uint64_t)book->live_bytes;
	pub->live_blocks = tp_hostmem_blocks_of((uint64_t)book->live_shares);
	pub->peak_blocks = tp_hostmem_blocks_of((uint64_t)book->peak_shares);
	pub->leaked_blocks = tp_hostmem_blocks_of(pub->leaked_blocks);
	pub->n_allocs = tp_hostmem_blocks_of(pub->n_allocs);
	pub->n_frees = tp_hostmem_blocks_of(pub->n_frees);
	pub->n_reallocs = tp_hostmem_blocks_of(pub->n_reallocs);
	pub->n_missed_frees += book->n_due;
	pub->error_bytes = sqrt(book->variance);
	for (uint32_t i = 0; i < TP_HOSTMEM_SIZES; i++)
		pub->size_count[i] = tp_hostmem_blocks_of(pub->size_count[i]);
	if (!tp_grow(&mem->proc, &mem->cap_procs, (uint64_t)mem->n_procs + 1,
		     sizeof(*mem->proc)) ||
	    !add_rows(mem, book)) {
		mem->is_incomplete = true;
		return;
	}
	mem->proc[mem->n_procs++] = *pub;
	tp_hostmem_blocks_free(&book->blocks);
	tp_hostmem_maps_free(&book->maps);
	tp_keyed_free(&book->rows);
	free(book->row);
	book->row = NULL;
	book->n_rows = book->cap_rows = 0;
}

void tp_hostmem_end(struct tp_hostmem *mem)
{
	uint32_t n_steps = 0;

	if (mem->is_ended)
		return;
	mem->is_ended = true;
	for (uint32_t i = 0; i < mem->run->n_procs; i++)
		if (mem->book[i].has_any)
			close_book(mem, &mem->book[i]);
	for (uint32_t i = 0; i < mem->n_steps; i++) {
		struct tp_hostmem_step step = mem->step[i];

		if (!mem->book[step.proc].has_any)
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
