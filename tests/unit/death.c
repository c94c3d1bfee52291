/* SPDX-License-Identifier: Apache-2.0 */
/*
 * death.c - how a process ended, as lines of END: there and back, and lines that lie
 */
#include <criterion/criterion.h>

#include "merge/input/ring/death.h"

static struct tp_thread threads[3] = {
	{.slot = 0, .tid = 4711}, {.slot = 1, .tid = 4712}, {.slot = 1, .tid = 4713}};

static struct tp_proc_in process(void)
{
	return (struct tp_proc_in){.pub = {.thread = threads, .n_threads = 3}};
}

static void put(struct tp_proc_in *proc, uint32_t thread, uint32_t depth, uint64_t time, bool has_ended)
{
	static struct tp_ring_open open[64];

	proc->ring_open = open;
	open[proc->n_ring_open++] = (struct tp_ring_open){
		.span = {.time = time, .name = 900 + depth, .kind = depth ? TP_REC_OP : TP_REC_RANGE},
		.slot = threads[thread].slot, .thread = thread, .depth = depth, .has_ended = has_ended};
}

Test(death, is_read_as_it_was_written_without_what_had_ended)
{
	struct tp_proc_in from = process(), to = process();
	char buf[4096];
	struct tp_text text;

	from.seen_ticks = 5000;
	put(&from, 0, 0, 100, false);
	put(&from, 0, 1, 200, true);
	put(&from, 2, 2, 300, false);
	tp_text_init(&text, buf, sizeof(buf));
	cr_expect_eq(tp_death_put(&text, &from), 3);
	buf[text.len] = '\0';
	cr_assert_eq(tp_recover_death(&to, buf), 0);
	cr_expect(to.pub.is_dead);
	cr_expect_eq(to.seen_ticks, 5000);
	cr_assert_eq(to.n_ring_open, 2);
	cr_expect_eq(to.ring_open[0].span.time, 100);
	cr_expect_eq(to.ring_open[0].span.kind, TP_REC_RANGE);
	cr_expect_eq(to.ring_open[1].thread, 2);
	cr_expect_eq(to.ring_open[1].depth, 2);
	cr_expect_eq(to.ring_open[1].span.name, 902);
	free(to.ring_open);
}

Test(death, lines_beyond_the_room_are_told_of)
{
	struct tp_proc_in from = process(), to = process();
	char buf[512];
	struct tp_text text;
	uint32_t n;

	for (uint32_t i = 0; i < 40; i++)
		put(&from, 0, i, 100 + i, false);
	from.seen_ticks = 1000;
	tp_text_init(&text, buf, sizeof(buf));
	n = tp_death_put(&text, &from);
	cr_expect_lt(n, 40);
	cr_expect_gt(n, 5);
	cr_expect_not(text.is_cut);
	buf[text.len] = '\0';
	cr_assert_eq(tp_recover_death(&to, buf), 0);
	cr_expect_eq(to.n_ring_open, n);
	free(to.ring_open);
}

Test(death, of_lines_that_lie_none_counts)
{
	static const char *const lies[] = {
		"", "1", "0 4711 0 1 900", "x", "0 9 0 2 900 100", "7 4711 0 2 900 100", "0 4711 56 2 900 100",
		"0 4711 0 14 900 100", "0 4711 0 2 900 0", "4294967295 4711 0 2 900 100",
		"99999999999999999999 4711 0 2 900 100", "0 4711 -1 2 900 100"};
	struct tp_proc_in proc;
	char text[256];

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		proc = process();
		snprintf(text, sizeof(text), "died=10\nopen.0=%s\n", lies[i]);
		cr_assert_eq(tp_recover_death(&proc, text), 0);
		cr_expect_eq(proc.n_ring_open, 0, "'%s'", lies[i]);
		cr_expect(proc.pub.is_dead);
	}
	/* Only `died` says so; and whoever has the ring does not need these. */
	proc = process();
	cr_assert_eq(tp_recover_death(&proc, "open.0=0 4711 0 1 900 100\n"), 0);
	cr_expect(!proc.pub.is_dead && !proc.n_ring_open);
	proc.has_ring = true;
	cr_assert_eq(tp_recover_death(&proc, "died=10\nopen.0=0 4711 0 1 900 100\n"), 0);
	cr_expect(!proc.n_ring_open && !proc.seen_ticks);
}

/* That it began is a sign of life, also where the rate of the process's clock is a guess. */
Test(death, an_open_span_was_seen_no_earlier_than_it_began)
{
	struct tp_align_knot knot = {.rate = 1ull << 32};
	struct tp_proc_in proc = process();
	struct tp_proc *of[] = {&proc.pub};
	struct tp_run_in run = {.pub = {.proc = of, .n_procs = 1}};

	proc.map = (struct tp_align_map){.knot = &knot, .n_knots = 1};
	proc.seen_ticks = 5000;
	put(&proc, 0, 0, 4000, false);
	put(&proc, 0, 1, 7000, false);
	cr_assert_eq(tp_recover_settle_open(&run), 0);
	cr_assert_eq(run.pub.n_open, 2);
	cr_expect_eq(run.pub.open[0].seen_ns - run.pub.open[0].begin_ns, 1000);
	cr_expect_eq(run.pub.open[1].seen_ns, run.pub.open[1].begin_ns);
	free(run.pub.open);
}
