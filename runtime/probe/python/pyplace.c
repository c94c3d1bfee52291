/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyplace.c - where in the program operators come from
 *
 * What a thread told last holds for the window in which it was told, known by the ring's turn: when
 * its warm-up ends, what was told before is thrown away, and that has another one.
 */
#include "runtime/probe/python/pyplace.h"

#include "runtime/base/clock.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/probe.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/python/pyframe.h"
#include "runtime/probe/python/pymodule.h"
#include "runtime/probe/python/pystack.h"
#include "runtime/probe/python/pystack_walk.h"
#include "runtime/probe/stack/stack.h"
#include "runtime/probe/stack/stack_thread.h"
#include "runtime/probe/stack/stack_tree.h"

/* Ticks: a nanosecond earlier, so that a reader who sorts by time meets it before the operator,
 * and after the FRAMEs, which are dated back further (stack_tree.c). */
enum { JUST_BEFORE = 6 };

TP_READ_OFTEN bool tp_pyplace_is_on;

static struct {
	bool has_modules;
	bool reports_pystack;	/* the heap's stacks do not */
} stack;

/*
 * The time of what is told, read last: it is the operator's begin, and the clock takes as long as
 * the rest of the record. The record is of just before.
 */
static inline __attribute__((always_inline)) uint64_t tell(uint8_t flags, uint32_t turn,
							   const char *frame, const char *at)
{
	struct tp_pystack_thread *thread;
	struct tp_rec *rec = NULL;
	uint32_t number;
	uint64_t now;

	/* A handler of a signal may allocate now: it must not come to the same tree. */
	tp_ring_self.is_busy = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	number = tp_likely(frame != NULL) ? tp_pystack_how.take(frame, 0) : 0;
	/* Made by now; it has none where none was to be had, and then no number. */
	thread = tp_pystack_self();
	if (tp_likely(thread && (flags || number != thread->told.stack || turn != thread->told.turn))) {
		rec = tp_ring_reserve();
		thread->told.stack = number;
		/* Odd: the record may lie on either side of a window's begin. */
		thread->told.turn = rec && turn % 2 == 0 ? turn : TP_PYSTACK_NO_TURN;
	}
	if (tp_likely(thread != NULL)) {
		thread->told.frame = frame;
		thread->told.at = at;
	}
	if (tp_likely(rec != NULL)) {
		tp_rec_set_len(rec, 0);
		rec->kind = TP_REC_STACK;
		rec->flags = flags;
		rec->name = 0;
		rec->link = number;
		rec->arg = 0;
		now = tp_clock_now();
		rec->time = now - JUST_BEFORE;
		tp_ring_commit();
	} else {
		now = tp_clock_now();
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	tp_ring_self.is_busy = false;
	return now;
}

/* A module is called: `frame` is its call, whatever stands inside of it by now. No operator begins
 * there: it is not compared with the next one's. */
static void tell_call(const char *frame)
{
	tell(TP_STACK_CALL, tp_ring_window_turn(), frame, NULL);
}

void tp_pyplace_open(uint32_t record, uint32_t stacks)
{
	bool wants_modules = record & TP_RECORD_MODULES;
	bool wants_frames = record & TP_RECORD_PYSTACKS;
	bool heap_has_frames = record & TP_RECORD_HEAP && stacks & TP_STACKS_PYTHON;
	const struct tp_pyframe_layout *locals;

	tp_pyplace_is_on = false;
	if (!wants_modules && !wants_frames)
		return;
	if (!tp_pystack_is_on()) {
		tp_probe_off(wants_frames ? "pystacks" : "modules",
			     "frames of python cannot be read");
		return;
	}
	locals = tp_pyframe_checked();
	if (wants_modules && !locals)
		tp_probe_off("modules", "variables of frames of this python are not known");
	stack.has_modules = wants_modules && locals;
	stack.reports_pystack = !heap_has_frames;
	if (stack.has_modules)
		tp_pymodule_open(locals, tell_call);
	tp_pystack_hold(wants_frames || heap_has_frames, stack.has_modules);
	tp_pyplace_is_on = wants_frames || stack.has_modules;
}

void tp_pyplace_arm(bool is_armed)
{
	if (stack.has_modules)
		tp_pymodule_arm(is_armed);
}

TP_HOT uint64_t tp_pyplace_operator(bool is_inside)
{
	const char *frame = tp_pystack_newest(), *at = NULL;
	const struct tp_pystack_thread *thread = tp_pystack_self();
	uint32_t turn = tp_ring_window_turn();

	if (tp_likely(frame != NULL))
		at = tp_pystack_at(frame, tp_pystack_how.shape.at, tp_pystack_how.shape.is_at_short);
	else if (!thread || !thread->told.stack)
		return tp_clock_now();
	if (is_inside && thread && frame == thread->told.frame && at == thread->told.at &&
	    turn == thread->told.turn)
		return tp_clock_now();
	return tell(0, turn, frame, at);
}

void tp_pyplace_report(struct tp_text *totals)
{
	if (stack.has_modules)
		tp_pymodule_report(totals);
	if (tp_pyplace_is_on && stack.reports_pystack)
		tp_pystack_report(totals);
}

void tp_pyplace_forked(void)
{
	if (!tp_pyplace_is_on)
		return;
	tp_pyplace_is_on = false;
	tp_ring_self.is_busy = false;
	tp_pymodule_forked();
	tp_stack_thread_forked();
	tp_stack_tree_begin_anew();
	tp_pystack_forked();
}
