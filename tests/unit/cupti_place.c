/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_place.c - work that runs late is put into the window that launched it, or is counted
 *
 * CUPTI gives a kernel before its call, and others windows come while one is not written yet.
 */
#include "tests/unit/cupti_decode_rig.h"

TestSuite(cupti_place, .init = set_up, .fini = rig_remove_dir);

/* Three windows of 1 ms, 3 ms apart, the first of which is being written; and as it goes on. */
static const struct tp_cupti_wanted first = {
	.begin = 1000, .end = 2000, .has_window = true, .n_later = 2, .later = {{5000, 6000}, {9000, 10000}},
};
static const struct tp_cupti_wanted second = {
	.begin = 5000, .end = 6000, .has_window = true, .n_later = 1, .later = {{9000, 10000}},
};
static const struct tp_cupti_wanted third = {.begin = 9000, .end = 10000, .has_window = true};

/* Adds what is put to what was decoded before. */
static void settle(const struct tp_cupti_wanted *wanted)
{
	cr_assert(tp_cupti_place_kept(wanted, true, true));
	drain();
}

static void check_kernel(const struct tp_rec *rec, uint32_t link, uint8_t flags)
{
	cr_assert_eq(rec->kind, TP_REC_KERNEL);
	cr_assert_eq(rec->link, link, "%u is %u", link, rec->link);
	cr_assert_eq(rec->flags, flags, "%u: flags %u", link, rec->flags);
}

/* Leaves out the calls. */
static void take_kernels(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_out; i++)
		if (out[i].kind == TP_REC_KERNEL)
			out[n++] = out[i];
	n_out = n;
}

static void add_launch(uint32_t id, uint64_t begin)
{
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, id, T(begin), T(begin + 10));
}

/* In CUPTI's order. */
static void add_late(uint32_t id, uint64_t call, uint64_t begin)
{
	add_kernel("k", id, T(begin), T(begin + 100));
	add_launch(id, call);
}

static void check_counts(uint64_t emitted, uint64_t outside, uint64_t late)
{
	const struct tp_cupti_counts *counts = &tp_cupti_counts[TP_REC_KERNEL];

	cr_assert_eq(counts->emitted, emitted, "emitted %lu", counts->emitted);
	cr_assert_eq(counts->outside, outside, "outside %lu", counts->outside);
	cr_assert_eq(counts->late, late, "late %lu", counts->late);
	cr_assert_eq(tp_cupti_place_n_kept(), 0);
	check_sums();
}

/* A record of each place that it can have to a window [1000, 2000], on the host and on a device. */
Test(cupti_place, knows_its_window)
{
	enum { OUT = 255 };
	static const struct tp_cupti_wanted wanted[] = {
		{.has_window = false},
		{.begin = 1000, .has_window = true},
		{.begin = 1000, .end = 2000, .has_window = true},
		{.begin = 1000, .end = 2000, .has_window = true, .has_next = true},
	};
	static const struct {
		uint64_t begin, end;
		uint8_t call[4], kernel[4];	/* flags, or OUT, by wanted */
	} row[] = {
		{500, 999, {OUT, OUT, OUT, OUT}, {OUT, OUT, OUT, OUT}},
		{900, 1100, {OUT, 0, 0, 0}, {OUT, 0, 0, 0}},
		{1200, 1300, {OUT, 0, 0, 0}, {OUT, 0, 0, 0}},
		{1900, 2000, {OUT, 0, 0, 0}, {OUT, 0, 0, 0}},
		{1900, 2100, {OUT, 0, 0, 0}, {OUT, 0, TP_F_AFTER, TP_F_AFTER}},
		{2001, 2100, {OUT, 0, OUT, 0}, {OUT, 0, OUT, 0}},
	};

	for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++) {
		for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
			uint64_t seen = tp_cupti_counts[TP_REC_CALL].outside;

			tp_cupti_decode_forked();
			tp_cupti_decode_init(RECORDS_VERSION);
			seen = tp_cupti_counts[TP_REC_CALL].outside;
			add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 77, T(row[i].begin), T(row[i].end));
			decode(&wanted[w]);
			cr_assert_eq(n_out, row[i].call[w] != OUT, "%zu %zu", w, i);
			cr_assert_eq(tp_cupti_counts[TP_REC_CALL].outside - seen, !n_out);
			if (n_out)
				cr_assert_eq(out[0].flags, row[i].call[w]);
			/* Its call is not known, or later. */
			add_kernel("k", 78, T(row[i].begin), T(row[i].end));
			decode(&wanted[w]);
			settle(&wanted[w]);
			cr_assert_eq(n_out, row[i].kernel[w] != OUT, "%zu %zu", w, i);
			cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].outside, !n_out);
			if (n_out)
				cr_assert_eq(out[0].flags, row[i].kernel[w], "%zu %zu: %u", w, i,
					     out[0].flags);
			check_sums();
		}
	}
}

