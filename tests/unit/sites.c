/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites.c - tests of what lines of code are charged with
 */
#include <criterion/criterion.h>

#include "merge/facts/program/overview.h"
#include "tests/unit/fake_run.h"

static struct fake fake;
static struct tp_facts *facts;
static struct tp_sites *sites;
static struct tp_proc *proc;
static int64_t now;
static const struct tp_string *name_of[16];
static uint32_t n_names;

static void set_up(void)
{
	n_names = 0;
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_proc(&fake, 1);
	now = 0;
}

static void give(const struct tp_event *event)
{
	tp_facts_event(facts, event);
}

static void tear_down(void)
{
	tp_facts_free(facts);
}

TestSuite(sites, .init = set_up, .fini = tear_down);

/* Processes are complete: their events may come. */
static void begin(void)
{
	facts = tp_facts_new(&fake.run);
	sites = tp_facts_want(facts, &tp_fact_sites, NULL);
}

static void end(void)
{
	tp_facts_end(facts);
	cr_assert_not(tp_sites_is_incomplete(sites));
}

/* Equal names are one string, as in a run. */
static const struct tp_string *function_name(const char *function, const char *file)
{
	char name[200];
	uint32_t n = (uint32_t)snprintf(name, sizeof(name), "%s%c%s", function, 0, file);

	for (uint32_t i = 0; i < n_names; i++)
		if (name_of[i]->n_bytes == n && !memcmp(name_of[i]->bytes, name, n))
			return name_of[i];
	name_of[n_names] = fake_string(&fake, TP_STRING_PYFRAME, name, n);
	return name_of[n_names++];
}

static void frame(struct tp_proc *of, uint32_t stack, uint32_t outer, const char *function,
		  const char *file, uint32_t line)
{
	struct tp_event event =
		fake_span(&fake, of, 0, TP_REC_FRAME, function_name(function, file), now, now);

	event.flags = TP_FRAME_PYTHON;
	event.link = stack;
	event.len = outer;
	event.arg = line;
	give(&event);
}

static void at_stack(struct tp_proc *of, uint32_t stack)
{
	struct tp_event event = fake_span(&fake, of, 0, TP_REC_STACK, NULL, now, now);

	event.link = stack;
	give(&event);
}

static void span(struct tp_proc *of, uint8_t kind, const char *name, int64_t first, int64_t last)
{
	struct tp_event event = fake_span(&fake, of, 0, kind, fake_text(&fake, name), first, last);

	now = first;
	give(&event);
}

static void step(struct tp_proc *of, uint32_t index, int64_t first, int64_t last)
{
	struct tp_event event = fake_step(&fake, of, index, first, last);

	now = first;
	give(&event);
}

/* Lines 10 and 20 of the program, stacks 1 and 3; 2: torch's code, called from line 10. */
static void add_frames(struct tp_proc *of)
{
	frame(of, 1, 0, "main", "/home/me/train.py", 10);
	frame(of, 2, 1, "Module._call_impl", "/x/site-packages/torch/nn/modules/module.py", 1787);
	frame(of, 3, 0, "main", "/home/me/train.py", 20);
}

static struct tp_site only(enum tp_site_figure by)
{
	struct tp_site site[8] = {{.place = "none"}};

	end();
	cr_assert_eq(tp_sites_top(sites, proc, by, site, 8), 1);
	return site[0];
}

Test(sites, charges_the_innermost_line_of_the_users_own_code)
{
	struct tp_site site;

	begin();
	step(proc, 0, 0, 1000);
	add_frames(proc);
	at_stack(proc, 2);
	span(proc, TP_REC_OP, "aten::linear", 100, 200);
	/* Inside the first one: its time is in there. */
	span(proc, TP_REC_OP, "aten::addmm", 110, 190);
	at_stack(proc, 1);
	span(proc, TP_REC_OP, "aten::relu", 200, 250);
	site = only(TP_SITE_TIME);
	cr_expect_str_eq(site.place, "/home/me/train.py:10 main");
	cr_expect_eq(site.figure[TP_SITE_TIME], 150);
	cr_expect_eq(site.figure[TP_SITE_CALLS], 2);
	cr_expect_eq(site.figure[TP_SITE_GAP], 100);
}

