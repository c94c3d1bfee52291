/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memplace.c - where a block of tensor memory was allocated or freed
 *
 * Spans open there tell the phase: data loader, zero_grad, optimizer, backward; operators that
 * record a graph (they have a sequence number) are forward work, also inside a node of the
 * backward pass: that is activation checkpointing.
 */
#include "merge/facts/time/memplace.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/nest.h"
#include "merge/kit/grow.h"
#include "runtime/base/begins.h"
#include "runtime/trace/torch_names.h"

enum {
	/* Bits of a span's row; the rest is its name's. */
	IS_BACKWARD = 1u << 31,
	IS_GRAPH = 1u << 30,		/* records a graph */
	IS_OPERATOR = 1u << 29,
	NAME_MASK = IS_OPERATOR - 1,
};

/* What a name says, by its row. */
enum meaning {
	MEANS_UNKNOWN,		/* not looked at yet */
	MEANS_NOTHING,
	MEANS_NODE,		/* around a node of the backward pass */
	MEANS_OPTIMIZER, MEANS_ZERO_GRAD, MEANS_LOADER,
	MEANS_ACCUMULATE,	/* a node that takes a gradient */
	MEANS_GROUP,		/* FSDP takes a group's */
	MEANS_REDUCE_SCATTER, MEANS_COLLECTIVE,	/* operators */
	MEANS_ALL_GATHER, MEANS_COPY_OUT, MEANS_REDUCE,	/* of FSDP */
};

static const struct {
	const char *begin;
	enum meaning meaning;
} meanings[] = {
	{TP_NAME_NODE, MEANS_NODE},
	{TP_NAME_OPTIMIZER, MEANS_OPTIMIZER},
	{TP_NAME_ZERO_GRAD, MEANS_ZERO_GRAD},
	{TP_NAME_LOADER, MEANS_LOADER},
	{TP_NAME_ACCUMULATE, MEANS_ACCUMULATE},
	{TP_NAME_FSDP "post_backward_accumulate", MEANS_GROUP},
	{TP_REDUCE_SCATTER, MEANS_REDUCE_SCATTER},
	{TP_NAME_C10D, MEANS_COLLECTIVE},
	{TP_NAME_FSDP "all_gather_copy_out", MEANS_COPY_OUT},
	{TP_NAME_FSDP "all_gather", MEANS_ALL_GATHER},
	{TP_NAME_FSDP "post_backward_reduce", MEANS_REDUCE},
};

/* A process. */
struct proc {
	struct tp_nest *nest;
	uint64_t *calls;		/* by row of names */
	uint32_t cap_calls;
};

struct tp_memplace {
	struct tp_names *names;
	uint8_t *meaning;		/* by row of names, enum meaning */
	uint32_t cap_meanings;
	struct proc **proc;		/* by number; NULL: nothing came of it */
	uint32_t cap_procs;
};

/* Counted when it ends: one whose only child has its own name is one with it. */
static void count_call(void *ctx, const struct tp_nest_span *span)
{
	struct proc *proc = ctx;
	const uint32_t row = span->row & NAME_MASK;

	if (tp_grow(&proc->calls, &proc->cap_calls, (uint64_t)row + 1, sizeof(*proc->calls)))
		proc->calls[row]++;
}

/* NULL: out of memory. */
static struct tp_nest *nest_of(struct tp_memplace *places, const struct tp_event *event)
{
	const uint32_t at = event->proc->at;
	struct proc *proc;

	if (!tp_grow(&places->proc, &places->cap_procs, (uint64_t)at + 1, sizeof(*places->proc)))
		return NULL;
	if (places->proc[at])
		return places->proc[at]->nest;
	proc = calloc(1, sizeof(*proc));
	if (proc)
		proc->nest = tp_nest_new(count_call, proc);
	if (!proc || !proc->nest) {
		free(proc);
		return NULL;
	}
	places->proc[at] = proc;
	return proc->nest;
}

