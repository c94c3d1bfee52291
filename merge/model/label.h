/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label.h - how processes and threads are called in tables, and the facts a trace tells
 *
 * Texts are the trace's own and not trusted; tables and lines make them printable.
 */
#ifndef TP_MERGE_LABEL_H
#define TP_MERGE_LABEL_H

#include "merge/model/model.h"

/* "rank 3"; "rank 3 (restart 1)" and "rank 3 (first start)" when it was started again, "rank 3 pid
 * 4711" when the rank has several processes; "pid 4711" without rank.
 * Of a worker the same of its rank, and " worker 1". */
const char *tp_label_proc(char buf[64], const struct tp_run *run, const struct tp_proc *proc);

/* More than one process trains: what is said of a step needs to say whose it is. */
bool tp_label_is_needed(const struct tp_run *run);

/* What ran, as one would type it: "train.py", "-m package.train", "python -c '...'"; below the
 * working directory by its path from there. In buf, if need be. */
const char *tp_label_program(char buf[400], const struct tp_proc *proc);

/* "main thread", "thread 4712 'pt_autograd_0'" */
const char *tp_label_thread(char buf[64], const struct tp_thread *thread);

/* Names of enum tp_phase and enum tp_step_source, "?" if unknown. */
const char *tp_label_phase(uint8_t phase);
const char *tp_label_source(uint8_t source);

/*
 * The value of `key` in a text of "key=value\n" lines, cut to cap - 1 bytes; NULL when it is
 * not there.
 */
const char *tp_fact(const char *text, const char *key, char *buf, uint32_t cap);
/* The same as a number; `none` when it is not there or no number. */
uint64_t tp_fact_u64(const char *text, const char *key, uint64_t none);
/*
 * Walks over the facts whose keys begin with `prefix`: *at is the text at first. Fills key
 * (without the prefix) and value. False at the end.
 */
bool tp_fact_next(const char **at, const char *prefix, char key[64], char *value,
		  uint32_t cap);
/*
 * Where a process that died, or runs, was last seen by samples: "FILE:LINE FUNCTION" of functions, outermost
 * first, with " > " between them, in buf. *age_ns: so long before its last sign of life; NULL: nobody asks.
 * NULL: it is not known. Of the fact `stood`, "AGE_NS TEXT".
 */
enum { TP_STOOD_BYTES = 700 };
char *tp_label_stood(char buf[TP_STOOD_BYTES], const struct tp_proc *proc, int64_t *age_ns);
/* The newest window's META of a process; "" if none. */
const char *tp_label_meta(const struct tp_run *run, const struct tp_proc *proc);
/* All of it is what torch.profiler wrote: advice is about its own options. */
bool tp_label_is_kineto(const struct tp_run *run);

#endif
