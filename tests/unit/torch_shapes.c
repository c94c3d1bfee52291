/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_shapes.c - inputs of operators, made by hand as torch lays them out, and the string
 * that is kept of them
 */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/probe/torch/torch_shapes.h"
#include "runtime/trace/trainprof_trace.h"

struct value {
	uint64_t payload;
	uint64_t tag;
};

struct tensor {
	uint64_t head[7];
	uint64_t n_dims;		/* at 56 */
	int64_t sizes[10];		/* in line, or a pointer first */
	uint64_t other[2];
	uint16_t dtype;			/* at 160 */
};

struct list {
	uint64_t head[2];
	const struct value *begin, *end; /* at 16 */
};

enum { NONE = 0, TENSOR = 1, STORAGE = 2, DOUBLE = 3, INT = 5, BOOL = 10, STRING = 12, LIST = 14 };

static const uint64_t undefined;
static const struct tp_torch_layout layout = {
	.tensor = { .sizes = 56, .dtype = 160, .list = 16, .tag_tensor = TENSOR, .tag_int = INT,
		    .tag_list = LIST, .tag_scalar_first = 3, .tag_scalar_last = 10 },
	.undefined = &undefined,
};

static struct tensor make_tensor(uint16_t dtype, uint64_t n_dims, const int64_t *sizes)
{
	struct tensor tensor = { .n_dims = n_dims, .dtype = dtype };

	_Static_assert(offsetof(struct tensor, dtype) == 160, "as in torch 2.13");
	if (n_dims > 5)
		tensor.sizes[0] = (int64_t)(uintptr_t)sizes;
	else
		memcpy(tensor.sizes, sizes, n_dims * sizeof(*sizes));
	return tensor;
}

#define VALUE(tag, payload) ((struct value){ (uint64_t)(uintptr_t)(payload), tag })

static void expect(const struct value *inputs, uint64_t n, const void *bytes, uint32_t n_bytes)
{
	uint8_t out[512];
	uint32_t got = tp_torch_shapes_pack(&layout, inputs, n, out, sizeof(out));

	cr_assert_eq(got, n_bytes, "%u bytes instead of %u", got, n_bytes);
	cr_expect_arr_eq(out, bytes, n_bytes);
}
#define EXPECT(inputs, ...)                                                                \
	expect(inputs, sizeof(inputs) / sizeof((inputs)[0]), (const uint8_t[]){ __VA_ARGS__ },  \
	       sizeof((const uint8_t[]){ __VA_ARGS__ }))

Test(torch_shapes, keeps_shapes_and_types_and_what_else_there_is)
{
	const struct tensor a = make_tensor(6, 2, (const int64_t[]){ 3, 300 });
	const struct tensor b = make_tensor(15, 0, NULL);
	const struct value inputs[] = {
		VALUE(TENSOR, &a), VALUE(TENSOR, &b), VALUE(NONE, 0), VALUE(INT, 7),
		VALUE(DOUBLE, 7), VALUE(BOOL, 1), VALUE(STRING, &a), VALUE(TENSOR, &undefined),
		VALUE(TENSOR, NULL), VALUE(STORAGE, &a),
	};

	EXPECT(inputs, TP_SHAPE_TENSOR, 6, 2, 3, 0xac, 0x02, TP_SHAPE_TENSOR, 15, 0, TP_SHAPE_NONE,
	       TP_SHAPE_SCALAR, TP_SHAPE_SCALAR, TP_SHAPE_SCALAR, TP_SHAPE_NONE, TP_SHAPE_NONE,
	       TP_SHAPE_NONE, TP_SHAPE_NONE);
}

Test(torch_shapes, follows_sizes_that_lie_elsewhere)
{
	const int64_t sizes[] = { 1, 2, 3, 4, 5, 6 };
	const struct tensor a = make_tensor(7, 6, sizes);
	const struct value inputs[] = { VALUE(TENSOR, &a) };

	EXPECT(inputs, TP_SHAPE_TENSOR, 7, 6, 1, 2, 3, 4, 5, 6);
}

