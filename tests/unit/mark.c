/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.c - what a program marks becomes records, in windows and only there
 */
#include <criterion/criterion.h>
#include <pthread.h>

#include "runtime/engine/step/step.h"
#include "runtime/probe/mark/mark.h"
#include "tests/unit/session_rig.h"

static const struct tp_probe *const with_marks[] = {&tp_mark_probe, NULL};

static void start(const char *schedule, enum tp_step_source source, const char *range)
{
	char bad[64];

	rig_set_up();
	rig_config.step.source = source;
	strcpy(rig_config.step.range, range);
	cr_assert_eq(tp_sched_parse(&rig_config.schedule, schedule, bad, sizeof(bad)), 0);
	cr_assert_eq(tp_session_open(&rig_config, with_marks, "file:/x/train.py"), 0);
}

static struct tp_mark_name called(const char *text)
{
	return (struct tp_mark_name){.text = text, .n_text = (uint32_t)strlen(text)};
}

static void push_in(struct tp_mark_entry *domain, const char *text)
{
	struct tp_mark_name name = called(text);

	name.domain = domain;
	if (tp_mark_is_nesting())
		tp_mark_push(&name);
}

static void push(const char *text)
{
	push_in(NULL, text);
}

static uint64_t begin(const char *text)
{
	struct tp_mark_name name = called(text);

	return tp_mark_start(&name);
}

static struct rig_trace *finish(void)
{
	tp_session_close("exit");
	return rig_window(0);
}

static const struct tp_rec *record_of(const struct rig_trace *trace, const char *name)
{
	for (uint32_t i = 0; i < trace->n; i++)
		if (!strcmp(name, rig_name_of(trace, &trace->rec[i])))
			return &trace->rec[i];
	cr_assert_fail("no record '%s'", name);
	return NULL;
}

static bool is_inside(const struct tp_rec *inner, const struct tp_rec *outer)
{
	return inner->time >= outer->time &&
	       inner->time + tp_rec_len(inner) <= outer->time + tp_rec_len(outer);
}

Test(mark, ranges_nest_and_are_on_the_stack_of_open_spans)
{
	struct rig_trace *trace;

	start("always", TP_STEP_NONE, "");
	push("outer");
	push("inner");
	cr_expect_eq(tp_ring_self.slot->depth, 2);
	cr_expect_eq(tp_ring_self.slot->open[1].kind, TP_REC_RANGE);
	tp_mark_pop(NULL);
	cr_expect_eq(tp_ring_self.slot->depth, 1);
	tp_mark_pop(NULL);
	cr_expect_eq(tp_ring_self.slot->depth, 0);
	tp_mark_pop(NULL);	/* one too many */
	trace = finish();
	cr_expect_eq(rig_count(trace, NULL, TP_REC_RANGE, 0), 2);
	cr_expect(is_inside(record_of(trace, "inner"), record_of(trace, "outer")));
	cr_expect_eq(record_of(trace, "inner")->link, TP_NO_SEQ);
	rig_tear_down();
}

Test(mark, ranges_of_two_domains_may_cross)
{
	struct tp_mark_entry *a = tp_mark_domain("a", 1), *b = tp_mark_domain("b", 1);
	struct rig_trace *trace;

	start("always", TP_STEP_NONE, "");
	push_in(a, "1");
	push_in(b, "2");
	push("3");
	tp_mark_pop(a);
	tp_mark_pop(b);
	tp_mark_pop(a);		/* there is none */
	tp_mark_pop(NULL);
	cr_expect_eq(tp_mark_depth, 0);
	trace = finish();
	cr_expect_eq(rig_count(trace, NULL, TP_REC_RANGE, 0), 3);
	cr_expect_lt(record_of(trace, "a: 1")->time + tp_rec_len(record_of(trace, "a: 1")),
		     record_of(trace, "3")->time + tp_rec_len(record_of(trace, "3")) + 1);
	rig_tear_down();
}

Test(mark, nothing_is_recorded_outside_of_windows)
{
	struct tp_mark_name name = called("tick");
	struct rig_trace *trace;

	start("wait=1,warmup=0,active=1,repeat=1", TP_STEP_NONE, "");
	push("before");
	cr_expect_eq(tp_mark_depth, 0);
	cr_expect_eq(begin("before too"), TP_MARK_NOTHING);
	tp_mark_stop(TP_MARK_NOTHING);
	tp_mark_instant(&name, 1, false);
	tp_mark_counter("queue", "items", 1);
	rig_step();
	push("in");
	tp_mark_pop(NULL);
	tp_mark_pop(NULL);	/* of "before" */
	push("over the end");
	rig_step();
	push("after");
	tp_mark_pop(NULL);
	tp_mark_pop(NULL);
	cr_expect_eq(tp_mark_depth, 0);
	cr_expect_eq(tp_ring_self.slot->depth, 0, "nothing is taken to be open");
	trace = finish();
	cr_expect_eq(rig_count(trace, NULL, TP_REC_RANGE, 0), 2);
	cr_expect_eq(rig_count(trace, "in", TP_REC_RANGE, 0), 1);
	cr_expect_eq(rig_count(trace, "over the end", TP_REC_RANGE, TP_F_OPEN), 1);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_MARK, 0), 0);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_COUNTER, 0), 0);
	rig_tear_down();
}

