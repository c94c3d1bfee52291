/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem.c - tests of the accounts of host memory, against a plain reference that goes over all
 * events again and again
 */
#include "tests/unit/hostmem_rig.h"

TestSuite(hostmem, .init = set_up);

/* ---- the reference ---- */

/* Index of the event that frees the block of allocation `at`; n_events: none. */
static uint32_t freed_by(uint32_t at)
{
	for (uint32_t i = at + 1; i < n_events; i++)
		if (events[i].kind == TP_REC_HEAPFREE && events[i].arg == events[at].arg)
			return i;
	return n_events;
}

static bool is_alive(uint32_t at, uint32_t when)
{
	return at <= when && freed_by(at) > when;
}

/* Bytes alive just after event `when`, of one stack, or of all (0). */
static uint64_t alive_bytes(uint32_t when, uint32_t stack, uint64_t *blocks)
{
	uint64_t sum = 0;

	*blocks = 0;
	for (uint32_t i = 0; i <= when; i++) {
		if (events[i].kind != TP_REC_HEAPALLOC || (stack && events[i].link != stack) ||
		    !is_alive(i, when))
			continue;
		sum += events[i].len;
		++*blocks;
	}
	return sum;
}

/* The first event after which most is alive. */
static uint32_t find_peak(void)
{
	uint64_t most = 0, blocks;
	uint32_t at = 0;

	for (uint32_t i = 0; i < n_events; i++) {
		uint64_t bytes;

		if (events[i].kind != TP_REC_HEAPALLOC)
			continue;
		bytes = alive_bytes(i, 0, &blocks);
		if (bytes > most) {
			most = bytes;
			at = i;
		}
	}
	return at;
}

/* No further allocation of its thread lies between the two. */
static bool is_temporary(uint32_t at)
{
	uint32_t end = freed_by(at);

	if (end == n_events)
		return false;
	for (uint32_t i = at + 1; i < end; i++)
		if (events[i].kind == TP_REC_HEAPALLOC && events[i].thread == events[at].thread)
			return false;
	return true;
}

static uint32_t step_of(int64_t time)
{
	for (uint32_t i = 0; i < n_events; i++)
		if (events[i].kind == TP_REC_STEP && time >= events[i].begin_ns &&
		    time < events[i].end_ns)
			return events[i].link + 1;
	return 0;
}

static void check_rows(const struct tp_hostmem *mem, uint32_t peak)
{
	uint64_t sum_peak = 0, sum_end = 0;
	uint32_t n_rows;
	const struct tp_hostmem_row *rows = tp_hostmem_rows(mem, &n_rows);

	for (uint32_t stack = 1; stack <= STACKS; stack++) {
		const struct tp_hostmem_row *row = row_of(mem, stack);
		uint64_t blocks, n_allocs = 0, bytes = 0, n_temporary = 0;

		for (uint32_t i = 0; i < n_events; i++)
			if (events[i].kind == TP_REC_HEAPALLOC && events[i].link == stack) {
				n_allocs++;
				bytes += events[i].len;
				n_temporary += is_temporary(i);
			}
		if (!n_allocs)
			continue;
		cr_assert_not_null(row);
		cr_expect_eq(row->n_allocs, n_allocs);
		cr_expect_eq(row->alloc_bytes, bytes);
		cr_expect_eq(row->n_temporary, n_temporary, "stack %u: %lu, not %lu", stack,
			     row->n_temporary, n_temporary);
		cr_expect_eq(row->peak_bytes, alive_bytes(peak, stack, &blocks));
		cr_expect_eq(row->peak_blocks, blocks);
		cr_expect_eq(row->end_bytes, alive_bytes(n_events - 1, stack, &blocks));
		cr_expect_eq(row->end_blocks, blocks);
		cr_expect_eq(row->error_bytes, 0);
	}
	for (uint32_t i = 0; i < n_rows; i++) {
		sum_peak += rows[i].peak_bytes;
		sum_end += rows[i].end_bytes;
	}
	cr_expect_eq(sum_peak, only_proc(mem)->peak_bytes);
	cr_expect_eq(sum_end, only_proc(mem)->live_bytes);
}

