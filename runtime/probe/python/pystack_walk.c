/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_walk.c - which frames stand on this thread now: those that it knew, and new ones
 */
#include "runtime/probe/python/pystack_walk.h"

#include <string.h>

#include "runtime/probe/python/nnmodule.h"

enum { FRAME_BYTES = 112 };	/* of a frame, as far as we read it */

struct tp_pystack_how tp_pystack_how;

/* Of 3.11, of 3.12 and 3.13, of 3.14: constants, with which a comparison takes half as long. */
static const struct tp_pystack_shape shapes[] = {
	{ 32, 48, 56, 72, 68, 0xffff, 0, 0 },
	{ 0, 8, 56, 72, 70, 0xff, 0, 0 },
	{ 0, 8, 56, 80, 74, 0xff, 0, TP_PYFRAME_TAGS },
};
enum { N_SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static uint32_t get_mark(const char *frame)
{
	return (uint32_t)(((uintptr_t)frame >> 3) * 0x9e3779b1u >> 12) % TP_PYSTACK_MARKS;
}

/* Where a frame of this address is known, or walk->n_known. */
static inline uint32_t find_known(const struct tp_pystack_thread *thread,
				  const struct tp_pystack_walk *walk, const char *frame)
{
	uint32_t at = thread->n - 1;

	if (tp_likely(thread->n && thread->frame[at].frame == frame))
		return at;
	at = thread->mark[get_mark(frame)];
	return at < walk->n_known && thread->frame[at].frame == frame ? at : walk->n_known;
}

/* Those from `at` on are not outside of what they were outside of before: onto the list. */
static TP_COLD void unkeep(struct tp_pystack_thread *thread,
					     struct tp_pystack_walk *walk, uint32_t at)
{
	while (walk->n_kept > at && walk->n_fresh < TP_PYSTACK_FRAMES)
		thread->fresh[walk->n_fresh++] = thread->frame[--walk->n_kept].frame;
	walk->is_cut = walk->n_kept > at;
	thread->n = walk->n_known = at;
}

static inline const char *get_ref(const char *frame, uint32_t at, uint32_t tags)
{
	return (const char *)((uintptr_t)tp_pyframe_ptr(frame, at) & ~(uintptr_t)tags);
}

/* Nothing of it is another than when it was read. Where it runs no other code, its own is alive. */
static inline __attribute__((always_inline)) bool
is_as_known(const struct tp_pystack_shape shape, const struct tp_pystack_thread *thread,
	    const struct tp_pystack_frame *known, bool has_no_frames)
{
	const char *here = known->frame, *code = known->code;
	uintptr_t differs = tp_pystack_kind(here, shape.kind, shape.kind_mask) ^ known->kind;

	/* Frames of its own the interpreter has where a frame does not say whom C called. */
	if (shape.kind_mask == 0xff && !code)
		return !differs;
	differs |= (uintptr_t)get_ref(here, shape.code, shape.tags) ^ (uintptr_t)code;
	if (!has_no_frames)
		differs |= (uintptr_t)tp_pystack_at(here, shape.at, shape.is_at_short) ^
			   (uintptr_t)known->at;
	if (tp_unlikely(differs))
		return false;
	return tp_likely(!known->is_call) || get_ref(here, shape.locals, shape.tags) ==
						     thread->module[known - thread->frame];
}

/*
 * From the known frame `at` outwards, while memory agrees about who called whom. True: to the
 * end. False: *frame is the one outside of where it did not.
 */
static inline __attribute__((always_inline)) bool
compare_by(const struct tp_pystack_shape shape, const bool has_no_frames,
	   struct tp_pystack_thread *thread, struct tp_pystack_walk *walk, uint32_t at,
	   const char **frame)
{
	struct tp_pystack_frame *known = &thread->frame[at];
	const struct tp_pystack_frame *outermost = thread->frame;
	uint32_t n_same = at + 1;
	const char *outer;

	walk->n_kept = at + 1;
	for (;; known--) {
		if (tp_unlikely(!is_as_known(shape, thread, known, has_no_frames))) {
			n_same = (uint32_t)(known - outermost);
			known->stack = 0;
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

static bool compare_known(struct tp_pystack_thread *thread, struct tp_pystack_walk *walk, uint32_t at,
			  const char **frame)
{
	const struct tp_pystack_how *how = &tp_pystack_how;

	if (how->has_no_frames)
		return compare_by(how->shape, true, thread, walk, at, frame);
	switch (how->which_shape) {
	case 0:
		return compare_by(shapes[0], false, thread, walk, at, frame);
	case 1:
		return compare_by(shapes[1], false, thread, walk, at, frame);
	case 2:
		return compare_by(shapes[2], false, thread, walk, at, frame);
	default:
		return compare_by(how->shape, false, thread, walk, at, frame);
	}
}

void tp_pystack_walk(struct tp_pystack_thread *thread, struct tp_pystack_walk *walk,
		     const char *frame)
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
		thread->fresh[walk->n_fresh++] = frame;
		frame = tp_pyframe_ptr(frame, tp_pystack_how.layout.previous);
	}
	walk->n_kept = walk->n_same = 0;
	thread->beyond = frame;
}

void tp_pystack_walk_keep(struct tp_pystack_thread *thread, const struct tp_pystack_walk *walk)
{
	uint32_t n = walk->n_kept;

	for (uint32_t i = walk->n_fresh; i-- > 0; n++) {
		struct tp_pystack_frame *known = &thread->frame[n];

		/* Else the last call from there to there has returned, and this is the next. */
		if (n >= thread->n_left || known->frame != thread->fresh[i] ||
		    !is_as_known(tp_pystack_how.shape, thread, known, tp_pystack_how.has_no_frames))
			*known = (struct tp_pystack_frame){ .frame = thread->fresh[i] };
		thread->mark[get_mark(known->frame)] = (uint16_t)n;
	}
	thread->n = n;
	if (n > thread->n_left)
		thread->n_left = n;
}

void tp_pystack_walk_by(const struct tp_pyframe_layout *layout)
{
	bool has_entry = layout->is_entry != TP_PYFRAME_NONE;
	bool has_owner = layout->owner != TP_PYFRAME_NONE;
	struct tp_pystack_how how = {
		.layout = *layout,
		.shape = {
			.code = layout->code, .previous = layout->previous, .at = layout->at,
			.locals = layout->locals,
			/* is_entry, then owner; or that alone. */
			.kind = has_entry ? layout->is_entry : has_owner ? layout->owner : 0,
			.kind_mask = has_entry ? 0xffff : has_owner ? 0xff : 0,
			.is_at_short = layout->instruction_bytes != 0,
			.tags = layout->minor < 14 ? 0 : TP_PYFRAME_TAGS,
		},
		.has_no_frames = tp_pystack_how.has_no_frames,
		.owner_shift = has_entry ? 8 : 0,
		.n_deaths = tp_pystack_how.n_deaths,
		.n_unmapped = tp_pystack_how.n_unmapped,
	};

	while (how.which_shape < N_SHAPES &&
	       memcmp(&shapes[how.which_shape], &how.shape, sizeof(how.shape)))
		how.which_shape++;
	how.is_on = true;
	tp_pystack_how = how;
}
