/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapcurve.c of the merge: which points a viewer gets of host memory
 */
#include <criterion/criterion.h>

#include "merge/facts/heap/heapcurve.h"
#include "tests/unit/fake_run.h"

static char text[1 << 16];
static size_t n_text;
static int64_t greatest, n_points;
static struct tp_facts *facts;

static void note(void *ctx, const struct tp_event *counter)
{
	bool is_live = !strcmp(counter->name->bytes, "host memory (heap)");

	cr_assert_eq(counter->kind, TP_REC_COUNTER);
	cr_assert_eq(counter->name->kind, TP_STRING_COUNTER);
	n_points++;
	if (is_live && (int64_t)counter->arg > greatest)
		greatest = (int64_t)counter->arg;
	n_text += (size_t)snprintf(text + n_text, sizeof(text) - n_text, "%s%u@%lld=%lld ",
				   is_live ? "live" : "rate", counter->proc->at,
				   (long long)counter->begin_ns, (long long)counter->arg);
}

static void begin(struct fake *fake, struct tp_heapcurve *curve, uint32_t n_procs)
{
	fake_init(fake);
	for (uint32_t i = 0; i < n_procs; i++)
		fake_window(fake, fake_proc(fake, (int32_t)i), 0, 0, 1000000000);
	facts = tp_facts_new(&fake->run);
	tp_heapcurve_init(curve, &fake->run, tp_hostmem_want(facts, true), note, NULL);
	n_text = 0;
	n_points = greatest = 0;
	text[0] = 0;
}

static void give(struct fake *fake, struct tp_heapcurve *curve, uint32_t proc, uint8_t kind,
		 int64_t ns, uint64_t address, uint64_t bytes)
{
	struct tp_event event = fake_block(fake, fake->procs[proc], 0, kind, ns, address, bytes);

	tp_facts_event(facts, &event);
	tp_heapcurve_event(curve, &event);
}

Test(heapcurve, a_millisecond_is_its_extremes_and_its_end)
{
	struct tp_heapcurve curve;
	const struct tp_hostmem_proc *proc;
	struct fake fake;
	uint32_t n;

	begin(&fake, &curve, 1);
	give(&fake, &curve, 0, TP_REC_HEAPALLOC, 100, 0x10, 1000);
	give(&fake, &curve, 0, TP_REC_HEAPALLOC, 200, 0x20, 9000);
	give(&fake, &curve, 0, TP_REC_HEAPFREE, 300, 0x20, 0);
	give(&fake, &curve, 0, TP_REC_HEAPALLOC, 400, 0x30, 1);
	cr_expect_str_eq(text, "", "a millisecond is given when it is over: %s", text);
	/* Nothing in the next two; then less than a two-hundredth, which only the end shows. */
	give(&fake, &curve, 0, TP_REC_HEAPALLOC, 3000100, 0x40, 4);
	give(&fake, &curve, 0, TP_REC_HEAPFREE, 3000200, 0x40, 0);
	give(&fake, &curve, 0, TP_REC_HEAPFREE, 3000300, 0x30, 0);
	tp_facts_end(facts);
	proc = tp_heapcurve_end(&curve, &n);
	cr_expect_str_eq(text,
			 "rate0@0=3 live0@100=1000 live0@200=10000 live0@400=1001 rate0@1000000=0 "
			 "rate0@3000000=1 live0@3000300=1000 rate0@4000000=0 ");
	cr_assert_eq(n, 1);
	cr_expect_eq(proc->peak_bytes, 10000);
	cr_expect_eq(proc->peak_ns, 200);
	tp_heapcurve_fini(&curve);
	tp_facts_free(facts);
}

Test(heapcurve, points_do_not_follow_events_and_the_peak_is_among_them)
{
	struct tp_heapcurve curve;
	struct fake fake;
	uint32_t n;

	begin(&fake, &curve, 1);
	/* Up and down by half, 100,000 times in ten milliseconds; once by more. */
	for (int64_t i = 0; i < 100000; i++) {
		give(&fake, &curve, 0, TP_REC_HEAPALLOC, i * 100, 0x10, i == 54321 ? 900 : 500);
		give(&fake, &curve, 0, TP_REC_HEAPFREE, i * 100 + 50, 0x10, 0);
		n_text = 0;
	}
	tp_heapcurve_end(&curve, &n);
	cr_expect_eq(greatest, 900);
	cr_expect_leq(n_points, 10 * 4 + 1, "%lld points", (long long)n_points);
	tp_heapcurve_fini(&curve);
	tp_facts_free(facts);
}

Test(heapcurve, processes_are_apart_and_without_events_there_is_nothing)
{
	struct tp_heapcurve curve;
	struct fake fake;
	uint32_t n;

	begin(&fake, &curve, 2);
	cr_expect_null(tp_heapcurve_end(&curve, &n));
	cr_expect_eq(n, 0);
	give(&fake, &curve, 1, TP_REC_HEAPALLOC, 100, 0x10, 7);
	give(&fake, &curve, 0, TP_REC_HEAPALLOC, 200, 0x10, 5);
	give(&fake, &curve, 1, TP_REC_HEAPALLOC, 300, 0x20, 7);
	tp_facts_end(facts);
	tp_heapcurve_end(&curve, &n);
	cr_expect_eq(n, 2);
	cr_expect_str_eq(text, "rate0@0=1 live0@200=5 rate0@1000000=0 "
			       "rate1@0=2 live1@100=7 live1@300=14 rate1@1000000=0 ");
	tp_heapcurve_fini(&curve);
	tp_facts_free(facts);
}