struct tp_memplace *tp_memplace_new(void)
{
	struct tp_memplace *places = calloc(1, sizeof(*places));

	if (!places)
		return NULL;
	places->names = tp_names_new();
	if (places->names)
		return places;
	tp_memplace_free(places);
	return NULL;
}

void tp_memplace_free(struct tp_memplace *places)
{
	if (!places)
		return;
	tp_names_free(places->names);
	tp_memplace_end(places);
	for (uint32_t i = 0; i < places->cap_procs; i++) {
		if (places->proc[i])
			free(places->proc[i]->calls);
		free(places->proc[i]);
	}
	free(places->proc);
	free(places->meaning);
	free(places);
}

void tp_memplace_end(struct tp_memplace *places)
{
	for (uint32_t i = 0; i < places->cap_procs; i++)
		if (places->proc[i] && places->proc[i]->nest) {
			tp_nest_end(places->proc[i]->nest);
			places->proc[i]->nest = NULL;
		}
}

const uint64_t *tp_memplace_calls(const struct tp_memplace *places, uint32_t proc, uint32_t *n)
{
	const struct proc *of = proc < places->cap_procs ? places->proc[proc] : NULL;

	*n = of ? of->cap_calls : 0;
	return of ? of->calls : NULL;
}

const struct tp_names *tp_memplace_names(const struct tp_memplace *places)
{
	return places->names;
}

static enum meaning meaning_of(struct tp_memplace *places, uint32_t row)
{
	const struct tp_name *name;

	if (!tp_grow(&places->meaning, &places->cap_meanings, (uint64_t)row + 1, sizeof(*places->meaning)))
		return MEANS_NOTHING;
	if (places->meaning[row])
		return places->meaning[row];
	name = tp_names_at(places->names, row);
	places->meaning[row] = MEANS_NOTHING;
	for (uint32_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		if (tp_begins(name->bytes, name->n_bytes, meanings[i].begin)) {
			places->meaning[row] = (uint8_t)meanings[i].meaning;
			break;
		}
	}
	return places->meaning[row];
}

/* "FSDP::post_backward_reduce (blocks.0)": the group's name, in parentheses. */
static const char *group_of(const struct tp_memplace *places, uint32_t row)
{
	const char *at = strchr(tp_names_at(places->names, row)->bytes, '(');

	return at ? at : "";
}

struct tp_memplace_span tp_memplace_begin(struct tp_memplace *places,
					  const struct tp_event *event)
{
	struct tp_memplace_span span = {.name = tp_names_row(places->names, event)};
	struct tp_nest *nest = nest_of(places, event);
	uint32_t bits = 0;
	enum meaning meaning;

	/* Asynchronous spans do not nest. */
	if (!nest || span.name >= NAME_MASK || event->flags & TP_F_ASYNC) {
		span.is_lost = true;
		return span;
	}
	meaning = meaning_of(places, span.name);
	if (event->kind == TP_REC_OP) {
		bits = IS_OPERATOR;
		if (event->flags & TP_F_BACKWARD || meaning == MEANS_NODE)
			bits |= IS_BACKWARD;
		else if (event->link != TP_NO_SEQ)
			bits |= IS_GRAPH;
	}
	span.is_node = (bits & IS_BACKWARD) != 0;
	span.is_optimizer = meaning == MEANS_OPTIMIZER;
	span.is_accumulate = meaning == MEANS_ACCUMULATE;
	if (meaning == MEANS_GROUP) {
		span.group = group_of(places, span.name);
		span.group_ns = event->begin_ns;
	} else if (meaning == MEANS_REDUCE_SCATTER) {
		span.group = TP_REDUCE_SCATTER;
		span.group_ns = event->end_ns;
	}
	span.is_lost = !tp_nest_span(nest, event, span.name | bits, span.name);
	return span;
}