static void *stop_it(void *id)
{
	tp_mark_stop(*(uint64_t *)id);
	return NULL;
}

Test(mark, a_range_may_end_on_another_thread_and_only_once)
{
	struct rig_trace *trace;
	pthread_t thread;
	uint64_t id, other;

	start("always", TP_STEP_NONE, "");
	id = begin("across");
	other = begin("never ended");
	cr_expect(id != 0 && id != TP_MARK_NOTHING && other != id);
	pthread_create(&thread, NULL, stop_it, &id);
	pthread_join(thread, NULL);
	tp_mark_stop(id);
	tp_mark_stop(0);
	tp_mark_stop(~0ul);
	trace = finish();
	cr_expect_eq(rig_count(trace, "across", TP_REC_RANGE, TP_F_ASYNC), 1);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_RANGE, 0), 1);
	rig_tear_down();
}

Test(mark, ranges_that_never_end_are_replaced_and_counted)
{
	struct rig_trace *trace;
	uint64_t first, id = 0;

	start("always", TP_STEP_NONE, "");
	first = begin("first");
	for (uint32_t i = 0; i < 4096 * 2; i++)
		id = begin("more");
	tp_mark_stop(first);
	tp_mark_stop(id);
	trace = finish();
	cr_expect_eq(rig_count(trace, "first", TP_REC_RANGE, 0), 0);
	cr_expect_eq(rig_count(trace, "more", TP_REC_RANGE, 0), 1);
	cr_expect_eq(rig_total(trace, "marks.ranges_lost"), 4097);
	rig_tear_down();
}

Test(mark, what_is_too_deep_is_counted_and_the_rest_stays_right)
{
	struct rig_trace *trace;

	start("always", TP_STEP_NONE, "");
	for (int i = 0; i < 100; i++)
		push("deep");
	for (int i = 0; i < 100; i++)
		tp_mark_pop(NULL);
	cr_expect_eq(tp_mark_depth, 0);
	push("again");
	tp_mark_pop(NULL);
	trace = finish();
	cr_expect_eq(rig_count(trace, "deep", TP_REC_RANGE, 0), 64);
	cr_expect_eq(rig_count(trace, "again", TP_REC_RANGE, 0), 1);
	cr_expect_eq(rig_total(trace, "marks.ranges_lost"), 36);
	rig_tear_down();
}

Test(mark, marks_and_counters_carry_their_values)
{
	struct tp_mark_name name = called("tick");
	struct rig_trace *trace;
	const struct tp_rec *rec;
	double value = 2.5;

	start("always", TP_STEP_NONE, "");
	tp_mark_instant(&name, (uint64_t)-3, false);
	tp_mark_counter("queue", "items", value);
	trace = finish();
	rec = record_of(trace, "tick");
	cr_expect(rec->kind == TP_REC_MARK && rec->arg == (uint64_t)-3 && rec->flags == 0);
	rec = record_of(trace, "queue");
	cr_expect(rec->kind == TP_REC_COUNTER && rec->flags == TP_F_DOUBLE);
	cr_expect(!memcmp(&rec->arg, &value, sizeof(value)));
	rig_tear_down();
}

Test(mark, a_range_by_name_ends_steps_outside_of_windows_too)
{
	struct tp_ledger_row row[10];
	struct tp_mark_name name = called("train 7");

	start("wait=100", TP_STEP_RANGE, "train*");
	push("train 1");
	push("else");
	tp_mark_pop(NULL);
	tp_mark_pop(NULL);
	push_in(tp_mark_domain("d", 1), "train 2");
	tp_mark_pop(tp_mark_domain("d", 1));
	tp_mark_stop(begin("train 3"));
	tp_mark_stop(begin("no train"));
	tp_mark_instant(&name, 0, false);
	finish();
	cr_expect_eq(rig_ledger(row, 10), 4);
	cr_expect_eq(row[0].source, TP_STEP_RANGE);
	rig_tear_down();
}

Test(mark, the_program_ends_steps_itself)
{
	struct tp_ledger_row row[10];
	uint64_t now;

	start("wait=100", TP_STEP_NONE, "");
	for (int i = 0; i < 3; i++)
		tp_mark_step();
	now = tp_clock_now();
	tp_step_optimizer_begin(1, now);
	tp_step_optimizer_end(1, now, now + 1);
	tp_mark_step();
	finish();
	cr_expect_eq(rig_ledger(row, 10), 4);
	for (int i = 0; i < 4; i++)
		cr_expect_eq(row[i].source, TP_STEP_MARK);
	rig_tear_down();
}

Test(mark, a_source_of_steps_that_was_asked_for_is_obeyed)
{
	struct tp_ledger_row row[10];

	start("wait=100", TP_STEP_OPTIMIZER, "");
	tp_mark_step();
	finish();
	cr_expect_eq(rig_ledger(row, 10), 0);
	rig_tear_down();
}
