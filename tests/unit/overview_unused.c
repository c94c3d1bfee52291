/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_unused.c - tests of the rule on gradients that nobody uses
 */
#include "tests/unit/advice_rig.h"

#include "runtime/trace/torch_names.h"

enum {
	HEAD = 1,	/* lines: of what is trained, of what is not, of backward() */
	BODY, BACKWARD,
};

static int64_t at;

static void set_up_steps(uint32_t n)
{
	advice_init();
	proc->thread[0].torch_id = 1;
	fake_window(&fake, proc, 0, 0, n * 100 * MS)->n_events = 1;
	for (uint32_t i = 0; i < n; i++)
		event[n_events++] = fake_step(&fake, proc, i, i * 100 * MS, (i + 1) * 100 * MS);
	add_line(HEAD, 10);
	add_line(BODY, 20);
	add_line(BACKWARD, 30);
}

static void set_up(void)
{
	set_up_steps(STEPS);
}

TestSuite(overview_unused, .init = set_up);

static struct tp_event *add_operator(uint32_t line, const char *name, int64_t ms)
{
	add_stack(line, at + 1);
	at += ms * MS;
	return add(TP_REC_OP, name, at - ms * MS + 2, at);
}

/* Of the operator that a line has in a step. */
static uint32_t sequence_of(uint32_t line)
{
	return (uint32_t)(at / (100 * MS) * 4) + line;
}

/* Of a line's forward operator, then its gradient, with what keeps that one does. */
static void go_back(uint32_t line, int64_t ms, const char *keeps)
{
	struct tp_event *inner;

	add_operator(BACKWARD, TP_NAME_NODE "AddmmBackward0", ms);
	inner = add(TP_REC_OP, "AddmmBackward0", at - ms * MS + 3, at - 1);
	inner->link = sequence_of(line);
	inner->flags |= TP_F_BACKWARD;
	inner->arg = TP_ARG_OP(0, proc->thread[0].torch_id, 0);
	if (!keeps)
		return;
	add_operator(BACKWARD, TP_NAME_NODE TP_NAME_ACCUMULATE, 2);
	add(TP_REC_OP, TP_NAME_ACCUMULATE, at - 2 * MS + 3, at - 1);
	add(TP_REC_OP, keeps, at - 2 * MS + 4, at - 2);
}

/* The outputs, of 40 ms, and a loss. */
static void go_forward(void)
{
	add_operator(BODY, "aten::linear", 20)->link = sequence_of(BODY);
	add_operator(HEAD, "aten::linear", 20)->link = sequence_of(HEAD);
	add_operator(BACKWARD, "aten::ones_like", 1);
}

/* What comes after the forward pass of a step, until none has a line. */
struct after {
	uint32_t line;		/* whose gradient; BACKWARD: of another loss, then */
	int64_t ms;
	const char *keeps;
};

static void add_step(uint32_t i, const struct after *after)
{
	at = i * 100 * MS;
	go_forward();
	for (; after->line; after++)
		if (after->line == BACKWARD)
			add_operator(BACKWARD, "aten::ones_like", after->ms);
		else
			go_back(after->line, after->ms, after->keeps);
}

/* Until the step ends. */
static void go_on(void)
{
	add_operator(HEAD, "aten::_foreach_add_", 100 - at / MS % 100);
}

static void add_all(const struct after *after)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		add_step(i, after);
		go_on();
	}
}

static void expect_unused(const char *share)
{
	const char *text = print();
	char evidence[64];

	expect_rules(text, (const char *[]){share ? "unused-gradients" : NULL, NULL});
	snprintf(evidence, sizeof(evidence), "up to %s of step time computes gradients", share ? share : "0");
	cr_expect_eq(strstr(text, evidence) != NULL, share != NULL, "%s", text);
	cr_expect(!share || strstr(text, "me/train.py:20 main\n"), "%s", text);
}

Test(overview_unused, sees_gradients_that_are_only_added_to)
{
	add_all((const struct after[]){
		{HEAD, 10, "aten::detach"}, {BODY, 20, "aten::add_"}, {BODY, 4, NULL}, {0, 0, NULL}});
	expect_unused("26.0 %");
}

Test(overview_unused, sees_none_before_the_last_one_that_is_used)
{
	add_all((const struct after[]){{BODY, 30, "aten::add_"}, {HEAD, 10, "aten::detach"}, {0, 0, NULL}});
	expect_unused(NULL);
}

/* Nothing is new: batches are accumulated, or gradients are zeroed in place. Nothing is added. */
Test(overview_unused, sees_none_where_all_are_alike)
{
	static const char *const keeps[] = {"aten::add_", "aten::detach"};

	for (uint32_t k = 0; k < 2; k++) {
		set_up();
		add_all((const struct after[]){{HEAD, 10, keeps[k]}, {BODY, 30, keeps[k]}, {0, 0, NULL}});
		expect_unused(NULL);
	}
}

/* The second one's head is new, the body has a gradient by then. */
Test(overview_unused, two_losses_add_to_one_gradient)
{
	add_all((const struct after[]){
		{HEAD, 5, "aten::detach"}, {BODY, 10, "aten::detach"}, {BACKWARD, 1, NULL},
		{HEAD, 5, "aten::detach"}, {BODY, 20, "aten::add_"}, {0, 0, NULL}});
	expect_unused(NULL);
}

/* Every other step, by an optimizer of its own; or in the first one only, which has none to add to. */
Test(overview_unused, gradients_that_are_zeroed_at_times_are_used)
{
	for (uint32_t every = 2; every <= 9; every += 7) {
		set_up_steps(9);
		for (uint32_t i = 0; i < 9; i++) {
			add_step(i, (const struct after[]){
				{HEAD, 10, "aten::detach"},
				{BODY, 40, i % every ? "aten::add_" : "aten::detach"}, {0, 0, NULL}});
			go_on();
		}
		expect_unused(every == 9 ? "37.3 %" : NULL);
	}
}

/* So it is where activations are recomputed: the order says nothing. */
Test(overview_unused, gradients_inside_of_other_nodes_are_not_judged)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		add_step(i, (const struct after[]){
			{HEAD, 10, "aten::detach"}, {BODY, 25, "aten::add_"}, {0, 0, NULL}});
		add_operator(BACKWARD, TP_NAME_NODE "CheckpointFunctionBackward", 5);
		add(TP_REC_OP, TP_NAME_NODE TP_NAME_ACCUMULATE, at - 5 * MS + 3, at - 1);
		go_on();
	}
	expect_unused(NULL);
}
