/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waste.h - operators in steps whose work could be saved: copies into another layout or type,
 * tensors that are computed anew from constants, one-hot vectors, modules that run without gradients,
 * gradients of embeddings that are as large as their table, decompositions of matrices
 *
 * Found by the names of outermost operators and their order; what they cost is charged to source
 * lines: figures COPIES, CONSTANTS, ONE_HOT, DENSE and DECOMPOSED of sites.h, and those of learned.h and
 * unused.h. Of the backward pass only DENSE and DECOMPOSED are, and what unused.h has.
 *
 * Computed from constants: what follows torch.arange and its like in the same function, called from
 * the same place, as long as no gradient is recorded and no parameter is used, and where nothing came
 * before in the function that may be of inputs. That these have no part in it is not known else.
 * What is made of one-hot vectors: up to two operators that follow aten::one_hot on its line, no layer: their
 * conversion and a product.
 * Memory: threads, names.
 */
#ifndef TP_MERGE_WASTE_H
#define TP_MERGE_WASTE_H

#include "merge/model/fact.h"

struct tp_waste;

/* It adds to tp_fact_sites. */
extern const struct tp_fact tp_fact_waste;

/* In steps: nodes of the backward pass but for those that only add to a gradient, and searches for NaN inside
 * of other operators: torch.autograd's anomaly detection does one of each result of a node. */
void tp_waste_checks(const struct tp_waste *waste, uint64_t *n_checked, uint64_t *n_nodes);

/* In steps: how many times as often as with a backward pass the same layers are called without (learned.h),
 * by their kinds; 0: they are not the same, or there are none. Forgotten: most of these record gradients. */
uint64_t tp_waste_times(const struct tp_waste *waste, bool *is_forgotten);

/* The gradients that unused.h tells of are zeroed in one of nine steps at most. */
bool tp_waste_is_unused(const struct tp_waste *waste);

#endif
