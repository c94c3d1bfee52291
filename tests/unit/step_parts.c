/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_parts.c - tests of the parts of a step: what goes on, first of the list, and for devices
 */
#include <criterion/criterion.h>

#include "merge/facts/time/step_parts.h"
#include "tests/unit/fake_run.h"

static struct fake fake;
static struct tp_proc *proc;

static struct tp_facts *facts;

static const struct tp_step_parts *set_up(void)
{
	const struct tp_step_parts *parts;
	struct tp_event step;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	facts = tp_facts_new(&fake.run);
	parts = tp_facts_want(facts, &tp_fact_step_parts, NULL);
	step = fake_step(&fake, proc, 3, 1000, 2000);
	tp_facts_event(facts, &step);
	return parts;
}

/* seq: of an operator that records a graph. */
static void give(uint8_t kind, const char *name, int64_t begin, int64_t end,
		 uint32_t seq)
{
	struct tp_event event = fake_span(&fake, proc, 0, kind, fake_text(&fake, name), begin, end);

	event.link = seq;
	tp_facts_event(facts, &event);
}

Test(step_parts, each_moment_is_of_one_part)
{
	static const int64_t want[TP_PARTS] = {
	    [TP_PART_DATA] = 100,     [TP_PART_OPTIMIZER] = 150, [TP_PART_BACKWARD] = 300,
	    [TP_PART_FORWARD] = 200,  [TP_PART_OPERATORS] = 50,  [TP_PART_NONE] = 200,
	};
	const struct tp_step_parts *parts = set_up();

	give(TP_REC_RANGE, "enumerate(DataLoader)#_Iter.__next__", 1000, 1100, TP_NO_SEQ);
	give(TP_REC_OP, "aten::stack", 1010, 1050, TP_NO_SEQ);
	give(TP_REC_RANGE, "forward of mine", 1100, 1400, TP_NO_SEQ);
	give(TP_REC_OP, "aten::mm", 1150, 1350, 5);
	give(TP_REC_OP, "autograd::engine::evaluate_function: MmBackward0", 1400, 1700, 5);
	/* Computed again for the backward pass: part of it. */
	give(TP_REC_OP, "aten::mm", 1450, 1500, 6);
	give(TP_REC_OP, "aten::item", 1700, 1750, TP_NO_SEQ);
	give(TP_REC_RANGE, "Optimizer.step#AdamW.step", 1750, 1850, TP_NO_SEQ);
	give(TP_REC_OP, "aten::add_", 1760, 1840, TP_NO_SEQ);
	give(TP_REC_RANGE, "Optimizer.zero_grad#AdamW.zero_grad", 1850, 1900, TP_NO_SEQ);
	tp_facts_end(facts);
	cr_expect_not(tp_step_parts_is_incomplete(parts));
	for (uint32_t i = 0; i < TP_PARTS; i++)
		cr_expect_eq(tp_step_parts_host_ns(parts, (enum tp_part)i), want[i], "%s: %ld",
			     tp_part_name((enum tp_part)i),
			     (long)tp_step_parts_host_ns(parts, (enum tp_part)i));
	tp_facts_free(facts);
}