/* The next window is on: whose a late kernel is, its call tells, also where ids wrap. */
Test(cupti_place, tells_late_kernels_by_their_calls)
{
	static const struct tp_cupti_wanted wanted = {
		.begin = 1000, .end = 2000, .has_window = true, .has_next = true,
	};

	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 0xfffffffe, T(1900), T(1950));
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 1, T(1960), T(1990));
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 0xffffffff, T(1955), T(1956));
	add_kernel("k", 0xfffffffe, T(2100), T(2200));
	add_kernel("k", 1, T(2200), T(2300));
	add_kernel("k", 2, T(2300), T(2400));
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 2, T(2010), T(2020));
	decode(&wanted);
	cr_assert_eq(n_out, 7);
	check_kernel(&out[3], 0xfffffffe, TP_F_AFTER);
	check_kernel(&out[4], 1, TP_F_AFTER);
	check_kernel(&out[6], 2, 0);
}

/* No next window is near, but CUPTI was switched off some calls after the end. */
Test(cupti_place, leaves_out_what_was_called_after_the_end)
{
	static const struct tp_cupti_wanted wanted = {.begin = 1000, .end = 2000, .has_window = true};

	add_kernel("k", 4, T(2100), T(2200));	/* nothing is known yet */
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 1, T(1900), T(1950));
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 6, T(2300), T(2400));
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 5, T(2010), T(2020));
	add_kernel("k", 1, T(2100), T(2200));
	add_kernel("k", 3, T(2100), T(2200));	/* its call is in a buffer that comes later */
	add_kernel("k", 5, T(2200), T(2300));
	add_kernel("k", 6, T(2200), T(2300));
	decode(&wanted);
	cr_assert_eq(n_out, 2);
	cr_assert_eq(out[0].kind, TP_REC_CALL);
	check_kernel(&out[1], 1, TP_F_AFTER);
	settle(&wanted);
	cr_assert_eq(n_out, 4);
	check_kernel(&out[2], 4, TP_F_AFTER);
	check_kernel(&out[3], 3, TP_F_AFTER);
	cr_assert_eq(tp_cupti_counts[TP_REC_CALL].outside, 2);
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].outside, 2);
	check_sums();
}

/* Whose a record without times is, only its call can tell; in a warm-up nothing is lost. */
Test(cupti_place, counts_no_losses_of_warm_ups)
{
	struct tp_cupti_wanted wanted = {.has_window = false};

	add_kernel("k", 1, 0, 0);
	decode(&wanted);
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].outside, 1);
	wanted = (struct tp_cupti_wanted){.begin = 1000, .has_window = true};
	add_kernel("k", 3, 0, 0);	/* of no call that is known yet */
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 2, T(980), T(990));
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 4, T(1030), T(1040));
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 3, T(1020), T(1030));
	add_kernel("k", 2, 0, 0);
	add_kernel("k", 3, 0, 0);
	add_kernel("k", 4, 0, 0);
	add_kernel("k", 5, 0, 0);
	decode(&wanted);
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].outside, 2);
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].no_time, 4);
	wanted.end = 2000;
	wanted.has_next = true;
	add_kernel("k", 6, 0, 0);	/* before its call */
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 6, T(2030), T(2040));
	add_kernel("k", 4, 0, 0);
	decode(&wanted);
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].outside, 3);
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].no_time, 5);
	add_kernel("k", 5, 0, 0);	/* whose call never comes */
	decode(&wanted);
	cr_assert_eq(tp_cupti_place_n_kept(), 1);
	settle(&wanted);
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].outside, 3);
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].no_time, 6);
	check_sums();
}

/* As on an H200: the next window is armed, and the call stands behind its kernel. */
Test(cupti_place, waits_for_the_call_of_a_kernel)
{
	static const struct tp_cupti_wanted wanted = {
		.begin = 1000, .end = 2000, .has_window = true, .has_next = true,
	};

	add_late(1, 1500, 2100);
	add_late(2, 1900, 2300);
	add_late(3, 2700, 2800);	/* warm-up of the next one, which may want it */
	decode(&wanted);
	cr_assert_eq(n_out, 6);
	check_kernel(&out[3], 1, TP_F_AFTER);
	check_kernel(&out[4], 2, TP_F_AFTER);
	check_kernel(&out[5], 3, 0);
	add_kernel("k", 2, T(2400), T(2500));	/* of a graph: its call is known */
	decode(&wanted);
	cr_assert_eq(n_out, 1);
	check_kernel(&out[0], 2, TP_F_AFTER);
	check_counts(4, 0, 0);
}

