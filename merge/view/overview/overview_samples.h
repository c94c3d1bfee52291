/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_samples.h - what samples add to the overview's advice: the function that it is about
 *
 * Of runs without samples nothing is changed. Rules say what costs how much by exact times; samples
 * name whose code that is, where there are enough of them.
 */
#ifndef TP_MERGE_OVERVIEW_SAMPLES_H
#define TP_MERGE_OVERVIEW_SAMPLES_H

#include "merge/view/overview/overview_advice.h"

static inline bool tp_advice_is_most(uint64_t part, uint64_t all, uint32_t percent)
{
	return all && part * 100 >= all * percent;
}

/* At which stage of loading, in whose function, what would help. */
void tp_advice_load_stage(const struct tp_advice_facts *facts, bool has_workers, struct tp_advice *advice);
/* The same of waiting for data, unless workers have nothing to do: that is told then. False: and what is
 * waited for is little: nobody's fault. */
bool tp_advice_load(const struct tp_advice_facts *facts, bool has_workers, struct tp_advice *advice);

/* Code between operators: the place begins with the function that most of it is in. False: it is not
 * known. */
bool tp_advice_gap_function(const struct tp_advice_facts *facts, struct tp_advice *advice);
/* Most of the samples between operators are in torch's own code, as where it gives large tensors back. */
bool tp_advice_gap_is_torchs(const struct tp_advice_facts *facts);
/* A function that hardly asks for operators and takes much of a step; by samples alone. */
tp_advice_judge tp_advice_host_function;

/* Half of the samples between operators or more met Python collecting garbage. */
bool tp_advice_gap_is_garbage(const struct tp_advice_facts *facts);

/* Of the training thread, in steps. */
uint64_t tp_advice_count_training(const struct tp_sample_owners *owners);

#endif
