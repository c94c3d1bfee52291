/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_sampled.c - accounts of host memory of which samples were recorded, or mappings
 */
#include <math.h>

#include "tests/unit/hostmem_rig.h"

TestSuite(hostmem_sampled, .init = set_up);

Test(hostmem_sampled, samples_stand_for_all)
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

Test(hostmem_sampled, a_sample_stands_for_as_many_as_its_size_says)
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
Test(hostmem_sampled, samples_leave_nothing_behind)
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
Test(hostmem_sampled, mappings_equal_a_page_table)
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

Test(hostmem_sampled, what_is_moved_stays_what_it_was)
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
Test(hostmem_sampled, numbers_that_cannot_be)
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
