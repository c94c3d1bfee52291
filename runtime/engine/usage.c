/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - what the step in progress used up: waits for data, time in optimizers, batches
 *
 * Sums and differences only; a mark is a copy of the sums at its moment.
 */
#include <string.h>

#include "runtime/engine/usage.h"

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
	struct tp_usage used = subtract(step->used, &mark.used), other = step->other;
	uint64_t other_loader = step->other_loader;

	/* Sums of another loader began anew when it became another one: after the mark. */
	if (other_loader == mark.other_loader)
		other = subtract(other, &mark.other);
	tp_usage_begin(step, mark.time);
	step->used = used;
	step->other = other;
	step->other_loader = other_loader;
}

void tp_usage_mark(struct tp_step_usage *step, uint64_t loader, bool counts, bool is_first,
		   uint64_t now)
{
	tp_usage_of(step, loader, counts);
	step->call = (struct tp_usage_mark){now, step->used, step->other, step->other_loader};
	if (is_first)
		step->first = step->call;
}

struct tp_usage *tp_usage_of(struct tp_step_usage *step, uint64_t loader, bool counts)
{
	if (counts)
		return &step->used;
	if (loader != step->other_loader)
		memset(&step->other, 0, sizeof(step->other));
	step->other_loader = loader;
	return &step->other;
}

void tp_usage_add_other(struct tp_step_usage *step, uint64_t loader)
{
	if (!loader || loader != step->other_loader)
		return;
	step->used.data_wait += step->other.data_wait;
	step->used.batches += step->other.batches;
	step->other_loader = 0;
	memset(&step->other, 0, sizeof(step->other));
}

uint64_t tp_usage_part(const struct tp_step_usage *step, uint64_t begin, uint64_t now)
{
	if (begin < step->begin)
		begin = step->begin;
	return now > begin ? now - begin : 0;
}