/* What asked for the memory itself: aten::empty, and who called it. */
static void find_inner(const struct tp_nest_span *span, uint32_t n, struct tp_place *place)
{
	place->inner = place->parent = TP_NO_NAME;
	for (uint32_t i = n; i-- > 0 && place->parent == TP_NO_NAME;) {
		const uint32_t row = span[i].row;

		if (!(row & IS_OPERATOR))
			continue;
		if (place->inner == TP_NO_NAME)
			place->inner = row & NAME_MASK;
		else
			place->parent = row & NAME_MASK;
	}
}

/* The phase that the innermost spans tell; the loader's and zero_grad's are whatever is in them. */
struct tp_place tp_memplace_find(struct tp_memplace *places, const struct tp_event *event)
{
	struct tp_place place = {.name = TP_NO_NAME, .work_end_ns = INT64_MIN,
			      .operator_end_ns = INT64_MIN, .sharing = TP_SHARING_NONE};
	struct tp_nest *nest = nest_of(places, event);
	uint32_t n = 0;
	const struct tp_nest_span *span = nest ? tp_nest_stack(nest, event, &n) : NULL;
	bool is_found = false, is_in_node = false;

	find_inner(span, n, &place);
	for (uint32_t i = n; i-- > 0;) {
		const uint32_t row = span[i].row;
		const enum meaning meaning = meaning_of(places, row & NAME_MASK);

		is_in_node |= (row & IS_BACKWARD) != 0;
		if (row & IS_OPERATOR && !is_in_node)
			place.operator_end_ns = span[i].end_ns;
		/* The outermost operator, but not what stands around a node. */
		if (row & IS_OPERATOR && meaning != MEANS_NODE &&
		    (!is_found || place.born == TP_BORN_FORWARD || place.name == TP_NO_NAME) &&
		    !(is_found && row & IS_BACKWARD)) {
			place.name = row & NAME_MASK;
			place.work_end_ns = span[i].end_ns;
		}
		if (meaning == MEANS_LOADER || meaning == MEANS_ZERO_GRAD) {
			place.born = meaning == MEANS_LOADER ? TP_BORN_LOADER : TP_BORN_ZERO_GRAD;
			place.work_end_ns = span[i].end_ns;
			is_found = true;
			break;
		}
		place.is_accumulated |= meaning == MEANS_ACCUMULATE;
		place.is_collective |= meaning == MEANS_REDUCE_SCATTER ||
				       meaning == MEANS_COLLECTIVE;
		if (meaning >= MEANS_ALL_GATHER && place.sharing == TP_SHARING_NONE) {
			place.sharing = (enum tp_sharing)(meaning - MEANS_ALL_GATHER +
							  TP_SHARING_ALL_GATHER);
			place.sharing_end_ns = span[i].end_ns;
			place.group = group_of(places, row & NAME_MASK);
		}
		if (is_found)
			continue;
		if (row & IS_BACKWARD) {
			place.born = TP_BORN_BACKWARD;
			is_found = true;
		} else if (row & IS_GRAPH) {
			place.born = TP_BORN_FORWARD;
			is_found = true;
		} else if (meaning == MEANS_OPTIMIZER) {
			place.born = TP_BORN_OPTIMIZER;
			place.work_end_ns = span[i].end_ns;
			is_found = true;
		}
	}
	return place;
}

uint32_t tp_memplace_open(struct tp_memplace *places, const struct tp_event *event,
			  uint32_t name[TP_MEMPLACE_SPANS])
{
	struct tp_nest *nest = nest_of(places, event);
	uint32_t n = 0;
	const struct tp_nest_span *span = nest ? tp_nest_stack(nest, event, &n) : NULL;
	const uint32_t from = n > TP_MEMPLACE_SPANS ? n - TP_MEMPLACE_SPANS : 0;

	for (uint32_t i = from; i < n; i++)
		name[i - from] = span[i].row & NAME_MASK;
	return n - from;
}
