/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_walk.c - which frames stand on this thread now: those that it knew, and new ones
 */
#include "runtime/probe/python/pystack_walk.h"

#include <string.h>

#include "runtime/probe/python/nnmodule.h"

enum { FRAME_BYTES = 112 };	/* of a frame, as far as we read it */

struct tp_pystack_how tp_pystack_how;

/* Where a frame of this address is known, or walk->n_known. */
static inline uint32_t find_known(const struct tp_pystack_thread *thread,
				  const struct tp_pystack_walk *walk, const char *frame)
{
	uint32_t at = thread->n - 1;

	if (tp_likely(thread->n && thread->frame[at].frame == frame))
		return at;
	at = thread->mark[tp_pystack_mark(frame)];
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

static bool is_as_known(const struct tp_pystack_thread *thread, const struct tp_pystack_frame *known)
{
	const struct tp_pystack_how *how = &tp_pystack_how;

	return !tp_pystack_difference(how->shape, thread, known, !how->has_no_frames, true);
}

/*
 * From the known frame `at` outwards, while memory agrees about who called whom. True: to the
 * end. False: *frame is the one outside of where it did not.
 */
static bool compare_known(struct tp_pystack_thread *thread, struct tp_pystack_walk *walk, uint32_t at,
			  const char **frame)
{
	struct tp_pystack_frame *known = &thread->frame[at];

	walk->n_kept = walk->n_same = at + 1;
	for (;; known--, at--) {
		if (!is_as_known(thread, known)) {
			walk->n_same = at;
			known->stack = 0;
		}
		*frame = tp_pyframe_ptr(known->frame, tp_pystack_how.shape.previous);
		if (at == 0 || *frame != known[-1].frame)
			break;
	}
	if (at == 0 && *frame == thread->beyond)
		return true;
	unkeep(thread, walk, at);
	return false;
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
		    !is_as_known(thread, known))
			*known = (struct tp_pystack_frame){ .frame = thread->fresh[i] };
		thread->mark[tp_pystack_mark(known->frame)] = (uint16_t)n;
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
		.has_modules = tp_pystack_how.has_modules,
		.owner_shift = has_entry ? 8 : 0,
		.state_frame = layout->state_frame,
		.c_frame = layout->c_frame,
		.initialized = tp_py.initialized,
		.state_key = tp_py.state_key,
		.changes = tp_pystack_how.changes,
	};

	how.is_on = true;
	tp_pystack_choose(&how);
	tp_pystack_how = how;
}
