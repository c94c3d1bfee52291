/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcurve.c - tests of tensor memory from its blocks
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "merge/facts/tensor/memcurve.h"
#include "tests/unit/fake_run.h"

Test(memcurve, pairs_frees_with_allocations_by_address)
{
	static const struct {
		uint8_t kind;
		uint64_t address, bytes;
		int64_t change, live;
		uint64_t n_unpaired;
	} cases[] = {
		{TP_REC_ALLOC, 0x1000, 500, 500, 500, 0},
		{TP_REC_ALLOC, 0x2000, 70, 70, 570, 0},
		{TP_REC_FREE, 0x1000, 0, -500, 70, 0},
		/* freed already, or older than the window: nothing is known */
		{TP_REC_FREE, 0x1000, 0, 0, 70, 1},
		{TP_REC_FREE, 0x9000, 0, 0, 70, 2},
		/* the record knows the size */
		{TP_REC_FREE, 0x9000, 20, -20, 50, 2},
		/* nobody saw the free in between */
		{TP_REC_ALLOC, 0x2000, 100, 100, 80, 2},
		{TP_REC_FREE, 0x2000, 0, -100, -20, 2},
		{TP_REC_TOTALS, 0, 4096, 0, 4096, 2},
		{TP_REC_ALLOC, 0x3000, 4, 4, 4100, 2},
	};
	struct tp_memcurve *curve = tp_memcurve_new();
	struct tp_proc *proc;
	struct fake fake;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_event event = fake_block(&fake, proc, 0, cases[i].kind, (int64_t)i,
						   cases[i].address, cases[i].bytes);
		const struct tp_memcurve_track *track;
		int64_t change;

		track = tp_memcurve_event(curve, &event, &change);
		cr_assert(track);
		cr_expect_eq(change, cases[i].change, "case %zu: change %ld", i, (long)change);
		cr_expect_eq(track->live_bytes, cases[i].live, "case %zu: live %ld", i,
			     (long)track->live_bytes);
		cr_expect_eq(track->n_unpaired, cases[i].n_unpaired, "case %zu", i);
	}
	tp_memcurve_free(curve);
}

Test(memcurve, keeps_processes_devices_and_windows_apart)
{
	struct tp_memcurve *curve = tp_memcurve_new();
	struct tp_event event;
	struct tp_proc *proc[2];
	struct fake fake;
	int64_t change;

	fake_init(&fake);
	proc[0] = fake_proc(&fake, 0);
	proc[1] = fake_proc(&fake, 1);
	event = fake_block(&fake, proc[0], 0, TP_REC_ALLOC, 0, 0x1000, 100);
	tp_memcurve_event(curve, &event, &change);
	event = fake_block(&fake, proc[1], 0, TP_REC_FREE, 0, 0x1000, 0);
	tp_memcurve_event(curve, &event, &change);
	cr_expect_eq(change, 0);
	event = fake_block(&fake, proc[0], 0, TP_REC_FREE, 0, 0x1000, 0);
	event.link = TP_DEVICE(1, 0);
	tp_memcurve_event(curve, &event, &change);
	cr_expect_eq(change, 0);
	event = fake_block(&fake, proc[0], 0, TP_REC_ALLOC, 0, 0x2000, 5);
	cr_expect_eq(tp_memcurve_event(curve, &event, &change)->live_bytes, 105);
	/* The next window of the same process: what was alive may be gone. */
	event = fake_block(&fake, proc[0], 0, TP_REC_FREE, 9, 0x1000, 0);
	event.window = 1;
	cr_expect_eq(tp_memcurve_event(curve, &event, &change)->live_bytes, 0);
	cr_expect_eq(change, 0);
	tp_memcurve_free(curve);
}

/* Random blocks against an array indexed by address. */
Test(memcurve, agrees_with_an_array_on_random_blocks)
{
	enum { ADDRESSES = 3000 };
	static uint64_t bytes[ADDRESSES];
	struct tp_memcurve *curve = tp_memcurve_new();
	struct tp_proc *proc;
	struct fake fake;
	unsigned seed = 1;
	int64_t live = 0;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t at = (uint32_t)rand_r(&seed) % ADDRESSES;
		bool is_alloc = !bytes[at] && rand_r(&seed) % 4;
		uint64_t size = is_alloc ? 1 + (uint64_t)rand_r(&seed) % 10000 : 0;
		struct tp_event event = fake_block(&fake, proc, 0,
						   is_alloc ? TP_REC_ALLOC : TP_REC_FREE, i,
						   0x7f0000000000 + at * 64, size);
		int64_t change, wanted = is_alloc ? (int64_t)size : -(int64_t)bytes[at];

		live += wanted;
		bytes[at] = size;
		cr_assert_eq(tp_memcurve_event(curve, &event, &change)->live_bytes, live);
		cr_assert_eq(change, wanted);
	}
	tp_memcurve_free(curve);
}

Test(memcurve, stays_bounded_when_nothing_is_ever_freed)
{
	struct tp_memcurve *curve = tp_memcurve_new();
	struct tp_event event;
	struct tp_proc *proc;
	struct fake fake;
	int64_t change;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	for (uint32_t i = 0; i < TP_MEMCURVE_BLOCKS_MAX + 100000; i++) {
		event = fake_block(&fake, proc, 0, TP_REC_ALLOC, i, 64 + (uint64_t)i * 64, 8);
		tp_memcurve_event(curve, &event, &change);
	}
	cr_expect_eq(tp_memcurve_lost(curve), 100000);
	/* In the next window there is room again. */
	event = fake_block(&fake, proc, 0, TP_REC_ALLOC, 0, 64, 8);
	event.window = 1;
	for (uint32_t i = 0; i < 70000; i++) {
		event.arg += 64;
		tp_memcurve_event(curve, &event, &change);
	}
	event.kind = TP_REC_FREE;
	event.len = 0;
	tp_memcurve_event(curve, &event, &change);
	cr_expect_eq(change, -8);
	tp_memcurve_free(curve);
}