/* Its call was dropped: rather in one window too many than in none. */
Test(cupti_place, gives_what_has_no_call_to_the_window_that_is_over)
{
	static const struct tp_cupti_wanted wanted = {
		.begin = 1000, .end = 2000, .has_window = true, .has_next = true,
	};

	add_kernel("k", 1, T(2100), T(2200));
	decode(&wanted);
	cr_assert_eq(n_out, 0);
	cr_assert_eq(tp_cupti_place_n_kept(), 1);
	settle(&wanted);
	cr_assert_eq(n_out, 1);
	check_kernel(&out[0], 1, TP_F_AFTER);
	check_counts(1, 0, 0);
}

Test(cupti_place, does_not_wait_after_the_last_look)
{
	add_launch(10, 2500);
	add_kernel("k", 11, T(7000), T(7100));	/* of a later window */
	decode(&first);
	settle(&first);
	/* Another probe keeps the file open. */
	for (uint32_t id = 1; id <= 2; id++) {
		add_kernel("k", id, T(2300), T(2400));
		decode(&first);
		cr_assert_eq(n_out, 1);
		check_kernel(&out[0], id, TP_F_AFTER);
	}
	cr_assert_eq(tp_cupti_place_n_kept(), 1);
	settle(&second);
	cr_assert_eq(n_out, 2);
	check_kernel(&out[1], 11, TP_F_AFTER);
	check_counts(3, 0, 0);
}

/* Or those of the window's first calls were dropped: only what was launched before is left out. */
Test(cupti_place, leaves_out_what_is_known_to_be_of_the_warm_up)
{
	static const struct tp_cupti_wanted warming = {.has_window = false};
	static const struct tp_cupti_wanted wanted = {.begin = 1000, .end = 2000, .has_window = true};

	add_launch(1, 400);
	decode(&warming);
	add_launch(2, 500);
	add_launch(5, 1500);
	for (uint32_t id = 1; id <= 4; id++)
		add_kernel("k", id, T(2100), T(2200));
	decode(&wanted);
	cr_assert_eq(tp_cupti_place_n_kept(), 4);
	settle(&wanted);
	cr_assert_eq(n_out, 3);
	check_kernel(&out[1], 3, TP_F_AFTER);
	check_kernel(&out[2], 4, TP_F_AFTER);
	/* The same where the warm-up's calls were read before the window began, and none since. */
	n_out = 0;
	add_launch(6, 3000);
	decode(&warming);
	add_kernel("k", 6, T(6100), T(6200));
	add_kernel("k", 7, T(6100), T(6200));
	decode(&second);
	settle(&second);
	cr_assert_eq(n_out, 1);
	check_kernel(&out[0], 7, TP_F_AFTER);
	check_counts(3, 3, 0);
}

/* A device that is 5 ms behind: each kernel runs in or after a later window. */
Test(cupti_place, puts_each_kernel_into_the_window_of_its_call)
{
	add_late(11, 500, 5500);	/* warm-up, run in the second window's time */
	add_late(12, 1100, 6100);
	add_late(13, 1500, 9500);	/* run in the third window's time */
	add_late(20, 3000, 8000);	/* between windows */
	add_late(21, 4900, 8950);
	add_late(22, 5100, 9100);	/* of the second, run in the third */
	add_late(23, 5500, 10500);
	add_late(31, 8900, 9200);	/* warm-up, run in its window */
	add_late(32, 9100, 9300);
	add_late(33, 9500, 14500);
	add_late(40, 10500, 15500);
	decode(&first);
	settle(&first);
	/* The second window's two, the third's one, and two that turn out to be of none. */
	cr_assert_eq(tp_cupti_place_n_kept(), 5);
	take_kernels();
	cr_assert_eq(n_out, 4);
	check_kernel(&out[0], 32, 0);	/* whose call was not waited for */
	check_kernel(&out[1], 12, TP_F_AFTER);
	check_kernel(&out[2], 13, TP_F_AFTER);
	check_kernel(&out[3], 31, 0);
	n_out = 0;
	settle(&second);
	cr_assert_eq(n_out, 2);
	check_kernel(&out[0], 22, TP_F_AFTER);
	check_kernel(&out[1], 23, TP_F_AFTER);
	n_out = 0;
	settle(&third);
	cr_assert_eq(n_out, 1);
	check_kernel(&out[0], 33, TP_F_AFTER);
	check_counts(7, 4, 0);
}

