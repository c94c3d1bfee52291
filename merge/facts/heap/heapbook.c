/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapbook.c - the books of host memory that several formats write from
 */
#include "merge/facts/heap/heapbook.h"

#include <errno.h>
#include <stdlib.h>

#include "merge/model/shared.h"

struct tp_heapbook {
	struct tp_shared shared;
	struct tp_hostmem *mem;
	struct tp_heap_rows rows;
	bool is_ended;
};

/* Those of the runs that are open. */
static struct tp_shared *books;

struct tp_heapbook *tp_heapbook_take(const struct tp_run *run)
{
	struct tp_heapbook *book = (struct tp_heapbook *)tp_shared_take(books, run);

	if (book)
		return book;
	book = calloc(1, sizeof(*book));
	if (!book)
		return NULL;
	book->mem = tp_hostmem_new(run);
	if (!book->mem) {
		free(book);
		return NULL;
	}
	tp_shared_add(&books, &book->shared, run);
	return book;
}

void tp_heapbook_event(struct tp_heapbook *book, const void *who, const struct tp_event *event)
{
	if (tp_shared_is_feeder(&book->shared, who))
		tp_hostmem_event(book->mem, event);
}

static uint32_t frames_of(const void *stacks, uint32_t stack, struct tp_frame *frame, uint32_t max)
{
	return tp_stacks_frames(stacks, stack, frame, max);
}

/* Only of stacks that have a row: others are of mappings, or of blocks that were not kept. */
static int resolve(const struct tp_heap_rows *rows, struct tp_stacks *stacks)
{
	uint32_t n = tp_stacks_count(stacks);
	uint8_t *wanted = calloc((size_t)n + 1, 1);
	int err;

	if (!wanted)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows->n_rows; i++) {
		if (rows->row[i].stack < n)
			wanted[rows->row[i].stack] = 1;
	}
	err = tp_stacks_resolve(stacks, wanted);
	free(wanted);
	return err;
}

const struct tp_heap_rows *tp_heapbook_rows(struct tp_heapbook *book)
{
	struct tp_heap_rows *rows = &book->rows;
	const struct tp_hostmem_proc *proc;
	struct tp_stacks *stacks;
	uint32_t n;

	if (book->is_ended)
		return rows;
	book->is_ended = true;
	tp_hostmem_end(book->mem);
	stacks = tp_hostmem_stacks(book->mem);
	rows->run = book->shared.run;
	rows->row = tp_hostmem_rows(book->mem, &rows->n_rows);
	rows->frames = frames_of;
	rows->stacks = stacks;
	rows->is_incomplete = tp_hostmem_is_incomplete(book->mem);
	proc = tp_hostmem_procs(book->mem, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (proc[i].is_sampled && proc[i].sample_bytes > rows->sample_bytes)
			rows->sample_bytes = proc[i].sample_bytes;
	}
	if (rows->n_rows && resolve(rows, stacks))
		rows->is_incomplete = true;
	return rows;
}

void tp_heapbook_leave(struct tp_heapbook *book)
{
	if (!book || !tp_shared_leave(&books, &book->shared))
		return;
	tp_hostmem_free(book->mem);
	free(book);
}