/* torch's engine asks for each node of the backward pass in an operator of its own. */
static void node(const char *name, int64_t first, int64_t last, uint32_t number)
{
	struct tp_event event;
	char call[100];

	snprintf(call, sizeof(call), "autograd::engine::evaluate_function: %s", name);
	span(proc, TP_REC_OP, call, first, last);
	event = fake_span(&fake, proc, 0, TP_REC_OP, fake_text(&fake, name), first + 10, last - 10);
	event.link = number;
	event.flags = TP_F_BACKWARD;
	event.arg = TP_ARG_OP(0, 1, 0);
	give(&event);
}

static void backward_node(int64_t first, uint32_t number)
{
	node("MulBackward0", first, first + 100, number);
	span(proc, TP_REC_OP, "aten::mul", first + 20, first + 80);
}

Test(sites, charges_the_forward_line_with_its_nodes_of_the_backward_pass)
{
	struct tp_event forward;
	struct tp_site site[3];

	proc->thread[0].torch_id = 1;
	begin();
	step(proc, 0, 0, 10000000);
	add_frames(proc);
	at_stack(proc, 1);
	forward = fake_span(&fake, proc, 0, TP_REC_OP, fake_text(&fake, "aten::mul"), 0, 100);
	forward.link = 7;
	give(&forward);
	at_stack(proc, 3);
	backward_node(150, 7);
	/* What is before it is long: that is where the thread stands. Nobody knows who made it. */
	backward_node(2000250, 8);
	end();
	cr_assert_eq(tp_sites_top(sites, NULL, TP_SITE_TIME, site, 3), 2);
	cr_expect_str_eq(site[0].place, "/home/me/train.py:10 main");
	cr_expect_eq(site[0].figure[TP_SITE_TIME], 200);
	cr_expect_eq(site[0].figure[TP_SITE_CALLS], 2);
	cr_expect_eq(site[0].figure[TP_SITE_INSIDE], 2);
	cr_expect_eq(site[0].figure[TP_SITE_GAP], 50);
	cr_expect_str_eq(site[1].place, "/home/me/train.py:20 main");
	cr_expect_eq(site[1].figure[TP_SITE_TIME], 100);
	cr_expect_eq(site[1].figure[TP_SITE_CALLS], 1);
	cr_expect_eq(site[1].figure[TP_SITE_GAP], 2000000);
}

/* A node that runs Python: three operators with `stack`, one of which asks for another. */
static void python_node(int64_t first, uint32_t number, uint32_t stack)
{
	node("SlowBackward", first, first + 1000, number);
	at_stack(proc, stack);
	span(proc, TP_REC_OP, "aten::select", first + 100, first + 200);
	span(proc, TP_REC_OP, "aten::as_strided", first + 150, first + 190);
	span(proc, TP_REC_OP, "aten::mul", first + 230, first + 300);
	span(proc, TP_REC_OP, "aten::add_", first + 300, first + 400);
}

static void run_python_node(uint32_t number, uint32_t stack)
{
	struct tp_event forward;

	proc->thread[0].torch_id = 1;
	begin();
	step(proc, 0, 0, 10000000);
	add_frames(proc);
	frame(proc, 10, 3, "_engine_run_backward", "/x/site-packages/torch/autograd/graph.py", 841);
	frame(proc, 11, 10, "BackwardCFunction.apply", "/x/site-packages/torch/autograd/function.py", 311);
	frame(proc, 12, 11, "Slow.backward", "/home/me/slow.py", 5);
	frame(proc, 13, 11, "call", "/tmp/torchinductor_me/xy/cxy.py", 90);
	at_stack(proc, 1);
	forward = fake_span(&fake, proc, 0, TP_REC_OP, fake_text(&fake, "Slow"), 0, 100);
	forward.link = 7;
	give(&forward);
	at_stack(proc, 3);
	python_node(150, number, stack);
	end();
}

