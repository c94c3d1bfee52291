/* SPDX-License-Identifier: Apache-2.0 */
/* Memory at the start and the end of ranges: what was alive then, whichever event comes next. */
#include <criterion/criterion.h>

#include "merge/facts/tensor/memory_at.h"
#include "merge/facts/tensor/module_memory.h"
#include "tests/unit/fake_run.h"

static struct {
	struct fake fake;
	struct tp_proc *proc, *worker;
	struct tp_facts *facts;
	const struct tp_memory_at *at;
	const struct tp_memory_at_call *call;
	uint32_t n;
} rig;

static void begin(const char *names)
{
	const struct tp_memory_at_params params = {.names = names};

	fake_init(&rig.fake);
	rig.proc = fake_proc(&rig.fake, 0);
	rig.worker = fake_proc(&rig.fake, 1);
	rig.worker->worker = 1;
	fake_window(&rig.fake, rig.proc, 0, 0, 1000);
	rig.facts = tp_facts_new(&rig.fake.run);
	rig.at = tp_facts_want(rig.facts, &tp_fact_memory_at, &params);
}

static void end(void)
{
	tp_facts_end(rig.facts);
	rig.call = tp_memory_at_calls(rig.at, &rig.n);
}

static void tear_down(void)
{
	tp_facts_free(rig.facts);
}

TestSuite(memory_at, .fini = tear_down);

static void range(struct tp_proc *proc, const char *name, int64_t from, int64_t to, uint8_t flags)
{
	struct tp_event event = fake_span(&rig.fake, proc, 0, TP_REC_RANGE, fake_text(&rig.fake, name), from,
					  to);

	event.flags = flags;
	tp_facts_event(rig.facts, &event);
}

static void block(uint8_t kind, int64_t at, uint64_t address, uint64_t bytes)
{
	struct tp_event event = fake_block(&rig.fake, rig.proc, 0, kind, at, address, bytes);

	event.link = TP_DEVICE_CPU;
	tp_facts_event(rig.facts, &event);
}

static void counter(const char *name, int64_t at, uint64_t value)
{
	struct tp_event event = fake_block(&rig.fake, rig.proc, 0, TP_REC_COUNTER, at, value, 0);

	event.name = fake_text(&rig.fake, name);
	event.flags = 0;
	event.link = 0;
	tp_facts_event(rig.facts, &event);
}

static int64_t bytes_at(const struct tp_memory_at_point *point)
{
	return tp_moment_bytes(point->tensors);
}

Test(memory_at, what_is_alive_at_both_ends)
{
	begin(NULL);
	block(TP_REC_ALLOC, 5, 0x100, 100);
	range(rig.proc, "outer", 10, 100, 0);
	block(TP_REC_ALLOC, 20, 0x200, 30);
	range(rig.proc, "inner", 25, 50, 0);
	block(TP_REC_FREE, 40, 0x100, 0);
	/* The first event behind the inner one's end frees what was alive then. */
	block(TP_REC_FREE, 60, 0x200, 0);
	block(TP_REC_ALLOC, 70, 0x300, 7);
	range(rig.proc, "outer", 200, 1000, 0);
	end();
	cr_assert_eq(rig.n, 3);
	cr_expect_eq(bytes_at(&rig.call[0].start), 100);
	cr_expect_eq(bytes_at(&rig.call[0].end), 7);
	cr_expect_eq(bytes_at(&rig.call[1].start), 130);
	cr_expect_eq(bytes_at(&rig.call[1].end), 30);
	cr_expect_eq(rig.call[1].end.ns, 50);
	cr_expect_eq(bytes_at(&rig.call[2].start), 7);
	cr_expect_eq(bytes_at(&rig.call[2].end), 7, "as the window does");
}

Test(memory_at, calls_are_counted_by_name_and_chosen_by_part_of_it)
{
	begin("optimizer.STEP,ining");
	range(rig.proc, "Optimizer.step#SGD.step", 10, 20, 0);
	range(rig.proc, "Optimizer.zero_grad", 30, 40, 0);
	range(rig.proc, "training_step", 50, 60, 0);
	range(rig.worker, "training_step", 51, 60, 0);
	range(rig.proc, "Optimizer.step#SGD.step", 70, 80, 0);
	range(rig.proc, "training_step", 90, 95, TP_F_OPEN);
	counter("RSS", 100, 1);
	end();
	cr_assert_eq(rig.n, 3);
	cr_expect_eq(rig.call[0].number, 1);
	cr_expect_str_eq(tp_names_at(tp_memory_at_names(rig.at), rig.call[1].name)->bytes, "training_step");
	cr_expect_eq(rig.call[2].number, 2);
	cr_expect_not(tp_memory_at_has_tensors(rig.at));
}

Test(memory_at, the_process_at_the_nearest_sample)
{
	begin(NULL);
	range(rig.proc, "a", 10, 20, 0);
	counter("RSS", 15, 1000);
	counter("virtual", 15, 5000);
	counter("PSS", 16, 900);
	counter("shared", 17, 1);
	range(rig.proc, "b", 19, 28, 0);
	counter("RSS", 30, 2000);
	counter("virtual", 30, 6000);
	end();
	cr_assert_eq(rig.n, 2);
	cr_expect_eq(rig.call[0].start.process.rss, 1000, "the first one, after it");
	cr_expect_eq(rig.call[0].start.process.vms, 5000);
	cr_expect_eq(rig.call[0].end.process.rss, 1000);
	cr_expect_eq(rig.call[0].end.process.vms, 5000);
	cr_expect_eq(rig.call[0].end.process.pss, 900);
	cr_expect_eq(rig.call[0].end.process.ns, 15);
	cr_expect_eq(rig.call[1].start.process.rss, 1000);
	cr_expect_eq(rig.call[1].end.process.rss, 2000);
	cr_expect_eq(rig.call[1].end.process.vms, 6000);
	cr_expect_eq(rig.call[1].end.process.ns, 30);
}

Test(memory_at, a_sample_of_long_after_is_none_of_theirs)
{
	begin(NULL);
	range(rig.proc, "a", 10, 20, 0);
	counter("RSS", 11000000, 2000);
	range(rig.proc, "b", 11000001, 11000002, 0);
	end();
	cr_assert_eq(rig.n, 2);
	cr_expect_eq(rig.call[0].end.process.rss, 0);
	cr_expect_eq(rig.call[1].start.process.rss, 2000);
}

static void totals(uint32_t device, int64_t at, uint64_t allocated, uint64_t reserved)
{
	struct tp_event event = fake_block(&rig.fake, rig.proc, 0, TP_REC_TOTALS, at, reserved, allocated);

	event.link = device;
	tp_facts_event(rig.facts, &event);
}

Test(memory_at, what_the_allocators_of_all_devices_said_last_before)
{
	begin(NULL);
	range(rig.proc, "a", 10, 20, 0);
	totals(0, 12, 100, 400);
	totals(1, 13, 10, 40);
	totals(TP_DEVICE_CPU, 14, 7, 0);
	totals(0, 15, 50, 300);
	totals(0, 30, 1, 1);
	end();
	cr_assert_eq(rig.n, 1);
	cr_expect_eq(rig.call[0].start.process.reserved, 0);
	cr_expect_eq(rig.call[0].end.process.allocated, 60);
	cr_expect_eq(rig.call[0].end.process.reserved, 340);
}
