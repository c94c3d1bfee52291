/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flops.h - floating-point operations of a run's calls, each kind of call counted once
 *
 * A kind: an operator that flop_counts.h knows, and the shapes of its inputs. Readers are told the kind
 * of each call when it ends, and count calls; what a call of a kind comes to is known when the pass is
 * over: what a convolution gives stands among the inputs of its backward pass. Whether that computed the
 * gradient of its input, too, is seen by the memory that stayed; where no memory was recorded, it did.
 * Without shapes nothing is told. Calls that end on another thread are not in it.
 *
 * Memory: kinds, and what readers keep. One thread at a time.
 */
#ifndef TP_MERGE_FLOPS_H
#define TP_MERGE_FLOPS_H

#include "merge/facts/time/nest.h"
#include "merge/kit/tally.h"
#include "merge/model/fact.h"

struct tp_flops;

extern const struct tp_fact tp_fact_flops;

/* A call that is counted begins: what a reader wants to know of it at its end it keeps by
 * tp_nest_span.slot. Before the event goes to the reader's own fact. */
typedef void (*tp_flops_begin_fn)(void *ctx, const struct tp_nest_span *span,
				  const struct tp_event *event);
/* It has ended; its span's figures are final. Before the `close` of readers of spans. */
typedef void (*tp_flops_end_fn)(void *ctx, const struct tp_nest_span *span, uint32_t kind);

/* One more reader, any number; begin: NULL, nothing is kept. */
void tp_flops_read(struct tp_flops *flops, tp_flops_begin_fn begin, tp_flops_end_fn end, void *ctx);
/* False: none were recorded, and nobody is told of anything. */
bool tp_flops_has_shapes(const struct tp_flops *flops);
/* When the pass is over: of one call. 0: not known (a convolution without a backward pass). */
uint64_t tp_flops_of(const struct tp_flops *flops, uint32_t kind);

/* Readers count calls by whom they belong to (a) and kind (b): all of one pair together, and sums; they
 * stop at the end of the type. */
static inline uint64_t tp_flops_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
uint64_t tp_flops_tallied(const struct tp_flops *flops, const struct tp_tally_row *calls);

#endif
