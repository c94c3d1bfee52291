/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcat.c - what each block of tensor memory was for, from scans and from its life
 */
#include "merge/memcat.h"

#include <stdlib.h>
#include <string.h>

#include "merge/grow.h"
#include "merge/membase.h"
#include "merge/memcurve.h"
#include "merge/memjudge.h"
#include "merge/sum.h"
#include "merge/tensors.h"

struct block {
	struct tp_life life;
	struct tp_place place;
	uint32_t next_free;		/* of a free one */
	struct tp_memcount count;	/* of its process, when it was born */
	bool is_used;
};

/* A process, in its window. */
struct proc {
	uint32_t window;
	bool is_open;
	uint64_t step;
	struct tp_memcount count;
};

struct tp_memcat {
	const struct tp_run *run;
	struct tp_memcat_calls calls;
	void *ctx;
	struct tp_memplace *places;
	struct tp_origins *origins;
	bool has_origins;		/* its own */
	struct tp_memcurve *curve;
	struct block *block;		/* by tag; 0 is none */
	uint32_t n_blocks, cap_blocks, free_block;
	struct proc *proc;		/* by number */
	struct tp_membases bases;
	struct tp_memops_each operators;
	struct tp_memcat_doubts doubts;
};

struct tp_memcat *tp_memcat_new(const struct tp_run *run, struct tp_origins *origins,
				const struct tp_memcat_calls *calls, void *ctx)
{
	struct tp_memcat *cat = calloc(1, sizeof(*cat));

	if (!cat)
		return NULL;
	cat->run = run;
	cat->calls = *calls;
	cat->ctx = ctx;
	cat->places = tp_memplace_new();
	cat->has_origins = !origins;
	cat->origins = origins ? origins : tp_origins_new(run);
	cat->curve = tp_memcurve_new();
	cat->proc = calloc(run->n_procs + 1, sizeof(*cat->proc));
	cat->n_blocks = 1;
	cat->doubts.has_totals = true;
	if (cat->places && cat->origins && cat->curve && cat->proc)
		return cat;
	tp_memcat_free(cat);
	return NULL;
}

