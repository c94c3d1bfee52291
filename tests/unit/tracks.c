/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks.c - on which track a span goes, and what it is cut to
 */
#include <criterion/criterion.h>

#include "merge/tracks.h"
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
	struct tp_track_book book;
	struct tp_proc *proc;
	struct fake fake;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	cr_assert_eq(tp_tracks_init(&book, &fake.run), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_event event = fake_span(&fake, proc, 0, cases[i].kind, NULL,
						  cases[i].begin, cases[i].end);
		int64_t end = cases[i].end;
		struct tp_track *track;

		event.flags = cases[i].flags;
		track = tp_tracks_place(&book, &event, &end, NULL, NULL);
		cr_assert(track, "%s", cases[i].what);
		cr_expect_eq(track->at, cases[i].want_at, "%s: track %u", cases[i].what, track->at);
		cr_expect_eq(end, cases[i].want_end, "%s: end %ld", cases[i].what, (long)end);
	}
	cr_expect_eq(book.n_cut, 1);
	tp_tracks_pop_all(&book, NULL, NULL);
	for (int64_t i = 0; i < 5; i++) {
		struct tp_event event =
			fake_span(&fake, proc, 1, TP_REC_OP, NULL, i, 1000 - i);
		int64_t end = event.end_ns;

		tp_tracks_place(&book, &event, &end, note_pop, &popped);
	}
	cr_expect_eq(popped.n, 0, "threads are apart, and nothing has ended");
	tp_tracks_pop_all(&book, note_pop, &popped);
	cr_expect_eq(popped.n, 5);
	cr_expect_eq(popped.last_ns, 1000);
	tp_tracks_free(&book, NULL);
}

Test(tracks, spans_that_all_cross_fill_the_tracks_and_are_refused_then)
{
	struct tp_track_book book;
	struct tp_proc *proc;
	struct fake fake;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	cr_assert_eq(tp_tracks_init(&book, &fake.run), 0);
	for (int64_t i = 0; i <= TP_TRACKS_MAX + 1; i++) {
		struct tp_event event = fake_span(&fake, proc, 0, TP_REC_OP, NULL, i,
						  1000000 + i * 2000);
		int64_t end = event.end_ns;
		struct tp_track *track = tp_tracks_place(&book, &event, &end, NULL, NULL);

		if (i <= TP_TRACKS_MAX)
			cr_expect(track && track->at == i, "span %ld", (long)i);
		else
			cr_expect_null(track);
	}
	tp_tracks_free(&book, NULL);
}
