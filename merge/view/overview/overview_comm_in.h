/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_comm_in.h - what the parts of the rule on communication share
 */
#ifndef TP_OVERVIEW_COMM_IN_H
#define TP_OVERVIEW_COMM_IN_H

#include "merge/view/overview/overview_advice.h"
#include "runtime/base/text.h"

/* Of a single rank collectives are not looked at: there are none. */
const struct tp_comm_row *tp_advice_comm_rows(const struct tp_advice_facts *facts, uint32_t *n);

/* Negative: the row does not count. */
typedef int64_t tp_advice_comm_weigh(const struct tp_comm_row *row, uint64_t n_steps);
/* The row that weighs most; NULL: there is none. */
const struct tp_comm_row *tp_advice_comm_most(const struct tp_advice_facts *facts,
					      tp_advice_comm_weigh *weigh);

/* The line that calls most collectives, where these are not a wrapper's of the model. */
void tp_advice_comm_caller(const struct tp_advice_facts *facts, const struct tp_comm_row *row,
			   struct tp_advice *advice);

/* Ranks wait for each other's messages: evidence goes on with that. False: they do not, mostly. */
bool tp_advice_comm_pipeline(const struct tp_advice_facts *facts, const struct tp_comm_rank *rank,
			     uint32_t n_ranks, struct tp_text *evidence, struct tp_advice *advice);

#endif
