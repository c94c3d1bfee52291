/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copies.c - copies and sets of devices, by kind
 */
#include "merge/facts/time/copies.h"

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

/* Bytes and times come from files: no speed is beyond that. */
#define RATE_MOST 1e18

static void take_copy(void *state, const struct tp_event *event)
{
	struct tp_copies *copies = state;
	uint32_t name = tp_names_row(copies->names, event);
	int64_t ns = tp_sub(event->end_ns, event->begin_ns);
	int64_t bytes = event->arg < INT64_MAX ? (int64_t)event->arg : INT64_MAX;
	struct tp_copies_row *row;
	double rate;

	if (name == TP_NO_NAME || !tp_grow(&copies->row, &copies->cap_rows, (uint64_t)name + 1,
					   sizeof(*copies->row))) {
		copies->is_incomplete = true;
		return;
	}
	row = &copies->row[name];
	row->name = name;
	row->bytes = tp_add(row->bytes, bytes);
	if (!tp_spread_add(&row->ns, ns))
		copies->is_incomplete = true;
	/* No bytes: not known. */
	if (ns <= 0 || !bytes || event->flags & TP_F_PARTIAL)
		return;
	row->timed_bytes = tp_add(row->timed_bytes, bytes);
	row->timed_ns = tp_add(row->timed_ns, ns);
	rate = (double)bytes * 1e9 / (double)ns;
	if (!tp_spread_add(&row->rate, (int64_t)(rate < RATE_MOST ? rate : RATE_MOST)))
		copies->is_incomplete = true;
}

static void free_copies(void *state)
{
	struct tp_copies *copies = state;

	for (uint32_t i = 0; i < copies->cap_rows; i++) {
		tp_spread_free(&copies->row[i].ns);
		tp_spread_free(&copies->row[i].rate);
	}
	free(copies->row);
	tp_names_free(copies->names);
}

static void begin_copies(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_copies *copies = state;

	copies->names = tp_names_new();
}

const struct tp_fact tp_fact_copies = {
	.name = "copies",
	.bytes = sizeof(struct tp_copies),
	.kinds = TP_FACT_KIND(TP_REC_MEMCPY) | TP_FACT_KIND(TP_REC_MEMSET),
	.begin = begin_copies,
	.event = take_copy,
	.free = free_copies,
};
