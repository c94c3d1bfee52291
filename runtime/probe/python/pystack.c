/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack.c - the Python frames of this thread as a stack
 *
 * The thread keeps the frames that it read last, outermost first, with the number of the stack
 * up to each; those that have returned since stay behind them. A walk begins at the newest frame;
 * frames that are not known go to a list, until one is met that is. From there on outwards each
 * known frame is compared with memory: its code, its instruction, and that it names the next known
 * one as its outer one. Where all agrees nothing is looked up. Numbers are made anew from the
 * outermost difference on inwards, but for frames that had theirs in the same outer stack.
 *
 * A handler of a signal may have interrupted the interpreter at any point, and then allocate: so
 * what looks impossible ends the walk and is counted.
 */
#include "runtime/probe/python/pystack.h"

#include <stddef.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/ring.h"
#include "runtime/probe/python/nnmodule.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pystack_check.h"
#include "runtime/probe/python/pystack_thread.h"
#include "runtime/probe/stack/stack_tree.h"

enum {
	FRAME_BYTES = 112,	/* of a frame, as far as we read it */
	WALKS_BETWEEN = 4096,	/* after so many, pages are asked about again */
};

/* What a known frame is compared by; see get_kind() and get_at(). */
struct shape {
	uint16_t code, previous, at, locals, kind, kind_mask;	/* in a frame */
	uint16_t name, file, lines;				/* in its code */
	uint16_t is_at_short;				/* 1, or 0 */
	uint16_t tags;					/* bits of a reference that are no address */
};