Test(sites, charges_the_programs_own_lines_inside_a_node_with_what_they_ask_for)
{
	struct tp_site site[3];

	run_python_node(7, 12);
	cr_assert_eq(tp_sites_top(sites, NULL, TP_SITE_TIME, site, 3), 2);
	cr_expect_str_eq(site[0].place, "/home/me/train.py:10 main");
	/* The forward pass and the node, less the operators in it and the 100 and 30 ns before them. */
	cr_expect_eq(site[0].figure[TP_SITE_TIME], 100 + 1000 - 400);
	cr_expect_eq(site[0].figure[TP_SITE_LEARNING], 1000 - 400);
	cr_expect_eq(site[0].figure[TP_SITE_CALLS], 2);
	cr_expect_eq(site[0].figure[TP_SITE_INSIDE], 1);
	cr_expect_str_eq(site[1].place, "/home/me/slow.py:5 Slow.backward");
	cr_expect_eq(site[1].figure[TP_SITE_TIME], 270);
	cr_expect_eq(site[1].figure[TP_SITE_LEARNING], 270);
	cr_expect_eq(site[1].figure[TP_SITE_GAP], 130);
	cr_expect_eq(site[1].figure[TP_SITE_CALLS], 3);
	cr_expect_eq(site[1].figure[TP_SITE_INSIDE], 1);
	cr_expect_eq(site[1].figure[TP_SITE_NODES], 0);
}

/* AccumulateGrad, for example: nobody knows which forward operator made it. */
Test(sites, charges_the_programs_own_lines_inside_a_node_of_no_line)
{
	struct tp_site site[4];

	run_python_node(8, 12);
	cr_assert_eq(tp_sites_top(sites, NULL, TP_SITE_TIME, site, 4), 3);
	cr_expect_str_eq(site[0].place, "/home/me/train.py:20 main");
	cr_expect_eq(site[0].figure[TP_SITE_TIME], 1000 - 400);
	cr_expect_eq(site[0].figure[TP_SITE_LEARNING], 1000 - 400);
	cr_expect_str_eq(site[1].place, "/home/me/slow.py:5 Slow.backward");
	cr_expect_eq(site[1].figure[TP_SITE_TIME], 270);
	cr_expect_eq(site[1].figure[TP_SITE_LEARNING], 270);
}

/* What a compiler made, for example: the program's innermost line is the one that called backward(). */
Test(sites, leaves_the_node_what_others_python_asks_for_inside_it)
{
	struct tp_site site[3];

	run_python_node(7, 13);
	cr_assert_geq(tp_sites_top(sites, NULL, TP_SITE_TIME, site, 3), 1);
	cr_expect_str_eq(site[0].place, "/home/me/train.py:10 main");
	cr_expect_eq(site[0].figure[TP_SITE_TIME], 1100);
	cr_expect_eq(site[0].figure[TP_SITE_CALLS], 2);
	cr_expect_eq(site[0].figure[TP_SITE_INSIDE], 5);
}

Test(sites, charges_a_gap_to_the_line_that_comes_after_it)
{
	struct tp_site site[2];

	begin();
	step(proc, 0, 0, 1000);
	add_frames(proc);
	at_stack(proc, 1);
	span(proc, TP_REC_OP, "aten::relu", 0, 100);
	at_stack(proc, 3);
	span(proc, TP_REC_OP, "aten::relu", 400, 500);
	/* Evaluation between steps is nobody's. */
	span(proc, TP_REC_OP, "aten::relu", 5000, 5001);
	end();
	cr_assert_eq(tp_sites_top(sites, NULL, TP_SITE_GAP, site, 2), 1);
	cr_expect_str_eq(site[0].place, "/home/me/train.py:20 main");
	cr_expect_str_eq(site[0].before, "/home/me/train.py:10 main");
	cr_expect_eq(site[0].figure[TP_SITE_GAP], 300);
}

