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

#endif