static void check_steps(const struct tp_hostmem *mem)
{
	uint32_t n, s = 0;
	const struct tp_hostmem_step *steps = tp_hostmem_steps(mem, &n);

	for (uint32_t i = 0; i < n_events; i++) {
		uint64_t n_allocs = 0, n_frees = 0, bytes = 0, freed = 0, blocks, most = 0;
		uint32_t before = i ? i - 1 : 0, last = before;

		if (events[i].kind != TP_REC_STEP)
			continue;
		cr_assert(s < n);
		most = alive_bytes(before, 0, &blocks);
		cr_expect_eq((uint64_t)steps[s].begin_live, most);
		for (uint32_t k = i; k < n_events && events[k].begin_ns < events[i].end_ns; k++) {
			uint64_t bytes_now = alive_bytes(k, 0, &blocks);

			last = k;
			most = bytes_now > most ? bytes_now : most;
			if (events[k].kind == TP_REC_HEAPALLOC) {
				n_allocs++;
				bytes += events[k].len;
			}
			for (uint32_t a = 0; a < k && events[k].kind == TP_REC_HEAPFREE; a++)
				if (events[a].kind == TP_REC_HEAPALLOC && freed_by(a) == k) {
					n_frees++;
					freed += events[a].len;
				}
		}
		cr_expect_eq(steps[s].step, events[i].link);
		cr_expect_eq(steps[s].n_allocs, n_allocs);
		cr_expect_eq(steps[s].n_frees, n_frees);
		cr_expect_eq(steps[s].alloc_bytes, bytes);
		cr_expect_eq(steps[s].free_bytes, freed);
		cr_expect_eq((uint64_t)steps[s].peak_live, most);
		cr_expect_eq((uint64_t)steps[s].end_live, alive_bytes(last, 0, &blocks));
		s++;
	}
	cr_expect_eq(s, n);
}

/* Allocations and frees of a few threads, a few addresses again and again, in steps. */
static void make_random(uint32_t n)
{
	uint64_t alive[64];
	uint32_t n_alive = 0, n_steps = 0;
	int64_t step_end = 0;

	add_stacks(STACKS);
	while (n_events < n) {
		uint32_t thread = random_below(THREADS);

		now += random_below(20);
		if (now >= step_end && random_below(10) == 0) {
			step_end = now + 300 + random_below(500);
			add_step(n_steps++, now, step_end);
		}
		if (n_alive < 64 && (random_below(5) < 3 || !n_alive)) {
			uint64_t address;
			bool is_taken = true;

			while (is_taken) {
				address = 16 * (1 + random_below(200));
				is_taken = false;
				for (uint32_t i = 0; i < n_alive; i++)
					is_taken |= alive[i] == address;
			}
			alive[n_alive++] = address;
			add(TP_REC_HEAPALLOC, thread, address, random_below(5000),
			    1 + random_below(STACKS));
		} else {
			/* Often the newest one, so that some are temporary. */
			uint32_t at = random_below(2) ? n_alive - 1 : random_below(n_alive);

			add(TP_REC_HEAPFREE, thread, alive[at], 0, 0);
			alive[at] = alive[--n_alive];
		}
	}
}

Test(hostmem, equals_the_reference)
{
	for (uint64_t round = 1; round <= 12; round++) {
		struct tp_hostmem *mem;
		const struct tp_hostmem_proc *host;
		uint64_t blocks, n_allocs = 0, n_frees = 0, n_temporary = 0;
		uint32_t peak;

		set_up();
		seed = round;
		make_random(500);
		mem = run();
		host = only_proc(mem);
		peak = find_peak();
		for (uint32_t i = 0; i < n_events; i++) {
			n_allocs += events[i].kind == TP_REC_HEAPALLOC;
			n_frees += events[i].kind == TP_REC_HEAPFREE;
			n_temporary += events[i].kind == TP_REC_HEAPALLOC && is_temporary(i);
		}
		cr_expect_eq(host->n_allocs, n_allocs);
		cr_expect_eq(host->n_frees, n_frees);
		cr_expect_eq(host->n_temporary, n_temporary);
		cr_expect_eq(host->n_unknown_frees, 0);
		cr_expect_eq(host->peak_bytes, alive_bytes(peak, 0, &blocks));
		cr_expect_eq(host->peak_blocks, blocks);
		cr_expect_eq(host->peak_ns, events[peak].begin_ns);
		cr_expect_eq(host->is_peak_in_step, step_of(events[peak].begin_ns) != 0);
		if (host->is_peak_in_step)
			cr_expect_eq(host->peak_step, step_of(events[peak].begin_ns) - 1);
		cr_expect_eq(host->live_bytes, alive_bytes(n_events - 1, 0, &blocks));
		cr_expect_eq(host->live_blocks, blocks);
		check_rows(mem, peak);
		check_steps(mem);
		tp_facts_free(facts);
	}
}

/* The same blocks, with the free of one thread behind the allocation of another that reuses its
 * address. */
Test(hostmem, frees_that_come_late_are_told_apart)
{
	uint32_t n_swapped = 0;
	struct tp_hostmem *mem;
	const struct tp_hostmem_proc *host;
	uint64_t live = 0;

	add_stacks(2);
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t from = i % 2, to = 1 - from;
		struct tp_event swap;

		/* From hand to hand: one thread frees it, the other gets its address. */
		now += 1000000;
		if (i)
			add(TP_REC_HEAPFREE, from, 0x40, 0, 0);
		now += random_below(5000);
		add(TP_REC_HEAPALLOC, to, 0x40, 100 + i, 1 + i % 2);
		live = 100 + i;
		if (!i || random_below(3))
			continue;
		swap = events[n_events - 2];
		events[n_events - 2] = events[n_events - 1];
		events[n_events - 1] = swap;
		events[n_events - 2].begin_ns -= 5000;
		n_swapped++;
	}
	mem = run();
	host = only_proc(mem);
	cr_expect_eq(host->n_late_frees, n_swapped);
	cr_expect_eq(host->n_missed_frees, 0);
	cr_expect_eq(host->n_unknown_frees, 0);
	cr_expect_eq(host->live_bytes, live);
	cr_expect_eq(host->live_blocks, 1);
	cr_expect_eq(host->peak_bytes, live);
	cr_expect_eq(host->n_frees, 2999);
	tp_facts_free(facts);
}

