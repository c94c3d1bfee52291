/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack.c - the Python frames of this thread as a stack
 *
 * The thread keeps the frames that it read last, outermost first, with the number of the stack
 * up to each. A walk begins at the newest frame; frames that are not known go to a list, until
 * one is met that is. From there on outwards each known frame is compared with memory: its
 * code, its instruction, and that it names the next known one as its outer one. Where all
 * agrees nothing is looked up. Numbers are made anew from the outermost difference on inwards.
 *
 * A handler of a signal may have interrupted the interpreter at any point, and then allocate: so
 * what looks impossible ends the walk and is counted.
 */
#include "runtime/probe/pystack.h"

#include <stddef.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/ring.h"
#include "runtime/probe/pyapi.h"
#include "runtime/probe/pymodule.h"
#include "runtime/probe/pystack_check.h"
#include "runtime/probe/pystack_thread.h"
#include "runtime/probe/stack_tree.h"

enum {
	FRAME_BYTES = 112,	/* of a frame, as far as we read it */
	WALKS_BETWEEN = 4096,	/* after so many, pages are asked about again */
};

static struct {
	const struct tp_pyframe_layout *layout;	/* NULL: off */
	/* What a frame's bytes are for: see get_kind() and get_at(). */
	uintptr_t at_mask;
	uint32_t kind, owner_shift;
	uint16_t kind_mask;
	bool has_no_frames;	/* only calls of modules */
	/* Atomic. */
	uint64_t n_broken;	/* walks that ended at something impossible */
	uint64_t n_cut;		/* that had more frames than we keep */
	uint64_t n_refused;	/* of threads for which there was no memory */
	uint32_t n_unmapped;	/* times that something was */
} pystack;