/* Of 3.11, of 3.12 and 3.13, of 3.14: constants, with which a comparison takes half as long. */
static const struct shape shapes[] = {
	{ 32, 48, 56, 72, 68, 0xffff, 128, 112, 136, 0, 0 },
	{ 0, 8, 56, 72, 70, 0xff, 128, 112, 136, 0, 0 },
	{ 0, 8, 56, 80, 74, 0xff, 128, 112, 136, 0, TP_PYFRAME_TAGS },
};
enum { N_SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static struct {
	const struct tp_pyframe_layout *layout;	/* NULL: off */
	struct shape shape;
	uint32_t which_shape;	/* of `shapes`; N_SHAPES: none of them */
	uint32_t owner_shift;
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
	uint32_t n_known;	/* frames that it may find, some of which have returned */
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

/* An address; up to 3.10 a number of 32 bits. */
static inline const char *get_at(const char *frame, uint32_t at, uint32_t is_short)
{
	uintptr_t mask = is_short ? UINT32_MAX : UINTPTR_MAX;

	return (const char *)((uintptr_t)tp_pyframe_ptr(frame, at) & mask);
}

static void read_frame(struct tp_pystack_frame *out, const char *frame)
{
	const struct tp_pyframe_layout *layout = pystack.layout;

	*out = (struct tp_pystack_frame){
		.frame = frame,
		.kind = get_kind(frame, pystack.shape.kind, pystack.shape.kind_mask),
	};
	if (is_own(out->kind)) {
		out->is_named = out->is_hidden = true;
		return;
	}
	out->code = tp_pyframe_ref(frame, layout->code);
	out->at = get_at(frame, layout->at, pystack.shape.is_at_short);
	if (tp_unlikely(out->code == __atomic_load_n(&tp_nnmodule_code, __ATOMIC_RELAXED)))
		out->module = tp_pyframe_ref(frame, layout->locals);
}

static uint32_t get_mark(const char *frame)
{
	return (uint32_t)(((uintptr_t)frame >> 3) * 0x9e3779b1u >> 12) % TP_PYSTACK_MARKS;
}

/* Where a frame of this address is known, or walk->n_known. */
static inline uint32_t find_known(const struct tp_pystack_thread *thread, const struct walk *walk,
				  const char *frame)
{
	uint32_t at = thread->n - 1;

	if (tp_likely(thread->n && thread->frame[at].frame == frame))
		return at;
	at = thread->mark[get_mark(frame)];
	return at < walk->n_known && thread->frame[at].frame == frame ? at : walk->n_known;
}

/* Those from `at` on are not outside of what they were outside of before: onto the list. */
static void unkeep(struct tp_pystack_thread *thread, struct walk *walk, uint32_t at)
{
	while (walk->n_kept > at && walk->n_fresh < TP_PYSTACK_FRAMES)
		thread->fresh[walk->n_fresh++] = thread->frame[--walk->n_kept];
	walk->is_cut = walk->n_kept > at;
	thread->n = walk->n_known = at;
}

/* Has its code the first line that it had when the frame was named? */
static inline bool is_at_home(const struct tp_pystack_frame *frame)
{
	return frame->is_hidden ||
	       tp_pystack_first_line(pystack.layout, frame->code) == frame->name.first_line;
}

/* What was told of a frame of this address and code holds for the new one: it is the same call,
 * further on or back, or the next. */
static void take_name(struct tp_pystack_frame *frame, const struct tp_pystack_frame *was)
{
	if (!was->is_named || was->is_hidden || frame->code != was->code || pystack.has_no_frames ||
	    tp_pystack_mark_by(frame->code, pystack.shape.name, pystack.shape.file,
			       pystack.shape.lines) != was->name.mark)
		return;
	frame->name = was->name;
	frame->has_moved = frame->at != was->at || !is_at_home(frame);
	if (frame->has_moved)
		return;
	frame->is_named = true;
	frame->outer = was->outer;
	frame->bare = was->bare;
	frame->flags = was->flags;
}

static __attribute__((noinline)) void read_again(struct tp_pystack_frame *known)
{
	struct tp_pystack_frame was = *known;

	read_frame(known, was.frame);
	take_name(known, &was);
}

static inline const char *get_ref(const char *frame, uint32_t at, uint32_t tags)
{
	return (const char *)((uintptr_t)tp_pyframe_ptr(frame, at) & ~(uintptr_t)tags);
}

/* Nothing of it is another than when it was read. Where it runs no other code, its own is alive. */
static inline __attribute__((always_inline)) bool
is_as_known(const struct shape shape, const struct tp_pystack_frame *known, bool has_no_frames)
{
	const char *here = known->frame, *code = known->code;

	if (get_kind(here, shape.kind, shape.kind_mask) != known->kind)
		return false;
	/* Frames of its own the interpreter has where a frame does not say whom C called. */
	if (shape.kind_mask == 0xff && !code)
		return true;
	if (get_ref(here, shape.code, shape.tags) != code)
		return false;
	if (!has_no_frames && get_at(here, shape.at, shape.is_at_short) != known->at)
		return false;
	if (!has_no_frames && tp_pystack_mark_by(code, shape.name, shape.file, shape.lines) !=
				      known->name.mark)
		return false;
	return tp_likely(!known->module) ||
	       get_ref(here, shape.locals, shape.tags) == known->module;
}

/*
 * From the known frame `at` outwards, while memory agrees about who called whom. True: to the
 * end. False: *frame is the one outside of where it did not.
 */
static inline __attribute__((always_inline)) bool
compare_by(const struct shape shape, const bool has_no_frames, struct tp_pystack_thread *thread,
	   struct walk *walk, uint32_t at, const char **frame)
{
	struct tp_pystack_frame *known = &thread->frame[at];
	const struct tp_pystack_frame *outermost = thread->frame;
	uint32_t n_same = at + 1;
	const char *outer;

