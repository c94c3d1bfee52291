/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zero_grad.c - what calls of zero_grad tell: an optimizer that was passed over
 *
 * Counters only. A wrong guess costs one step counted twice, so each rule needs a sign that
 * ordinary loops do not give.
 */
#include "runtime/engine/step/zero_grad.h"

enum {
	STRANGERS_MOST = 16,	/* calls of others in a row, then those count */
	REGULAR_SKIPS = 4,	/* every second step skipped: no skips, zero_grad comes twice */
};

bool tp_zero_grad_counts(struct tp_zero_grad *zero, uint64_t who, const struct tp_leader *leader)
{
	bool is_leaders = leader->has_leader && leader->who == who;

	if (!zero->has_any || is_leaders || zero->n_strangers >= STRANGERS_MOST) {
		if (zero->who != who)
			zero->n_rounds = zero->n_in_step = 0;
		zero->has_any = true;
		zero->who = who;
	}
	if (zero->who != who) {
		zero->n_strangers++;
		return false;
	}
	zero->n_strangers = 0;
	return true;
}

static bool is_skip(const struct tp_zero_grad *zero)
{
	if (!zero->has_optimizer || zero->has_optimizer_since)
		return false;
	if (zero->has_batches)
		return zero->has_batch_since;
	return zero->usual && zero->n_in_step >= zero->usual;
}

static void note_skip(struct tp_zero_grad *zero)
{
	zero->n_regular = zero->n_between == 1 ? zero->n_regular + 1 : 0;
	zero->n_between = 0;
	zero->n_skips++;
	zero->n_in_step = 0;
	if (zero->n_regular >= REGULAR_SKIPS) {
		zero->usual_least = ++zero->usual;
		zero->n_regular = 0;
	}
}

static void find_order(struct tp_zero_grad *zero, uint64_t now)
{
	if (zero->has_optimizer_since)
		zero->is_after_batch = zero->has_batch_since;
	if (zero->has_optimizer)
		return;
	if (zero->has_batch_since)
		zero->from_batch += now - zero->last_batch;
	zero->is_after_batch = zero->from_batch < zero->to_batch;
}

bool tp_zero_grad_call(struct tp_zero_grad *zero, uint64_t now)
{
	bool was_skipped = is_skip(zero);

	if (was_skipped)
		note_skip(zero);
	else
		find_order(zero, now);
	zero->n_rounds++;
	zero->n_in_step++;
	zero->last_call = now;
	zero->had_batch = zero->has_batch_since;
	zero->has_batch_since = false;
	zero->has_optimizer_since = false;
	return was_skipped;
}

void tp_zero_grad_batch(struct tp_zero_grad *zero, uint64_t begin, uint64_t now)
{
	if (zero->last_call && !zero->has_batch_since && begin > zero->last_call)
		zero->to_batch += begin - zero->last_call;
	zero->last_batch = now;
	zero->has_batches = true;
	zero->has_batch_since = true;
}

void tp_zero_grad_optimizer(struct tp_zero_grad *zero)
{
	zero->has_optimizer = true;
	zero->has_optimizer_since = true;
	zero->has_batch_since = false;
}

void tp_zero_grad_step(struct tp_zero_grad *zero)
{
	/* What two steps agree on is usual. */
	if (zero->n_in_step > zero->usual_least &&
	    (zero->n_in_step == zero->n_before || !zero->usual))
		zero->usual = zero->n_in_step;
	zero->n_before = zero->n_in_step;
	zero->n_in_step = 0;
	zero->n_skips = 0;
	zero->n_between++;
}
