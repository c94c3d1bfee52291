/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_walk.h - which frames stand on this thread now: those that it knew, and new ones
 *
 * The thread keeps the frames that it read last, outermost first, with the number of the stack
 * up to each; those that have returned since stay behind them. A walk begins at the newest frame;
 * frames that are not known go to a list, until one is met that is. From there on outwards each
 * known frame is compared with memory: its code, its instruction, and that it names the next known
 * one as its outer one. Where all agrees nothing is looked up. What an address of a code means is
 * not compared: whoever walks has forgotten everything if one has died.
 *
 * All of them are compared, always: an outer frame that has gone on and called the same function
 * again has left no trace in the inner one.
 *
 * A handler of a signal may have interrupted the interpreter at any point, and then allocate: so
 * what looks impossible ends the walk.
 */
#ifndef TP_PROBE_PYSTACK_WALK_H
#define TP_PROBE_PYSTACK_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/sync.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/python/pystack_thread.h"

/* What a known frame is compared by. */
struct tp_pystack_shape {
	uint16_t code, previous, at, locals, kind, kind_mask;	/* in a frame */
	uint16_t is_at_short;				/* 1, or 0 */
	uint16_t tags;					/* bits of a reference that are no address */
};

/* How frames of this interpreter are read, and what ends what is known of them. */
struct tp_pystack_how {
	/* The stack from the frame `newest` on, as tp_pystack_take_from: for frames of this shape. */
	uint32_t (*take)(const char *newest, uint64_t time);
	/* Atomic: codes that were named have died so often (pystack_deaths.h), below; something was
	 * unmapped so often, above. */
	uint64_t changes;
	struct tp_pystack_shape shape;
	bool is_on;
	bool has_no_frames;	/* only calls of modules */
	bool has_modules;	/* them, too */
	uint8_t owner_shift;
	uint16_t state_frame, c_frame;	/* of the layout */
	/* Of tp_py. */
	const int *initialized;
	const pthread_key_t *state_key;
	/* Beyond the cache line that each operator reads. */
	struct tp_pyframe_layout layout __attribute__((aligned(TP_CACHE_LINE)));
} __attribute__((aligned(TP_CACHE_LINE)));
extern struct tp_pystack_how tp_pystack_how __attribute__((visibility("hidden")));

enum { TP_PYSTACK_UNMAPPED = 32 };	/* from this bit of `changes` on */

/* What one walk has found: of the known frames [0, n_kept) stay, inside of them come `fresh`. */
struct tp_pystack_walk {
	uint32_t n_known;	/* frames that it may find, some of which have returned */
	uint32_t n_kept, n_fresh;
	uint32_t n_same;	/* of those kept: as they were, from the outermost on */
	bool is_cut, is_broken;
};

/* An address; up to 3.10 a number of 32 bits. */
static inline const char *tp_pystack_at(const char *frame, uint32_t at, uint32_t is_short)
{
	uintptr_t mask = is_short ? UINT32_MAX : UINTPTR_MAX;

	return (const char *)((uintptr_t)tp_pyframe_ptr(frame, at) & mask);
}

/* Of a frame's `kind`: one of the interpreter itself. */
static inline bool tp_pystack_is_own(uint16_t kind)
{
	return (kind >> tp_pystack_how.owner_shift & 0xff) >= TP_PYFRAME_OWN;
}

/* Of a frame's `kind`: what there is of owner and, where a frame says it, whether C called. */
static inline uint16_t tp_pystack_kind(const char *frame, uint32_t at, uint16_t mask)
{
	uint16_t kind;

	memcpy(&kind, frame + at, sizeof(kind));
	return kind & mask;
}

static inline const char *tp_pystack_ref(const char *frame, uint32_t at, uint32_t tags)
{
	return (const char *)((uintptr_t)tp_pyframe_ptr(frame, at) & ~(uintptr_t)tags);
}

/* Not 0: something of it is another than when it was read. Where it runs no other code, its own is
 * alive. */
static inline __attribute__((always_inline)) uintptr_t
tp_pystack_difference(const struct tp_pystack_shape shape, const struct tp_pystack_thread *thread,
		      const struct tp_pystack_frame *known, bool has_frames, bool has_modules)
{
	const char *here = known->frame, *code = known->code;
	uintptr_t differs = (uintptr_t)tp_pystack_ref(here, shape.code, shape.tags) ^ (uintptr_t)code;

	if (has_frames)
		differs |= (uint32_t)(uintptr_t)tp_pyframe_ptr(here, shape.at) ^ known->at;
	/* Frames of its own the interpreter has where a frame does not say whom C called. */
	if (shape.kind_mask == 0xff)
		differs = code ? differs : 0;
	differs |= tp_pystack_kind(here, shape.kind, shape.kind_mask) ^ known->kind;
	if (has_modules && tp_unlikely(known->is_call))
		differs |= (uintptr_t)tp_pystack_ref(here, shape.locals, shape.tags) ^
			   (uintptr_t)thread->module[known - thread->frame];
	return differs;
}

/* Where a frame of this address may be known. */
static inline uint32_t tp_pystack_mark(const char *frame)
{
	return (uint32_t)(((uintptr_t)frame >> 3) * 0x9e3779b1u >> 12) % TP_PYSTACK_MARKS;
}

/* This thread's newest frame; NULL: it runs no Python, or that is on its way out: a daemon thread goes
 * on, its state may be gone. Of a Python whose frames can be read. As tp_pyapi_state and
 * tp_pyframe_newest say it, by one cache line. */
static inline const char *tp_pystack_newest(void)
{
	const struct tp_pystack_how *how = &tp_pystack_how;
	const char *state, *frame;

	if (tp_unlikely(how->initialized ? !__atomic_load_n(how->initialized, __ATOMIC_RELAXED) :
					   tp_pyapi_is_ending()))
		return NULL;
	state = tp_likely(how->state_key != NULL) ? pthread_getspecific(*how->state_key) :
						    tp_py.thread_state();
	if (tp_unlikely(!state))
		return NULL;
	frame = tp_pyframe_ptr(state, how->state_frame);
	if (tp_likely(how->c_frame != TP_PYFRAME_NONE && frame))
		frame = tp_pyframe_ptr(frame, how->c_frame);
	return tp_likely(tp_pyframe_is_ptr(frame)) ? frame : NULL;
}

/* From now on frames are read by these offsets. */
void tp_pystack_walk_by(const struct tp_pyframe_layout *layout);
/* Sets how->take, by what frames look like and what is asked for (pystack_fast.c). */
void tp_pystack_choose(struct tp_pystack_how *how);
/* The same for any frames. is_current: what the thread knows still holds. */
TP_COLD uint32_t tp_pystack_take_slowly(const char *newest, uint64_t time, bool is_current);
/* Gives the known frames from `at` on their numbers, those with the stack 0 after they were read again.
 * The whole stack's. */
TP_COLD uint32_t tp_pystack_number(struct tp_pystack_thread *thread, uint32_t at, uint64_t time);
/* From this frame on outwards. Known frames that are others than they were get the stack 0. */
void tp_pystack_walk(struct tp_pystack_thread *thread, struct tp_pystack_walk *walk,
		     const char *frame);
/* The frames that were found become the known ones, at most TP_PYSTACK_FRAMES; those that are new have
 * the stack 0 and nothing else but their address. Where there are none, n_kept are known. */
void tp_pystack_walk_keep(struct tp_pystack_thread *thread, const struct tp_pystack_walk *walk);

#endif
