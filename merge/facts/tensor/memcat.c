/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcat.c - what each block of tensor memory was for, from scans and from its life
 */
#include "merge/facts/tensor/memcat_in.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/tensor/tensors.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

void tp_memcat_live(struct tp_memcat *cat, const struct tp_event *event, uint32_t device, int64_t bytes)
{
	for (uint32_t i = 0; i < cat->n_readers; i++)
		cat->reader[i].calls->live(cat->reader[i].ctx, event, device, bytes);
}

void tp_memcat_life(struct tp_memcat *cat, const struct tp_life *life)
{
	for (uint32_t i = 0; i < cat->n_readers; i++)
		cat->reader[i].calls->life(cat->reader[i].ctx, life);
}

void tp_memcat_read(struct tp_memcat *cat, const struct tp_memcat_calls *calls, void *ctx)
{
	tp_need_room(&cat->reader, &cat->cap_readers, (uint64_t)cat->n_readers + 1,
		     sizeof(*cat->reader));
	cat->reader[cat->n_readers++] = (struct tp_memcat_reader){calls, ctx};
}

static void begin_categories(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct tp_memcat *cat = state;

	cat->run = run;
	cat->origins = tp_facts_want(facts, &tp_fact_origins_cut, NULL);
	cat->places = tp_memplace_new();
	cat->curve = tp_memcurve_new();
	cat->proc = tp_need(run->n_procs, sizeof(*cat->proc));
	cat->take = tp_memtake_new(run->n_procs);
	if (!cat->places || !cat->curve || !cat->take)
		tp_need_failed();
	cat->n_blocks = 1;
	cat->doubts.has_totals = true;
}

static void free_categories(void *state)
{
	struct tp_memcat *cat = state;

	tp_memplace_free(cat->places);
	tp_memcurve_free(cat->curve);
	tp_memops_free(&cat->operators);
	free(cat->block);
	free(cat->proc);
	tp_membases_free(&cat->bases);
	tp_memtake_free(cat->take);
	free(cat->reader);
}

const struct tp_names *tp_memcat_names(const struct tp_memcat *cat)
{
	return tp_memplace_names(cat->places);
}

struct tp_origins *tp_memcat_origins(const struct tp_memcat *cat)
{
	return cat->origins;
}

const struct tp_memops *tp_memcat_operators(const struct tp_memcat *cat, uint32_t at,
					    const struct tp_proc **proc, uint32_t *device)
{
	const struct tp_memops *ops;

	if (at >= cat->operators.n)
		return NULL;
	ops = &cat->operators.of[at];
	*proc = cat->run->proc[ops->proc];
	*device = ops->device;
	return ops;
}

struct tp_memcat_doubts tp_memcat_doubts(const struct tp_memcat *cat)
{
	struct tp_memcat_doubts doubts = cat->doubts;

	doubts.n_lost += tp_memcurve_lost(cat->curve) + cat->operators.n_lost;
	for (uint32_t i = 0; i < cat->operators.n; i++)
		doubts.n_lost += cat->operators.of[i].is_incomplete;
	return doubts;
}

/* ---- spans ---- */

static void take_span(struct tp_memcat *cat, const struct tp_event *event)
{
	struct tp_memproc *proc = &cat->proc[event->proc->at];
	const struct tp_memplace_span span = tp_memplace_begin(cat->places, event);

	if (span.is_lost) {
		cat->doubts.n_lost += !(event->flags & TP_F_ASYNC);
		return;
	}
	proc->count.n_nodes += span.is_node;
	proc->count.n_optimizers += span.is_optimizer;
	if (span.is_optimizer)
		tp_memtake_settle(cat->take, event->proc->at, true);
	if ((span.is_accumulate && !tp_memtake_node(cat->take, event)) ||
	    (span.group &&
	     !tp_memtake_group(cat->take, event->proc->at, span.group_ns, span.group)))
		cat->doubts.n_lost++;
}

