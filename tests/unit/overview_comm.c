/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_comm.c - tests of the rules on collectives: small ones, too many, full cores
 */
#include "tests/unit/advice_rig.h"

static struct tp_proc *both[2];

static void set_up(void)
{
	advice_init();
	both[0] = proc;
	both[1] = fake_proc(&fake, 1);
}

TestSuite(overview_comm, .init = set_up);

static const struct tp_string *shape_of(uint8_t dtype, uint64_t n)
{
	char shape[16] = {TP_SHAPE_TENSOR, (char)dtype, 1};
	uint32_t at = 3;

	for (; n >= 128; n >>= 7)
		shape[at++] = (char)(n | 128);
	shape[at++] = (char)n;
	return fake_string(&fake, TP_STRING_SHAPES, shape, at);
}

static void add_range(struct tp_proc *of, const char *name, int64_t begin, int64_t end)
{
	event[n_events++] = fake_span(&fake, of, 0, TP_REC_RANGE, fake_text(&fake, name), begin, end);
}

/* In each step of either rank so many times: forward, and a collective of 40 ms in all; behind the first
 * `n_reduced` only. */
static void add_collectives(uint32_t n_forwards, uint32_t n_reduced, const char *forward,
			    const char *collective, const struct tp_string *shape)
{
	for (uint32_t r = 0; r < 2; r++)
		fake_window(&fake, both[r], 0, 0, STEPS * 100 * MS)->n_events = 1;
	for (uint32_t r = 0; r < 2; r++)
		for (uint32_t i = 0; i < STEPS; i++) {
			int64_t at = i * 100 * MS, each = 80 * MS / n_forwards;

			event[n_events++] = fake_step(&fake, both[r], i, at, at + 100 * MS);
			for (uint32_t k = 0; k < n_forwards; k++, at += each) {
				add_range(both[r], forward, at + 1, at + each / 4);
				if (k >= n_reduced)
					continue;
				add_range(both[r], collective, at + each / 2, at + each);
				event[n_events - 1].shapes = shape;
			}
		}
}

/* Of so many floats. */
static void add_rounds(uint32_t n_forwards, uint32_t n_reduced, const char *forward, uint64_t n)
{
	add_collectives(n_forwards, n_reduced, forward, "gloo:all_reduce", shape_of(6, n));
}

static const char ddp[] = "DistributedDataParallel.forward";

/* Of either rank. */
static const char full[] = "threads.wall=1000\nthreads.cores=2\nthreads.cpu=900\nthreads.wait=10\n",
		  idle[] = "threads.wall=1000\nthreads.cores=2\nthreads.cpu=500\nthreads.wait=10\n";

static void use_cores(const char *totals)
{
	for (uint32_t r = 0; r < 2; r++)
		fake.run.window[r].totals = totals;
}

Test(overview_comm, sees_gradients_that_are_reduced_behind_each_backward_pass)
{
	const char *text;

	add_rounds(4, 4, ddp, 1 << 20);
	text = print();
	expect_rules(text, (const char *[]){"communication", NULL});
	cr_expect(strstr(text, "gradients are reduced 4 times for each step of the optimizer"), "%s", text);
	cr_expect(strstr(text, "model.no_sync()"), "%s", text);
	/* Behind the last one only; a single one. */
	set_up();
	add_rounds(4, 1, ddp, 1 << 20);
	cr_expect_not(strstr(print(), "gradients are reduced"), "%s", print());
	set_up();
	add_rounds(1, 1, ddp, 1 << 20);
	text = print();
	cr_expect_not(strstr(text, "gradients are reduced"), "%s", text);
	cr_expect(strstr(text, "most of it all_reduce of 4.00 MiB, 1 per step"), "%s", text);
}

Test(overview_comm, sees_many_small_collectives)
{
	const char *text;

	add_rounds(10, 10, "metrics", 1);
	text = print();
	expect_rules(text, (const char *[]){"communication", NULL});
	cr_expect(strstr(text, "a rank calls 10 small collectives per step, most of them all_reduce of 4 B"), "%s", text);
	cr_expect(strstr(text, "one collective for all of them"), "%s", text);
	set_up();
	add_rounds(10, 10, "metrics", 1 << 20);
	cr_expect_not(strstr(print(), "small collectives"), "%s", print());
	set_up();
	add_rounds(4, 4, "metrics", 1);
	cr_expect_not(strstr(print(), "small collectives"), "%s", print());
}