void tp_memcat_free(struct tp_memcat *cat)
{
	if (!cat)
		return;
	tp_memplace_free(cat->places);
	if (cat->has_origins)
		tp_origins_free(cat->origins);
	tp_memcurve_free(cat->curve);
	tp_memops_free(&cat->operators);
	free(cat->block);
	free(cat->proc);
	tp_membases_free(&cat->bases);
	free(cat);
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
	struct proc *proc = &cat->proc[event->proc->at];
	const struct tp_memplace_span span = tp_memplace_begin(cat->places, event);

	if (span.is_lost) {
		cat->doubts.n_lost += !(event->flags & TP_F_ASYNC);
		return;
	}
	proc->count.n_nodes += span.is_node;
	proc->count.n_optimizers += span.is_optimizer;
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

/* ---- lives ---- */

/* 0: out of memory. */
static uint32_t take_block(struct tp_memcat *cat)
{
	uint32_t tag = cat->free_block;

	if (tag) {
		cat->free_block = cat->block[tag].next_free;
	} else {
		if (!tp_grow(&cat->block, &cat->cap_blocks, (uint64_t)cat->n_blocks + 1,
			     sizeof(*cat->block)))
			return 0;
		tag = cat->n_blocks++;
	}
	memset(&cat->block[tag], 0, sizeof(cat->block[tag]));
	cat->block[tag].is_used = true;
	return tag;
}

static void end_block(struct tp_memcat *cat, uint32_t tag, const struct tp_place *death, int64_t now)
{
	struct block *block = &cat->block[tag];

	block->life.end_ns = now;
	block->life.is_internal = now <= block->place.operator_end_ns;
	if (!block->life.category)
		block->life.category = tp_memjudge(&(struct tp_memcase){
			.born = &block->place, .died = death, .then = block->count,
			.now = cat->proc[block->life.proc->at].count, .end_ns = now,
		});
	block->is_used = false;
	block->next_free = cat->free_block;
	cat->free_block = tag;
	cat->calls.life(cat->ctx, &block->life);
}

/* ---- what was alive when a window began ---- */

static const struct tp_window *find_window(const struct tp_memcat *cat,
					   const struct tp_proc *proc, uint32_t window)
{
	for (uint32_t i = 0; i < cat->run->n_windows; i++)
		if (cat->run->window[i].proc == proc && cat->run->window[i].window == window)
			return &cat->run->window[i];
	return NULL;
}

/* The window is over: what is alive, and what nobody named. */
static void end_window(struct tp_memcat *cat, uint32_t proc_at)
{
	struct proc *proc = &cat->proc[proc_at];
	const struct tp_proc *of = cat->run->proc[proc_at];
	const struct tp_window *window = find_window(cat, of, proc->window);
	const int64_t now = window ? window->end_ns : INT64_MAX;

	for (uint32_t tag = 1; tag < cat->n_blocks; tag++) {
		struct block *block = &cat->block[tag];

		if (!block->is_used || block->life.proc != of)
			continue;
		block->life.is_alive = true;
		end_block(cat, tag, NULL, now > block->life.begin_ns ? now : block->life.begin_ns);
	}
	for (uint32_t i = 0; i < cat->bases.n; i++) {
		struct tp_membase *base = &cat->bases.base[i];
		struct tp_life rest = {
			.proc = of, .device = base->device, .window = proc->window,
			.begin_ns = window ? window->begin_ns : INT64_MIN, .end_ns = now,
			.is_older = true, .is_alive = true, .is_sum = true, .name = TP_NO_NAME,
			.step = TP_NO_STEP,
		};

		if (base->proc != proc_at)
			continue;
		cat->doubts.has_totals &= base->is_known;
		rest.bytes = tp_membase_end(base);
		if (rest.bytes)
			cat->calls.life(cat->ctx, &rest);
	}
	proc->is_open = false;
}

/* A block that was there before, or one that the scan names. */
static void take_scanned(struct tp_memcat *cat, const struct tp_event *event)
{
	const uint32_t device = event->link == TP_NO_DEVICE ? TP_DEVICE(1, 0) : event->link;
	struct proc *proc = &cat->proc[event->proc->at];
	const struct tp_window *window;
	uint32_t tag = tp_memcurve_tag(cat->curve, event, device);
	struct block *block;
	struct tp_membase *base;
	bool is_new = !tag;

	cat->doubts.n_scanned++;
	if (!event->flags || event->flags >= TP_TENSOR_N)
		return;
	if (is_new) {
		tag = take_block(cat);
		base = tp_membases_of(&cat->bases, event->proc->at, device);
		if (!tag || !base || !tp_memcurve_older(cat->curve, event, device, tag)) {
			cat->doubts.n_lost++;
			return;
		}
		tp_membase_name(base, (int64_t)event->len);
	}
	block = &cat->block[tag];
	if (is_new) {
		window = find_window(cat, event->proc, event->window);
		block->life = (struct tp_life){
			.proc = event->proc, .device = device, .window = proc->window,
			.address = event->arg,
			.bytes = (int64_t)(event->len > TP_LEN_MAX ? TP_LEN_MAX : event->len),
			.begin_ns = window ? window->begin_ns : event->begin_ns,
			.is_older = true, .name = TP_NO_NAME, .step = TP_NO_STEP,
		};
	}
	/* A gradient's block may be a parameter's, too (views of one storage): first come. */
	if (!block->life.category)
		block->life.category = (enum tp_tensor_category)event->flags;
	if (event->name->n_bytes)
		block->life.label = event->name;
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

static void take_alloc(struct tp_memcat *cat, const struct tp_event *event)
{
	const struct proc *proc = &cat->proc[event->proc->at];
	uint32_t tag = take_block(cat), own = tag;
	const struct tp_memcurve_track *track;
	struct block *block;
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
		.born = block->place.born, .name = block->place.name, .step = proc->step,
		.origin = origin_of(cat, event),
	};
	tp_membase_change(tp_membases_of(&cat->bases, event->proc->at, event->link), change);
	count_change(cat, event, change);
	if (tag) {
		cat->doubts.n_unheard++;
		end_block(cat, tag, NULL, event->begin_ns);
	}
	cat->calls.live(cat->ctx, event, event->link, track->live_bytes);
}

/* A block from before that nobody named, of which its free tells the size. */
static void take_older(struct tp_memcat *cat, const struct tp_event *event, int64_t bytes)
{
	const struct tp_window *window = find_window(cat, event->proc, event->window);
	struct tp_membase *base = tp_membases_of(&cat->bases, event->proc->at, event->link);
	struct tp_life life = {
		.proc = event->proc, .device = event->link, .window = event->window,
		.address = event->arg, .bytes = bytes, .end_ns = event->begin_ns,
		.begin_ns = window ? window->begin_ns : event->begin_ns,
		.is_older = true, .name = TP_NO_NAME, .step = TP_NO_STEP,
	};

	cat->doubts.n_older_frees++;
	if (!bytes || !base)
		return;
	tp_membase_name(base, bytes);
	cat->calls.life(cat->ctx, &life);
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
	cat->calls.live(cat->ctx, event, event->link, track->live_bytes);
	if (tag) {
		struct tp_place death = tp_memplace_find(cat->places, event);

		end_block(cat, tag, &death, event->begin_ns);
	} else {
		take_older(cat, event, -change);
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
	cat->calls.live(cat->ctx, event, event->link, track->live_bytes);
}

/* The ledger says what was alive when the step before ended. */
static void take_step(struct tp_memcat *cat, const struct tp_event *event)
{
	struct proc *proc = &cat->proc[event->proc->at];
	struct tp_membase *base = tp_membases_of(&cat->bases, event->proc->at, TP_DEVICE_CPU);
	const int64_t bytes = (int64_t)tp_tensors_ledger(cat->run, event);

	proc->step = event->link;
	proc->count.n_steps++;
	proc->count.n_nodes_at_step = proc->count.n_nodes;
	if (bytes && tp_membase_know(base, bytes))
		tp_memcurve_set(cat->curve, event, TP_DEVICE_CPU, bytes);
}

void tp_memcat_event(struct tp_memcat *cat, const struct tp_event *event)
{
	struct proc *proc = &cat->proc[event->proc->at];

	if (proc->is_open && proc->window != event->window)
		end_window(cat, event->proc->at);
	if (!proc->is_open) {
		*proc = (struct proc){.window = event->window, .is_open = true,
				      .step = TP_NO_STEP};
	}
	/* Without stacks nobody knows where anything comes from. */
	if (cat->has_origins &&
	    (event->kind != TP_REC_OP || tp_origins_has_any(cat->origins)))
		tp_origins_event(cat->origins, event);
	switch (event->kind) {
	case TP_REC_OP:
	case TP_REC_RANGE:
		take_span(cat, event);
		break;
	case TP_REC_STEP:
		take_step(cat, event);
		break;
	case TP_REC_ALLOC:
		take_alloc(cat, event);
		break;
	case TP_REC_FREE:
		take_free(cat, event);
		break;
	case TP_REC_TOTALS:
		take_totals(cat, event);
		break;
	case TP_REC_CATEGORY:
		take_scanned(cat, event);
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

void tp_memcat_end(struct tp_memcat *cat)
{
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
