/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_rig.h - what the tests of stacks share: an open window, stacks taken as a hook takes
 * them, and the frames that a number stands for by the records in the ring
 */
#ifndef TP_TESTS_STACK_RIG_H
#define TP_TESTS_STACK_RIG_H

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/python/pystack.h"
#include "runtime/probe/stack/stack.h"
#include "runtime/probe/stack/stack_rules.h"
#include "runtime/probe/stack/stack_thread.h"
#include "runtime/probe/stack/stack_tree.h"
#include "runtime/probe/stack/stack_unwind.h"
#include "tests/unit/await.h"
#include "runtime/probe/stack/stack_walk.h"

/* A compiler may neither put one of these into its caller nor make its last call a jump. */
#ifdef __clang__
#define FRAME __attribute__((noinline))
#define WITH_FRAME_POINTER FRAME
#else
#define FRAME __attribute__((noinline, noclone))
#define WITH_FRAME_POINTER __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))
#endif
#define STAY_ON_STACK() __asm__ volatile("" : : : "memory")

enum { RIG_DEEP = 20000 };

static struct tp_rec *rig_frames;	/* all FRAMEs of the ring so far */
static uint32_t rig_n_frames, rig_room;

/* `bytes`: of the ring. */
static inline void rig_open_stacks(uint32_t frames, uint64_t bytes)
{
	struct tp_ring_spec spec = { .bytes = bytes, .dir = "/tmp", .buffer_dir = "/tmp", .run_id = 1 };
	char file[64];

	snprintf(file, sizeof(file), "stack.%d.ring", (int)getpid());
	spec.name = file;
	tp_clock_init(TP_CLOCK_AUTO);
	cr_assert_eq(tp_ring_open(&spec), 0);
	tp_ring.head->phase = TP_PHASE_ACTIVE;
	tp_ring.head->windows_begun = 1;
	tp_stack_open(frames & TP_STACKS_NATIVE,
		      frames & TP_STACKS_PYTHON ? &tp_pystack_frames : NULL);
}

/* As a boundary does it, settled at once. */
static inline void rig_begin_window(uint64_t begin)
{
	uint32_t window = tp_ring.head->windows_begun;

	tp_ring.head->windows[window % TP_RING_WINDOWS].begin = begin;
	tp_ring.head->windows_begun = window + 1;
	tp_ring.head->window_turn += 2;
}

/* libunwind's walk in its own way, not by what we let it read; NULL: it is not there. */
static int (*rig_backtrace)(void **pc, int most);

static inline void rig_open(void)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (library)
		*(void **)&rig_backtrace = dlsym(library, "unw_backtrace");
	rig_open_stacks(TP_STACKS_NATIVE, 16 << 20);
}

static inline void rig_close(void)
{
	tp_ring_close();
}

static inline uint32_t rig_take_records(void *ctx, uint32_t slot, const struct tp_rec *rec,
					uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (rec[i].kind != TP_REC_FRAME)
			continue;
		if (rig_n_frames == rig_room) {
			rig_room = rig_room ? 2 * rig_room : 4096;
			rig_frames = realloc(rig_frames, rig_room * sizeof(*rig_frames));
		}
		rig_frames[rig_n_frames++] = rec[i];
	}
	return n;
}

static inline void rig_collect(void)
{
	tp_ring_take(rig_take_records, NULL);
	tp_ring_release(0, 0);
}

static inline const struct tp_rec *rig_find(uint32_t number)
{
	for (uint32_t i = rig_n_frames; i > 0; i--) {
		if (rig_frames[i - 1].link == number)
			return &rig_frames[i - 1];
	}
	return NULL;
}

struct rig_stack {
	uint64_t pc[RIG_DEEP];
	uint8_t flags[RIG_DEEP];
	uint32_t n;
};

/* What a reader of the trace makes of a number, innermost frame first. */
static inline void rig_read(uint32_t number, struct rig_stack *stack)
{
	const struct tp_rec *rec;

	rig_collect();
	for (stack->n = 0; number && stack->n < RIG_DEEP; number = (uint32_t)tp_rec_len(rec)) {
		rec = rig_find(number);
		cr_assert_not_null(rec, "stack %u has no record", number);
		stack->pc[stack->n] = rec->arg;
		stack->flags[stack->n++] = rec->flags;
	}
}

/* As a hook does: a function with a frame of its own, whose caller is the innermost frame. */
static __attribute__((unused)) FRAME uint32_t rig_take(void)
{
	uint32_t number = tp_stack_take(tp_clock_now(), __builtin_frame_address(0));

	STAY_ON_STACK();
	return number;
}

/* The same, and libunwind's slow walk of the very same moment, which must be as its own. */
static struct tp_stack_frame rig_truth[RIG_DEEP];
static uint32_t rig_n_truth, rig_n_untrue;

static inline bool rig_is_true(void)
{
	static void *pc[RIG_DEEP];
	int n = rig_backtrace ? rig_backtrace(pc, RIG_DEEP) : 0;

	/* It begins further in. */
	for (uint32_t i = 1; i <= rig_n_truth && n; i++) {
		if ((int)i > n || (uint64_t)pc[n - (int)i] != rig_truth[rig_n_truth - i].pc)
			return false;
	}
	return true;
}

static __attribute__((unused)) FRAME uint32_t rig_take_both(void)
{
	uint32_t number = tp_stack_take(tp_clock_now(), __builtin_frame_address(0));

	rig_n_truth = tp_stack_unwind_walk(&tp_stack_self->walk, __builtin_frame_address(0),
					   rig_truth, RIG_DEEP);
	rig_n_untrue += !rig_is_true();
	STAY_ON_STACK();
	return number;
}

static struct rig_stack rig_stack;

/* The stack of a number is the truth of the last rig_take_both. */
static inline void rig_expect_truth(uint32_t number, const char *what)
{
	uint32_t i = 0;

	cr_expect_eq(rig_n_untrue, 0, "%s: libunwind in our hands walks elsewhere", what);
	rig_read(number, &rig_stack);
	while (i < rig_stack.n && i < rig_n_truth && rig_stack.pc[i] == rig_truth[i].pc &&
	       !(rig_stack.flags[i] & TP_FRAME_EXACT) == !(rig_truth[i].flags & TP_STACK_EXACT))
		i++;
	cr_expect(i == rig_n_truth && i == rig_stack.n && i > 0,
		  "%s: frame %u of %u differs from libunwind's %u", what, i, rig_stack.n, rig_n_truth);
}

/* "name=" of the report. */
static inline uint64_t rig_total(const char *name)
{
	char buf[1024], key[64];
	struct tp_text text;
	const char *at;

	tp_text_init(&text, buf, sizeof(buf));
	tp_stack_report(&text);
	snprintf(key, sizeof(key), "stack.%s=", name);
	at = strstr(buf, key);
	cr_assert_not_null(at, "no %s in '%s'", key, buf);
	return strtoull(at + strlen(key), NULL, 10);
}

#endif
