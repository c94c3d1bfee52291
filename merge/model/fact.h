/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fact.h - what several readers want to know of a run's events, each found once
 *
 * A fact says which others it stands on, gets each event once after those, and may be asked when the
 * pass is over; how is in its own header. Views, sinks and facts want facts; who wants the same fact
 * with the same parameters gets the same state. Two runs that are compared have their own.
 *
 * Order: a fact's begin wants what it stands on, so these stand before it: for every event, and at the
 * end. Memory that is out ends the program (kit/need.h): no fact is ever half there. One thread.
 */
#ifndef TP_MERGE_FACT_H
#define TP_MERGE_FACT_H

#include "merge/model/model.h"

struct tp_facts;

/* Kinds that no version knows yet, from TP_FACT_OTHERS on, are one. */
enum { TP_FACT_OTHERS = 63 };
static inline uint32_t tp_fact_kind_at(uint8_t kind)
{
	return kind < TP_FACT_OTHERS ? kind : TP_FACT_OTHERS;
}

#define TP_FACT_KIND(kind) (UINT64_C(1) << (kind))
#define TP_FACT_ALL_KINDS UINT64_MAX
/* What keeps a device busy: tp_device_is_work (device.h). */
#define TP_FACT_WORK_KINDS                                                                     \
	(TP_FACT_KIND(TP_REC_KERNEL) | TP_FACT_KIND(TP_REC_MEMCPY) |                           \
	 TP_FACT_KIND(TP_REC_MEMSET) | TP_FACT_KIND(TP_REC_GRAPH))

struct tp_fact {
	const char *name;		/* of messages and of tests */
	size_t bytes;			/* of its state, which is zero at begin */
	size_t params_bytes;		/* of what tells one from another; 0: there is one */
	uint64_t kinds;			/* events it gets, by TP_FACT_KIND; 0: none */
	/* Spans are cut to the window that recorded them (clip.h), and come in order of that begin.
	 * Such facts may stand on others, not those on such. */
	bool is_cut;
	void (*begin)(void *state, struct tp_facts *facts, const void *params);
	void (*event)(void *state, const struct tp_event *event);
	void (*end)(void *state);	/* no more events; may be NULL */
	void (*free)(void *state);	/* what it holds, not itself; may be NULL */
};

struct tp_facts *tp_facts_new(const struct tp_run *run);
void tp_facts_free(struct tp_facts *facts);	/* NULL: nothing */
const struct tp_run *tp_facts_run(const struct tp_facts *facts);

/* The state of this fact with these parameters (NULL where it has none), never NULL; begun now when
 * nobody wanted it before. Before the first event only. */
void *tp_facts_want(struct tp_facts *facts, const struct tp_fact *fact, const void *params);

/* The same, when somebody wanted it before; else NULL. Of who can make its own of what that has. */
void *tp_facts_find(const struct tp_facts *facts, const struct tp_fact *fact, const void *params);

/* Some fact gets events: else the pass over them may be left out. */
bool tp_facts_want_events(const struct tp_facts *facts);

/* Events in order of begin; as tp_fuse_event_fn. */
void tp_facts_event(void *facts, const struct tp_event *event);
/* No more: every fact is final. Once. */
void tp_facts_end(struct tp_facts *facts);

#endif
