/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_times.c - tests of the sweep over steps: what each event counts as, and who sees it after
 */
#include <criterion/criterion.h>

#include "merge/facts/time/step_times.h"
#include "tests/unit/fake_run.h"

static struct fake fake;
static struct tp_proc *proc;
static struct tp_facts *facts;
static uint32_t n_seen;
static int64_t first_begin_ns;

/* One that stands on the times. */
struct after {
	const struct tp_step_times *times;
};

static void begin_after(void *state, struct tp_facts *of, const void *params)
{
	((struct after *)state)->times = tp_facts_want(of, &tp_fact_step_times, NULL);
}

static void count(void *state, const struct tp_event *event)
{
	if (!n_seen++)
		first_begin_ns = event->begin_ns;
}

static const struct tp_fact fact_after = {
	.name = "after", .bytes = sizeof(struct after), .kinds = TP_FACT_ALL_KINDS,
	.is_cut = true, .begin = begin_after, .event = count,
};

static const struct tp_step_times *set_up(void)
{
	n_seen = 0;
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_window(&fake, proc, 0, 100, 10000);
	facts = tp_facts_new(&fake.run);
	return ((struct after *)tp_facts_want(facts, &fact_after, NULL))->times;
}

static void give(uint8_t kind, const char *name, int64_t begin,
		 int64_t end)
{
	struct tp_event event = fake_span(&fake, proc, 0, kind, fake_text(&fake, name), begin, end);

	tp_facts_event(facts, &event);
}

static void give_step(int64_t begin, int64_t end)
{
	struct tp_event event = fake_step(&fake, proc, 7, begin, end);

	tp_facts_event(facts, &event);
}

Test(step_times, each_moment_of_a_step_counts_once)
{
	const struct tp_step_times *times = set_up();
	const struct tp_breakdown *breakdown;

	give_step(1000, 2000);
	give(TP_REC_RANGE, "enumerate(DataLoader)#_Iter.__next__", 1000, 1100);
	give(TP_REC_OP, "aten::mm", 1050, 1400);
	give(TP_REC_CALL, "cudaLaunchKernel", 1200, 1250);
	give(TP_REC_RANGE, "gloo:all_reduce", 1300, 1600);
	give(TP_REC_RANGE, "my own range", 1600, 1900);
	tp_facts_end(facts);
	cr_expect_not(tp_step_times_is_incomplete(times));
	breakdown = tp_step_times_of(times, proc);
	cr_assert_eq(breakdown->n_steps, 1);
	cr_expect_eq(breakdown->step[0].index, 7);
	cr_expect_eq(breakdown->step[0].ns[TP_CAT_DATA], 100);
	cr_expect_eq(breakdown->step[0].ns[TP_CAT_CPU], 150);
	cr_expect_eq(breakdown->step[0].ns[TP_CAT_RUNTIME], 50);
	cr_expect_eq(breakdown->step[0].ns[TP_CAT_COMM], 300);
	cr_expect_eq(breakdown->step[0].ns[TP_CAT_OTHER], 400);
	cr_expect_eq(n_seen, 6);
	tp_facts_free(facts);
}

Test(step_times, a_collective_of_the_plugin_counts_where_no_device_is_recorded)
{
	for (uint32_t n_devices = 0; n_devices < 2; n_devices++) {
		const struct tp_step_times *times = set_up();

		proc->n_devices = n_devices;
		give_step(1000, 2000);
		give(TP_REC_COLL, "", 1100, 1300);
		tp_facts_end(facts);
	cr_expect_not(tp_step_times_is_incomplete(times));
		cr_expect_eq(tp_step_times_of(times, proc)->step[0].ns[TP_CAT_COMM],
			     n_devices ? 0 : 200, "%u devices", n_devices);
		tp_facts_free(facts);
	}
}

Test(step_times, who_comes_after_sees_spans_cut_to_their_window)
{
	const struct tp_step_times *times = set_up();
	struct tp_event event = fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, "aten::mm"), -500, 300);

	event.flags = TP_F_EARLY;
	tp_facts_event(facts, &event);
	cr_expect_eq(n_seen, 0, "held back until its window's begin");
	tp_facts_end(facts);
	cr_expect_not(tp_step_times_is_incomplete(times));
	cr_expect_eq(n_seen, 1);
	cr_expect_eq(first_begin_ns, 100);
	tp_facts_free(facts);
}

Test(step_times, work_of_a_device_counts_in_the_step_that_asked_for_it)
{
	static const struct tp_queue queue = {.stream = 7};
	const struct tp_step_times *times = set_up();
	struct tp_event event;

	give_step(1000, 2000);
	event = fake_span(&fake, proc, 0, TP_REC_CALL, fake_text(&fake, "cudaLaunchKernel"), 1900, 1910);
	event.link = 5;
	tp_facts_event(facts, &event);
	event = fake_span(&fake, proc, 0, TP_REC_KERNEL, fake_text(&fake, "sgemm"), 1950, 2300);
	event.link = 5;
	event.queue = &queue;
	tp_facts_event(facts, &event);
	give_step(2000, 3000);
	tp_facts_end(facts);
	cr_expect_not(tp_step_times_is_incomplete(times));
	cr_expect_eq(tp_step_times_of(times, proc)->step[0].ns[TP_CAT_KERNEL], 350);
	cr_expect_eq(tp_step_times_of(times, proc)->step[0].end_ns, 2300);
	cr_expect_eq(tp_step_times_of(times, proc)->step[1].ns[TP_CAT_KERNEL], 0);
	tp_facts_free(facts);
}
