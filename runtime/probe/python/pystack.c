/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack.c - the Python frames of this thread as a stack
 *
 * What pystack_walk.h finds gets numbers: those that stayed as they were have theirs; from the
 * outermost difference on inwards they are made anew, but for frames that had theirs in the same
 * outer stack.
 */
#include "runtime/probe/python/pystack.h"

#include <stddef.h>

#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/python/nnmodule.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pystack_check.h"
#include "runtime/probe/python/pystack_deaths.h"
#include "runtime/probe/python/pystack_thread.h"
#include "runtime/probe/python/pystack_walk.h"
#include "runtime/probe/stack/stack_tree.h"

/* Atomic. */
static struct {
	uint64_t n_broken;	/* walks that ended at something impossible */
	uint64_t n_cut;		/* that had more frames than we keep */
	uint64_t n_refused;	/* of threads for which there was no memory */
} pystack;

static void count(uint64_t *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

/* With which the frame `at` is numbered. */
static inline uint8_t get_flags(const struct tp_pystack_thread *thread, uint32_t at)
{
	const struct tp_pyframe_layout *layout = &tp_pystack_how.layout;
	const struct tp_pystack_frame *frame = &thread->frame[at];
	uint8_t flags = TP_FRAME_PYTHON;
	bool is_entry;

	if (layout->is_entry != TP_PYFRAME_NONE)
		is_entry = frame->kind & 0xff;
	else if (layout->owner == TP_PYFRAME_NONE)
		is_entry = true;
	else
		is_entry = at ? tp_pystack_is_own(frame[-1].kind) : !thread->beyond;
	if (is_entry)
		flags |= TP_FRAME_ENTRY;
	if (at == 0 && thread->beyond)
		flags |= TP_FRAME_CUT;
	return flags;
}

/* What a frame's number is made of, beside the frame. */
struct around {
	struct tp_pystack_thread *thread;
	uint64_t time;
	uint32_t outer;
	uint8_t flags;
	bool is_dropped;		/* there was no room for a record */
	bool is_broken;			/* that is no frame of a program's */
};

/* The instruction of a known frame, which stands there. */
static inline const char *get_at(const struct tp_pystack_frame *known)
{
	const struct tp_pystack_shape *shape = &tp_pystack_how.shape;

	return tp_pystack_at(known->frame, shape->at, shape->is_at_short);
}

/* What stands in a frame that is new, or another than it was. */
static void read_frame(struct tp_pystack_thread *thread, struct tp_pystack_frame *known)
{
	const struct tp_pystack_how *how = &tp_pystack_how;
	const char *here = known->frame;
	bool is_own;

	known->kind = tp_pystack_kind(here, how->shape.kind, how->shape.kind_mask);
	is_own = tp_pystack_is_own(known->kind);
	known->code = is_own ? NULL : tp_pyframe_ref(here, how->layout.code);
	known->at = (uint32_t)(uintptr_t)get_at(known);
	known->is_call = known->code &&
			 known->code == __atomic_load_n(&tp_nnmodule_code, __ATOMIC_RELAXED);
	if (known->is_call)
		thread->module[known - thread->frame] = tp_pyframe_ref(here, how->layout.locals);
}

/* The stack outside, with one frame more inside. */
static uint32_t make_child(struct around *around, uint32_t outer, uint8_t flags, uint32_t name,
			   uint64_t arg)
{
	uint32_t number = tp_stack_tree_child(around->thread->tree, outer, flags, name, arg,
					      around->time);

	around->is_dropped |= !number;
	return number;
}

/* The number of a named frame without its module, which its place remembers. */
static uint32_t number_named(struct around *around, struct tp_pystack_place *place)
{
	struct tp_pystack_thread *thread = around->thread;

	if (place->stamp == thread->stamp && place->outer == around->outer &&
	    place->flags == around->flags)
		return place->number;
	place->outer = around->outer;
	place->flags = around->flags;
	place->number = make_child(around, around->outer, around->flags, place->name.string,
				   place->name.line);
	/* Where its name could not be read it is asked for again. */
	place->stamp = place->number && place->n_deaths == (uint32_t)thread->stamp ? thread->stamp : 0;
	return place->number;
}

/* The same with the module whose call it is. */
static uint32_t number_call(struct around *around, const struct tp_pystack_frame *known, uint32_t bare)
{
	const char *object = around->thread->module[known - around->thread->frame];
	uint32_t module = around->is_dropped ? 0 : tp_nnmodule_number(object);

	return module ? make_child(around, bare, TP_FRAME_MODULE, 0, TP_ARG_MODULE(module)) : bare;
}

static uint32_t number_frame(struct around *around, const struct tp_pystack_frame *known)
{
	struct tp_pystack_thread *thread = around->thread;
	const struct tp_pystack_how *how = &tp_pystack_how;
	enum tp_pystack_named named = TP_PYSTACK_HIDDEN;
	struct tp_pystack_place *place = NULL;
	uint32_t number;

	if (known->code && !how->has_no_frames)
		place = tp_pystack_name(&how->layout, &thread->names, (uint32_t)thread->stamp,
					known->code, get_at(known), &named);
	around->is_broken = named == TP_PYSTACK_BROKEN;
	number = place ? number_named(around, place) : around->outer;
	return known->is_call && !around->is_broken ? number_call(around, known, number) : number;
}

uint32_t tp_pystack_number(struct tp_pystack_thread *thread, uint32_t at, uint64_t time)
{
	struct around around = { .thread = thread, .time = time };

	for (around.outer = at ? thread->frame[at - 1].stack : 0; at < thread->n; at++) {
		struct tp_pystack_frame *known = &thread->frame[at];
		uint32_t number;

		if (!known->stack)
			read_frame(thread, known);
		around.flags = get_flags(thread, at);
		if (!known->stack || known->flags != around.flags || known->outer != around.outer) {
			number = number_frame(&around, known);
			if (around.is_broken || around.is_dropped) {
				thread->n = thread->n_left = at;
				if (!around.is_broken)
					return 0;
				count(&pystack.n_broken);
				return around.outer;
			}
			known->flags = around.flags;
			known->outer = around.outer;
			known->stack = number;
		}
		around.outer = known->stack;
	}
	return around.outer;
}

uint32_t tp_pystack_names_now(struct tp_pystack_name *name, uint32_t most)
{
	struct tp_pystack_thread *thread = tp_pystack_self();
	uint32_t n = 0;

	for (uint32_t i = thread && !tp_pystack_how.has_no_frames ? thread->n : 0;
	     i-- > 0 && n < most;) {
		const struct tp_pystack_frame *known = &thread->frame[i];
		const struct tp_pystack_place *place = NULL;
		enum tp_pystack_named named;

		if (known->code)
			place = tp_pystack_name(&tp_pystack_how.layout, &thread->names,
						(uint32_t)thread->stamp, known->code, get_at(known), &named);
		if (place)
			name[n++] = place->name;
	}
	return n;
}

/* Nothing is known of frames, no page is known to be there, and no number holds; names stay, unless
 * strings began anew. */
static void begin_anew(struct tp_pystack_thread *thread, uint32_t generation)
{
	if (thread->ring_generation != tp_ring.generation) {
		tp_pystack_thread_forget(thread);
		thread->ring_generation = tp_ring.generation;
	}
	thread->tree_generation = generation;
	thread->stamp += 1ull << 32;
	if (thread->stamp >> 32 == 0)
		thread->stamp += 1ull << 32;
	thread->n = thread->n_left = 0;
	tp_pystack_forget_pages(&thread->names.pages);
}

/* What does not hold any more is forgotten. False: there is no tree. */
static bool make_current(struct tp_pystack_thread *thread, uint64_t time)
{
	uint64_t changes = __atomic_load_n(&tp_pystack_how.changes, __ATOMIC_ACQUIRE);
	uint32_t generation;

	thread->tree = tp_stack_tree(time, &generation);
	if (!thread->tree)
		return false;
	if (thread->ring_generation != tp_ring.generation || thread->tree_generation != generation ||
	    thread->changes >> TP_PYSTACK_UNMAPPED != changes >> TP_PYSTACK_UNMAPPED)
		begin_anew(thread, generation);
	if ((uint32_t)thread->stamp != (uint32_t)changes)
		thread->n = thread->n_left = 0;
	thread->stamp = thread->stamp >> 32 << 32 | (uint32_t)changes;
	thread->changes = changes;
	/* Even: not that of a boundary which has not settled. */
	thread->window_turn = thread->tree->turn;
	thread->epoch = thread->tree->epoch;
	return true;
}

void tp_pystack_hold(bool frames, bool modules)
{
	tp_pystack_how.has_no_frames = modules && !frames;
	tp_pystack_how.has_modules = modules;
	tp_pystack_choose(&tp_pystack_how);
}

uint32_t tp_pystack_take(uint64_t time)
{
	const char *frame = tp_pystack_how.is_on ? tp_pystack_newest() : NULL;

	return frame ? tp_pystack_how.take(frame, time) : 0;
}

/* More frames than may be known: those that were found stand for nothing, all are read. */
static TP_COLD void walk_anew(struct tp_pystack_thread *thread, struct tp_pystack_walk *walk,
			      const char *newest)
{
	*walk = (struct tp_pystack_walk){ .n_known = 0 };
	thread->n = 0;
	tp_pystack_walk(thread, walk, newest);
}

uint32_t tp_pystack_take_slowly(const char *newest, uint64_t time, bool is_current)
{
	struct tp_pystack_thread *thread = tp_pystack_thread();
	struct tp_pystack_walk walk;
	uint32_t n_before;

	if (!thread || (!is_current && !make_current(thread, time))) {
		count(&pystack.n_refused);
		return 0;
	}
	if (++thread->n_walks % TP_PYSTACK_WALKS == 0) {
		thread->n = thread->n_left = 0;
		tp_pystack_forget_pages(&thread->names.pages);
	}
	n_before = thread->n;
	walk = (struct tp_pystack_walk){ .n_known = thread->n_left };
	tp_pystack_walk(thread, &walk, newest);
	if (walk.n_kept + walk.n_fresh > TP_PYSTACK_FRAMES)
		walk_anew(thread, &walk, newest);
	if (walk.is_broken)
		count(&pystack.n_broken);
	if (walk.is_cut)
		count(&pystack.n_cut);
	if (walk.n_fresh)
		tp_pystack_walk_keep(thread, &walk);
	else
		thread->n = walk.n_kept;
	/* Those that had returned may have their numbers from within another stack. */
	return tp_pystack_number(thread, walk.n_same < n_before ? walk.n_same : n_before, time);
}

const char *tp_pystack_init(void)
{
	const struct tp_pyframe_layout *layout;
	const char *why = tp_pyapi_find();

	if (why)
		return why;
	layout = tp_pyframe_layout(&why);
	if (layout)
		why = tp_pystack_check(layout);
	if (!why)
		why = tp_pystack_watch_codes();
	if (!why)
		tp_pystack_walk_by(layout);
	return why;
}

bool tp_pystack_is_on(void)
{
	return tp_pystack_how.is_on;
}

void tp_pystack_unmapped(void)
{
	__atomic_fetch_add(&tp_pystack_how.changes, 1ull << TP_PYSTACK_UNMAPPED, __ATOMIC_RELEASE);
}

void tp_pystack_report(struct tp_text *totals)
{
	if (!tp_pystack_how.is_on)
		return;
	tp_text_fmt(totals, "pystack.broken=%lu\npystack.cut=%lu\npystack.refused=%lu\n",
		    (unsigned long)__atomic_load_n(&pystack.n_broken, __ATOMIC_RELAXED),
		    (unsigned long)__atomic_load_n(&pystack.n_cut, __ATOMIC_RELAXED),
		    (unsigned long)__atomic_load_n(&pystack.n_refused, __ATOMIC_RELAXED));
}

void tp_pystack_forked(void)
{
	tp_pystack_thread_forked();
	pystack.n_broken = pystack.n_cut = pystack.n_refused = 0;
}

const struct tp_stack_frames tp_pystack_frames = {
	.take = tp_pystack_take,
	.report = tp_pystack_report,
	.forked = tp_pystack_forked,
};