	walk->n_kept = at + 1;
	for (;; known--) {
		if (tp_unlikely(!is_as_known(shape, known, has_no_frames))) {
			read_again(known);
			n_same = (uint32_t)(known - outermost);
		}
		outer = tp_pyframe_ptr(known->frame, shape.previous);
		if (tp_unlikely(known == outermost || outer != known[-1].frame))
			break;
	}
	at = (uint32_t)(known - outermost);
	walk->n_same = n_same;
	*frame = outer;
	if (at == 0 && outer == thread->beyond)
		return true;
	unkeep(thread, walk, at);
	return false;
}

static bool compare_known(struct tp_pystack_thread *thread, struct walk *walk, uint32_t at,
			  const char **frame)
{
	if (pystack.has_no_frames)
		return compare_by(pystack.shape, true, thread, walk, at, frame);
	switch (pystack.which_shape) {
	case 0:
		return compare_by(shapes[0], false, thread, walk, at, frame);
	case 1:
		return compare_by(shapes[1], false, thread, walk, at, frame);
	case 2:
		return compare_by(shapes[2], false, thread, walk, at, frame);
	default:
		return compare_by(pystack.shape, false, thread, walk, at, frame);
	}
}

static void walk_frames(struct tp_pystack_thread *thread, struct walk *walk, const char *frame)
{
	while (frame) {
		uint32_t at = find_known(thread, walk, frame);

		if (at < walk->n_known) {
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
		struct tp_pystack_frame *fresh = &thread->fresh[i];

		/* The last call from there to there has returned, and this is the next. */
		if (n < thread->n_left && !fresh->is_named &&
		    thread->frame[n].frame == fresh->frame)
			take_name(fresh, &thread->frame[n]);
		thread->frame[n] = *fresh;
		thread->mark[get_mark(thread->frame[n].frame)] = (uint16_t)n;
	}
	thread->n = n;
	if (n > thread->n_left)
		thread->n_left = n;
}

static uint8_t get_flags(const struct tp_pystack_thread *thread, uint32_t at)
{
	const struct tp_pystack_frame *frame = &thread->frame[at];
	uint8_t flags = TP_FRAME_PYTHON;
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

	if (frame->has_moved && tp_likely(tp_pystack_name_again(pystack.layout, &thread->names,
								frame->code, frame->at,
								&frame->name)))
		named = TP_PYSTACK_NAMED;
	else if (!pystack.has_no_frames)
		named = tp_pystack_name(pystack.layout, &thread->names, frame->code, frame->at,
					&frame->name);
	frame->has_moved = false;
	frame->is_hidden = named == TP_PYSTACK_HIDDEN;
	frame->is_named = named != TP_PYSTACK_BROKEN;
	return frame->is_named;
}

/* Its numbers in this outer stack. False: dropped. */
static bool number_frame(struct tp_stack_tree *tree, struct tp_pystack_frame *frame,
			 uint32_t outer, uint8_t flags, uint64_t time)
{
	uint32_t module = frame->module ? tp_nnmodule_number(frame->module) : 0;

	if (frame->is_hidden)
		frame->bare = outer;
	else if (!frame->bare || frame->outer != outer || frame->flags != flags)
		frame->bare = tp_stack_tree_child(tree, outer, flags, frame->name.string,
						  frame->name.line, time);
	if (tp_unlikely(!frame->bare && !frame->is_hidden))
		return false;
	frame->outer = outer;
	frame->flags = flags;
	frame->stack = frame->bare;
	if (module)
		frame->stack = tp_stack_tree_child(tree, frame->bare, TP_FRAME_MODULE, 0,
						   TP_ARG_MODULE(module), time);
	return !module || frame->stack;
}

/* Gives the frames from `at` on their names and numbers. The whole stack's number. */
static uint32_t number_frames(struct tp_pystack_thread *thread, struct tp_stack_tree *tree,
			      uint32_t at, uint64_t time)
{
	uint32_t stack = at ? thread->frame[at - 1].stack : 0;

	for (; at < thread->n; at++) {
		struct tp_pystack_frame *frame = &thread->frame[at];
		uint8_t flags = get_flags(thread, at);

		if (frame->is_named && tp_unlikely(!is_at_home(frame))) {
			frame->is_named = false;
			frame->bare = frame->stack = 0;
		}
		if (frame->stack && frame->outer == stack && frame->flags == flags) {
			stack = frame->stack;
			continue;
		}
		if (!frame->is_named && tp_unlikely(!name_frame(thread, frame))) {
			count(&pystack.n_broken);
			thread->n = thread->n_left = at;
			break;
		}
		if (tp_unlikely(!number_frame(tree, frame, stack, flags, time))) {
			thread->n = thread->n_left = at;
			return 0;
		}
		stack = frame->stack;
	}
	return stack;
}

/* Nothing is known of frames, and no page is known to be there; names stay. */
static void begin_anew(struct tp_pystack_thread *thread, uint32_t generation)
{
	thread->tree_generation = generation;
	thread->n_unmapped = __atomic_load_n(&pystack.n_unmapped, __ATOMIC_ACQUIRE);
	thread->n = thread->n_left = 0;
	memset(&thread->names.pages, 0, sizeof(thread->names.pages));
}

void tp_pystack_hold(bool frames, bool modules)
{
	pystack.has_no_frames = modules && !frames;
}

/* NULL also where Python is on its way out: a daemon thread goes on, its state may be gone. */
static const char *get_newest(void)
{
	const char *thread_state = pystack.layout ? tp_pyapi_state() : NULL;

	return thread_state ? tp_pyframe_newest(pystack.layout, thread_state) : NULL;
}

const char *tp_pystack_newest(const char **at)
{
	const char *frame = get_newest();

	*at = frame ? get_at(frame, pystack.layout->at, pystack.shape.is_at_short) : NULL;
	return frame;
}

uint32_t tp_pystack_take(uint64_t time)
{
	const char *frame = get_newest();

	return frame ? tp_pystack_take_from(frame, time) : 0;
}

uint32_t tp_pystack_take_from(const char *frame, uint64_t time)
{
	struct tp_pystack_thread *thread;
	struct tp_stack_tree *tree;
	uint32_t generation, n_before;
	struct walk walk;

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
	n_before = thread->n;
	walk = (struct walk){ .n_known = thread->n_left };
	walk_frames(thread, &walk, frame);
	if (tp_unlikely(walk.n_kept + walk.n_fresh > TP_PYSTACK_FRAMES)) {
		walk = (struct walk){ .n_known = 0 };
		thread->n = 0;
		walk_frames(thread, &walk, frame);
	}
	if (tp_unlikely(walk.is_broken))
		count(&pystack.n_broken);
	if (tp_unlikely(walk.is_cut))
		count(&pystack.n_cut);
	keep(thread, &walk);
	/* Those that had returned may have their numbers from within another stack. */
	return number_frames(thread, tree, walk.n_same < n_before ? walk.n_same : n_before, time);
}

void tp_pystack_read_by(const struct tp_pyframe_layout *layout)
{
	bool has_entry = layout->is_entry != TP_PYFRAME_NONE;
	bool has_owner = layout->owner != TP_PYFRAME_NONE;

	pystack.shape = (struct shape){
		.code = layout->code, .previous = layout->previous, .at = layout->at,
		.locals = layout->locals,
		/* is_entry, then owner; or that alone. */
		.kind = has_entry ? layout->is_entry : has_owner ? layout->owner : 0,
		.kind_mask = has_entry ? 0xffff : has_owner ? 0xff : 0,
		.name = (uint16_t)tp_pystack_name_at(layout), .file = layout->file,
		.lines = layout->lines, .is_at_short = layout->instruction_bytes != 0,
		.tags = layout->minor < 14 ? 0 : TP_PYFRAME_TAGS,
	};
	for (pystack.which_shape = 0; pystack.which_shape < N_SHAPES; pystack.which_shape++) {
		if (!memcmp(&shapes[pystack.which_shape], &pystack.shape, sizeof(struct shape)))
			break;
	}
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

const struct tp_stack_frames tp_pystack_frames = {
	.take = tp_pystack_take,
	.report = tp_pystack_report,
	.forked = tp_pystack_forked,
};