/* The operators and ranges in which it happened have allocated or freed so much. */
static void count_change(struct tp_memcat *cat, const struct tp_event *event, int64_t bytes)
{
	uint32_t name[TP_MEMPLACE_SPANS];
	const uint32_t n = tp_memplace_open(cat->places, event, name);
	struct tp_memops *ops = tp_memops_of(&cat->operators, event->proc->at, event->link);

	if (bytes && ops)
		tp_memops_change(ops, name, n, bytes);
}

/* ---- events ---- */

static struct tp_origin origin_of(struct tp_memcat *cat, const struct tp_event *event)
{
	return tp_origins_has_any(cat->origins) ? tp_origins_of(cat->origins, event)
						: (struct tp_origin){0};
}

uint32_t tp_memcat_where(struct tp_memcat *cat, const struct tp_event *event,
			 struct tp_origin *origin)
{
	*origin = origin_of(cat, event);
	return tp_memplace_find(cat->places, event).name;
}

/* Without an address: who allocated or freed so much is known, what became of a block is not. */
static void take_loose(struct tp_memcat *cat, const struct tp_event *event)
{
	const struct tp_memcurve_track *track;
	int64_t change;

	track = tp_memcurve_event(cat->curve, event, &change);
	if (!track) {
		cat->doubts.n_lost++;
		return;
	}
	tp_membase_change(tp_membases_of(&cat->bases, event->proc->at, event->link), change);
	count_change(cat, event, change);
	/* Of what was there, only totals know. */
	if (track->is_absolute)
		tp_memcat_live(cat, event, event->link, track->live_bytes);
}

static void take_alloc(struct tp_memcat *cat, const struct tp_event *event)
{
	const struct tp_memproc *proc = &cat->proc[event->proc->at];
	uint32_t tag = tp_memcat_take(cat), own = tag;
	const struct tp_memcurve_track *track;
	struct tp_memblock *block;
	int64_t change;

	track = tp_memcurve_tagged(cat->curve, event, &change, &tag);
	if (!track || !own) {
		cat->doubts.n_lost++;
		return;
	}
	cat->doubts.has_blocks = true;
	/* Kept only if the curve has it. */
	block = &cat->block[own];
	block->place = tp_memplace_find(cat->places, event);
	block->count = proc->count;
	block->life = (struct tp_life){
		.proc = event->proc, .device = event->link, .window = proc->window,
		.address = event->arg, .bytes = change, .begin_ns = event->begin_ns,
		.born = block->place.born, .name = block->place.name, .inner = block->place.inner,
		.parent = block->place.parent, .step = proc->step,
		.origin = origin_of(cat, event),
	};
	tp_memcat_born(cat, event, own);
	tp_membase_change(tp_membases_of(&cat->bases, event->proc->at, event->link), change);
	count_change(cat, event, change);
	if (tag) {
		cat->doubts.n_unheard++;
		tp_memcat_die(cat, tag, NULL, event->begin_ns);
	}
	tp_memcat_live(cat, event, event->link, track->live_bytes);
}

static void take_free(struct tp_memcat *cat, const struct tp_event *event)
{
	const struct tp_memcurve_track *track;
	uint32_t tag = 0;
	int64_t change;

	track = tp_memcurve_tagged(cat->curve, event, &change, &tag);
	if (!track)
		return;
	tp_membase_change(tp_membases_of(&cat->bases, event->proc->at, event->link), change);
	count_change(cat, event, change);
	tp_memcat_live(cat, event, event->link, track->live_bytes);
	if (tag) {
		struct tp_place death = tp_memplace_find(cat->places, event);

		tp_memcat_die(cat, tag, &death, event->begin_ns);
	} else {
		tp_memcat_older(cat, event, -change);
	}
}

