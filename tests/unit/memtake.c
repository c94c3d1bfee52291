/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memtake.c - which node took which block, by the order in which they came
 */
#include <criterion/criterion.h>

#include "merge/facts/tensor/memtake.h"
#include "tests/unit/fake_run.h"

static struct {
	struct fake fake;
	struct tp_proc *proc;
	struct tp_memtake *take;
} rig;

static void begin(void)
{
	fake_init(&rig.fake);
	rig.proc = fake_proc(&rig.fake, 0);
	rig.take = tp_memtake_new(1);
	cr_assert(rig.take);
}

static void end(void)
{
	tp_memtake_free(rig.take);
}

TestSuite(memtake, .init = begin, .fini = end);

static struct tp_event at(uint32_t thread, int64_t ns)
{
	return fake_span(&rig.fake, rig.proc, thread, TP_REC_OP, NULL, ns, ns + 1);
}

static void born(uint32_t tag, uint32_t thread, int64_t ns)
{
	const struct tp_event event = at(thread, ns);

	cr_assert(tp_memtake_born(rig.take, tag, &event));
}

static void node(uint32_t thread, int64_t ns)
{
	const struct tp_event event = at(thread, ns);

	cr_assert(tp_memtake_node(rig.take, &event));
}

Test(memtake, a_node_takes_the_newest_that_stays)
{
	born(1, 0, 0);			/* waits for the second use of its parameter */
	born(2, 0, 20);
	born(3, 0, 21);
	node(0, 30);
	node(0, 31);
	born(4, 0, 40);			/* does not stay */
	born(5, 0, 41);
	cr_expect_eq(tp_memtake_gone(rig.take, 4), TP_NOT_TAKEN);
	node(0, 50);
	node(0, 60);
	born(6, 0, 70);			/* nobody takes it */
	tp_memtake_settle(rig.take, 0, true);
	cr_expect_eq(tp_memtake_gone(rig.take, 3), 30);
	cr_expect_eq(tp_memtake_gone(rig.take, 2), 31);
	cr_expect_eq(tp_memtake_gone(rig.take, 5), 50);
	cr_expect_eq(tp_memtake_gone(rig.take, 1), 60);
	cr_expect_eq(tp_memtake_gone(rig.take, 6), TP_NOT_TAKEN);
	/* Gone once; and of others it never heard. */
	cr_expect_eq(tp_memtake_gone(rig.take, 1), TP_NOT_TAKEN);
	cr_expect_eq(tp_memtake_gone(rig.take, 1000), TP_NOT_TAKEN);
}

Test(memtake, each_thread_takes_its_own)
{
	born(1, 0, 10);
	born(2, 1, 11);
	node(0, 20);
	node(1, 21);
	tp_memtake_settle(rig.take, 0, true);
	cr_expect_eq(tp_memtake_gone(rig.take, 1), 20);
	cr_expect_eq(tp_memtake_gone(rig.take, 2), 21);
}

Test(memtake, a_node_that_copies_takes_no_other)
{
	const struct tp_event copy = at(0, 31);

	born(1, 0, 10);
	node(0, 30);
	tp_memtake_copy(rig.take, &copy);
	node(0, 40);
	tp_memtake_settle(rig.take, 0, true);
	cr_expect_eq(tp_memtake_gone(rig.take, 1), 40);
}

/* A step that ends in the middle of a backward pass. */
Test(memtake, what_is_on_its_way_is_still_taken_later)
{
	born(1, 0, 10);
	born(2, 0, 20);
	node(0, 30);
	tp_memtake_settle(rig.take, 0, false);
	node(0, 40);
	born(3, 0, 50);
	tp_memtake_settle(rig.take, 0, true);
	/* Of an optimizer's next step. */
	node(0, 60);
	tp_memtake_settle(rig.take, 0, true);
	cr_expect_eq(tp_memtake_gone(rig.take, 2), 30);
	cr_expect_eq(tp_memtake_gone(rig.take, 1), 40);
	cr_expect_eq(tp_memtake_gone(rig.take, 3), TP_NOT_TAKEN);
}

Test(memtake, a_group_takes_all_that_came_before_it)
{
	cr_assert(tp_memtake_group(rig.take, 0, 30, "(blocks.0)"));
	cr_assert(tp_memtake_group(rig.take, 0, 40, ""));
	cr_assert(tp_memtake_group(rig.take, 0, 50, "(blocks.0)"));
	cr_expect_eq(tp_memtake_group_ns(rig.take, 0, "(blocks.0)", 10), 30);
	cr_expect_eq(tp_memtake_group_ns(rig.take, 0, "(blocks.0)", 31), 50);
	cr_expect_eq(tp_memtake_group_ns(rig.take, 0, "", 10), 40);
	cr_expect_eq(tp_memtake_group_ns(rig.take, 0, "", 41), TP_NOT_TAKEN);
	tp_memtake_settle(rig.take, 0, true);
	cr_expect_eq(tp_memtake_group_ns(rig.take, 0, "", 10), TP_NOT_TAKEN);
}
