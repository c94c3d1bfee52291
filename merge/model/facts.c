/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c - the facts of a run, in the order in which they stand on each other
 *
 * By kind of record there is a list of who gets it, made with the first event: most facts want a
 * few kinds only.
 */
#include "merge/model/fact.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/model/clip.h"

enum { KINDS = TP_FACT_OTHERS + 1 };

struct wanted {
	const struct tp_fact *fact;
	void *state, *params;
};

struct taker {
	void (*event)(void *state, const struct tp_event *event);
	void *state;
};

/* Who gets events of a kind: as they were recorded, or cut. */
struct takers {
	struct taker *taker;
	uint32_t n, cap;
};

struct tp_facts {
	const struct tp_run *run;
	struct tp_clip clip;
	struct wanted *wanted;
	uint32_t n_wanted, cap_wanted;
	struct takers whole[KINDS], cut[KINDS];
	bool has_cut, is_open;		/* the first event has come */
};

static void give(struct takers *takers, const struct tp_event *event)
{
	for (uint32_t i = 0; i < takers->n; i++)
		takers->taker[i].event(takers->taker[i].state, event);
}

static void give_cut(void *ctx, const struct tp_event *event)
{
	struct tp_facts *facts = ctx;

	give(&facts->cut[tp_fact_kind_at(event->kind)], event);
}

struct tp_facts *tp_facts_new(const struct tp_run *run)
{
	struct tp_facts *facts = tp_need(1, sizeof(*facts));

	facts->run = run;
	tp_clip_init(&facts->clip, run, give_cut, facts);
	return facts;
}

const struct tp_run *tp_facts_run(const struct tp_facts *facts)
{
	return facts->run;
}

static bool is_same(const struct wanted *wanted, const struct tp_fact *fact, const void *params)
{
	return wanted->fact == fact &&
	       (!fact->params_bytes || !memcmp(wanted->params, params, fact->params_bytes));
}

void *tp_facts_find(const struct tp_facts *facts, const struct tp_fact *fact, const void *params)
{
	for (uint32_t i = 0; i < facts->n_wanted; i++)
		if (is_same(&facts->wanted[i], fact, params))
			return facts->wanted[i].state;
	return NULL;
}

void *tp_facts_want(struct tp_facts *facts, const struct tp_fact *fact, const void *params)
{
	struct wanted wanted = {.fact = fact};
	void *state = tp_facts_find(facts, fact, params);

	assert(!facts->is_open);
	if (state)
		return state;
	wanted.state = tp_need(1, fact->bytes);
	if (fact->params_bytes) {
		wanted.params = tp_need(1, fact->params_bytes);
		memcpy(wanted.params, params, fact->params_bytes);
	}
	/* What it stands on comes before it. */
	fact->begin(wanted.state, facts, wanted.params);
	tp_need_room(&facts->wanted, &facts->cap_wanted, (uint64_t)facts->n_wanted + 1,
		     sizeof(*facts->wanted));
	facts->wanted[facts->n_wanted++] = wanted;
	return wanted.state;
}

bool tp_facts_want_events(const struct tp_facts *facts)
{
	for (uint32_t i = 0; i < facts->n_wanted; i++)
		if (facts->wanted[i].fact->kinds)
			return true;
	return false;
}

static void add_taker(struct takers *takers, const struct wanted *wanted)
{
	tp_need_room(&takers->taker, &takers->cap, (uint64_t)takers->n + 1,
		     sizeof(*takers->taker));
	takers->taker[takers->n++] =
		(struct taker){wanted->fact->event, wanted->state};
}

static void open_pass(struct tp_facts *facts)
{
	facts->is_open = true;
	for (uint32_t i = 0; i < facts->n_wanted; i++) {
		const struct tp_fact *fact = facts->wanted[i].fact;

		facts->has_cut |= fact->is_cut && fact->kinds;
		for (uint32_t kind = 0; kind < KINDS; kind++)
			if (fact->kinds & TP_FACT_KIND(kind))
				add_taker(fact->is_cut ? &facts->cut[kind] : &facts->whole[kind],
					  &facts->wanted[i]);
	}
}

void tp_facts_event(void *opaque, const struct tp_event *event)
{
	struct tp_facts *facts = opaque;

	if (!facts->is_open)
		open_pass(facts);
	give(&facts->whole[tp_fact_kind_at(event->kind)], event);
	if (facts->has_cut)
		tp_clip_event(&facts->clip, event);
}

void tp_facts_end(struct tp_facts *facts)
{
	facts->is_open = true;
	tp_clip_end(&facts->clip);
	for (uint32_t i = 0; i < facts->n_wanted; i++)
		if (facts->wanted[i].fact->end)
			facts->wanted[i].fact->end(facts->wanted[i].state);
}

void tp_facts_free(struct tp_facts *facts)
{
	if (!facts)
		return;
	tp_clip_end(&facts->clip);
	/* Those that stand on others first. */
	for (uint32_t i = facts->n_wanted; i-- > 0;) {
		if (facts->wanted[i].fact->free)
			facts->wanted[i].fact->free(facts->wanted[i].state);
		free(facts->wanted[i].state);
		free(facts->wanted[i].params);
	}
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		free(facts->whole[kind].taker);
		free(facts->cut[kind].taker);
	}
	free(facts->wanted);
	free(facts);
}
