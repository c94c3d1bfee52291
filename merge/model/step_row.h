/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_row.h - finds a step's line of the ledger
 */
#ifndef TP_MODEL_STEP_ROW_H
#define TP_MODEL_STEP_ROW_H

#include "merge/model/model.h"

/* Among n lines, by process and index as tp_run.step has them, that of a process and index; NULL: none. */
const struct tp_step_row *tp_step_row_find(const struct tp_step_row *rows, uint32_t n,
					   const struct tp_proc *proc, uint64_t index);

#endif
