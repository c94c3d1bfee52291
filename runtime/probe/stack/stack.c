/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.c - the stack of an event: the program's frames, those of another reader, or both
 */
#include "runtime/probe/stack/stack.h"

#include "runtime/base/text.h"
#include "runtime/engine/probe.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/stack/stack_inside.h"
#include "runtime/probe/stack/stack_memory.h"
#include "runtime/probe/stack/stack_objects.h"
#include "runtime/probe/stack/stack_rules.h"
#include "runtime/probe/stack/stack_tables.h"
#include "runtime/probe/stack/stack_thread.h"
#include "runtime/probe/stack/stack_tree.h"
#include "runtime/probe/stack/stack_unwind.h"
#include "runtime/probe/stack/stack_walk.h"
#include "runtime/trace/trainprof_trace.h"

static struct {
	bool is_native;
	const struct tp_stack_frames *others;	/* NULL: none */
	uint32_t n_uses;	/* of libunwind, when the drain thread looked last */
} stacks;

/* NULL, or why the program's own frames cannot be read. */
static const char *open_native(void)
{
	const char *why = tp_stack_unwind_open();

	if (why)
		return why;
	if (tp_stack_rules_open() < 0)
		return "no memory for unwind rules";
	tp_stack_objects_open(false);
	tp_stack_memory_open();
	return NULL;
}

void tp_stack_open(bool is_native, const struct tp_stack_frames *others)
{
	const char *why;

	stacks.others = others;
	if (!is_native)
		return;
	why = open_native();
	if (why)
		tp_probe_off("stacks", why);
	stacks.is_native = !why;
}

uint32_t tp_stack_take(uint64_t time, const void *frame)
{
	struct tp_stack_thread *thread;
	struct tp_stack_tree *tree;
	uint32_t native = 0, other = 0, generation;

	if (tp_unlikely(tp_ring_self.is_busy))
		return 0;
	if (stacks.is_native) {
		thread = tp_stack_thread();
		if (tp_unlikely(!thread))
			return 0;
		if (tp_unlikely(!tp_stack_memory_has_room(&thread->walk, (uint64_t)frame))) {
			tp_stack_walk_skip(&thread->walk);
			return 0;
		}
		native = tp_stack_walk(thread, time, frame);
	}
	if (stacks.others)
		other = stacks.others->take(time);
	if (!native || !other)
		return native | other;
	tree = tp_stack_tree(time, &generation);
	return tree ? tp_stack_tree_child(tree, native, TP_FRAME_JOINED, 0, other, time) : 0;
}

void tp_stack_unmapped(void)
{
	if (!stacks.is_native || !tp_stack_objects_shrank())
		return;
	tp_stack_unwind_forget();
	tp_stack_rules_forget();
	tp_stack_tree_begin_anew();
}

void tp_stack_tick(void)
{
	uint32_t n_uses = tp_stack_inside_uses();

	if (stacks.is_native) {
		tp_stack_objects_look();
		tp_stack_unmapped();
	}
	if (n_uses != stacks.n_uses)
		tp_stack_tables_drop_all();
	stacks.n_uses = n_uses;
	tp_stack_thread_reap();
}

static void add_walk(void *ctx, struct tp_stack_thread *thread)
{
	const struct tp_stack_walk *walk = &thread->walk;
	struct tp_stack_walk *sum = ctx;

#define ADD(counter) sum->counter += __atomic_load_n(&walk->counter, __ATOMIC_RELAXED)
	ADD(n_walks);
	ADD(n_frames);
	ADD(n_stepped);
	ADD(n_checked);
	ADD(n_mismatched);
	ADD(n_cut);
	ADD(n_unknown);
	ADD(n_slow);
	ADD(n_skipped);
#undef ADD
}

void tp_stack_report(struct tp_text *totals)
{
	struct tp_stack_walk sum = { 0 };

	if (stacks.others)
		stacks.others->report(totals);
	if (!stacks.is_native)
		return;
	tp_stack_thread_each(add_walk, &sum);
	tp_text_fmt(totals,
		    "stack.walks=%lu\nstack.frames=%lu\nstack.stepped=%lu\nstack.rules=%lu\n"
		    "stack.checked=%lu\nstack.mismatched=%lu\nstack.cut=%lu\n"
		    "stack.unknown_code=%lu\nstack.slow=%lu\nstack.skipped=%lu\n",
		    (unsigned long)sum.n_walks, (unsigned long)sum.n_frames,
		    (unsigned long)sum.n_stepped,
		    (unsigned long)__atomic_load_n(&tp_stack_rules.n_learnt, __ATOMIC_RELAXED),
		    (unsigned long)sum.n_checked, (unsigned long)sum.n_mismatched,
		    (unsigned long)sum.n_cut, (unsigned long)sum.n_unknown,
		    (unsigned long)sum.n_slow, (unsigned long)sum.n_skipped);
}

void tp_stack_forked(void)
{
	tp_stack_memory_forked();
	tp_stack_thread_forked();
	tp_stack_tree_begin_anew();
	if (stacks.others)
		stacks.others->forked();
}
