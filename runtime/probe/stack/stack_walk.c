/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_walk.c - walking, keeping, numbering
 *
 * Why a kept frame may be trusted: how the walk goes on from a frame follows from three values,
 * its CFA, pc and rbp, from the rules (nothing is kept across a change of them), and from the
 * words of the stack that are read. rbp matters only where a rule further out uses it before
 * another one restores it; so for most frames that the compiler made without frame pointer, one
 * word a frame has to be compared, the return address.
 */
#include "runtime/probe/stack/stack_walk.h"

#include <string.h>
#include <ucontext.h>

#include "runtime/probe/stack/stack_memory.h"
#include "runtime/probe/stack/stack_rules.h"
#include "runtime/probe/stack/stack_thread.h"
#include "runtime/probe/stack/stack_unwind.h"
#include "runtime/trace/trainprof_trace.h"

enum {
	FIRST_ROOM = 128,	/* frames: a page */
	CHECK_SLACK = 64,	/* frames that libunwind may have more */
	GUESS_REACH = 128 << 20,/* between two functions of the same generated code */
	FIRST_GAP = 64,		/* walks before the first check; twice as many before each next one */
	GUESS_FRAME = 1 << 20,	/* bytes; what rbp holds further away is of another stack */
};

/* Costs one to two nanoseconds a walk; what is wrong by rule shows early, in the first checks. A
 * library for tests may be built to check more. */
#ifndef TP_STACK_CHECK_EVERY
#define TP_STACK_CHECK_EVERY 16384
#endif

enum step {
	STEP_ON,
	STEP_END,	/* outermost frame */
	STEP_CUT,	/* it cannot be told what is outside */
	STEP_OTHER,	/* libunwind can tell */
};

static inline void count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

void tp_stack_walk_skip(struct tp_stack_walk *walk)
{
	count(&walk->n_skipped, 1);
}

static bool grow(struct tp_stack_frame **frames, uint32_t *room, uint32_t need)
{
	uint32_t more = *room ? *room : FIRST_ROOM;
	struct tp_stack_frame *bigger;

	while (more < need)
		more *= 2;
	if (more == *room)
		return true;
	bigger = tp_stack_map(more * sizeof(*bigger));
	if (!bigger)
		return false;
	if (*frames) {
		memcpy(bigger, *frames, *room * sizeof(*bigger));
		tp_stack_unmap(*frames, *room * sizeof(*bigger));
	}
	*frames = bigger;
	*room = more;
	return true;
}

void tp_stack_walk_shrink(struct tp_stack_walk *walk)
{
	tp_stack_unmap(walk->kept, walk->kept_room * sizeof(*walk->kept));
	tp_stack_unmap(walk->fresh, walk->fresh_room * sizeof(*walk->fresh));
	walk->kept = walk->fresh = NULL;
	walk->kept_room = walk->fresh_room = 0;
	walk->n_kept = walk->n_fresh = walk->n_reused = 0;
}

static void set_gap(struct tp_stack_walk *walk, uint32_t gap)
{
	walk->check_gap = gap < TP_STACK_CHECK_EVERY ? gap : TP_STACK_CHECK_EVERY;
}

void tp_stack_walk_reset(struct tp_stack_walk *walk)
{
	walk->n_kept = walk->n_fresh = walk->n_reused = 0;
	walk->generation = 0;
	walk->is_slow = false;
	/* Goes on from thread to thread: many have few walks. */
	if (!walk->check_gap)
		set_gap(walk, FIRST_GAP);
	walk->until_check = walk->check_gap;
	tp_stack_memory_begin(walk);
}

/* ---- one step ---- */

/* The frame outside `in`, with this CFA. */
static inline enum step step_to(struct tp_stack_walk *walk, const struct tp_stack_frame *in,
				struct tp_stack_frame *out, uint64_t cfa, uint64_t rule)
{
	enum tp_stack_bp from = tp_rule_bp(rule);
	uint64_t at;

