/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_rig.h - ranks that communicate, for the tests of collectives
 */
#ifndef TP_TESTS_COMM_RIG_H
#define TP_TESTS_COMM_RIG_H

#include <criterion/criterion.h>

#include "merge/facts/comm/comm.h"
#include "merge/model/shapes.h"
#include "tests/unit/fake_run.h"

enum { MS = 1000000 };

static struct fake fake;
static struct tp_proc *proc[4];
static struct tp_facts *facts;
static const struct tp_comm *comm;

static inline void set_up(uint32_t n_ranks)
{
	fake_init(&fake);
	for (uint32_t i = 0; i < n_ranks; i++) {
		proc[i] = fake_proc(&fake, (int32_t)i);
		fake_window(&fake, proc[i], 0, 0, 1000 * MS);
	}
	facts = tp_facts_new(&fake.run);
	comm = tp_facts_want(facts, &tp_fact_comm, NULL);
}

static inline void end(void)
{
	tp_facts_end(facts);
	cr_expect_not(tp_comm_is_incomplete(comm));
}

static inline void tear_down(void)
{
	tp_facts_free(facts);
	facts = NULL;
}

static inline void give_step(uint32_t rank, uint32_t step, int64_t begin, int64_t end)
{
	struct tp_event event = fake_step(&fake, proc[rank], step, begin, end);

	tp_facts_event(facts, &event);
}

static inline void give_span(uint32_t rank, uint32_t thread, uint8_t kind, const char *name, int64_t begin,
			     int64_t end)
{
	struct tp_event event = fake_span(&fake, proc[rank], thread, kind, fake_text(&fake, name),
					  begin, end);

	if (!strncmp(name, "gloo:", 5))
		event.flags = TP_F_ASYNC;
	tp_facts_event(facts, &event);
}

/* Work on a device, asked for by the call of that number; 0: by none that is known. */
static inline void give_kernel(uint32_t call, const char *name, int64_t begin, int64_t end)
{
	static struct tp_queue queue = {.stream = 7};
	struct tp_event event = fake_span(&fake, proc[0], 0, TP_REC_KERNEL, fake_text(&fake, name),
					  begin, end);

	event.link = call;
	event.queue = &queue;
	tp_facts_event(facts, &event);
}

/* An all-reduce of 4 x 250 floats, asked for at `begin`. */
static inline void give_asked(uint32_t rank, int64_t begin)
{
	static const char shapes[] = {TP_SHAPE_TENSOR_LIST, 1, TP_SHAPE_TENSOR, 6, 2, 4, (char)0xfa, 1,
				      TP_SHAPE_NONE, TP_SHAPE_SCALAR};
	struct tp_event event = fake_span(&fake, proc[rank], 0, TP_REC_OP,
					  fake_op(&fake, "c10d::allreduce_"), begin, begin + 100);

	event.shapes = fake_string(&fake, TP_STRING_SHAPES, shapes, sizeof(shapes));
	tp_facts_event(facts, &event);
}

#endif