/* The calls of the second window come only when it is written. */
Test(cupti_place, keeps_what_is_of_a_later_window_though_its_call_is_not_known)
{
	add_launch(1, 1500);
	add_launch(2, 2500);
	add_kernel("k", 4, T(7000), T(7100));
	add_kernel("k", 3, T(6000), T(6100));	/* began in it */
	decode(&first);
	settle(&first);
	cr_assert_eq(tp_cupti_place_n_kept(), 2);
	add_launch(3, 5500);
	add_launch(5, 6500);
	decode(&second);
	check_kernel(&out[2], 3, TP_F_AFTER);
	settle(&second);
	check_kernel(&out[3], 4, TP_F_AFTER);
	check_counts(2, 0, 0);
}

/* Across ids that wrap. */
Test(cupti_place, counts_what_comes_after_its_file_was_finished)
{
	static const struct tp_cupti_wanted none = {.has_window = false};

	add_launch(0xffffffff, 1100);
	add_launch(1, 1500);
	add_launch(2, 5500);
	decode(&first);
	settle(&first);
	add_kernel("k", 0, T(3000), T(3100));
	add_kernel("k", 1, T(7000), T(7100));	/* after the window that is written now */
	add_kernel("k", 0xfffffffe, T(3000), T(3100));	/* of the warm-up */
	decode(&second);
	settle(&second);
	cr_assert_eq(n_out, 0);
	add_kernel("k", 2, T(11000), T(11100));
	add_kernel("k", 3, T(11000), T(11100));
	add_launch(2, 5600);
	add_launch(3, 7000);
	decode(&none);
	cr_assert_eq(n_out, 0);
	check_counts(0, 2, 3);
	cr_assert_eq(tp_cupti_counts[TP_REC_CALL].late, 1);
	cr_assert_eq(tp_cupti_counts[TP_REC_CALL].outside, 1);
	cr_assert_not_null(strstr(report(), "cupti.kernel.outside=2\ncupti.kernel.late=3\n"));
}

/* More than may be kept: of the window being written all are put, of later ones they are counted. */
Test(cupti_place, counts_what_cannot_be_kept)
{
	uint32_t most = tp_ring.head->n_chunks * (uint32_t)TP_CHUNK_RECORDS / 8;

	cr_assert_lt(most + 2, 1 << 14);
	add_launch(1, 1500);
	add_launch(3, 5500);
	decode(&first);
	for (uint32_t i = 0; i < most + 2; i++)
		add_kernel("k", 3, T(7000), T(7100));
	add_kernel("k", 2, T(7000), T(7100));
	decode(&first);
	cr_assert_eq(tp_cupti_place_n_kept(), most);
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].no_room, 2);
	cr_assert_eq(n_out, 1);
	check_kernel(&out[0], 2, TP_F_AFTER);
	n_out = 0;
	settle(&second);
	cr_assert_eq(n_out, most);
	for (uint32_t i = 0; i < most; i++)
		check_kernel(&out[i], 3, TP_F_AFTER);
	check_counts(most + 1, 0, 0);
}

/* Nothing is lost while someone drains. */
Test(cupti_place, waits_for_the_drain)
{
	enum { N = 2000 };
	uint32_t n_full = 0;

	for (uint32_t i = 0; i < N; i++)
		add_kernel("k", i, T(3000), T(3100));
	decode(&first);
	cr_assert_eq(tp_cupti_place_n_kept(), N);
	while (!tp_cupti_is_ring_half_full()) {
		cr_assert_not_null(tp_ring_reserve());
		tp_ring_commit();
		n_full++;
	}
	cr_assert_not(tp_cupti_place_kept(&first, true, true));
	cr_assert_eq(tp_cupti_place_n_kept(), N);
	drain();
	n_out = 0;
	settle(&first);
	cr_assert_eq(n_out, N);
	for (uint32_t i = 0; i < N; i++)
		check_kernel(&out[i], i, TP_F_AFTER);
	cr_assert_eq(tp_ring_dropped(), 0);
	check_counts(N, 0, 0);
}

/* What fills the ring cannot leave it before the window is finished. */
Test(cupti_place, puts_what_cannot_wait)
{
	add_kernel("k", 1, T(3000), T(3100));
	decode(&first);
	while (!tp_cupti_is_ring_half_full()) {
		cr_assert_not_null(tp_ring_reserve());
		tp_ring_commit();
	}
	cr_assert_not(tp_cupti_place_kept(&first, true, true));
	cr_assert(tp_cupti_place_kept(&first, true, false));
	check_counts(1, 0, 0);
}

Test(cupti_place, has_nothing_of_the_parent_after_fork)
{
	add_kernel("k", 1, T(3000), T(3100));
	decode(&first);
	cr_assert_eq(tp_cupti_place_n_kept(), 1);
	tp_cupti_decode_forked();
	settle(&first);
	cr_assert_eq(n_out, 0);
	check_counts(0, 0, 0);
}