	if (tp_unlikely(cfa <= in->cfa || cfa % 8 || !tp_stack_can_read(walk, cfa - 8)))
		return STEP_CUT;
	out->cfa = cfa;
	out->pc = tp_stack_word(cfa - 8);
	out->bp = in->bp;
	out->bp_at = 0;
	out->flags = 0;
	if (from != TP_BP_SAME) {
		at = from == TP_BP_AT_CFA ? cfa : from == TP_BP_AT_BP ? in->bp : in->cfa;
		at += (uint64_t)tp_rule_bp_n(rule) * 8;
		if (tp_unlikely(!tp_stack_can_read(walk, at)))
			return STEP_CUT;
		out->bp = tp_stack_word(at);
		out->bp_at = (int32_t)((int64_t)(at - cfa) / 8);
	}
	return tp_likely(out->pc != 0) ? STEP_ON : STEP_END;
}

/* A signal's handler returns into code that gives the kernel what lies at the stack pointer. */
static enum step step_signal(struct tp_stack_walk *walk, const struct tp_stack_frame *in,
			     struct tp_stack_frame *out)
{
#if defined(__x86_64__)
	const ucontext_t *context = (const void *)in->cfa;
	const greg_t *reg = context->uc_mcontext.gregs;

	if (!tp_stack_can_read(walk, (uint64_t)&reg[0]) ||
	    !tp_stack_can_read(walk, (uint64_t)&reg[REG_RIP]))
		return STEP_CUT;
	out->cfa = (uint64_t)reg[REG_RSP];
	out->pc = (uint64_t)reg[REG_RIP];
	out->bp = (uint64_t)reg[REG_RBP];
	out->bp_at = 0;
	out->flags = TP_STACK_EXACT;
	return out->pc ? STEP_ON : STEP_END;
#else
	return STEP_CUT;
#endif
}

/* Code that nobody described, made at run time mostly: perhaps rbp points to a frame. */
static enum step step_guess(struct tp_stack_walk *walk, struct tp_stack_frame *in,
			    struct tp_stack_frame *out, uint64_t rule)
{
	uint64_t bp = in->bp, pc, next;
	enum tp_stack_rule_kind kind;

	in->flags |= TP_STACK_GUESS | TP_STACK_USES_BP;
	count(&walk->n_unknown, 1);
	if (bp % 8 || bp < in->cfa || bp - in->cfa > GUESS_FRAME ||
	    !tp_stack_can_read(walk, bp) || !tp_stack_can_read(walk, bp + 8))
		return STEP_CUT;
	next = tp_stack_word(bp);
	pc = tp_stack_word(bp + 8);
	/* Into code that is described; or not far away, and the chain goes on. */
	kind = tp_rule_kind(tp_stack_rule(pc, false));
	if (kind == TP_RULE_NONE ||
	    (kind == TP_RULE_UNKNOWN && (pc - in->pc + GUESS_REACH > 2 * GUESS_REACH || next <= bp)))
		return STEP_CUT;
	return step_to(walk, in, out, bp + 16,
		       tp_rule_with_bp(rule & 15, TP_BP_AT_CFA, -2));
}

static enum step step_rarely(struct tp_stack_walk *walk, struct tp_stack_frame *in,
			     struct tp_stack_frame *out, uint64_t rule)
{
	uint64_t base = in->cfa, at;
	enum step step;

	switch (tp_rule_kind(rule)) {
	case TP_RULE_BP_MEMORY:
		base = in->bp;
		in->flags |= TP_STACK_USES_BP;
		/* fall through */
	case TP_RULE_SP_MEMORY:
		at = base + (uint64_t)tp_rule_memory_n(rule) * 8;
		if (!tp_stack_can_read(walk, at))
			return STEP_CUT;
		step = step_to(walk, in, out,
			       tp_stack_word(at) + (uint64_t)(tp_rule_add_n(rule) & 0xfff) * 8, rule);
		out->flags |= TP_STACK_BY_MEMORY;
		return step;
	case TP_RULE_SIGNAL:
		return step_signal(walk, in, out);
	case TP_RULE_END:
		return STEP_END;
	case TP_RULE_UNKNOWN:
		/* A library may have been loaded there since. */
		if (!tp_rule_n(rule) && tp_stack_unwind_has_object(in->pc)) {
			rule = tp_stack_rule_learn(in->pc, in->flags & TP_STACK_EXACT);
			if (tp_rule_kind(rule) != TP_RULE_UNKNOWN && rule)
				return STEP_OTHER;	/* this once */
		}
		return step_guess(walk, in, out, rule);
	case TP_RULE_OTHER:
		return STEP_OTHER;
	default:
		return STEP_CUT;
	}
}

