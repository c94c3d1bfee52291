/* SPDX-License-Identifier: Apache-2.0 */
/*
 * death.h - how a process ended whose ring is gone: facts in END of its last recovered file
 *
 * The keys `died` and `open.N` of trainprof-trace(5). tp_recover_death (run.h) reads them back.
 */
#ifndef TP_MERGE_DEATH_H
#define TP_MERGE_DEATH_H

#include "merge/input/run.h"
#include "runtime/base/text.h"

/*
 * Lines for the last sign of life and for spans that never ended, as many of proc->ring_open[] as the
 * text has room for. Returns how many that were: the others are in no line.
 */
uint32_t tp_death_put(struct tp_text *text, const struct tp_proc_in *proc);

#endif
