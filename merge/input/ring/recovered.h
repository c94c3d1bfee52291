/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovered.h - --recover: what only a ring and an unfinished file hold becomes a trace file
 */
#ifndef TP_MERGE_RECOVERED_H
#define TP_MERGE_RECOVERED_H

#include "merge/model/model.h"

/*
 * For every dead process of the run whose ring was read: writes each unfinished window as a
 * whole trace file in the place of its `.part`, adds the steps to the ledger, then removes the
 * `.part` and the ring. What cannot be written is said and left as it is. After all
 * events were handed out. 0 or -errno of the first that failed.
 */
int tp_recovered_write(struct tp_run *run);

enum { TP_RECOVERED_PATH = 400 };

/* How many rings of dead processes this run was read from, the file of the first (cut to fit)
 * and what all of them take of memory or disk. */
uint32_t tp_recovered_left(const struct tp_run *run, char path[TP_RECOVERED_PATH],
			   uint64_t *bytes);

#endif
