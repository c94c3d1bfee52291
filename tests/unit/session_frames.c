/* SPDX-License-Identifier: Apache-2.0 */
/* window.c: which stacks a window's file has: those that were met since the last one, too. */
#include <criterion/criterion.h>

#include "tests/unit/session_rig.h"

TestSuite(session_frames, .init = rig_set_up, .fini = rig_tear_down, .timeout = 60);

static uint64_t put(uint8_t kind, uint32_t link)
{
	struct tp_rec *rec = tp_ring_reserve();
	uint64_t now = tp_clock_now();

	cr_assert_not_null(rec);
	*rec = (struct tp_rec){.time = now, .kind = kind, .link = link, .arg = link};
	tp_ring_commit();
	return now;
}

static const struct tp_rec *find(const struct rig_trace *trace, uint8_t kind, uint32_t link)
{
	for (uint32_t i = 0; i < trace->n; i++)
		if (trace->rec[i].kind == kind && trace->rec[i].link == link)
			return &trace->rec[i];
	return NULL;
}

Test(session_frames, stacks_of_the_warm_up_are_in_the_file_and_nothing_else_is)
{
	const struct rig_trace *trace;
	const struct tp_rec *frame;
	uint64_t before, begin;

	cr_assert_eq(rig_open("wait=1,warmup=1,active=1,repeat=1"), 0);
	rig_step();
	before = put(TP_REC_FRAME, 1);
	put(TP_REC_HEAPALLOC, 1);
	rig_step();
	put(TP_REC_HEAPALLOC, 1);
	put(TP_REC_FRAME, 2);
	put(TP_REC_HEAPALLOC, 2);
	rig_step();
	put(TP_REC_FRAME, 3);
	put(TP_REC_HEAPALLOC, 3);
	tp_session_close("exit");
	trace = rig_window(0);
	cr_assert(trace->is_whole);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_FRAME, 0), 2);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_HEAPALLOC, 0), 2);
	frame = find(trace, TP_REC_FRAME, 1);
	cr_assert_not_null(frame, "the stack of the warm-up");
	begin = rig_total(trace, "begin");
	cr_expect_gt(begin, before);
	cr_expect_eq(frame->time, begin, "not before its window");
	cr_expect_eq(frame->flags, 0);
	cr_expect_lt(frame, find(trace, TP_REC_HEAPALLOC, 1), "before who needs it");
	cr_expect_not_null(find(trace, TP_REC_FRAME, 2));
	cr_expect_eq(rig_total(trace, "dropped"), 0);
}

/* The begin moves to that of the first epoch. */
Test(session_frames, stacks_from_before_a_begin_that_moved_are_in_the_file)
{
	const struct rig_trace *trace;

	cr_assert_eq(rig_open("wait=0,warmup=0,active=1,repeat=1"), 0);
	put(TP_REC_FRAME, 1);
	put(TP_REC_HEAPALLOC, 1);
	tp_session_epoch(tp_clock_now());
	put(TP_REC_HEAPALLOC, 1);
	rig_step();
	tp_session_close("exit");
	trace = rig_window(0);
	cr_assert_eq(rig_count(trace, NULL, TP_REC_FRAME, 0), 1);
	cr_assert_eq(rig_count(trace, NULL, TP_REC_HEAPALLOC, 0), 1);
}
