/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks.c - on which track a span goes, and what it is cut to
 */
#include <criterion/criterion.h>

#include "merge/sink/tracks.h"
#include "tests/unit/fake_run.h"

struct popped {
	uint32_t n;
	int64_t last_ns;
};

static void note_pop(void *ctx, struct tp_track *track, int64_t end_ns)
{
	struct popped *popped = ctx;

	if (popped->n++)
		cr_expect_geq(end_ns, popped->last_ns, "innermost first");
	popped->last_ns = end_ns;
}

Test(tracks, spans_nest_or_go_to_a_further_track)
{
	static const struct {
		const char *what;
		int64_t begin, end;
		uint8_t kind, flags;
		uint32_t want_at;
		int64_t want_end;
	} cases[] = {
		{"the first", 0, 100000, TP_REC_RANGE, 0, 0, 100000},
		{"a child", 10, 50000, TP_REC_OP, 0, 0, 50000},
		{"a child with its parent's end", 20, 50000, TP_REC_OP, 0, 0, 50000},
		{"past its parent by the jitter: cut", 30, 51000, TP_REC_OP, 0, 0, 50000},
		{"past it by more: another track", 40, 51001, TP_REC_OP, 0, 1, 51001},
		{"crosses both: a third track", 50, 70000, TP_REC_OP, 0, 2, 70000},
		{"fits into the second", 60, 51001, TP_REC_OP, 0, 1, 51001},
		{"async ones begin at 1, apart", 70, 90000, TP_REC_OP, TP_F_ASYNC, 1, 90000},
		{"async that cross are not cut", 80, 90500, TP_REC_OP, TP_F_ASYNC, 2, 90500},
		{"begins when others have ended", 51001, 80000, TP_REC_OP, 0, 0, 80000},
		{"a step cut by a clock lies apart", 51002, 60000, TP_REC_STEP, TP_F_CLOCK, 1, 60000},
		{"after everything", 200000, 200001, TP_REC_OP, 0, 0, 200001},
	};
	struct popped popped = {0};
	struct tp_track_layout layout;
	struct tp_proc *proc;
	struct fake fake;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	tp_tracks_init(&layout, &fake.run);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_event event = fake_span(&fake, proc, 0, cases[i].kind, NULL,
						  cases[i].begin, cases[i].end);
		int64_t end = cases[i].end;
		struct tp_track *track;

		event.flags = cases[i].flags;
		track = tp_tracks_place(&layout, &event, &end, NULL, NULL);
		cr_assert(track, "%s", cases[i].what);
		cr_expect_eq(track->at, cases[i].want_at, "%s: track %u", cases[i].what, track->at);
		cr_expect_eq(end, cases[i].want_end, "%s: end %ld", cases[i].what, (long)end);
	}
	cr_expect_eq(layout.n_cut, 1);
	tp_tracks_pop_all(&layout, NULL, NULL);
	for (int64_t i = 0; i < 5; i++) {
		struct tp_event event =
			fake_span(&fake, proc, 1, TP_REC_OP, NULL, i, 1000 - i);
		int64_t end = event.end_ns;

		tp_tracks_place(&layout, &event, &end, note_pop, &popped);
	}
	cr_expect_eq(popped.n, 0, "threads are apart, and nothing has ended");
	tp_tracks_pop_all(&layout, note_pop, &popped);
	cr_expect_eq(popped.n, 5);
	cr_expect_eq(popped.last_ns, 1000);
	tp_tracks_free(&layout);
}

Test(tracks, spans_that_all_cross_fill_the_tracks_and_are_refused_then)
{
	struct tp_track_layout layout;
	struct tp_proc *proc;
	struct fake fake;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	tp_tracks_init(&layout, &fake.run);
	for (int64_t i = 0; i <= TP_TRACKS_MAX + 1; i++) {
		struct tp_event event = fake_span(&fake, proc, 0, TP_REC_OP, NULL, i,
						  1000000 + i * 2000);
		int64_t end = event.end_ns;
		struct tp_track *track = tp_tracks_place(&layout, &event, &end, NULL, NULL);

		if (i <= TP_TRACKS_MAX)
			cr_expect(track && track->at == i, "span %ld", (long)i);
		else
			cr_expect_null(track);
	}
	tp_tracks_free(&layout);
}

