/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapstacks.c - host memory by stack, with names of functions
 */
#include "merge/facts/heap/heapstacks.h"

#include <errno.h>
#include <stdlib.h>

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

static void begin_rows(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_heap_rows *rows = state;

	rows->run = tp_facts_run(facts);
	rows->mem = tp_hostmem_want(facts, false);
}

static void end_rows(void *state)
{
	struct tp_heap_rows *rows = state;
	struct tp_stacks *stacks = tp_hostmem_stacks(rows->mem);
	const struct tp_hostmem_proc *proc;
	uint32_t n;

	rows->row = tp_hostmem_rows(rows->mem, &rows->n_rows);
	rows->frames = frames_of;
	rows->stacks = stacks;
	rows->is_incomplete = tp_hostmem_is_incomplete(rows->mem);
	proc = tp_hostmem_procs(rows->mem, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (proc[i].is_sampled && proc[i].sample_bytes > rows->sample_bytes)
			rows->sample_bytes = proc[i].sample_bytes;
	}
	if (rows->n_rows && resolve(rows, stacks))
		rows->is_incomplete = true;
}

const struct tp_fact tp_fact_heap_rows = {
	.name = "host memory by stack",
	.bytes = sizeof(struct tp_heap_rows),
	.begin = begin_rows,
	.end = end_rows,
};
