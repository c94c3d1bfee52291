/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem.c - tests of the accounts of host memory, against a plain reference that goes over all
 * events again and again
 */
#include <criterion/criterion.h>
#include <math.h>

#include "merge/facts/heap/hostmem.h"
#include "tests/unit/fake_run.h"

enum { EVENTS_MAX = 20000, STACKS = 12, THREADS = 4 };

static struct fake fake;
static struct tp_proc *proc;
static struct tp_event events[EVENTS_MAX];
static uint32_t n_events;
static uint64_t seed;
static int64_t now;

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_window(&fake, proc, 0, 0, INT64_MAX / 2);
	n_events = 0;
	now = 1000;
	seed = 1;
}

TestSuite(hostmem, .init = set_up);

static uint32_t random_below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % n);
}

static struct tp_event *add(uint8_t kind, uint32_t thread, uint64_t address, uint64_t bytes,
			    uint32_t stack)
{
	struct tp_event *event = &events[n_events++];

	cr_assert(n_events <= EVENTS_MAX);
	*event = fake_span(&fake, proc, thread, kind, NULL, now, now);
	event->arg = address;
	event->len = bytes;
	event->link = stack;
	return event;
}

static void add_step(uint32_t number, int64_t begin, int64_t end)
{
	events[n_events++] = fake_step(&fake, proc, number, begin, end);
}

/* Stack n is one frame at an address of its own. */
static void add_stacks(uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++)
		add(TP_REC_FRAME, 0, 0x1000 * i, 0, i);
}

static struct tp_facts *facts;

static struct tp_hostmem *run(void)
{
	struct tp_hostmem *mem;

	facts = tp_facts_new(&fake.run);
	mem = tp_hostmem_want(facts, false);
	for (uint32_t i = 0; i < n_events; i++)
		tp_facts_event(facts, &events[i]);
	tp_facts_end(facts);
	cr_expect_not(tp_hostmem_is_incomplete(mem));
	return mem;
}

static const struct tp_hostmem_proc *only_proc(const struct tp_hostmem *mem)
{
	uint32_t n;
	const struct tp_hostmem_proc *procs = tp_hostmem_procs(mem, &n);

	cr_assert_eq(n, 1);
	return procs;
}

static const struct tp_hostmem_row *row_of(const struct tp_hostmem *mem, uint32_t stack)
{
	uint32_t n;
	const struct tp_hostmem_row *row = tp_hostmem_rows(mem, &n);

	for (uint32_t i = 0; i < n; i++)
		if (row[i].stack == stack)
			return &row[i];
	return NULL;
}

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
Test(hostmem, samples_stand_for_all)
{
	double sum_error = 0, square = 0;
	uint32_t n_rounds = 40;

	for (uint32_t round = 0; round < n_rounds; round++) {
		struct tp_hostmem *mem;
		const struct tp_hostmem_proc *host;
		uint64_t bytes = 0, n = 0;
		double error, count_error;

		set_up();
		seed = 77 + round;
		fake.run.window[0].meta = "heap.sample_bytes=4096\n";
		for (uint32_t i = 0; i < 100000 && n_events < EVENTS_MAX; i++) {
			uint64_t size = 16ull << random_below(10);
			double p = 1 - exp(-(double)size / 4096);

			bytes += size;
			n++;
			now++;
			if (random_below(1 << 20) < p * (1 << 20))
				add(TP_REC_HEAPALLOC, 0, 16 + i * 16ull, size, 0)->flags =
					TP_F_SAMPLED;
		}
		mem = run();
		host = only_proc(mem);
		cr_expect(host->is_sampled);
		cr_expect_eq(host->sample_bytes, 4096);
		cr_expect_eq(host->n_temporary, 0);
		error = ((double)host->alloc_bytes - (double)bytes) / host->error_bytes;
		count_error = fabs((double)host->n_allocs - (double)n) / (double)n;
		cr_expect(fabs(error) < 4.5, "round %u: %f standard errors", round, error);
		cr_expect(count_error < 0.15, "round %u: %f of the count", round, count_error);
		cr_expect_eq(host->live_bytes, host->alloc_bytes);
		sum_error += error;
		square += error * error;
		tp_facts_free(facts);
	}
	/* Neither biased, nor with an error that is stated too small or too large. */
	cr_expect(fabs(sum_error / n_rounds) < 0.7, "%f", sum_error / n_rounds);
	cr_expect(square / n_rounds > 0.6 && square / n_rounds < 1.4, "%f", square / n_rounds);
}

Test(hostmem, a_sample_stands_for_as_many_as_its_size_says)
{
	double p = 1 - exp(-1024.0 / 4096);
	struct tp_hostmem *mem;
	const struct tp_hostmem_row *row;

	fake.run.window[0].totals = "heap.sample_bytes=4096\n";
	add(TP_REC_HEAPALLOC, 0, 16, 1024, 0)->flags = TP_F_SAMPLED;
	add(TP_REC_HEAPALLOC, 0, 4096, 1024, 0)->flags = TP_F_SAMPLED;
	mem = run();
	row = row_of(mem, 0);
	cr_expect_eq(row->alloc_bytes, 2 * (uint64_t)llround(1024 / p));
	cr_expect_eq(row->n_allocs, (uint64_t)llround(2 / p));
	cr_expect(fabs(row->error_bytes - sqrt(2 * (1 - p)) * 1024 / p) < 1e-6);
	cr_expect_eq(only_proc(mem)->error_bytes, row->error_bytes);
	tp_facts_free(facts);
}

