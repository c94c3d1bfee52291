/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamefiles.c - what the sinks of stacks and what they cost have in common
 */
#include "merge/sink/flamefiles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/call_tree.h"
#include "merge/facts/code/samples.h"
#include "merge/facts/heap/heapstacks.h"
#include "merge/kit/need.h"
#include "merge/kit/say.h"

struct flamefile {
	const struct tp_heap_rows *heap;
	struct tp_call_tree *time;
	const struct tp_samples *samples;
	char path[];
};

void *tp_flamefile_begin(struct tp_facts *facts, const char *path)
{
	size_t n = strlen(path) + 1;
	struct flamefile *file = tp_need(1, sizeof(*file) + n);

	file->heap = tp_facts_want(facts, &tp_fact_heap_rows, NULL);
	file->time = tp_facts_want(facts, &tp_fact_call_tree, NULL);
	file->samples = tp_samples_want(facts);
	memcpy(file->path, path, n);
	return file;
}

/* A result without rows is none: why there are no rows. */
static int say_empty(bool is_incomplete, const char *name, const char *path)
{
	if (is_incomplete) {
		tp_say("cannot write '%s': out of memory", path);
		return -ENOMEM;
	}
	tp_say("%s: neither operators nor allocations of host memory were recorded "
		"(TRAINPROF_RECORD=ops, heap): '%s' is not written", name, path);
	return -ENODATA;
}

int tp_flamefile_end(void *state, const char *name, tp_flamefile_fn *write, bool has_samples)
{
	struct flamefile *file = state;
	const struct tp_heap_rows *heap = file->heap;
	const struct tp_flame_rows *time = tp_call_stacks(file->time);
	bool is_incomplete = heap->is_incomplete || tp_call_tree_is_incomplete(file->time);
	struct tp_flame_rows rows[TP_FLAME_SETS];
	uint32_t n = 0;
	int err;

	if (time->n_rows)
		rows[n++] = *time;
	if (heap->n_rows)
		rows[n++] = tp_heap_flame(heap);
	if (has_samples && file->samples->n_rows)
		rows[n++] = tp_samples_flame(file->samples);
	err = n ? write(rows, n, file->path) : say_empty(is_incomplete, name, file->path);
	if (!err && is_incomplete)
		tp_say("%s: out of memory: '%s' is not complete", name,
			file->path);
	free(file);
	return err;
}
