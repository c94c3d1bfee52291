/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapfiles.c - what the sinks of host memory by stack have in common
 */
#include "merge/heapfiles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/heapbook.h"

struct heapfile {
	struct tp_heapbook *book;
	char path[];
};

void *tp_heapfile_begin(const struct tp_run *run, const char *path)
{
	size_t n = strlen(path) + 1;
	struct heapfile *file = calloc(1, sizeof(*file) + n);

	if (file)
		file->book = tp_heapbook_take(run);
	if (!file || !file->book) {
		fprintf(stderr, "trainprof-merge: cannot write '%s': out of memory\n", path);
		free(file);
		return NULL;
	}
	memcpy(file->path, path, n);
	return file;
}

void tp_heapfile_event(void *state, const struct tp_event *event)
{
	struct heapfile *file = state;

	tp_heapbook_event(file->book, file, event);
}

/* A result without rows is none: why there are no rows. */
static int say_empty(const struct tp_heap_rows *rows, const char *name, const char *path)
{
	if (rows->is_incomplete) {
		fprintf(stderr, "trainprof-merge: cannot write '%s': out of memory\n", path);
		return -ENOMEM;
	}
	fprintf(stderr,
		"trainprof-merge: %s: no allocation of host memory was recorded (TRAINPROF_RECORD=heap "
		"records them): '%s' is not written\n", name, path);
	return -ENODATA;
}

int tp_heapfile_end(void *state, const char *name,
		    int (*write)(const struct tp_heap_rows *rows, const char *path))
{
	struct heapfile *file = state;
	const struct tp_heap_rows *rows = tp_heapbook_rows(file->book);
	int err = rows->n_rows ? write(rows, file->path) : say_empty(rows, name, file->path);

	if (!err && rows->is_incomplete)
		fprintf(stderr, "trainprof-merge: %s: out of memory: '%s' is not complete\n", name,
			file->path);
	tp_heapbook_leave(file->book);
	free(file);
	return err;
}