static inline enum step step(struct tp_stack_walk *walk, struct tp_stack_frame *in,
			     struct tp_stack_frame *out)
{
	uint64_t rule = tp_stack_rule(in->pc, in->flags & TP_STACK_EXACT);
	uint64_t cfa;

	switch (tp_rule_kind(rule)) {
	case TP_RULE_SP:
		cfa = in->cfa + (uint64_t)tp_rule_n(rule) * 8;
		break;
	case TP_RULE_BP:
		cfa = in->bp + (uint64_t)tp_rule_n(rule) * 8;
		in->flags |= TP_STACK_USES_BP;
		break;
	default:
		return step_rarely(walk, in, out, rule);
	}
	if (tp_unlikely(tp_rule_bp(rule) == TP_BP_AT_BP))
		in->flags |= TP_STACK_USES_BP;
	return step_to(walk, in, out, cfa, rule);
}

/* ---- what was kept ---- */

/* Does one step still lead from the kept frame inside it to this one? */
static bool is_led_to(struct tp_stack_walk *walk, uint32_t at)
{
	struct tp_stack_frame in = walk->kept[at + 1], out;

	return step(walk, &in, &out) == STEP_ON && out.cfa == walk->kept[at].cfa &&
	       out.pc == walk->kept[at].pc && out.bp == walk->kept[at].bp;
}

/* Of the frames outside kept[at], the innermost that does not hold any more; -1: all do. */
static int32_t find_changed(struct tp_stack_walk *walk, int32_t at)
{
	for (int32_t i = at - 1; i >= 0; i--) {
		const struct tp_stack_frame *frame = &walk->kept[i];

		if (tp_unlikely(tp_stack_word(frame->cfa - 8) != frame->pc))
			return i;
		if (frame->bp_at &&
		    tp_stack_word(frame->cfa + (uint64_t)((int64_t)frame->bp_at * 8)) != frame->bp)
			return i;
		if (tp_unlikely(frame->flags & TP_STACK_BY_MEMORY) && !is_led_to(walk, (uint32_t)i))
			return i;
	}
	return -1;
}

static bool is_same(const struct tp_stack_frame *kept, const struct tp_stack_frame *fresh)
{
	return kept->cfa == fresh->cfa && kept->pc == fresh->pc &&
	       (kept->bp == fresh->bp || !(kept->flags & TP_STACK_NEEDS_BP));
}

/* How this walk came to the frame; the kept frame is told by that from now on. */
static void take_way(struct tp_stack_frame *kept, const struct tp_stack_frame *fresh)
{
	if (kept->flags & TP_STACK_NEEDS_BP)
		kept->bp_at = fresh->bp_at;
	kept->bp = fresh->bp;
	kept->flags = (kept->flags & ~(uint32_t)TP_STACK_BY_MEMORY & 0xff) |
		      (fresh->flags & TP_STACK_BY_MEMORY);
}

/* ---- the walk ---- */

/* Fills fresh, and n_reused. `is_own`: on the thread's own stack; else nothing was kept. */
static enum step find_frames(struct tp_stack_walk *walk, const void *frame, bool is_own)
{
	int32_t k = is_own ? (int32_t)walk->n_kept - 1 : -1, changed = (int32_t)walk->n_kept;
	const uint64_t *word = frame;
	enum step result;
	uint32_t n = 1;