Test(hostmem, frees_that_never_come_are_counted)
{
	struct tp_hostmem *mem;
	const struct tp_hostmem_proc *host;

	add(TP_REC_HEAPALLOC, 0, 0x40, 10, 0);
	add(TP_REC_HEAPALLOC, 1, 0x40, 20, 0);
	/* Its own free, although one is due: the same thread's order is certain. */
	add(TP_REC_HEAPFREE, 1, 0x40, 0, 0);
	add(TP_REC_HEAPALLOC, 1, 0x40, 40, 0);
	now += 10000000;
	add(TP_REC_HEAPFREE, 0, 0x40, 0, 0);
	add(TP_REC_HEAPFREE, 0, 0x999, 0, 0);
	mem = run();
	host = only_proc(mem);
	cr_expect_eq(host->n_missed_frees, 1);
	cr_expect_eq(host->n_late_frees, 0);
	cr_expect_eq(host->n_unknown_frees, 1);
	cr_expect_eq(host->live_blocks, 0);
	cr_expect_eq(host->peak_bytes, 40);
	tp_facts_free(facts);
}

Test(hostmem, a_realloc_is_one)
{
	struct tp_hostmem *mem;
	const struct tp_hostmem_proc *host;

	add(TP_REC_HEAPALLOC, 0, 0x40, 10, 0);
	add(TP_REC_HEAPFREE, 0, 0x40, 0, 0)->flags = TP_F_MOVED;
	add(TP_REC_HEAPALLOC, 0, 0x80, 30, 0)->flags = TP_F_MOVED;
	mem = run();
	host = only_proc(mem);
	cr_expect_eq(host->n_allocs, 2);
	cr_expect_eq(host->n_reallocs, 1);
	cr_expect_eq(host->live_bytes, 30);
	cr_expect_eq(host->peak_bytes, 30);
	tp_facts_free(facts);
}

/* Each step leaves a block behind, and one that lives for a step more. */
Test(hostmem, what_stays_behind_steps)
{
	struct tp_hostmem *mem;
	const struct tp_hostmem_row *row;

	add_stacks(2);
	for (uint32_t i = 0; i < 10; i++) {
		now = 10000 * (i + 1);
		add_step(i, now, now + 5000);
		add(TP_REC_HEAPALLOC, 0, 0x10000 + 16 * i, 100, 1);
		add(TP_REC_HEAPALLOC, 0, 0x20000 + 16 * i, 1000, 2);
		if (i)
			add(TP_REC_HEAPFREE, 0, 0x20000 + 16 * (i - 1), 0, 0);
	}
	mem = run();
	row = row_of(mem, 1);
	/* Those of the last two are too young to tell. */
	cr_expect_eq(row->leaked_blocks, 8);
	cr_expect_eq(row->leaked_bytes, 800);
	cr_expect_eq(row->n_leaked_steps, 8);
	cr_expect_eq(row_of(mem, 2)->leaked_blocks, 0);
	cr_expect_eq(only_proc(mem)->leaked_bytes, 800);
	tp_facts_free(facts);
}

Test(hostmem, windows_begin_anew_unless_they_follow_on_each_other)
{
	for (uint32_t follows = 0; follows < 2; follows++) {
		struct tp_hostmem *mem;
		const struct tp_hostmem_proc *host;

		set_up();
		fake.run.window[0].end_ns = 2000;
		fake_window(&fake, proc, 1, follows ? 2000 : 3000, 4000);
		add(TP_REC_HEAPALLOC, 0, 0x40, 100, 0);
		now = 3500;
		add(TP_REC_HEAPALLOC, 0, 0x80, 30, 0)->window = 1;
		add(TP_REC_HEAPFREE, 0, 0x40, 0, 0)->window = 1;
		mem = run();
		host = only_proc(mem);
		cr_expect_eq(host->peak_bytes, follows ? 130 : 100);
		cr_expect_eq(host->live_bytes, 30);
		cr_expect_eq(host->n_unknown_frees, follows ? 0 : 1);
		cr_expect_eq(host->n_windows, follows ? 1 : 2);
		cr_expect_eq(row_of(mem, 0)->peak_bytes, host->peak_bytes);
		cr_expect_eq(row_of(mem, 0)->end_bytes, 30);
		tp_facts_free(facts);
	}
}

/* Many sizes, sampled as the probe does: sums lie within a few standard errors of the truth. */
