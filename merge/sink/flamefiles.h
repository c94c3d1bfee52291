/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamefiles.h - the formats of stacks and what they cost, of flame-graph tools: what each is
 * written from, and their sinks' common part
 *
 * Such a format is written at the end, from rows: of time, of host memory, of samples; nothing is
 * written when there are none.
 */
#ifndef TP_MERGE_FLAMEFILES_H
#define TP_MERGE_FLAMEFILES_H

#include "merge/model/fact.h"
#include "merge/facts/time/flame.h"

enum { TP_FLAME_SETS = 3 };

/* 0, or -errno after a message. `path` is a folder for the first one, which makes it. n: from 1
 * to TP_FLAME_SETS. */
typedef int tp_flamefile_fn(const struct tp_flame_rows *rows, uint32_t n, const char *path);
tp_flamefile_fn tp_folded_write, tp_speedscope_write, tp_pprof_write;

/* begin, event and end of struct tp_sink, but for what end needs: the format's name, what writes it,
 * and whether with samples: they fit where each cost has a file of its own. */
void *tp_flamefile_begin(struct tp_facts *facts, const char *path);
int tp_flamefile_end(void *state, const char *name, tp_flamefile_fn *write, bool has_samples);

#endif