/* A free takes away exactly what its allocation counted for. */
Test(hostmem, samples_leave_nothing_behind)
{
	struct tp_hostmem *mem;
	const struct tp_hostmem_proc *host;

	for (uint32_t i = 0; i < 5000; i++)
		add(TP_REC_HEAPALLOC, i % THREADS, 16 + 16 * i, random_below(100000), 0)->flags =
			TP_F_SAMPLED;
	for (uint32_t i = 0; i < 5000; i++)
		add(TP_REC_HEAPFREE, i % THREADS, 16 + 16 * i, 0, 0)->flags = TP_F_SAMPLED;
	mem = run();
	host = only_proc(mem);
	cr_expect_eq(host->live_bytes, 0);
	cr_expect_eq(host->live_blocks, 0);
	cr_expect_eq(host->n_allocs, host->n_frees);
	tp_facts_free(facts);
}

/* ---- mappings ---- */

enum { PAGES = 64, PAGE = 4096 };

static void map(uint8_t kind, uint32_t page, uint32_t n)
{
	struct tp_mapping mapping = {.kind = kind};

	add(TP_REC_MAP, 0, (uint64_t)page * PAGE, (uint64_t)n * PAGE, 0)->name =
		fake_string(&fake, TP_STRING_MAPPING, (const char *)&mapping, sizeof(mapping));
}

/* A page of the reference is a byte: what is mapped there. */
Test(hostmem, mappings_equal_a_page_table)
{
	uint8_t page[PAGES] = {0};
	uint64_t peak[TP_MAPPING_N] = {0}, calls[TP_MAPPING_N] = {0}, unknown = 0;
	struct tp_hostmem *mem;
	const struct tp_hostmem_proc *host;

	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t at = random_below(PAGES), n = 1 + random_below(PAGES - at);
		uint8_t kind = 1 + random_below(TP_MAPPING_N - 1);
		uint64_t now_mapped[TP_MAPPING_N] = {0};

		if (random_below(2)) {
			map(kind, at, n);
			calls[kind]++;
			memset(page + at, kind, n);
		} else {
			add(TP_REC_UNMAP, 0, (uint64_t)at * PAGE, (uint64_t)n * PAGE, 0);
			for (uint32_t k = at; k < at + n; k++)
				unknown += page[k] ? 0 : PAGE;
			memset(page + at, 0, n);
		}
		for (uint32_t k = 0; k < PAGES; k++)
			now_mapped[page[k]] += PAGE;
		for (uint32_t k = 1; k < TP_MAPPING_N; k++)
			peak[k] = now_mapped[k] > peak[k] ? now_mapped[k] : peak[k];
	}
	mem = run();
	host = only_proc(mem);
	for (uint32_t k = 1; k < TP_MAPPING_N; k++) {
		uint64_t now_mapped = 0;

		for (uint32_t i = 0; i < PAGES; i++)
			now_mapped += page[i] == k ? PAGE : 0;
		cr_expect_eq(host->mapped[k], now_mapped, "kind %u", k);
		cr_expect_eq(host->mapped_peak[k], peak[k], "kind %u", k);
		cr_expect_eq(host->n_maps[k], calls[k], "kind %u", k);
	}
	cr_expect_eq(host->unknown_unmap_bytes, unknown);
	tp_facts_free(facts);
}

Test(hostmem, what_is_moved_stays_what_it_was)
{
	struct tp_hostmem *mem;
	const struct tp_hostmem_proc *host;

	map(TP_MAPPING_SHM, 0, 2);
	map(TP_MAPPING_ANON, 10, 4);
	add(TP_REC_UNMAP, 0, 10 * PAGE, 4 * PAGE, 0)->flags = TP_F_MOVED;
	add(TP_REC_UNMAP, 1, 0, 2 * PAGE, 0)->flags = TP_F_MOVED;
	add(TP_REC_MAP, 0, 20 * PAGE, 6 * PAGE, 0)->flags = TP_F_MOVED;
	add(TP_REC_MAP, 1, 0, PAGE, 0)->flags = TP_F_MOVED;
	mem = run();
	host = only_proc(mem);
	cr_expect_eq(host->mapped[TP_MAPPING_ANON], 6 * PAGE);
	cr_expect_eq(host->mapped[TP_MAPPING_SHM], PAGE);
	cr_expect_eq(host->mapped[0], 0);
	tp_facts_free(facts);
}

/* Numbers of files are not trusted. */
Test(hostmem, numbers_that_cannot_be)
{
	struct tp_hostmem *mem;

	add(TP_REC_HEAPALLOC, 0, 0, UINT64_MAX, 7);
	add(TP_REC_HEAPALLOC, 0, UINT64_MAX, 0, UINT32_MAX);
	for (uint32_t i = 0; i < 40000 / 4; i++)
		add(TP_REC_HEAPALLOC, 0, i * 8ull, TP_LEN_MAX, 0);
	add(TP_REC_HEAPFREE, 0, 8, 0, 0);
	add(TP_REC_MAP, 0, UINT64_MAX - 10, UINT64_MAX, 0);
	add(TP_REC_UNMAP, 0, 0, UINT64_MAX, 0);
	map(250, 0, 1);
	add(TP_REC_FRAME, 0, 1, UINT64_MAX, 0);
	add(TP_REC_FRAME, 0, UINT64_MAX, 9, 9)->flags = TP_FRAME_JOINED;
	add_step(0, 5, 5);
	events[n_events - 1].begin_ns = INT64_MAX;
	events[n_events - 1].end_ns = INT64_MIN;
	events[n_events++] = fake_span(&fake, proc, 0, TP_REC_COUNTER,
				       fake_string(&fake, TP_STRING_COUNTER, "RSS", 3), 5, 5);
	mem = run();
	cr_expect_eq(only_proc(mem)->n_allocs, 2 + 40000 / 4);
	tp_facts_free(facts);
}
