/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_fast.c - the stack of a thread that is, but for where its innermost function has got to, one
 * that it knew
 *
 * Nearly all are, nine in ten operators' of a GPT. Between two of them the training has filled the
 * caches, with code, too: what costs is not what is done but how many cache lines it lies in. So this
 * is one function for each shape of frames, with constants, that calls nothing; whatever else there may
 * be begins anew in pystack.c.
 */
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/python/nnmodule.h"
#include "runtime/probe/python/pystack_walk.h"
#include "runtime/probe/stack/stack_tree.h"

/* Of 3.11, of 3.12 and 3.13, of 3.14. */
static const struct tp_pystack_shape shapes[] = {
	{ 32, 48, 56, 72, 68, 0xffff, 0, 0 },
	{ 0, 8, 56, 72, 70, 0xff, 0, 0 },
	{ 0, 8, 56, 80, 74, 0xff, 0, TP_PYFRAME_TAGS },
};
enum { N_SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

#define always_inline inline __attribute__((always_inline))

/* Does what this thread knows still hold, and its tree with it? */
static always_inline bool is_current(const struct tp_pystack_thread *thread)
{
	const struct tp_ring_head *head = __atomic_load_n(&tp_ring.head, __ATOMIC_ACQUIRE);

	return head && __atomic_load_n(&head->window_turn, __ATOMIC_ACQUIRE) == thread->window_turn &&
	       tp_stack_tree_epoch() == thread->epoch &&
	       __atomic_load_n(&tp_pystack_how.changes, __ATOMIC_ACQUIRE) == thread->changes;
}

/* The known frame at this address, one that has returned, too. NULL: there is none. */
static always_inline struct tp_pystack_frame *find_known(struct tp_pystack_thread *thread,
							 const char *newest)
{
	uint32_t at = thread->n - 1;

	if (tp_unlikely(thread->n == 0 || thread->frame[at].frame != newest)) {
		at = thread->mark[tp_pystack_mark(newest)];
		if (at >= thread->n_left || thread->frame[at].frame != newest)
			return NULL;
	}
	return &thread->frame[at];
}

/* From this one outwards all were called by whom they were, and the outer ones are as they were. */
static always_inline bool
has_same_outside(const struct tp_pystack_shape shape, bool has_modules,
		 const struct tp_pystack_thread *thread, const struct tp_pystack_frame *known)
{
	uintptr_t differs = 0;

	for (; known != thread->frame; known--) {
		if (tp_unlikely(tp_pyframe_ptr(known->frame, shape.previous) != known[-1].frame))
			return false;
		differs |= tp_pystack_difference(shape, thread, known - 1, true, has_modules);
	}
	return !differs && tp_pyframe_ptr(known->frame, shape.previous) == thread->beyond;
}

/* The flags of a frame that is not the outermost one. */
static always_inline uint32_t get_flags(const struct tp_pystack_shape shape,
					const struct tp_pystack_frame *known)
{
	bool is_entry = shape.kind_mask == 0xffff ? known->kind & 0xff : known[-1].kind >= TP_PYFRAME_OWN;

	return TP_FRAME_PYTHON | (is_entry ? TP_FRAME_ENTRY : 0);
}

/* The number of a known frame's stack in that of the next outer one, which its place has. 0: it has
 * none. */
static always_inline uint32_t find_number(const struct tp_pystack_shape shape,
					  struct tp_pystack_thread *thread,
					  struct tp_pystack_frame *known, const char *code, const char *at)
{
	const struct tp_pystack_place *place = tp_pystack_place(&thread->names, code, at);
	uint32_t outer = known[-1].stack, flags = get_flags(shape, known);

	if (tp_unlikely(place->code != code || place->at != at || place->stamp != thread->stamp ||
			place->outer != outer || place->flags != flags))
		return 0;
	known->code = code;
	known->at = (uint32_t)(uintptr_t)at;
	known->outer = outer;
	known->flags = (uint8_t)flags;
	known->stack = place->number;
	return place->number;
}

/* Known no more for what they were: the frames from `at` on. */
static TP_COLD uint32_t number_anew(struct tp_pystack_thread *thread, uint32_t at, bool is_moved,
				    uint64_t time)
{
	if (is_moved)
		thread->frame[thread->n - 1].stack = 0;
	return tp_pystack_number(thread, at, time);
}

static always_inline uint32_t take_by(const struct tp_pystack_shape shape, bool has_modules,
				      const char *newest, uint64_t time)
{
	struct tp_pystack_thread *thread = tp_pystack_self();
	struct tp_pystack_frame *known;
	uint32_t at, n_before, number;
	const char *code;
	bool is_moved;

	if (tp_unlikely(!thread || !is_current(thread)))
		return tp_pystack_take_slowly(newest, time, false);
	known = find_known(thread, newest);
	if (tp_unlikely(!known || !has_same_outside(shape, has_modules, thread, known)))
		return tp_pystack_take_slowly(newest, time, true);
	at = (uint32_t)(known - thread->frame);
	n_before = thread->n;
	thread->n = at + 1;
	is_moved = tp_pystack_difference(shape, thread, known, true, has_modules);
	/* Those that had returned may have their numbers from within another stack. */
	if (tp_unlikely(at >= n_before))
		return number_anew(thread, n_before, is_moved, time);
	if (!is_moved)
		return known->stack;
	code = tp_pystack_ref(newest, shape.code, shape.tags);
	if (tp_unlikely(at == 0 || tp_pystack_kind(newest, shape.kind, shape.kind_mask) != known->kind ||
			(has_modules && (known->is_call || code == tp_nnmodule_code))))
		return number_anew(thread, at, true, time);
	number = find_number(shape, thread, known, code, tp_pyframe_ptr(newest, shape.at));
	return tp_likely(number) ? number : number_anew(thread, at, true, time);
}

#define DEFINE(version, which)									\
	static TP_HOT uint32_t take_frames_##version(const char *newest, uint64_t time)		\
	{											\
		return take_by(shapes[which], false, newest, time);				\
	}											\
	static TP_HOT uint32_t take_both_##version(const char *newest, uint64_t time)			\
	{											\
		return take_by(shapes[which], true, newest, time);				\
	}
DEFINE(11, 0)
DEFINE(12, 1)
DEFINE(14, 2)

static uint32_t take_any(const char *newest, uint64_t time)
{
	return tp_pystack_take_slowly(newest, time, false);
}

void tp_pystack_choose(struct tp_pystack_how *how)
{
	static uint32_t (*const take[N_SHAPES][2])(const char *, uint64_t) = {
		{ take_frames_11, take_both_11 }, { take_frames_12, take_both_12 },
		{ take_frames_14, take_both_14 },
	};

	how->take = take_any;
	for (uint32_t i = 0; i < N_SHAPES && !how->has_no_frames; i++) {
		if (memcmp(&shapes[i], &how->shape, sizeof(how->shape)) == 0)
			how->take = take[i][how->has_modules];
	}
}
