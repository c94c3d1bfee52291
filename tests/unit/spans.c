/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.c - tests of the spans that are open, and of what readers keep of them
 */
#include <criterion/criterion.h>

#include "merge/facts/time/spans.h"
#include "tests/unit/fake_run.h"

enum { SPANS_MAX = 2000, SLOTS_MAX = 16 };

/* A reader: which span, counted from 1, it has noted in each slot. */
struct reader {
	struct tp_spans *spans;
	uint32_t n_spans;
	uint32_t noted[SLOTS_MAX];
	int64_t begin_ns[SPANS_MAX];
	uint32_t n_closed[SPANS_MAX];
};

static struct fake fake;
static struct tp_facts *facts;
static struct tp_spans *spans;
static struct tp_proc *proc;

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_window(&fake, proc, 0, 0, 1000000);
	facts = tp_facts_new(&fake.run);
	spans = tp_facts_want(facts, &tp_fact_spans, NULL);
}

static void tear_down(void)
{
	tp_facts_free(facts);
}

TestSuite(spans, .init = set_up, .fini = tear_down);

static void close_span(void *ctx, const struct tp_nest_span *span)
{
	struct reader *reader = ctx;
	uint32_t noted = reader->noted[span->slot];

	cr_assert_neq(noted, 0);
	cr_expect_eq(reader->begin_ns[noted], span->begin_ns);
	reader->n_closed[noted]++;
	reader->noted[span->slot] = 0;
}

static void take_event(void *state, const struct tp_event *event)
{
	struct reader *reader = state;
	const struct tp_nest_span *span = tp_spans_now(reader->spans);

	if (!span)
		return;
	cr_assert_lt(span->slot, SLOTS_MAX);
	cr_expect_eq(span->begin_ns, event->begin_ns);
	cr_expect_eq(span->kind, event->kind);
	for (uint32_t i = 1; i <= span->depth; i++) {
		const struct tp_nest_span *around = span - i;

		cr_expect_eq(around->depth, span->depth - i);
		cr_expect_gt(around->end_ns, event->begin_ns);
		cr_expect_neq(around->slot, span->slot);
		cr_expect_eq(reader->begin_ns[reader->noted[around->slot]], around->begin_ns);
	}
	reader->noted[span->slot] = ++reader->n_spans;
	reader->begin_ns[reader->n_spans] = event->begin_ns;
}

static void begin_reader(void *state, struct tp_facts *of, const void *params)
{
	struct reader *reader = state;

	reader->spans = tp_facts_want(of, &tp_fact_spans, NULL);
	tp_spans_read(reader->spans, close_span, reader);
}

#define READER(its_name)                                                                       \
	{                                                                                      \
		.name = its_name, .bytes = sizeof(struct reader),                              \
		.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_RANGE) |                \
			 TP_FACT_KIND(TP_REC_CALL),                                            \
		.is_cut = true, .begin = begin_reader, .event = take_event,                    \
	}

static const struct tp_fact readers[2] = {READER("one reader"), READER("another one")};

static struct tp_event span_of(uint8_t kind, uint32_t thread, const char *name, int64_t first,
			       int64_t last)
{
	return fake_span(&fake, proc, thread, kind, fake_op(&fake, name), first, last);
}

static void give(struct tp_event event)
{
	tp_facts_event(facts, &event);
}

Test(spans, are_each_closed_once_to_each_reader)
{
	struct reader *reader[2] = {tp_facts_want(facts, &readers[0], NULL),
				    tp_facts_want(facts, &readers[1], NULL)};
	static const char *const names[] = {"aten::a", "aten::b", "aten::c"};
	unsigned seed = 7;

	for (uint32_t i = 0; i + 3 < SPANS_MAX; i += 3) {
		uint32_t thread = (uint32_t)rand_r(&seed) % 3;

		/* The next ones begin where these end. */
		give(span_of(TP_REC_OP, thread, names[rand_r(&seed) % 3], i * 100, i * 100 + 300));
		give(span_of(TP_REC_OP, thread, names[rand_r(&seed) % 3], i * 100,
			     i * 100 + rand_r(&seed) % 50));
		if (rand_r(&seed) % 2)
			give(span_of(TP_REC_CALL, thread, names[rand_r(&seed) % 3], i * 100 + 50,
				     i * 100 + 300));
	}
	tp_facts_end(facts);
	for (int k = 0; k < 2; k++) {
		uint32_t n_closed = 0;

		cr_expect_eq(reader[k]->n_spans, reader[0]->n_spans);
		cr_expect_gt(reader[k]->n_spans, SPANS_MAX / 2);
		for (uint32_t i = 1; i < SPANS_MAX; i++) {
			cr_expect_leq(reader[k]->n_closed[i], 1);
			n_closed += reader[k]->n_closed[i];
		}
		/* A child of its parent's name, alone, is one with it. */
		cr_expect_geq(n_closed, SPANS_MAX / 2);
		cr_expect_eq(memcmp(reader[0]->n_closed, reader[k]->n_closed,
				    sizeof(reader[0]->n_closed)),
			     0);
	}
}

Test(spans, a_child_that_is_taken_in_is_not_closed_and_its_slot_is_used_again)
{
	struct reader *reader = tp_facts_want(facts, &readers[0], NULL);

	give(span_of(TP_REC_OP, 0, "aten::mm", 0, 100));
	give(span_of(TP_REC_OP, 0, "aten::mm", 10, 90));
	give(span_of(TP_REC_OP, 0, "aten::mm", 200, 300));
	/* Not the only one: what it has is its own. */
	give(span_of(TP_REC_OP, 0, "aten::mm", 210, 220));
	give(span_of(TP_REC_OP, 0, "aten::neg", 230, 240));
	tp_facts_end(facts);
	cr_expect_eq(reader->n_closed[1], 1);
	cr_expect_eq(reader->n_closed[2], 0);
	cr_expect_eq(reader->n_closed[3], 1);
	cr_expect_eq(reader->n_closed[4], 1);
	cr_expect_eq(reader->n_closed[5], 1);
}

Test(spans, are_not_what_the_profiler_does_itself_nor_what_ends_elsewhere)
{
	struct reader *reader = tp_facts_want(facts, &readers[0], NULL);
	struct tp_event event = span_of(TP_REC_RANGE, 0, "DataParallel", 0, 100);

	event.flags = TP_F_ASYNC;
	give(event);
	give(span_of(TP_REC_OP, 0, "profiler::_record_function_enter_new", 10, 20));
	cr_expect_eq(reader->n_spans, 0);
	/* Of calls the bit says something else. */
	event = span_of(TP_REC_CALL, 0, "cudaLaunchKernel", 30, 40);
	event.flags = TP_F_ASYNC;
	give(event);
	give(span_of(TP_REC_OP, 0, "aten::mm", 50, 60));
	cr_expect_eq(reader->n_spans, 2);
	tp_facts_end(facts);
	cr_expect_eq(reader->n_closed[1], 1);
	cr_expect_eq(reader->n_closed[2], 1);
}
