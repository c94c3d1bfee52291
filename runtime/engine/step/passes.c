/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passes.c - passes over data loaders: which loader is the training one, when an epoch begins
 *
 * What a loader is for shows only afterwards, at the end of a step. So a first pass is noted,
 * and the epoch it began is announced when the step proves it.
 */
#include <stddef.h>
#include <string.h>

#include "runtime/engine/step/passes.h"

/* Steps fed by another training loader alone, after which that one leads. */
enum { SILENT_STEPS = 2 };

static struct tp_pass *find(const struct tp_passes *passes, uint64_t loader)
{
	for (size_t i = 0; i < TP_PASSES; i++) {
		if (passes->pass[i].loader == loader)
			return (struct tp_pass *)&passes->pass[i];
	}
	return NULL;
}

static struct tp_pass *take(struct tp_passes *passes, uint64_t loader)
{
	struct tp_pass *oldest = NULL;

	for (size_t i = 0; i < TP_PASSES; i++) {
		struct tp_pass *pass = &passes->pass[i];

		if (pass != passes->leader && (!oldest || pass->used < oldest->used))
			oldest = pass;
	}
	if (passes->last == oldest)
		passes->last = NULL;
	*oldest = (struct tp_pass){.loader = loader};
	return oldest;
}

static void note_length(struct tp_passes *passes, const struct tp_pass *pass)
{
	if (pass->calls > passes->longest)
		passes->longest = pass->calls;
}

/* Does a pass over a loader that trains begin an epoch? */
static bool may_lead(const struct tp_passes *passes, const struct tp_pass *pass)
{
	return !passes->leader || passes->leader == pass || !passes->leader->is_open;
}

static bool begin_pass(struct tp_passes *passes, struct tp_pass *pass, uint64_t now,
		       bool has_steps)
{
	const struct tp_pass *last = passes->last;

	if (pass->is_open)
		note_length(passes, pass);
	passes->is_zipped = last && last != pass && last->calls == 1 && last->is_open;
	pass->begin = passes->is_zipped ? last->begin : now;
	pass->calls = 0;
	pass->calls_in_step = 0;
	pass->is_open = true;
	pass->is_announced = false;
	/*
	 * After a new loader's first call, an old one: a zip of two new loaders, of which this one has the
	 * address of one that is gone. As of two new ones, the step's end shows what both are for.
	 */
	if (has_steps && passes->is_zipped && last->is_new && !last->is_training && pass != passes->leader)
		pass->is_training = false;
	if (has_steps) {
		if (!pass->is_training || !may_lead(passes, pass))
			return false;
	} else if (passes->leader && passes->leader != pass && passes->leader->calls == 1) {
		/* Before the first step ended: a second loader after one call of the first is
		 * its companion in a zip. After more, the first was an evaluation. */
		return false;
	}
	passes->leader = pass;
	passes->n_silent = 0;
	pass->is_announced = true;
	return true;
}

bool tp_passes_call(struct tp_passes *passes, uint64_t loader, bool is_first, uint64_t now,
		    bool has_steps)
{
	struct tp_pass *pass = find(passes, loader);
	bool is_epoch = false, is_new = !pass;

	passes->is_zipped = false;
	if (!pass) {
		pass = take(passes, loader);
		pass->begin = now;
		pass->is_open = true;
	}
	if (is_first) {
		is_epoch = begin_pass(passes, pass, now, has_steps);
		pass->is_new = is_new;
	}
	if (is_epoch)
		tp_passes_forget_step(passes);
	if (!passes->leader)
		passes->leader = pass;
	pass->calls++;
	pass->calls_in_step++;
	pass->used = ++passes->n_calls;
	passes->last = pass;
	return is_epoch;
}

void tp_passes_end(struct tp_passes *passes, uint64_t loader)
{
	struct tp_pass *pass = find(passes, loader);

	if (!pass)
		return;
	pass->is_open = false;
	note_length(passes, pass);
}

static void find_silence(struct tp_passes *passes)
{
	struct tp_pass *last = passes->last;

	if (!last || !passes->leader || last == passes->leader || passes->leader->calls_in_step) {
		passes->n_silent = 0;
	} else if (++passes->n_silent >= SILENT_STEPS) {
		passes->leader = last;
		passes->n_silent = 0;
	}
}

/* So do those that were zipped with it from their first calls on. */
static void train(struct tp_passes *passes, struct tp_pass *pass)
{
	pass->is_training = true;
	for (size_t i = 0; i < TP_PASSES; i++) {
		if (passes->pass[i].loader && passes->pass[i].begin == pass->begin)
			passes->pass[i].is_training = true;
	}
}

bool tp_passes_step(struct tp_passes *passes, uint64_t *new_pass)
{
	struct tp_pass *last = passes->last;
	bool is_epoch = false;

	*new_pass = 0;
	for (size_t i = 0; i < TP_PASSES; i++) {
		struct tp_pass *pass = &passes->pass[i];

		if (pass->calls_in_step && pass->calls > pass->calls_in_step)
			pass->is_training = true;
	}
	if (last) {
		if (!last->is_training && !last->is_announced && passes->leader != last &&
		    last->calls == last->calls_in_step) {
			*new_pass = last->begin;
			/* Unless a training pass goes on: then it only joins that one. */
			is_epoch = may_lead(passes, last);
		}
		train(passes, last);
		if (is_epoch) {
			last->is_announced = true;
			passes->leader = last;
		}
		passes->has_training = true;
	}
	find_silence(passes);
	tp_passes_forget_step(passes);
	return is_epoch;
}

void tp_passes_forget_step(struct tp_passes *passes)
{
	for (size_t i = 0; i < TP_PASSES; i++)
		passes->pass[i].calls_in_step = 0;
	passes->last = NULL;
}

uint64_t tp_passes_later(const struct tp_passes *passes, uint64_t a, uint64_t b)
{
	const struct tp_pass *one = find(passes, a), *other = find(passes, b);

	return other && (!one || other->used > one->used) ? b : a;
}

void tp_passes_announce(struct tp_passes *passes)
{
	if (!passes->last)
		return;
	passes->leader = passes->last;
	passes->last->is_announced = true;
	passes->n_silent = 0;
}

bool tp_passes_counts(const struct tp_passes *passes, uint64_t loader)
{
	const struct tp_pass *pass = loader ? find(passes, loader) : NULL;

	return !pass || pass->is_training || pass == passes->leader || !passes->has_training;
}
