/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file.h - names of files of which a process has one each
 */
#ifndef TP_MERGE_PROC_FILE_H
#define TP_MERGE_PROC_FILE_H

#include "merge/model/model.h"

/* A process that was started without a launcher is rank 0. */
int32_t tp_proc_file_rank(const struct tp_proc *proc);
/* What tells it from other processes of its rank: "", ".worker1", ".restart2"; ".pid4711" where nothing
 * else does. */
const char *tp_proc_file_other(char buf[96], const struct tp_run *run, const struct tp_proc *proc);

/* A range's name as part of a file's name: others than letters, digits and ".-_#" are '_', and long ones are cut;
 * such a one ends in a number of its own, so that no two are the same. Returns buf. */
enum { TP_PROC_FILE_WORD = 140 };
const char *tp_proc_file_word(char buf[TP_PROC_FILE_WORD], const char *name);

#endif