/* What a call or a piece of work becomes, on a track with a span [0, 100000]. */
struct moved {
	const char *what;
	int64_t begin, end;
	uint32_t want_at;
	int64_t want_begin, want_end;
};

Test(tracks, calls_give_way_by_a_clocks_jitter)
{
	static const struct moved cases[] = {
		{"inside", 10, 5000, 0, 10, 5000},
		{"begins when the one before has ended, by their clock", 4600, 7000, 0, 5000, 7000},
		{"really overlaps", 5000, 9000, 1, 5000, 9000},
		{"the last of its operator, by another clock", 90000, 100900, 0, 90000, 100000},
		{"begins as its operator ends", 99900, 120000, 0, 100000, 120000},
		{"inside the last", 101000, 120000, 0, 101000, 120000},
	};
	struct tp_track_layout layout;
	struct tp_proc *proc;
	struct fake fake;
	struct tp_event outer;
	int64_t end = 100000;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	tp_tracks_init(&layout, &fake.run);
	outer = fake_span(&fake, proc, 0, TP_REC_OP, NULL, 0, end);
	tp_track_set_id(tp_tracks_place(&layout, &outer, &end, NULL, NULL), 77);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_event event = fake_span(&fake, proc, 0, TP_REC_CALL, NULL,
						  cases[i].begin, cases[i].end);
		int64_t begin = cases[i].begin;
		struct tp_track *track;

		/* The flag of a driver's call, which is another one's "asynchronous". */
		event.flags = TP_F_DRIVER;
		end = cases[i].end;
		track = tp_tracks_place_call(&layout, &event, &begin, &end, NULL, NULL);
		cr_assert(track, "%s", cases[i].what);
		cr_expect_eq(track->at, cases[i].want_at, "%s: track %u", cases[i].what, track->at);
		cr_expect_eq(begin, cases[i].want_begin, "%s: begin %ld", cases[i].what, (long)begin);
		cr_expect_eq(end, cases[i].want_end, "%s: end %ld", cases[i].what, (long)end);
		if (i == 0)
			cr_expect_eq(tp_track_inside(track), 77);
	}
	tp_tracks_free(&layout);
}

Test(tracks, work_of_a_stream_gives_way_by_a_rounding_and_waits_lie_apart)
{
	static const struct moved cases[] = {
		{"the first", 0, 1000, 0, 0, 1000},
		{"by a rounding earlier than the end of the first", 990, 2000, 0, 1000, 2000},
		{"by more: at once", 1500, 3000, 1, 1500, 3000},
		{"inside", 1600, 1900, 0, 1600, 1900},
		{"late, from before all of these", 10, 20, 0, 10, 20},
		{"after", 5000, 6000, 0, 5000, 6000},
	};
	struct tp_queue queue = {.at = 40, .stream = 7}, *queues[1] = {&queue};
	struct tp_track_layout layout;
	struct tp_track *work = NULL;
	struct tp_proc *proc;
	struct tp_event event;
	struct fake fake;
	int64_t begin = 100;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	proc->queue = queues;
	proc->n_queues = 1;
	tp_tracks_init(&layout, &fake.run);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		event = fake_span(&fake, proc, 0, TP_REC_KERNEL, NULL, cases[i].begin,
				  cases[i].end);
		event.queue = &queue;
		begin = cases[i].begin;
		work = tp_tracks_place_work(&layout, &event, &begin, NULL, NULL);
		cr_assert(work, "%s", cases[i].what);
		cr_expect_eq(work->at, cases[i].want_at, "%s: track %u", cases[i].what, work->at);
		cr_expect_eq(begin, cases[i].want_begin, "%s: begin %ld", cases[i].what, (long)begin);
	}
	event = fake_span(&fake, proc, 0, TP_REC_SYNC, NULL, 5500, 7000);
	event.queue = &queue;
	begin = 5500;
	cr_expect_neq(tp_tracks_place_work(&layout, &event, &begin, NULL, NULL), work);
	cr_expect_eq(begin, 5500);
	tp_tracks_free(&layout);
}