static void take_totals(struct tp_memcat *cat, const struct tp_event *event)
{
	struct tp_memcurve_track *track;
	int64_t change;

	track = tp_memcurve_event(cat->curve, event, &change);
	if (!track)
		return;
	tp_membase_know(tp_membases_of(&cat->bases, event->proc->at, event->link),
			track->live_bytes);
	tp_memcat_live(cat, event, event->link, track->live_bytes);
}

/* The ledger says what was alive when the step before ended. */
static void take_step(struct tp_memcat *cat, const struct tp_event *event)
{
	struct tp_memproc *proc = &cat->proc[event->proc->at];
	struct tp_membase *base = tp_membases_of(&cat->bases, event->proc->at, TP_DEVICE_CPU);
	const int64_t bytes = (int64_t)tp_tensors_ledger(cat->run, event);

	proc->step = event->link;
	proc->count.n_steps++;
	proc->count.n_nodes_at_step = proc->count.n_nodes;
	tp_memtake_settle(cat->take, event->proc->at, false);
	if (!bytes || !base || !tp_memcurve_is_unsure(cat->curve, event, TP_DEVICE_CPU))
		return;
	/* Sizes that were not known are what the curve has too much. */
	if (!tp_membase_know(base, bytes))
		tp_memcat_freed_unsized(
			cat, event, base, tp_sub(tp_memcurve_live(cat->curve, event, TP_DEVICE_CPU), bytes));
	tp_memcurve_set(cat->curve, event, TP_DEVICE_CPU, bytes);
	tp_memcat_live(cat, event, TP_DEVICE_CPU, bytes);
}

static void end_window(struct tp_memcat *cat, uint32_t proc)
{
	for (uint32_t i = 0; i < cat->n_readers; i++)
		if (cat->reader[i].calls->window)
			cat->reader[i].calls->window(cat->reader[i].ctx, proc);
	tp_memcat_end_window(cat, proc);
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_memcat *cat = state;
	struct tp_memproc *proc = &cat->proc[event->proc->at];

	if (proc->is_open && proc->window != event->window)
		end_window(cat, event->proc->at);
	if (!proc->is_open) {
		*proc = (struct tp_memproc){.window = event->window, .is_open = true,
				      .step = TP_NO_STEP};
	}
	switch (event->kind) {
	case TP_REC_OP:
	case TP_REC_RANGE:
		take_span(cat, event);
		break;
	case TP_REC_STEP:
		take_step(cat, event);
		break;
	case TP_REC_ALLOC:
		(event->arg ? take_alloc : take_loose)(cat, event);
		break;
	case TP_REC_FREE:
		(event->arg ? take_free : take_loose)(cat, event);
		break;
	case TP_REC_TOTALS:
		take_totals(cat, event);
		break;
	case TP_REC_CATEGORY:
		tp_memcat_scanned(cat, event);
		break;
	case TP_REC_SCAN:
		cat->doubts.n_scans++;
		cat->doubts.n_unread += event->arg;
		cat->doubts.scan_ns = tp_add(cat->doubts.scan_ns,
					     tp_sub(event->end_ns, event->begin_ns));
		break;
	default:
		break;
	}
}

static void end_categories(void *state)
{
	struct tp_memcat *cat = state;

	for (uint32_t i = 0; i < cat->run->n_procs; i++)
		if (cat->proc[i].is_open)
			end_window(cat, i);
	tp_memplace_end(cat->places);
	for (uint32_t i = 0; i < cat->operators.n; i++) {
		struct tp_memops *ops = &cat->operators.of[i];
		uint32_t n;
		const uint64_t *calls = tp_memplace_calls(cat->places, ops->proc, &n);

		tp_memops_end(ops, calls, n);
	}
}

const struct tp_fact tp_fact_memcat = {
	.name = "tensor memory by category",
	.bytes = sizeof(struct tp_memcat),
	.kinds = TP_MEMCAT_KINDS,
	.is_cut = true,
	.begin = begin_categories,
	.event = take_event,
	.end = end_categories,
	.free = free_categories,
};
