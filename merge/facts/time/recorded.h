/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded.h - which steps of the ledgers have events: those that lie in a window of their process
 */
#ifndef TP_MERGE_RECORDED_H
#define TP_MERGE_RECORDED_H

#include "merge/model/model.h"

bool tp_is_recorded(const struct tp_run *run, const struct tp_step_row *row);

#endif