	walk->n_reused = 0;
	walk->fresh[0] = (struct tp_stack_frame){
		.cfa = (uint64_t)(word + 2), .pc = word[1], .bp = word[0],
	};
	for (;;) {
		struct tp_stack_frame *last = &walk->fresh[n - 1];

		while (k >= 0 && walk->kept[k].cfa < last->cfa)
			k--;
		/* Not inside what has changed: that was looked at already. */
		if (k >= 0 && k < changed && is_same(&walk->kept[k], last) &&
		    !(last->flags & TP_STACK_EXACT)) {
			changed = find_changed(walk, k);
			if (changed < 0) {
				take_way(&walk->kept[k], last);
				walk->n_reused = (uint32_t)k + 1;
				n--;
				result = STEP_END;
				break;
			}
		}
		if (tp_unlikely(n >= walk->fresh_room || n == TP_STACK_DEPTH)) {
			if (n == TP_STACK_DEPTH || !grow(&walk->fresh, &walk->fresh_room, n + 1)) {
				result = STEP_CUT;
				break;
			}
			last = &walk->fresh[n - 1];
		}
		result = step(walk, last, last + 1);
		if (result != STEP_ON)
			break;
		n++;
	}
	walk->n_fresh = n;
	return result;
}

/* Too deep: the inner frames only. */
static void cut_deep(struct tp_stack_walk *walk)
{
	for (; walk->n_fresh < TP_STACK_CUT; walk->n_fresh++)
		walk->fresh[walk->n_fresh] = walk->kept[--walk->n_reused];
	walk->n_fresh = TP_STACK_CUT;
	walk->n_reused = 0;
}

/* Each frame's rbp is compared later only where it matters. */
static void mark_bp(struct tp_stack_walk *walk)
{
	const struct tp_stack_frame *outer =
		walk->n_reused ? &walk->kept[walk->n_reused - 1] : NULL;

	for (uint32_t i = walk->n_fresh; i > 0; i--) {
		struct tp_stack_frame *frame = &walk->fresh[i - 1];

		if (frame->flags & TP_STACK_USES_BP ||
		    (outer && outer->flags & TP_STACK_NEEDS_BP && !outer->bp_at))
			frame->flags |= TP_STACK_NEEDS_BP;
		else
			frame->bp_at = 0;
		outer = frame;
	}
}

/* Numbers of the fresh frames, outermost first. 0: the ring is full. */
static uint32_t number_frames(struct tp_stack_walk *walk, struct tp_stack_tree *tree, bool is_cut,
			      uint64_t time)
{
	uint32_t number = walk->n_reused ? walk->kept[walk->n_reused - 1].number : 0;

	for (uint32_t i = walk->n_fresh; i > 0; i--) {
		struct tp_stack_frame *frame = &walk->fresh[i - 1];
		uint32_t flags = frame->flags & TP_STACK_EXACT ? TP_FRAME_EXACT : 0;

		if (is_cut && !number)
			flags |= TP_FRAME_CUT;
		number = tp_stack_tree_child(tree, number, flags, 0, frame->pc, time);
		if (!number)
			return 0;
		frame->number = number;
	}
	return number;
}

static void keep(struct tp_stack_walk *walk)
{
	uint32_t n = walk->n_reused, more = walk->n_fresh;

	if (!grow(&walk->kept, &walk->kept_room, n + more)) {
		walk->n_kept = n;
		return;
	}
	for (uint32_t i = more; i > 0; i--)
		walk->kept[n++] = walk->fresh[i - 1];
	walk->n_kept = n;
}

static bool has_exact(const struct tp_stack_walk *walk)
{
	for (uint32_t i = 0; i < walk->n_fresh; i++) {
		if (walk->fresh[i].flags & TP_STACK_EXACT)
			return true;
	}
	return false;
}

/* libunwind's frames instead of ours. False: it has none. */
static bool walk_slowly(struct tp_stack_walk *walk, const void *frame)
{
	count(&walk->n_slow, 1);
	walk->n_reused = 0;
	for (;;) {
		walk->n_fresh = tp_stack_unwind_walk(walk, frame, walk->fresh, walk->fresh_room);
		if (walk->n_fresh < walk->fresh_room || walk->fresh_room >= TP_STACK_DEPTH ||
		    !grow(&walk->fresh, &walk->fresh_room, walk->fresh_room + 1))
			return walk->n_fresh > 0;
	}
}

/* ---- the check ---- */

