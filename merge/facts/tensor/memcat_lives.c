/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcat_lives.c - blocks of tensor memory from their birth, or their window's start, to their end
 */
#include "merge/facts/tensor/memcat_in.h"

#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

uint32_t tp_memcat_take(struct tp_memcat *cat)
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

/* Until then it was temporary. TP_NOT_TAKEN: nobody knows; or it always was what it is. */
static int64_t find_taken(struct tp_memcat *cat, uint32_t tag, const struct tp_place *death)
{
	const struct tp_memblock *block = &cat->block[tag];
	const int64_t taken_ns = tp_memtake_gone(cat->take, tag);
	const char *group = NULL;

	switch (block->life.category) {
	case TP_TENSOR_GRADIENT:
	case TP_TENSOR_SHARDED_GRADIENT:
		return block->place.sharing == TP_SHARING_REDUCE ? block->place.sharing_end_ns
								 : taken_ns;
	case TP_TENSOR_REDUCE_SCATTER:
		group = block->place.is_collective ? NULL : TP_REDUCE_SCATTER;
		break;
	case TP_TENSOR_UNSHARDED_GRADIENT:
		group = death ? death->group : NULL;
		break;
	default:
		break;
	}
	return group ? tp_memtake_group_ns(cat->take, block->life.proc->at, group,
					   block->life.begin_ns)
		     : TP_NOT_TAKEN;
}

void tp_memcat_die(struct tp_memcat *cat, uint32_t tag, const struct tp_place *death, int64_t now)
{
	struct tp_memblock *block = &cat->block[tag];
	int64_t taken_ns;

	/* Of a window that ended already, in a file whose windows come back. */
	if (!block->is_used)
		return;
	block->life.end_ns = now;
	block->life.is_internal =
		now <= block->place.operator_end_ns || block->place.is_collective;
	if (!block->life.category)
		block->life.category = tp_memjudge(&(struct tp_memcase){
			.born = &block->place, .died = death, .then = block->count,
			.now = cat->proc[block->life.proc->at].count, .end_ns = now,
		});
	taken_ns = find_taken(cat, tag, death);
	if (taken_ns != TP_NOT_TAKEN)
		block->life.temporary_ns = tp_sub(taken_ns < now ? taken_ns : now,
						  block->life.begin_ns);
	block->is_used = false;
	block->next_free = cat->free_block;
	cat->free_block = tag;
	tp_memcat_life(cat, &block->life);
}

void tp_memcat_born(struct tp_memcat *cat, const struct tp_event *event, uint32_t tag)
{
	const struct tp_place *place = &cat->block[tag].place;

	if (place->born != TP_BORN_BACKWARD || place->sharing == TP_SHARING_REDUCE)
		return;
	if (place->is_accumulated)
		tp_memtake_copy(cat->take, event);
	else if (!tp_memtake_born(cat->take, tag, event))
		cat->doubts.n_lost++;
}

/* ---- what was alive when a window began ---- */

void tp_memcat_end_window(struct tp_memcat *cat, uint32_t proc_at)
{
	struct tp_memproc *proc = &cat->proc[proc_at];
	const struct tp_proc *of = cat->run->proc[proc_at];
	const struct tp_window *window = tp_window_of(cat->run, of, proc->window);
	const int64_t now = window ? window->end_ns : INT64_MAX;

	for (uint32_t tag = 1; tag < cat->n_blocks; tag++) {
		struct tp_memblock *block = &cat->block[tag];

		if (!block->is_used || block->life.proc != of)
			continue;
		block->life.is_alive = true;
		tp_memcat_die(cat, tag, NULL, now > block->life.begin_ns ? now : block->life.begin_ns);
	}
	for (uint32_t i = 0; i < cat->bases.n; i++) {
		struct tp_membase *base = &cat->bases.base[i];
		struct tp_life rest = {
			.proc = of, .device = base->device, .window = proc->window,
			.begin_ns = window ? window->begin_ns : INT64_MIN, .end_ns = now,
			.is_older = true, .is_alive = true, .is_sum = true, .name = TP_NO_NAME,
			.inner = TP_NO_NAME, .parent = TP_NO_NAME,
			.step = TP_NO_STEP,
		};

		if (base->proc != proc_at)
			continue;
		cat->doubts.has_totals &= base->is_known;
		rest.bytes = tp_membase_end(base);
		if (rest.bytes)
			tp_memcat_life(cat, &rest);
	}
	proc->is_open = false;
}

void tp_memcat_scanned(struct tp_memcat *cat, const struct tp_event *event)
{
	const uint32_t device = event->link == TP_NO_DEVICE ? TP_DEVICE(1, 0) : event->link;
	struct tp_memproc *proc = &cat->proc[event->proc->at];
	const struct tp_window *window;
	uint32_t tag = tp_memcurve_tag(cat->curve, event, device);
	struct tp_memblock *block;
	struct tp_membase *base;
	bool is_new = !tag;

	cat->doubts.n_scanned++;
	if (!event->flags || event->flags >= TP_TENSOR_N)
		return;
	if (is_new) {
		tag = tp_memcat_take(cat);
		base = tp_membases_of(&cat->bases, event->proc->at, device);
		if (!tag || !base || !tp_memcurve_older(cat->curve, event, device, tag)) {
			cat->doubts.n_lost++;
			return;
		}
		tp_membase_name(base, (int64_t)event->len);
	}
	block = &cat->block[tag];
	if (is_new) {
		window = tp_window_of(cat->run, event->proc, event->window);
		block->life = (struct tp_life){
			.proc = event->proc, .device = device, .window = proc->window,
			.address = event->arg,
			.bytes = (int64_t)(event->len > TP_LEN_MAX ? TP_LEN_MAX : event->len),
			.begin_ns = window ? window->begin_ns : event->begin_ns,
			.is_older = true, .name = TP_NO_NAME, .inner = TP_NO_NAME,
			.parent = TP_NO_NAME, .step = TP_NO_STEP,
		};
	}
	/* A gradient's block may be a parameter's, too (views of one storage): first come. */
	if (!block->life.category)
		block->life.category = (enum tp_tensor_category)event->flags;
	if (event->name->n_bytes)
		block->life.label = event->name;
}

/* A block from before the window, or several, end with the event. */
static void end_older(struct tp_memcat *cat, const struct tp_event *event, struct tp_membase *base,
		      uint64_t address, int64_t bytes)
{
	const struct tp_window *window = tp_window_of(cat->run, event->proc, event->window);
	const struct tp_life life = {
		.proc = event->proc, .device = base->device, .window = event->window,
		.address = address, .bytes = bytes, .end_ns = event->begin_ns,
		.begin_ns = window ? window->begin_ns : event->begin_ns,
		.is_older = true, .is_sum = !address, .name = TP_NO_NAME, .inner = TP_NO_NAME,
		.parent = TP_NO_NAME, .step = TP_NO_STEP,
	};

	tp_membase_name(base, bytes);
	tp_memcat_life(cat, &life);
}

void tp_memcat_older(struct tp_memcat *cat, const struct tp_event *event, int64_t bytes)
{
	struct tp_membase *base = tp_membases_of(&cat->bases, event->proc->at, event->link);

	cat->doubts.n_older_frees++;
	if (base && bytes)
		end_older(cat, event, base, event->arg, bytes);
}

void tp_memcat_freed_unsized(struct tp_memcat *cat, const struct tp_event *event, struct tp_membase *base,
			     int64_t bytes)
{
	const int64_t left = tp_sub(base->bytes, base->named_bytes);

	if (bytes > left)
		bytes = left;
	if (bytes > 0)
		end_older(cat, event, base, 0, bytes);
}