static void count(uint64_t *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

/* What one walk has found: of the known frames [0, n_kept) stay, inside of them come `fresh`. */
struct walk {
	uint32_t n_kept, n_fresh;
	uint32_t n_same;	/* of those kept: as they were, from the outermost on */
	bool is_cut, is_broken;
};

/* Owner and, where a frame says it, whether C called: nothing where it says neither. */
static inline uint16_t get_kind(const char *frame, uint32_t at, uint16_t mask)
{
	uint16_t kind;

	memcpy(&kind, frame + at, sizeof(kind));
	return kind & mask;
}

static inline bool is_own(uint16_t kind)
{
	return (kind >> pystack.owner_shift & 0xff) >= TP_PYFRAME_OWN;
}

static inline const char *get_at(const char *frame, uint32_t at, uintptr_t mask)
{
	return (const char *)((uintptr_t)tp_pyframe_ptr(frame, at) & mask);
}

static void read_frame(struct tp_pystack_frame *out, const char *frame)
{
	const struct tp_pyframe_layout *layout = pystack.layout;

	*out = (struct tp_pystack_frame){
		.frame = frame,
		.kind = get_kind(frame, pystack.kind, pystack.kind_mask),
	};
	if (is_own(out->kind)) {
		out->is_named = out->is_hidden = true;
		return;
	}
	out->code = tp_pyframe_ref(frame, layout->code);
	out->at = get_at(frame, layout->at, pystack.at_mask);
	if (tp_unlikely(out->code == __atomic_load_n(&tp_pymodule.wrapped_code, __ATOMIC_RELAXED)))
		out->module = tp_pyframe_ref(frame, layout->locals);
}

static uint32_t get_mark(const char *frame)
{
	return (uint32_t)(((uintptr_t)frame >> 3) * 0x9e3779b1u >> 12) % TP_PYSTACK_MARKS;
}

/* Where a frame of this address is known, or thread->n. */
static inline uint32_t find_known(const struct tp_pystack_thread *thread, const char *frame)
{
	uint32_t at = thread->n - 1;

	if (tp_likely(thread->n && thread->frame[at].frame == frame))
		return at;
	at = thread->mark[get_mark(frame)];
	return at < thread->n && thread->frame[at].frame == frame ? at : thread->n;
}

/* Those from `at` on are not outside of what they were outside of before: onto the list. */
static void unkeep(struct tp_pystack_thread *thread, struct walk *walk, uint32_t at)
{
	while (walk->n_kept > at && walk->n_fresh < TP_PYSTACK_FRAMES)
		thread->fresh[walk->n_fresh++] = thread->frame[--walk->n_kept];
	walk->is_cut = walk->n_kept > at;
	thread->n = at;
}

/*
 * From the known frame `at` outwards, while memory agrees about who called whom. True: to the
 * end. False: *frame is the one outside of where it did not.
 */
static bool compare_known(struct tp_pystack_thread *thread, struct walk *walk, uint32_t at,
			  const char **frame)
{
	/* Copies: the compiler cannot know that what is stored meanwhile is none of these. */
	const struct tp_pyframe_layout layout = *pystack.layout;
	const uint32_t kind = pystack.kind;
	const uint16_t kind_mask = pystack.kind_mask;
	const uintptr_t at_mask = pystack.at_mask;
	const bool has_no_frames = pystack.has_no_frames;
	const char *outer;

	walk->n_kept = walk->n_same = at + 1;
	for (;; at--) {
		struct tp_pystack_frame *known = &thread->frame[at];
		bool is_same = get_kind(known->frame, kind, kind_mask) == known->kind;

		if (tp_likely(known->code))
			is_same = is_same &&
				  tp_pyframe_ref(known->frame, layout.code) == known->code &&
				  (has_no_frames ||
				   (get_at(known->frame, layout.at, at_mask) == known->at &&
				    tp_pystack_mark(&layout, known->code) == known->mark)) &&
				  (tp_likely(!known->module) ||
				   tp_pyframe_ref(known->frame, layout.locals) == known->module);
		if (tp_unlikely(!is_same)) {
			read_frame(known, known->frame);
			walk->n_same = at;
		}
		outer = tp_pyframe_ptr(known->frame, layout.previous);
		if (tp_unlikely(at == 0 || outer != thread->frame[at - 1].frame))
			break;
	}
	*frame = outer;
	if (at == 0 && outer == thread->beyond)
		return true;
	unkeep(thread, walk, at);
	return false;
}

static void walk_frames(struct tp_pystack_thread *thread, struct walk *walk, const char *frame)
{
	while (frame) {
		uint32_t at = find_known(thread, frame);

		if (at < thread->n) {
			if (compare_known(thread, walk, at, &frame))
				return;
			continue;
		}
		walk->is_broken = !tp_pyframe_is_ptr(frame) ||
				  !tp_pystack_can_read(&thread->names.pages, frame, FRAME_BYTES);
		walk->is_cut |= walk->n_fresh == TP_PYSTACK_FRAMES;
		if (walk->is_broken || walk->is_cut)
			break;
		read_frame(&thread->fresh[walk->n_fresh++], frame);
		frame = tp_pyframe_ptr(frame, pystack.layout->previous);
	}
	walk->n_kept = walk->n_same = 0;
	thread->beyond = frame;
}

/* The frames that were found become the known ones. */
static void keep(struct tp_pystack_thread *thread, const struct walk *walk)
{
	uint32_t n = walk->n_kept;

	for (uint32_t i = walk->n_fresh; i-- > 0; n++) {
		thread->frame[n] = thread->fresh[i];
		thread->mark[get_mark(thread->frame[n].frame)] = (uint16_t)n;
	}
	thread->n = n;
}

static uint32_t get_flags(const struct tp_pystack_thread *thread, uint32_t at)
{
	const struct tp_pystack_frame *frame = &thread->frame[at];
	uint32_t flags = TP_FRAME_PYTHON;
	bool is_entry;

	if (pystack.layout->is_entry != TP_PYFRAME_NONE)
		is_entry = frame->kind & 0xff;
	else if (pystack.layout->owner == TP_PYFRAME_NONE)
		is_entry = true;
	else
		is_entry = at ? is_own(frame[-1].kind) : !thread->beyond;
	if (is_entry)
		flags |= TP_FRAME_ENTRY;
	if (at == 0 && thread->beyond)
		flags |= TP_FRAME_CUT;
	return flags;
}

/* False: that is no frame of a program's. */
static bool name_frame(struct tp_pystack_thread *thread, struct tp_pystack_frame *frame)
{
	enum tp_pystack_named named = TP_PYSTACK_HIDDEN;

	if (!pystack.has_no_frames)
		named = tp_pystack_name(pystack.layout, &thread->names, frame->code, frame->at,
					&frame->mark, &frame->string, &frame->line);
	frame->is_hidden = named == TP_PYSTACK_HIDDEN;
	frame->is_named = named != TP_PYSTACK_BROKEN;
	return frame->is_named;
}

/* Gives the frames from `at` on their names and numbers. The whole stack's number. */
static uint32_t number_frames(struct tp_pystack_thread *thread, struct tp_stack_tree *tree,
			      uint32_t at, uint64_t time)
{
	uint32_t stack = at ? thread->frame[at - 1].stack : 0;
	bool is_dropped;

	for (; at < thread->n; at++) {
		struct tp_pystack_frame *frame = &thread->frame[at];

		if (!frame->is_named && tp_unlikely(!name_frame(thread, frame))) {
			count(&pystack.n_broken);
			thread->n = at;
			break;
		}
		if (!frame->is_hidden)
			stack = tp_stack_tree_child(tree, stack, get_flags(thread, at),
						    frame->string, frame->line, time);
		is_dropped = !frame->is_hidden && !stack;
		if (frame->module && !is_dropped) {
			uint32_t module = tp_pymodule_number(frame->module);

			if (module)
				stack = tp_stack_tree_child(tree, stack, TP_FRAME_MODULE, 0,
							    TP_ARG_MODULE(module), time);
			is_dropped = module && !stack;
		}
		if (tp_unlikely(is_dropped)) {
			thread->n = at;
			break;
		}
		frame->stack = stack;
	}
	return stack;
}

/* Nothing is known of frames, and no page is known to be there; names stay. */
static void begin_anew(struct tp_pystack_thread *thread, uint32_t generation)
{
	thread->tree_generation = generation;
	thread->n_unmapped = __atomic_load_n(&pystack.n_unmapped, __ATOMIC_ACQUIRE);
	thread->n = 0;
	memset(&thread->names.pages, 0, sizeof(thread->names.pages));
}

void tp_pystack_hold(bool frames, bool modules)
{
	pystack.has_no_frames = modules && !frames;
}

/* NULL also where Python is on its way out: a daemon thread goes on, its state may be gone. */
static const char *get_newest(void)
{
	const char *thread_state;

	if (!pystack.layout || tp_pyapi_is_ending())
		return NULL;
	thread_state = tp_py.thread_state();
	return thread_state ? tp_pyframe_newest(pystack.layout, thread_state) : NULL;
}

const char *tp_pystack_newest(const char **at)
{
	const char *frame = get_newest();

	*at = frame ? get_at(frame, pystack.layout->at, pystack.at_mask) : NULL;
	return frame;
}

uint32_t tp_pystack_take(uint64_t time)
{
	struct tp_pystack_thread *thread;
	struct tp_stack_tree *tree;
	struct walk walk = { .n_same = 0 };
	const char *frame = get_newest();
	uint32_t generation;

	if (!frame)
		return 0;
	thread = tp_pystack_thread();
	tree = tp_stack_tree(time, &generation);
	if (tp_unlikely(!thread || !tree)) {
		count(&pystack.n_refused);
		return 0;
	}
	if (tp_unlikely(thread->ring_generation != tp_ring.generation)) {
		tp_pystack_thread_forget(thread);
		thread->ring_generation = tp_ring.generation;
	}
	if (tp_unlikely(thread->tree_generation != generation ||
			thread->n_unmapped != __atomic_load_n(&pystack.n_unmapped, __ATOMIC_ACQUIRE) ||
			++thread->n_walks % WALKS_BETWEEN == 0))
		begin_anew(thread, generation);
	walk_frames(thread, &walk, frame);
	if (tp_unlikely(walk.n_kept + walk.n_fresh > TP_PYSTACK_FRAMES)) {
		walk = (struct walk){ .n_same = 0 };
		thread->n = 0;
		walk_frames(thread, &walk, frame);
	}
	if (tp_unlikely(walk.is_broken))
		count(&pystack.n_broken);
	if (tp_unlikely(walk.is_cut))
		count(&pystack.n_cut);
	keep(thread, &walk);
	return number_frames(thread, tree, walk.n_same, time);
}

void tp_pystack_read_by(const struct tp_pyframe_layout *layout)
{
	bool has_entry = layout->is_entry != TP_PYFRAME_NONE;
	bool has_owner = layout->owner != TP_PYFRAME_NONE;

	pystack.at_mask = layout->instruction_bytes ? UINT32_MAX : UINTPTR_MAX;
	/* is_entry, then owner; or that alone. */
	pystack.kind = has_entry ? layout->is_entry : has_owner ? layout->owner : 0;
	pystack.kind_mask = has_entry ? 0xffff : has_owner ? 0xff : 0;
	pystack.owner_shift = has_entry ? 8 : 0;
	pystack.layout = layout;
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
		tp_pystack_read_by(layout);
	return why;
}

bool tp_pystack_is_on(void)
{
	return pystack.layout != NULL;
}

void tp_pystack_unmapped(void)
{
	__atomic_fetch_add(&pystack.n_unmapped, 1, __ATOMIC_RELEASE);
}

void tp_pystack_report(struct tp_text *totals)
{
	if (!pystack.layout)
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
