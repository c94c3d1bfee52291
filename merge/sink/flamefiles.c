/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamefiles.c - what the sinks of stacks and what they cost have in common
 */
#include "merge/sink/flamefiles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/heap/heapbook.h"
#include "merge/facts/program/timebook.h"

struct flamefile {
	struct tp_heapbook *heap;
	struct tp_timebook *time;
	char path[];
};

static void leave(struct flamefile *file)
{
	if (file && file->heap)
		tp_heapbook_leave(file->heap);
	if (file && file->time)
		tp_timebook_leave(file->time);
	free(file);
}

void *tp_flamefile_begin(struct tp_facts *facts, const char *path)
{
	const struct tp_run *run = tp_facts_run(facts);
	size_t n = strlen(path) + 1;
	struct flamefile *file = calloc(1, sizeof(*file) + n);

	if (file) {
		file->heap = tp_heapbook_take(run);
		file->time = tp_timebook_take(run);
	}
	if (!file || !file->heap || !file->time) {
		fprintf(stderr, "trainprof-merge: cannot write '%s': out of memory\n", path);
		leave(file);
		return NULL;
	}
	memcpy(file->path, path, n);
	return file;
}

void tp_flamefile_event(void *state, const struct tp_event *event)
{
	struct flamefile *file = state;

	tp_heapbook_event(file->heap, file, event);
	tp_timebook_event(file->time, file, event);
}

/* A result without rows is none: why there are no rows. */
static int say_empty(bool is_incomplete, const char *name, const char *path)
{
	if (is_incomplete) {
		fprintf(stderr, "trainprof-merge: cannot write '%s': out of memory\n", path);
		return -ENOMEM;
	}
	fprintf(stderr,
		"trainprof-merge: %s: neither operators nor allocations of host memory were recorded "
		"(TRAINPROF_RECORD=ops, heap): '%s' is not written\n", name, path);
	return -ENODATA;
}

int tp_flamefile_end(void *state, const char *name, tp_flamefile_fn *write)
{
	struct flamefile *file = state;
	const struct tp_heap_rows *heap = tp_heapbook_rows(file->heap);
	const struct tp_flame_rows *time = tp_timebook_rows(file->time);
	bool is_incomplete = heap->is_incomplete || tp_timebook_is_incomplete(file->time);
	struct tp_flame_rows rows[TP_FLAME_SETS];
	uint32_t n = 0;
	int err;

	if (time->n_rows)
		rows[n++] = *time;
	if (heap->n_rows)
		rows[n++] = tp_heap_flame(heap);
	err = n ? write(rows, n, file->path) : say_empty(is_incomplete, name, file->path);
	if (!err && is_incomplete)
		fprintf(stderr, "trainprof-merge: %s: out of memory: '%s' is not complete\n", name,
			file->path);
	leave(file);
	return err;
}
