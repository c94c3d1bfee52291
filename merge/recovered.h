/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovered.h - --recover: what only a ring and an unfinished file hold becomes a trace file
 */
#ifndef TP_MERGE_RECOVERED_H
#define TP_MERGE_RECOVERED_H

#include "merge/model.h"

/*
 * For every dead process of the run whose ring was read: writes each unfinished window as a
 * whole trace file in the place of its `.part`, adds the steps to the ledger, then removes the
 * `.part` and the ring. What cannot be written is said and left as it is. After all
 * events were handed out. 0 or -errno of the first that failed.
 */
int tp_recovered_write(struct tp_run *run);

#endif