/* Before a window's first operator stands nobody: a shorter gap that comes after a line says more. What has
 * no stack does not hide that line. */
Test(sites, names_the_line_before_a_gap_where_any_is_known)
{
	struct tp_site site[2];

	begin();
	step(proc, 0, 0, 1000);
	add_frames(proc);
	at_stack(proc, 3);
	span(proc, TP_REC_OP, "aten::relu", 500, 510);
	at_stack(proc, 1);
	span(proc, TP_REC_OP, "aten::relu", 510, 520);
	at_stack(proc, 0);
	span(proc, TP_REC_OP, "aten::relu", 520, 530);
	at_stack(proc, 3);
	span(proc, TP_REC_OP, "aten::relu", 700, 710);
	end();
	cr_assert_eq(tp_sites_top(sites, NULL, TP_SITE_GAP, site, 2), 1);
	cr_expect_str_eq(site[0].place, "/home/me/train.py:20 main");
	cr_assert(site[0].before);
	cr_expect_str_eq(site[0].before, "/home/me/train.py:10 main");
	cr_expect_eq(site[0].longest_ns, 170);
	cr_expect_eq(site[0].figure[TP_SITE_GAP], 670);
}

/* One operator in inner() each: called from main at the first line, then at the second. */
static const char *between(uint32_t first, uint32_t second, const char *file)
{
	static char text[200];
	struct tp_site site;

	begin();
	step(proc, 0, 0, 1000);
	frame(proc, 1, 0, "main", file, first);
	frame(proc, 2, 1, "inner", file, 5);
	frame(proc, 3, 0, "main", file, second);
	frame(proc, 4, 3, "inner", file, 4);
	at_stack(proc, 2);
	span(proc, TP_REC_OP, "aten::relu", 0, 100);
	at_stack(proc, 4);
	span(proc, TP_REC_OP, "aten::relu", 400, 500);
	end();
	if (!tp_sites_top(sites, NULL, TP_SITE_GAP, &site, 1) ||
	    !tp_sites_between(sites, &site, text, sizeof(text)))
		return NULL;
	return text;
}

Test(sites, names_the_function_that_a_gap_between_two_others_is_in)
{
	cr_expect_str_eq(between(10, 20, "/home/me/train.py"), "me/train.py main, from line 10 to line 20");
}

Test(sites, names_the_caller_of_two_calls_from_one_line)
{
	cr_expect_str_eq(between(10, 10, "/home/me/train.py"),
			 "me/train.py inner, from line 5 round to line 4, called from me/train.py:10 main");
}

Test(sites, names_no_function_of_others)
{
	cr_expect_null(between(10, 20, "/x/site-packages/torch/optim/adam.py"));
}

Test(sites, charges_no_line_with_waiting_for_data_or_other_ranks)
{
	begin();
	step(proc, 0, 0, 1000);
	add_frames(proc);
	span(proc, TP_REC_RANGE, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 300);
	at_stack(proc, 1);
	span(proc, TP_REC_OP, "aten::relu", 310, 400);
	span(proc, TP_REC_RANGE, "gloo:all_reduce", 420, 800);
	span(proc, TP_REC_OP, "aten::relu", 805, 900);
	cr_expect_eq(only(TP_SITE_GAP).figure[TP_SITE_GAP], 10 + 5);
}

/* Logging at the end of the loop: between the last line of a step and the first of the next one. */
Test(sites, charges_what_runs_before_the_loader_is_asked_to_the_line_behind_it)
{
	struct tp_site site[2];

	begin();
	step(proc, 0, 0, 1000);
	add_frames(proc);
	at_stack(proc, 1);
	span(proc, TP_REC_OP, "aten::relu", 100, 200);
	span(proc, TP_REC_RANGE, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 500, 900);
	at_stack(proc, 3);
	span(proc, TP_REC_OP, "aten::relu", 920, 950);
	end();
	cr_assert_eq(tp_sites_top(sites, NULL, TP_SITE_GAP, site, 2), 2);
	cr_expect_str_eq(site[0].place, "/home/me/train.py:20 main");
	cr_expect_str_eq(site[0].before, "/home/me/train.py:10 main");
	cr_expect_eq(site[0].figure[TP_SITE_GAP], 300 + 20);
}

