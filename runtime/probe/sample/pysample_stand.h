/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_stand.h - where the training thread stands, for the ring: a dead process tells it to the merge
 *
 * Drain thread.
 */
#ifndef TP_PROBE_PYSAMPLE_STAND_H
#define TP_PROBE_PYSAMPLE_STAND_H

#include "runtime/probe/sample/pysample_frames.h"

/* "function\0file" of a PYFRAME string; false: there is none. */
bool tp_pysample_name_of(uint32_t string, const char **bytes, uint32_t *n_bytes);

/* The process's first thread stood so at `time`, in ticks: names are known. */
void tp_pysample_stand_note(const struct tp_pysample_look *look, uint64_t time);
/* It still does. */
void tp_pysample_stand_again(uint64_t time);
/* Strings begin anew: another ring. */
void tp_pysample_stand_forget(void);

#endif
