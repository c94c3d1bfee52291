/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapfiles.h - the formats of host memory by stack: what each is written from, and their sinks'
 * common part
 *
 * Such a format is written at the end, from rows; nothing is written when there are none.
 */
#ifndef TP_MERGE_HEAPFILES_H
#define TP_MERGE_HEAPFILES_H

#include "merge/heapcost.h"

/* 0, or -errno after a message. `path` is a folder for the first one, which makes it. */
int tp_folded_write(const struct tp_heap_rows *rows, const char *path);
int tp_speedscope_write(const struct tp_heap_rows *rows, const char *path);
int tp_pprof_write(const struct tp_heap_rows *rows, const char *path);

/* begin, event and end of struct tp_sink, but for what end needs: the format's name, and what
 * writes it. */
void *tp_heapfile_begin(const struct tp_run *run, const char *path);
void tp_heapfile_event(void *state, const struct tp_event *event);
int tp_heapfile_end(void *state, const char *name,
		    int (*write)(const struct tp_heap_rows *rows, const char *path));

#endif