static bool names_the_line(const char *outer)
{
	add_rounds(10, 10, "metrics", 1);
	add_line(1, 10);
	add_stack(1, 30 * MS - 1);
	if (outer)
		add(TP_REC_OP, outer, 30 * MS, 32 * MS);
	add(TP_REC_OP, "c10d::allreduce_", 30 * MS, 31 * MS);
	return strstr(print(), "\n                      /home/me/train.py:10 main\n") != NULL;
}

Test(overview_comm, names_the_line_that_calls_them)
{
	cr_expect(names_the_line(NULL), "%s", print());
	/* What a node of the backward pass calls is nobody's line. */
	set_up();
	cr_expect_not(names_the_line("AccumulateGrad"), "%s", print());
}

Test(overview_comm, accuses_nobody_of_communication_where_the_cores_are_full)
{
	add_rounds(1, 1, ddp, 1 << 20);
	use_cores(full);
	expect_rules(print(), (const char *[]){NULL});
	use_cores(idle);
	expect_rules(print(), (const char *[]){"communication", NULL});
}

Test(overview_comm, gradients_of_a_small_model_take_their_time)
{
	add_rounds(9, 4, "forward", 1 << 20);
	expect_rules(print(), (const char *[]){NULL});
	set_up();
	add_rounds(9, 5, "forward", 1 << 20);
	expect_rules(print(), (const char *[]){"communication", NULL});
}

Test(overview_comm, sees_objects_that_are_exchanged_in_each_step)
{
	const char *text;

	add_collectives(1, 1, "metrics", "gloo:all_gather", shape_of(0, 100000));
	text = print();
	expect_rules(text, (const char *[]){"communication", NULL});
	cr_expect(strstr(text, "pickled Python objects are exchanged in each step: all_gather of 97.7 KiB"), "%s", text);
	/* Bytes that are summed up, floats that are gathered. */
	set_up();
	add_collectives(1, 1, "metrics", "gloo:all_reduce", shape_of(0, 100000));
	cr_expect_not(strstr(print(), "objects"), "%s", print());
	set_up();
	add_collectives(1, 1, "metrics", "gloo:all_gather", shape_of(6, 100000));
	cr_expect_not(strstr(print(), "objects"), "%s", print());
}

Test(overview_comm, sees_large_copies_also_where_the_cores_are_full)
{
	const char *text;

	add_collectives(1, 1, "metrics", "gloo:broadcast", shape_of(6, 1 << 20));
	use_cores(full);
	text = print();
	expect_rules(text, (const char *[]){"communication", NULL});
	cr_expect(strstr(text, "most of it broadcast of 4.00 MiB beside DDP and FSDP, 1 per step"), "%s", text);
	cr_expect(strstr(text, "broadcast_buffers=False"), "%s", text);
	/* Less than a mebibyte; so much in several; gradients of a program that sums them up itself. */
	set_up();
	add_collectives(1, 1, "metrics", "gloo:broadcast", shape_of(6, 1 << 17));
	cr_expect_not(strstr(print(), "beside DDP"), "%s", print());
	set_up();
	add_collectives(4, 3, "metrics", "gloo:all_gather", shape_of(6, 1 << 16));
	cr_expect_not(strstr(print(), "beside DDP"), "%s", print());
	set_up();
	add_collectives(4, 4, "metrics", "gloo:all_gather", shape_of(6, 1 << 16));
	use_cores(full);
	text = print();
	cr_expect(strstr(text, "most of it all_gather of 256 KiB beside DDP and FSDP, 4 per step"), "%s", text);
	cr_expect(strstr(text, "reduce to a few numbers on each rank first"), "%s", text);
	set_up();
	add_rounds(1, 1, "metrics", 1 << 20);
	cr_expect_not(strstr(print(), "beside DDP"), "%s", print());
}

