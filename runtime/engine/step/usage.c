/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - what the step in progress used up: waits for data, time in optimizers, batches
 *
 * Sums and differences only; a mark is a copy of the sums at its moment.
 */
#include <string.h>

#include "runtime/engine/step/usage.h"

static struct tp_usage subtract(struct tp_usage a, const struct tp_usage *b)
{
	a.data_wait -= b->data_wait;
	a.optimizer -= b->optimizer;
	a.batches -= b->batches;
	return a;
}

void tp_usage_begin(struct tp_step_usage *step, uint64_t now)
{
	memset(step, 0, sizeof(*step));
	step->begin = step->call.time = step->first.time = now;
}

void tp_usage_begin_at(struct tp_step_usage *step, struct tp_usage_mark mark)
{
	struct tp_usage used = subtract(step->used, &mark.used);
	struct tp_usage other = subtract(step->other, &mark.other);

	tp_usage_begin(step, mark.time);
	step->used = used;
	step->other = other;
}

void tp_usage_mark(struct tp_step_usage *step, bool is_first, uint64_t now)
{
	step->call = (struct tp_usage_mark){now, step->used, step->other};
	if (is_first)
		step->first = step->call;
}

void tp_usage_count_since(struct tp_step_usage *step, const struct tp_usage_mark *mark)
{
	struct tp_usage late = subtract(step->other, &mark->other);

	step->used.data_wait += late.data_wait;
	step->used.batches += late.batches;
	step->other = mark->other;
}

uint64_t tp_usage_part(const struct tp_step_usage *step, uint64_t begin, uint64_t now)
{
	if (begin < step->begin)
		begin = step->begin;
	return now > begin ? now - begin : 0;
}
