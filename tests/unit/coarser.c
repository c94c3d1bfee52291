/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coarser.c - tests: rows of operators and of kernels are the same, made of events or of finer rows
 */
#include <criterion/criterion.h>

#include "merge/facts/program/kernels.h"
#include "merge/facts/program/operators.h"
#include "tests/unit/fake_run.h"

enum { ROUNDS = 60, STEP = 1000 };

static struct fake fake;
static struct tp_proc *proc;
static struct tp_queue queue = {.stream = 7};
static struct tp_event event[ROUNDS * 8];
static uint32_t n_events;

static void add(struct tp_event more)
{
	event[n_events++] = more;
}

static void add_stack(uint32_t stack, int64_t at)
{
	struct tp_event more = fake_span(&fake, proc, 0, TP_REC_STACK, fake_text(&fake, ""), at, at);

	more.link = stack;
	add(more);
}

static void add_frame(uint32_t stack, const char *file)
{
	struct tp_event more = fake_span(&fake, proc, 0, TP_REC_FRAME,
					 fake_string(&fake, TP_STRING_PYFRAME, file, 12), 0, 0);

	more.flags = TP_FRAME_PYTHON;
	more.link = stack;
	more.arg = 3;
	add(more);
}

static void add_op(const char *name, uint32_t shape, int64_t begin, int64_t end)
{
	const char shapes[] = {TP_SHAPE_TENSOR, 6, 1, (char)(8 + shape)};
	struct tp_event more = fake_span(&fake, proc, 0, TP_REC_OP, fake_op(&fake, name), begin, end);

	more.shapes = fake_string(&fake, TP_STRING_SHAPES, shapes, sizeof(shapes));
	add(more);
}

/* A kernel of one of two names and three grids, launched by the innermost operator. */
static void add_kernel(uint32_t i, int64_t begin)
{
	struct tp_launch launch = {.place = {.stream = 7}, .grid = {1 + i % 3, 1, 1},
				   .block = {128, 1, 1}};
	struct tp_event call = fake_span(&fake, proc, 0, TP_REC_CALL,
					 fake_text(&fake, "cudaLaunchKernel"), begin, begin + 10);
	struct tp_event work = fake_span(&fake, proc, 0, TP_REC_KERNEL,
					 fake_text(&fake, i % 4 ? "gemm" : "s16816gemm"), begin + 20,
					 begin + 50 + i * 7);

	call.link = work.link = i + 1;
	work.queue = &queue;
	work.detail = fake_string(&fake, TP_STRING_LAUNCH, (char *)&launch, sizeof(launch));
	add(call);
	add(work);
}

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	proc->thread[0].torch_id = 1;
	fake_window(&fake, proc, 0, 0, ROUNDS * STEP);
	n_events = 0;
	add_frame(1, "f\0/me/one.py");
	add_frame(2, "g\0/me/two.py");
	for (uint32_t i = 0; i < ROUNDS; i++) {
		int64_t begin = i * STEP;

		add_stack(1 + i % 2, begin);
		add_op(i % 3 ? "aten::linear" : "aten::mm", i % 5, begin + 1, begin + 900);
		/* One that encloses itself, for its total is counted once. */
		add_op(i % 4 ? "aten::mm" : "aten::linear", i % 7, begin + 10, begin + 800);
		add_op("aten::mm", i % 2, begin + 20, begin + 700);
		add_kernel(i, begin + 30);
	}
}

TestSuite(coarser, .init = set_up);

static struct tp_facts *pass(struct tp_facts *facts)
{
	for (uint32_t i = 0; i < n_events; i++)
		tp_facts_event(facts, &event[i]);
	tp_facts_end(facts);
	return facts;
}

Test(coarser, rows_of_operators_are_those_of_events)
{
	for (int way = 0; way < 3; way++) {
		bool by_shape = way == 1, by_stack = way == 2;
		struct tp_facts *direct = tp_facts_new(&fake.run), *made = tp_facts_new(&fake.run);
		const struct tp_operator_rows *a = tp_operators_want(direct, by_shape, by_stack), *b;

		cr_expect_neq(tp_operators_want(made, true, true),
			      tp_operators_want(made, by_shape, by_stack));
		b = tp_operators_want(made, by_shape, by_stack);
		pass(direct);
		pass(made);
		cr_assert_eq(a->n_rows, b->n_rows);
		cr_expect_geq(a->n_rows, 3);
		cr_expect_eq(a->device_ns, b->device_ns);
		cr_expect_eq(a->has_shapes, b->has_shapes);
		cr_expect_eq(!a->origins, !b->origins);
		for (uint32_t i = 0; i < a->n_rows; i++) {
			struct tp_operator_row x = a->row[i], y = b->row[i];

			cr_expect_arr_eq(&x, &y, sizeof(x), "way %d, row %u", way, i);
		}
		tp_facts_free(direct);
		tp_facts_free(made);
	}
}

static const char *name_of(const struct tp_kernel_rows *rows, uint32_t name)
{
	return name == TP_KERNEL_NO_OPERATOR ? "-" : tp_names_at(rows->names, name)->bytes;
}

Test(coarser, rows_of_kernels_are_those_of_events)
{
	for (int way = 0; way < 3; way++) {
		bool by_grid = way == 1, by_operator = way == 2;
		struct tp_facts *direct = tp_facts_new(&fake.run), *made = tp_facts_new(&fake.run);
		const struct tp_kernel_rows *a = tp_kernels_want(direct, by_grid, by_operator), *b;

		cr_expect_neq(tp_kernels_want(made, true, true),
			      tp_kernels_want(made, by_grid, by_operator));
		b = tp_kernels_want(made, by_grid, by_operator);
		pass(direct);
		pass(made);
		cr_assert_eq(a->n_rows, b->n_rows);
		cr_expect_geq(a->n_rows, 2);
		for (uint32_t i = 0; i < a->n_rows; i++) {
			const struct tp_kernel_row *x = &a->row[i], *y = &b->row[i];

			cr_expect_str_eq(name_of(a, x->key.name), name_of(b, y->key.name));
			cr_expect_str_eq(name_of(a, x->key.operator), name_of(b, y->key.operator));
			cr_expect_arr_eq(x->key.grid, y->key.grid, sizeof(x->key.grid));
			cr_expect_eq(x->uses_tensor_cores, y->uses_tensor_cores);
			cr_expect_float_eq(x->occupancy_ns, y->occupancy_ns, 1e-6);
			cr_expect_eq(x->ns.n, y->ns.n);
			cr_expect_eq(x->ns.sum, y->ns.sum);
			cr_expect_eq(tp_spread_percentile(&x->ns, 50), tp_spread_percentile(&y->ns, 50));
		}
		tp_facts_free(direct);
		tp_facts_free(made);
	}
}
