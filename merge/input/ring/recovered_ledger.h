/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovered_ledger.h - part of recovered.c: the lines that a dead process's ledger lacks
 */
#ifndef TP_MERGE_RECOVERED_LEDGER_H
#define TP_MERGE_RECOVERED_LEDGER_H

#include "merge/input/run.h"
#include "runtime/base/folder.h"

/*
 * Behind the last whole line of the ledger in `folder` go the steps that only the ring holds, and the
 * fact that the process was killed; of a ring that was given alone, into a new ledger beside it.
 * 0 or -errno, which was said.
 */
int tp_recovered_ledger(struct tp_proc_in *proc, const struct tp_folder *folder);

/* Says why `path` cannot be recovered. Returns err. */
int tp_recovered_say(const struct tp_proc_in *proc, const char *path, int err);

#endif
