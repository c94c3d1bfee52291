/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clip.c - tests of cutting spans to their windows without losing the order of begins
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "merge/model/clip.h"
#include "tests/unit/fake_run.h"

struct got {
	int64_t begin[64], end[64];
	uint32_t n;
};

static void take(void *ctx, const struct tp_event *event)
{
	struct got *got = ctx;

	got->begin[got->n] = event->begin_ns;
	got->end[got->n++] = event->end_ns;
}

Test(clip, cuts_at_both_ends_and_keeps_order)
{
	struct got got = {.n = 0};
	struct tp_clip clip;
	struct tp_event event;
	struct tp_proc *proc;
	struct fake fake;
	static const struct {
		int64_t begin, end;
		uint32_t window;
		uint8_t flags;
	} in[] = {
		{-50, 500, 0, TP_F_EARLY | TP_F_OPEN}, /* to [0, 100) */
		{-40, 30, 0, TP_F_EARLY},	       /* inside it */
		{-30, 220, 1, TP_F_EARLY},	       /* to [200, 220): after window 0 */
		{0, 10, 0, 0},
		{50, 60, 0, 0},
		{90, 300, 0, TP_F_OPEN}, /* to [90, 100) */
		{95, 300, 0, 0},	 /* not flagged: as it is */
		{200, 205, 1, 0},
		{210, 260, 1, 0},
		{220, 240, 7, TP_F_EARLY}, /* a window that is not known: as it is */
		{221, 400, 2, TP_F_OPEN},  /* a window without an end: as it is */
	};
	static const int64_t wanted[][2] = {
		{0, 100}, {0, 30}, {0, 10}, {50, 60}, {90, 100}, {95, 300}, {200, 220},
		{200, 205}, {210, 260}, {220, 240}, {221, 400},
	};

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_window(&fake, proc, 0, 0, 100);
	fake_window(&fake, proc, 1, 200, 300);
	fake_window(&fake, proc, 2, 220, 222)->is_whole = false;
	tp_clip_init(&clip, &fake.run, take, &got);
	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
		event = fake_span(&fake, proc, 0, TP_REC_OP, NULL, in[i].begin, in[i].end);
		event.window = in[i].window;
		event.flags = in[i].flags;
		tp_clip_event(&clip, &event);
	}
	tp_clip_end(&clip);
	cr_assert_eq(got.n, sizeof(wanted) / sizeof(wanted[0]));
	for (uint32_t i = 0; i < got.n; i++) {
		cr_expect_eq(got.begin[i], wanted[i][0], "event %u: begin %ld", i,
			     (long)got.begin[i]);
		cr_expect_eq(got.end[i], wanted[i][1], "event %u: end %ld", i, (long)got.end[i]);
	}
}

Test(clip, hands_out_what_is_held_when_nothing_follows)
{
	struct got got = {.n = 0};
	struct tp_clip clip;
	struct tp_event event;
	struct tp_proc *proc;
	struct fake fake;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_window(&fake, proc, 0, 1000, 2000);
	tp_clip_init(&clip, &fake.run, take, &got);
	event = fake_span(&fake, proc, 0, TP_REC_OP, NULL, 5, 1500);
	event.flags = TP_F_EARLY;
	tp_clip_event(&clip, &event);
	cr_expect_eq(got.n, 0);
	tp_clip_end(&clip);
	cr_assert_eq(got.n, 1);
	cr_expect_eq(got.begin[0], 1000);
}

Test(clip, gives_begins_in_order_whatever_is_early)
{
	unsigned seed = 9;

	for (uint32_t round = 0; round < 200; round++) {
		struct got got = {.n = 0};
		struct tp_event event[60];
		struct tp_clip clip;
		struct tp_proc *proc;
		struct fake fake;
		int64_t at = -50;

		fake_init(&fake);
		proc = fake_proc(&fake, 0);
		for (uint32_t w = 0; w < 4; w++)
			fake_window(&fake, proc, w, w * 100, w * 100 + 80);
		tp_clip_init(&clip, &fake.run, take, &got);
		for (uint32_t i = 0; i < 60; i++) {
			at += rand_r(&seed) % 12;
			event[i] = fake_span(&fake, proc, 0, TP_REC_OP, NULL, at,
					     at + rand_r(&seed) % 200);
			event[i].window = rand_r(&seed) % 4;
			event[i].flags = rand_r(&seed) % 3 ? 0 : TP_F_EARLY;
			tp_clip_event(&clip, &event[i]);
		}
		tp_clip_end(&clip);
		cr_assert_eq(got.n, 60);
		for (uint32_t i = 1; i < got.n; i++)
			cr_assert_leq(got.begin[i - 1], got.begin[i], "round %u, event %u", round, i);
	}
}

Test(clip, work_of_a_device_keeps_its_end_and_calls_do_not)
{
	static const struct {
		uint8_t kind, flags;
		bool is_on_device;
		int64_t begin, end, want_begin, want_end;
	} cases[] = {
		{TP_REC_KERNEL, TP_F_AFTER, true, 50, 300, 50, 300},
		{TP_REC_KERNEL, TP_F_AFTER | TP_F_EARLY, true, -50, 300, 0, 300},
		{TP_REC_KERNEL, TP_F_EARLY, true, -50, 90, 0, 90},
		{TP_REC_CALL, TP_F_OPEN, false, 50, 300, 50, 100},
		{TP_REC_CALL, TP_F_EARLY, false, -50, 20, 0, 20},
		/* The bit that says AFTER of a device says "by a clock" of a step. */
		{TP_REC_STEP, TP_F_CLOCK | TP_F_OPEN, false, 50, 300, 50, 100},
		/* And EARLY's means nothing of what is no span. */
		{TP_REC_DEVALLOC, TP_F_EARLY, false, -50, -50, -50, -50},
	};
	struct tp_queue queue = {.stream = 7};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct got got = {.n = 0};
		struct tp_clip clip;
		struct tp_event event;
		struct tp_proc *proc;
		struct fake fake;

		fake_init(&fake);
		proc = fake_proc(&fake, 0);
		fake_window(&fake, proc, 0, 0, 100);
		tp_clip_init(&clip, &fake.run, take, &got);
		event = fake_span(&fake, proc, 0, cases[i].kind, NULL, cases[i].begin,
				  cases[i].end);
		event.flags = cases[i].flags;
		event.queue = cases[i].is_on_device ? &queue : NULL;
		tp_clip_event(&clip, &event);
		tp_clip_end(&clip);
		cr_assert_eq(got.n, 1);
		cr_expect_eq(got.begin[0], cases[i].want_begin, "case %zu", i);
		cr_expect_eq(got.end[0], cases[i].want_end, "case %zu", i);
	}
}