Test(sites, tells_what_is_kept_from_step_to_step_from_what_is_made_anew)
{
	struct tp_site site[2];
	struct tp_event event = fake_span(&fake, proc, 0, TP_REC_ALLOC, NULL, 0, 0);

	begin();
	add_frames(proc);
	for (uint32_t i = 0; i < 3; i++) {
		step(proc, i, i * 1000, i * 1000 + 1000);
		at_stack(proc, 1);
		event.begin_ns = event.end_ns = now;
		/* Gradients: 500 bytes, freed and made again. */
		if (i)
			tp_sites_kept(sites, tp_sites_now(sites, &event), -500);
		tp_sites_kept(sites, tp_sites_now(sites, &event), 500);
		at_stack(proc, 3);
		tp_sites_kept(sites, tp_sites_now(sites, &event), 70);
	}
	end();
	cr_assert_eq(tp_sites_top(sites, NULL, TP_SITE_KEPT, site, 2), 1);
	cr_expect_str_eq(site[0].place, "/home/me/train.py:20 main");
	cr_expect_eq(site[0].figure[TP_SITE_KEPT], 70);
}

Test(sites, a_block_that_another_takes_the_place_of_is_charged_no_longer)
{
	struct tp_site site[2];

	fake_window(&fake, proc, 0, 0, 10000);
	facts = tp_facts_new(&fake.run);
	sites = ((struct tp_overview *)tp_facts_want(facts, &tp_fact_overview, NULL))->sites;
	add_frames(proc);
	for (uint32_t i = 0; i < 3; i++) {
		struct tp_event event;

		step(proc, i, i * 1000, i * 1000 + 1000);
		/* 500 bytes, of which nobody saw the free. */
		at_stack(proc, 1);
		event = fake_block(&fake, proc, 0, TP_REC_ALLOC, now, 0x5000, 500);
		give(&event);
		at_stack(proc, 3);
		event = fake_block(&fake, proc, 0, TP_REC_ALLOC, now, 0x9000 + i * 0x100, 70);
		give(&event);
	}
	end();
	cr_assert_eq(tp_sites_top(sites, NULL, TP_SITE_KEPT, site, 2), 1);
	cr_expect_str_eq(site[0].place, "/home/me/train.py:20 main");
	cr_expect_eq(site[0].figure[TP_SITE_KEPT], 70);
}

Test(sites, finds_the_line_on_which_one_rank_spends_more)
{
	struct tp_proc *other = fake.procs[1];
	struct tp_site site;
	int64_t more;

	begin();
	for (uint32_t i = 0; i < 2; i++) {
		struct tp_proc *of = i ? other : proc;

		now = 0;
		step(of, 0, 0, 1000);
		add_frames(of);
		at_stack(of, 1);
		span(of, TP_REC_OP, "aten::relu", 0, 400);
		at_stack(of, 3);
		span(of, TP_REC_OP, "aten::relu", i ? 700 : 410, i ? 750 : 460);
	}
	end();
	cr_assert(tp_sites_excess(sites, other, &site, &more));
	cr_expect_str_eq(site.place, "/home/me/train.py:20 main");
	/* 300 before it and 50 in it, to 10 and 50. */
	cr_expect_eq(more, 290);
}

Test(sites, knows_no_lines_without_stacks)
{
	struct tp_site site[2];
	int64_t more;

	begin();
	step(proc, 0, 0, 1000);
	span(proc, TP_REC_OP, "aten::relu", 0, 400);
	end();
	cr_expect_eq(tp_sites_top(sites, NULL, TP_SITE_TIME, site, 2), 0);
	cr_expect_not(tp_sites_excess(sites, proc, &site[0], &more));
}