/* How many of the last walk's frames are no guess. */
static uint32_t count_sure(const struct tp_stack_walk *walk)
{
	uint32_t n = 0;

	for (; n < walk->n_fresh; n++) {
		if (walk->fresh[n].flags & TP_STACK_GUESS)
			return n + 1;
	}
	for (uint32_t i = walk->n_reused; i > 0; i--, n++) {
		if (walk->kept[i - 1].flags & TP_STACK_GUESS)
			return n + 1;
	}
	return n;
}

static uint64_t pc_of(const struct tp_stack_walk *walk, uint32_t i)
{
	return i < walk->n_fresh ? walk->fresh[i].pc
				 : walk->kept[walk->n_reused - 1 - (i - walk->n_fresh)].pc;
}

typedef uint32_t (*other_walk)(struct tp_stack_walk *walk, const void *frame,
			       struct tp_stack_frame *out, uint32_t most);

/* The last walk against one of libunwind's. *n: that one's frames; 0: it did not get there. */
static bool is_equal(struct tp_stack_walk *walk, const void *frame, uint32_t sure, bool is_whole,
		     other_walk other, uint32_t *n)
{
	uint32_t most = walk->n_fresh + walk->n_reused + CHECK_SLACK, i = 0;
	struct tp_stack_frame *found = tp_stack_map(most * sizeof(*found));

	*n = 0;
	if (!found)
		return false;
	*n = other(walk, frame, found, most);
	while (i < *n && i < sure && found[i].pc == pc_of(walk, i))
		i++;
	tp_stack_unmap(found, most * sizeof(*found));
	return i == sure && (!is_whole || *n == sure);
}

/* What differs from what libunwind remembers is compared with what it finds anew. */
static void check(struct tp_stack_walk *walk, const void *frame, bool is_cut)
{
	uint32_t sure = count_sure(walk), n;
	bool is_whole = !is_cut && sure == walk->n_fresh + walk->n_reused;

	set_gap(walk, walk->check_gap * 2);
	walk->until_check = walk->check_gap;
	count(&walk->n_checked, 1);
	if (is_equal(walk, frame, sure, is_whole, tp_stack_unwind_quick, &n) ||
	    is_equal(walk, frame, sure, is_whole, tp_stack_unwind_walk, &n) || !n)
		return;
	count(&walk->n_mismatched, 1);
	walk->is_slow = true;
}

uint32_t tp_stack_walk(struct tp_stack_thread *thread, uint64_t time, const void *frame)
{
	struct tp_stack_walk *walk = &thread->walk;
	enum step result = STEP_OTHER;
	struct tp_stack_tree *tree;
	uint32_t generation, number;
	bool is_own, is_cut;

	tree = tp_stack_tree(time, &generation);
	if (tp_unlikely(!tree || !grow(&walk->fresh, &walk->fresh_room, FIRST_ROOM)))
		return 0;
	if (tp_unlikely(walk->generation != generation)) {
		walk->n_kept = 0;
		walk->generation = generation;
	}
	is_own = tp_stack_memory_is_own(walk, (uint64_t)frame);
	if (tp_likely(!walk->is_slow))
		result = find_frames(walk, frame, is_own);
	if (tp_unlikely(result == STEP_OTHER)) {
		is_own = false;		/* its frames lack what keeping needs */
		result = STEP_END;
		if (!walk_slowly(walk, frame))
			return 0;
	}
	is_cut = result == STEP_CUT;
	if (tp_unlikely(walk->n_fresh + walk->n_reused > TP_STACK_DEPTH ||
			walk->n_fresh == TP_STACK_DEPTH)) {
		cut_deep(walk);
		is_cut = true;
	}
	count(&walk->n_walks, 1);
	count(&walk->n_stepped, walk->n_fresh);
	count(&walk->n_frames, walk->n_fresh + walk->n_reused);
	if (tp_unlikely(is_cut))
		count(&walk->n_cut, 1);
	if (is_own)
		mark_bp(walk);
	number = number_frames(walk, tree, is_cut, time);
	if (tp_likely(!walk->is_slow) && tp_unlikely(--walk->until_check == 0))
		check(walk, frame, is_cut);
	if (is_own && !is_cut && number && !has_exact(walk))
		keep(walk);
	return number;
}