Test(torch_shapes, gives_no_shape_to_symbols_and_to_nonsense)
{
	const struct tensor symbolic = make_tensor(6, 2, (const int64_t[]){ 4, INT64_MIN / 2 });
	struct tensor deep = make_tensor(6, 1, (const int64_t[]){ 4 });
	const struct value inputs[] = { VALUE(TENSOR, &symbolic), VALUE(TENSOR, &deep),
					VALUE(INT, 1) };

	deep.n_dims = 65;
	EXPECT(inputs, TP_SHAPE_NONE, TP_SHAPE_NONE, TP_SHAPE_SCALAR);
}

Test(torch_shapes, keeps_lists)
{
	const struct tensor a = make_tensor(6, 1, (const int64_t[]){ 9 });
	const struct value numbers[] = { VALUE(INT, 1), VALUE(INT, 2) };
	const struct value tensors[] = { VALUE(TENSOR, &a), VALUE(TENSOR, &a) };
	const struct value optional[] = { VALUE(NONE, 0), VALUE(TENSOR, &a) };
	const struct value strings[] = { VALUE(STRING, &a) };
	const struct list lists[] = {
		{ .begin = numbers, .end = numbers + 2 }, { .begin = tensors, .end = tensors + 2 },
		{ .begin = optional, .end = optional + 2 }, { .begin = strings, .end = strings + 1 },
		{ .begin = NULL, .end = NULL },
	};
	const struct value inputs[] = {
		VALUE(LIST, &lists[0]), VALUE(LIST, &lists[1]), VALUE(LIST, &lists[2]),
		VALUE(LIST, &lists[3]), VALUE(LIST, &lists[4]), VALUE(LIST, NULL),
	};

	EXPECT(inputs, TP_SHAPE_SCALAR_LIST, TP_SHAPE_TENSOR_LIST, 2, TP_SHAPE_TENSOR, 6, 1, 9,
	       TP_SHAPE_TENSOR, 6, 1, 9, TP_SHAPE_TENSOR_LIST, 2, TP_SHAPE_NONE, TP_SHAPE_TENSOR, 6,
	       1, 9, TP_SHAPE_NONE, TP_SHAPE_SCALAR_LIST, TP_SHAPE_SCALAR_LIST);
}

Test(torch_shapes, keeps_at_most_64_tensors_of_a_list)
{
	const struct tensor a = make_tensor(6, 0, NULL);
	struct value tensors[70];
	const struct list list = { .begin = tensors, .end = tensors + 70 };
	const struct value inputs[] = { VALUE(LIST, &list), VALUE(INT, 1) };
	uint8_t out[512];

	for (uint32_t i = 0; i < 70; i++)
		tensors[i] = VALUE(TENSOR, &a);
	cr_assert_eq(tp_torch_shapes_pack(&layout, inputs, 2, out, sizeof(out)), 2 + 64 * 3 + 1);
	cr_expect_eq(out[1], 64);
	cr_expect_eq(out[2 + 64 * 3], TP_SHAPE_SCALAR);
}

Test(torch_shapes, says_when_there_is_no_room_for_more)
{
	const struct tensor a = make_tensor(6, 3, (const int64_t[]){ 1, 2, 3 });
	const struct value inputs[] = { VALUE(INT, 1), VALUE(TENSOR, &a), VALUE(INT, 1) };

	for (uint32_t cap = 2; cap < 64; cap++) {
		uint8_t out[64];
		uint32_t n;

		memset(out, 0xee, sizeof(out));
		n = tp_torch_shapes_pack(&layout, inputs, 3, out, cap);
		cr_assert_leq(n, cap);
		cr_expect_eq(out[0], TP_SHAPE_SCALAR);
		cr_expect_eq(out[n - 1], n < 8 ? TP_SHAPE_CUT : TP_SHAPE_SCALAR, "cap %u", cap);
		for (uint32_t i = cap; i < sizeof(out); i++)
			cr_assert_eq(out[i], 0xee);
	}
}