/* One rank is 20 of 100 ms late, and then 40 go by in a collective. */
static void add_late_rank(const char *collective, uint64_t n)
{
	for (uint32_t r = 0; r < 2; r++)
		fake_window(&fake, both[r], 0, 0, STEPS * 100 * MS)->n_events = 1;
	for (uint32_t r = 0; r < 2; r++)
		for (uint32_t i = 0; i < STEPS; i++) {
			int64_t at = i * 100 * MS;

			event[n_events++] = fake_step(&fake, both[r], i, at, at + 100 * MS);
			add_range(both[r], collective, at + (r ? 50 : 30) * MS, at + 90 * MS);
			event[n_events - 1].shapes = shape_of(6, n);
		}
}

Test(overview_comm, a_straggler_explains_waiting_only)
{
	const char *text;

	add_late_rank("gloo:all_gather", 1 << 20);
	text = print();
	expect_rules(text, (const char *[]){"communication", "uneven-ranks", NULL});
	cr_expect(strstr(text, "for 40.0 % of step time nothing but communication runs, waiting for other ranks "
			 "left out; most of it all_gather of 4.00 MiB"), "%s", text);
	/* Nothing is known against it. */
	set_up();
	add_late_rank("gloo:all_reduce", 1 << 20);
	expect_rules(print(), (const char *[]){"uneven-ranks", NULL});
}

/* A message of 250 floats between members of the group of both. */
static void add_message(uint32_t rank, const char *name, int64_t begin, int64_t end)
{
	const char shapes[] = {TP_SHAPE_TENSOR, 6, 2, 125, 2, TP_SHAPE_GROUP, 7, (char)(rank + 1), 2,
			       (char)(2 - rank), 0, '0', 0, 'd'};

	add_range(both[rank], name, begin, end);
	event[n_events - 1].shapes = fake_string(&fake, TP_STRING_SHAPES, shapes, sizeof(shapes));
	event[n_events - 1].flags = TP_F_ASYNC;
}

static void add_work(uint32_t rank, int64_t begin, int64_t end)
{
	event[n_events++] = fake_span(&fake, both[rank], 0, TP_REC_OP, fake_text(&fake, "aten::mm"), begin, end);
}

/* Two stages: the first computes so long, then waits for the second one, whose step ends with it. */
static const char *print_pipeline(int64_t first)
{
	set_up();
	for (uint32_t r = 0; r < 2; r++)
		fake_window(&fake, both[r], 0, 0, STEPS * 100 * MS)->n_events = 1;
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS;

		for (uint32_t r = 0; r < 2; r++)
			event[n_events++] = fake_step(&fake, both[r], i, at, at + 100 * MS);
		add_work(0, at + 1, at + first);
		add_message(0, "gloo:send", at + first, at + first + MS);
		add_message(1, "gloo:recv", at + 1, at + first + MS);
		add_work(1, at + first + MS, at + 98 * MS);
		add_message(1, "gloo:send", at + 98 * MS, at + 99 * MS);
		add_message(0, "gloo:recv", at + first + MS, at + 99 * MS);
	}
	use_cores(idle);
	return print();
}

Test(overview_comm, tells_stages_of_a_pipeline_that_wait_for_each_other)
{
	const char *text = print_pipeline(70 * MS);

	expect_rules(text, (const char *[]){"communication", NULL});
	cr_expect(strstr(text, "ranks work one after the other; rank 0 computes 70.0 ms of a step, the other one "
			       "27.0 ms"), "%s", text);
	cr_expect(strstr(text, "micro-batches"), "%s", text);
	text = print_pipeline(50 * MS);
	cr_expect(strstr(text, "ranks work one after the other\n"), "%s", text);
	/* In all steps but one they wait in collectives. */
	text = print_pipeline(70 * MS);
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_RANGE && event[i].begin_ns < (STEPS - 1) * 100 * MS)
			event[i].name = fake_text(&fake, "gloo:all_reduce");
	cr_expect_not(strstr(print(), "one after the other"), "%s", print());
}
